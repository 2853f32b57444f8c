"""Text files with one row a line: plain or compressed, read strictly, one line after the other.

Only the header line says how the file is written; every cell is read by itself.
"""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from io import StringIO, TextIOWrapper
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO, cast

from opdisc.data.files import may_hold_password, unusable
from opdisc.data.reading.chunks import CHUNK_CELLS, Chunk
from opdisc.data.reading.header_rule import header_doubt, refuse_other_text
from opdisc.errors import TableError

if TYPE_CHECKING:
    from opdisc.data.files import FilePath, may_hold_password
    from opdisc.data.reading.table_format import TableFormat

_DELIMITERS = ",;\t|"

GZIP = b"\x1f\x8b"

_CHARACTERS = 8
"""Characters of a cell, roughly."""

_LONGEST_LINE = 2**22

_FIRST = "the line of names (is it the first one, has each column a name?) or that line"


class TextFile:
    """An open text file, its header read.

    Parameters
    ----------
    file : text stream
        At its start, its line ends untranslated.
    path : path
        Its name, for messages.
    delimiter : str or None
        As in :class:`TableFormat`.
    names : sequence of str or None
        As in :class:`TableFormat`: where they are given, the first line is a row.

    Attributes
    ----------
    header : tuple of str
        Names of the columns, white space around them dropped.
    doubt : str
        As in :class:`opdisc.data.reading.chunks.TableReader`.
    assumptions : tuple of str
        None: nothing but the cell itself says how a cell is read.
    """

    assumptions: tuple[str, ...] = ()
    remedy = ""

    def __init__(
        self,
        file: TextIO,
        path: FilePath,
        delimiter: str | None,
        names: Sequence[str] | None = None,
    ) -> None:
        self._file, self._path = file, path
        start = file.readline()
        refuse_other_text(start, path, is_row=names is not None)
        lines = chain([start], file)
        if names is None:
            self._read_header(lines, delimiter)
        else:
            self._keep_first_row(lines, delimiter or ",", names)

    def _read_header(self, lines: Iterator[str], delimiter: str | None) -> None:
        first: list[str] = []
        if delimiter is None:
            first, delimiter = _header_lines(lines)
        reader = _csv_reader(chain(first, lines), delimiter)
        names: list[str] = next(reader, [])
        _refuse_blanks_before_quotes(names)
        self.header = tuple(name.strip() for name in names)
        self._delimiter, self._lines, self._unread = delimiter, reader.line_num, ""
        if not self.header:
            raise TableError(
                f"a table must start with a line of column names, but {self._path} does not"
            )
        self.doubt = header_doubt(self.header)

    def _keep_first_row(self, lines: Iterator[str], delimiter: str, names: Sequence[str]) -> None:
        """Compare the first row with the names that were given, and keep its text to be read."""
        kept: list[str] = []
        noted = (kept.append(line) or line for line in lines)  # type: ignore[func-returns-value]
        row: list[str] = next(_csv_reader(noted, delimiter), [])
        if len(row) != len(names):
            raise names_unlike_columns(self._path)
        refuse_named_header(row, names, self._path)
        self.header, self.doubt = tuple(names), ""
        self._delimiter, self._lines, self._unread = delimiter, 0, "".join(kept)

    def chunks(self, positions: Sequence[int], chunk_cells: int = CHUNK_CELLS) -> Iterator[Chunk]:
        """Yield all rows; see :class:`opdisc.data.reading.chunks.TableReader`.

        Text without quotation marks is cut at its delimiters, many lines at a time. From the first
        piece on that has one, or a line that is not as the header, the csv module reads on.
        """
        piece = self._unread
        while len(self.header) > 1:
            block = self._file.read(_CHARACTERS * chunk_cells)
            piece += block
            end = piece.rfind("\n") + 1 if block else len(piece)
            whole, rest = piece[:end], piece[end:]
            cells = self._plain_cells(whole)
            if cells is None or len(rest) > _LONGEST_LINE:
                break  # with the piece in hand
            self._lines += whole.count("\n")
            if whole:
                period = len(self.header) + 1
                columns = tuple(cells[position::period] for position in positions)
                yield Chunk(n_rows=len(cells) // period, cells=columns)
            if not block:
                return
            piece = rest
        yield from self._strict_chunks(piece, positions, chunk_cells)

    def _plain_cells(self, text: str) -> list[str] | None:
        """Return the cells of whole lines, with a line feed after each, or None if any is odd."""
        plain = text.replace("\r\n", "\n")
        if '"' in plain or "\r" in plain:
            return None
        if plain and not plain.endswith("\n"):
            plain += "\n"
        between = self._delimiter
        cells = plain.replace("\n", f"{between}\n{between}").split(between)
        cells.pop()  # what follows the last line end
        width, lines = len(self.header), plain.count("\n")
        if len(cells) != lines * (width + 1) or cells[width :: width + 1] != ["\n"] * lines:
            return None
        return cells

    def _strict_chunks(
        self, piece: str, positions: Sequence[int], chunk_cells: int
    ) -> Iterator[Chunk]:
        piece += self._file.readline()  # a piece may end within a line
        lines = chain(StringIO(piece, newline=""), self._file)
        rows = self._strict_rows(lines)
        size = max(1, chunk_cells // len(self.header))
        while some := list(islice(rows, size)):
            columns = tuple([row[position] for row in some] for position in positions)
            for column in columns:
                _refuse_blanks_before_quotes(column)
            yield Chunk(n_rows=len(some), cells=columns)

    def _strict_rows(self, lines: Iterator[str]) -> Iterator[list[str]]:
        reader = _csv_reader(lines, self._delimiter)
        width = len(self.header)
        for row in reader:
            if len(row) == width:
                yield row
                continue
            line = self._lines + reader.line_num
            if row or any(reader):  # blank lines at the end are no rows
                first = line == self._lines + 1
                raise TableError(
                    "every line of a table must have as many cells as its header, but line "
                    f"{line} of {self._path} does not; correct {_FIRST if first else 'that line'}"
                )


def _csv_reader(lines: Iterable[str], delimiter: str) -> Any:
    """Return a reader of rows, to which a quotation mark may follow spaces."""
    if delimiter != " ":
        lines = _closed_up(lines, delimiter)
    return csv.reader(lines, strict=True, delimiter=delimiter)


def _closed_up(lines: Iterable[str], delimiter: str) -> Iterator[str]:
    """Yield lines without the spaces between a delimiter and a quotation mark."""
    spaced = re.compile(rf'(?:^|{re.escape(delimiter)}) +"')
    inside = False
    for line in lines:
        closed = line
        if inside or line.count('"') % 2 or (' "' in line and spaced.search(line)):
            closed, inside = _closed_line(line, delimiter, inside)
        yield closed


def _closed_line(line: str, delimiter: str, inside: bool) -> tuple[str, bool]:
    """Return one line, and whether it ends inside a quoted cell, as it may have begun."""
    parts, at = [], 0
    while True:
        if not inside:
            mark = len(line) - len(line[at:].lstrip(" "))
            if line[mark : mark + 1] == '"':
                parts.append('"')
                at, inside = mark + 1, True
        if inside:
            end = line.find('"', at)
            while end >= 0 and line[end + 1 : end + 2] == '"':
                end = line.find('"', end + 2)
            if end < 0:
                return "".join([*parts, line[at:]]), True
            parts.append(line[at : end + 1])
            at, inside = end + 1, False
        following = line.find(delimiter, at)
        if following < 0:
            return "".join([*parts, line[at:]]), False
        parts.append(line[at : following + 1])
        at = following + 1


def _refuse_blanks_before_quotes(cells: Sequence[str]) -> None:
    """Refuse a quotation mark after white space of another kind: it would be part of the cell."""
    if '"' not in "".join(cells):  # quick, and so it is nearly always
        return
    if any('"' in cell and cell[:1].isspace() and cell.lstrip()[:1] == '"' for cell in cells):
        raise csv.Error


@contextmanager
def open_text(file: BinaryIO, path: FilePath, declared: TableFormat) -> Iterator[TextFile]:
    """Read an open file as text, unpacked first if gzip packed it; see :func:`refusals`."""
    with ExitStack() as stack:
        if file.peek(2)[:2] == GZIP:  # type: ignore[attr-defined]
            file = cast(BinaryIO, stack.enter_context(gzip.open(file)))
        text = TextIOWrapper(file, encoding=declared.encoding, newline="")
        yield TextFile(stack.enter_context(text), path, declared.delimiter, declared.names)


def names_unlike_columns(path: FilePath) -> TableError:
    """Return the refusal of names that are not as many as the columns of a file."""
    return TableError(
        f"names must be as many as the columns, but the first line of {path} has another number "
        "of cells; correct the names, or say the delimiter if it is no comma"
    )


def refuse_named_header(row: Sequence[object], names: Sequence[str], path: FilePath) -> None:
    """Refuse names that a file's first line holds itself: it would count as a person."""
    if [str(cell).strip() for cell in row] == list(names):
        raise TableError(
            f"names are for a file without a header line, but the first line of {path} holds just "
            "these names; leave them out"
        )


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
        place = "the one that was given" if may_hold_password(path) else path
        raise unusable(f"a table must be a readable file, but {place} is not", error) from None
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


def _header_lines(lines: Iterable[str]) -> tuple[list[str], str]:
    """Return the lines of the header and the delimiter most frequent in it, outside of quotes."""
    counts = dict.fromkeys(_DELIMITERS, 0)
    read, quoted, at_start = [], False, True
    for line in lines:
        read.append(line)
        for character in line:
            if character == '"' and (quoted or at_start):
                quoted, at_start = not quoted, quoted  # a second one at once is part of the name
            elif not quoted:
                at_start = character in counts or (at_start and character == " ")
                if character in counts:
                    counts[character] += 1
        # What is longer than csv takes for one cell is no header.
        if not quoted or sum(map(len, read)) > csv.field_size_limit():
            break
    return read, max(counts, key=lambda each: counts[each])
