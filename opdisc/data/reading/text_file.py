"""Text files with one row a line: plain or compressed, read strictly, one line after the other.

Only the header line says how the file is written; every cell is read by itself.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import TextIOWrapper
from itertools import chain
from typing import BinaryIO, TextIO, cast

from opdisc.data.files import FilePath, open_input, unusable
from opdisc.data.reading.table_format import TableFormat
from opdisc.errors import TableError

_DELIMITERS = ",;\t|"

_GZIP = b"\x1f\x8b"


class TextFile:
    """An open text file, its header read.

    Parameters
    ----------
    file : text stream
        At its start.
    path : path
        Its name, for messages.
    delimiter : str or None
        As in :class:`TableFormat`.

    Attributes
    ----------
    header : tuple of str
        Names of the columns, white space around them dropped.
    """

    def __init__(self, file: TextIO, path: FilePath, delimiter: str | None) -> None:
        self.path = path
        lines: Iterator[str] = iter(file)
        if delimiter is None:
            first, delimiter = _header_lines(lines)
            lines = chain(first, lines)
        self._reader = csv.reader(lines, strict=True, delimiter=delimiter)
        self.header = tuple(name.strip() for name in next(self._reader, []))
        if not self.header:
            raise TableError(
                f"a table must start with a line of column names, but {path} does not"
            )

    def rows(self) -> Iterator[list[str]]:
        """Yield the cells of each row, as many as the header has.

        Raises
        ------
        TableError
            If a line has more or fewer, or is blank and not at the end.
        """
        reader, width = self._reader, len(self.header)
        for row in reader:
            if len(row) == width:
                yield row
                continue
            line = reader.line_num
            if row or any(reader):
                raise TableError(
                    "every line of a table must have as many cells as its header, but line "
                    f"{line} of {self.path} does not; correct that line"
                )


@contextmanager
def open_text(path: FilePath, declared: TableFormat) -> Iterator[TextFile]:
    """Open a text file, plain or compressed by gzip, and read its header.

    Raises
    ------
    TableError
        If it cannot be read, then or while its rows are read. No cell is named.
    """
    with refusals(path, declared.encoding), ExitStack() as stack:
        data = stack.enter_context(open_input(path))
        peek = getattr(data, "peek", None)
        if peek is not None and peek(2)[:2] == _GZIP:
            data = stack.enter_context(cast(BinaryIO, gzip.open(data)))
        text = TextIOWrapper(data, encoding=declared.encoding, newline="")
        yield TextFile(stack.enter_context(text), path, declared.delimiter)


@contextmanager
def refusals(path: FilePath, encoding: str) -> Iterator[None]:
    """Turn whatever goes wrong with a file into one sentence without a cell."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise TableError(
            f"a compressed table must be whole, but {path} is cut off or damaged; compress or "
            "copy it again"
        ) from None
    except OSError as error:
        raise unusable(f"a table must be a readable file, but {path} is not", error) from None
    except UnicodeError:
        known = "UTF-8" if encoding == "utf-8-sig" else encoding
        raise TableError(
            f"a table must be {known} text, but {path} is not; convert it or name its encoding"
        ) from None
    except csv.Error:
        raise TableError(
            f"a table must be comma-separated text, but {path} has a malformed line; check its "
            "quotation marks"
        ) from None


def _header_lines(lines: Iterator[str]) -> tuple[list[str], str]:
    """Return the lines of the header and the delimiter most frequent in it, outside of quotes."""
    counts = dict.fromkeys(_DELIMITERS, 0)
    read, quoted, at_start = [], False, True
    for line in lines:
        read.append(line)
        for character in line:
            if character == '"' and (quoted or at_start):
                quoted, at_start = not quoted, quoted  # a second one at once is part of the name
            elif not quoted:
                at_start = character in counts
                if at_start:
                    counts[character] += 1
        # What is longer than csv takes for one cell is no header.
        if not quoted or sum(map(len, read)) > csv.field_size_limit():
            break
    return read, max(counts, key=lambda each: counts[each])
