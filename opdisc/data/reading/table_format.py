"""How a table is stored, as far as somebody must say it: delimiter, encoding, names."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import dataclass

from opdisc.data.reading.given_names import checked_names
from opdisc.errors import FileMistake, quoted

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
    sheet : str or None
        Name of the sheet of an Excel file; None takes the first visible one.
    names : sequence of str or None
        One for each column, for a text or Excel file whose first line is a row. A text file then
        has commas, if no delimiter is declared: no row is looked at to find it.

    Raises
    ------
    FileMistake
        If the delimiter is not one character, the encoding not one of text, or a name is none.
    """

    delimiter: str | None = None
    encoding: str = "utf-8"
    query: str | None = None
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
