"""The names of a table's columns, no row looked at."""

from __future__ import annotations

from opdisc.data.files import FilePath
from opdisc.data.reading.opening import open_table
from opdisc.data.reading.table_format import TableFormat


def read_header(
    path: FilePath,
    *,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    query: str | None = None,
    sheet: str | None = None,
) -> tuple[str, ...]:
    """Return the names of a table's columns; nothing but the header is read.

    Parameters
    ----------
    path : path
        A file that :func:`opdisc.read_table` reads.
    delimiter, encoding, query, sheet
        As for :func:`opdisc.read_table`.

    Returns
    -------
    tuple of str
        In the file's order, white space around them dropped, not checked for repeats.

    Raises
    ------
    TableError
        If the file cannot be read or has no header.
    """
    declared = TableFormat(delimiter=delimiter, encoding=encoding, query=query, sheet=sheet)
    with open_table(path, declared) as table:
        return table.header
