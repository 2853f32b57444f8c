"""How a table is stored, as far as somebody must say it: delimiter, encoding, names."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opdisc.data.files import read_bounded, unusable
from opdisc.errors import LONGEST_NAME, FileMistake, quoted

if TYPE_CHECKING:
    from opdisc.data.files import FilePath

_NAMED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}

_RESERVED = '"\r\n\0'


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFormat:
    """What is declared of a file with a table; all of it is public.

    Parameters
    ----------
    delimiter : str or None
        One character between the cells of a text file, or "tab". None takes, of comma, semicolon,
        tab and bar, the one that occurs most often in the header line; no row is looked at.
    encoding : str
        Of a text file; any name that Python knows.
    query : str or None
        SQL whose result is the table, for a database file.
    table_name : str or None
        Of the table, for a database file or a PostgreSQL server: ``loans`` or
        ``schema.loans``.
    sheet : str or None
        Name of the sheet of an Excel file; None takes the first visible one.
    names : sequence of str or None
        One for each column, for a text or Excel file whose first line is a row. A text file then
        has commas, if no delimiter is declared: no row is looked at to find it.

    Raises
    ------
    FileMistake
        If the delimiter is not one character, the encoding not one of text, or a name is none; or
        if there are a query and a name of a table.
    """

    delimiter: str | None = None
    encoding: str = "utf-8"
    query: str | None = None
    table_name: str | None = None
    sheet: str | None = None
    names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        """Canonicalise and validate."""
        if self.delimiter is not None:
            delimiter = _NAMED.get(self.delimiter, self.delimiter)
            if len(delimiter) != 1 or delimiter in _RESERVED or delimiter.isalnum():
                raise FileMistake(
                    "a delimiter must be one character that is no letter, digit or quotation "
                    f"mark, such as ';' or tab, got {quoted(self.delimiter)}"
                )
            object.__setattr__(self, "delimiter", delimiter)
        object.__setattr__(self, "encoding", _codec(self.encoding))
        if self.table_name is not None and self.query is not None:
            raise FileMistake(
                "a table of a database must be named or returned by a query, but there are a name "
                "and a query; leave one out"
            )
        if self.names is not None:
            object.__setattr__(self, "names", checked_names(self.names))


def _codec(name: str) -> str:
    """Return the codec that reads text of an encoding; UTF-8 may start with a byte order mark."""
    try:
        codec = codecs.lookup(name).name
        "".encode(codec)  # refuses codecs that are none of text, such as hex
    except (LookupError, ValueError, TypeError):
        raise FileMistake(
            f"an encoding must be one that Python knows, such as utf-8 or latin-1, got "
            f"{quoted(name)}"
        ) from None
    return "utf-8-sig" if codec == "utf-8" else codec


_DELIMITERS = ",;\t|"

_LARGEST_FILE = 2**22


def read_names(path: FilePath) -> list[str]:
    """Return the names in a text file: one on each line, or all on one line.

    Raises
    ------
    FileMistake
        If it is no such file.
    """
    try:
        data = read_bounded(path, _LARGEST_FILE)
    except OSError as error:
        raise unusable(f"names must be in a readable file, but {path} is not one", error) from None
    try:
        if len(data) > _LARGEST_FILE:
            raise UnicodeError
        lines = data.decode("utf-8-sig").splitlines()
        while lines and not lines[-1].strip():
            lines.pop()
        if len(lines) != 1:
            return lines
        between = max(_DELIMITERS, key=lines[0].count)
        return next(csv.reader(lines, strict=True, delimiter=between, skipinitialspace=True))
    except (UnicodeError, csv.Error):
        raise FileMistake(
            f"names must be in a file of UTF-8 text, one on each line or all on one, but {path} "
            "is none; write it again"
        ) from None


def checked_names(names: object) -> tuple[str, ...]:
    """Return names without white space around them.

    Raises
    ------
    FileMistake
        If one is none, or there twice. It is not quoted: names may come from the wrong file.
    """
    if isinstance(names, str | bytes) or not isinstance(names, Iterable):
        raise FileMistake(f"names must be a list of texts, got a {type(names).__name__}")
    checked = tuple(name.strip() if isinstance(name, str) else "" for name in names)
    if not checked or not all(
        name and name.isprintable() and len(name) <= LONGEST_NAME for name in checked
    ):
        raise FileMistake(
            f"names must be printable texts of at most {LONGEST_NAME} characters, but one of "
            "those given is not; correct it"
        )
    if len(set(checked)) < len(checked):
        raise FileMistake("names must be distinct, but one of those given is there twice")
    return checked
