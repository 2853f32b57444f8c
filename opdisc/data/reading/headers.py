"""The names of a table's columns, no row looked at."""

from __future__ import annotations

from typing import Any

from opdisc.data.files import FilePath
from opdisc.data.reading.header_rule import refuse_doubtful
from opdisc.data.reading.opening import open_table
from opdisc.data.reading.table_format import TableFormat


def read_header(path: FilePath, **reading: Any) -> tuple[str, ...]:
    """Return the names of a table's columns; nothing but the header is read.

    Parameters
    ----------
    path : path
        A file that :func:`opdisc.read_table` reads.
    **reading
        ``delimiter``, ``encoding``, ``query``, ``sheet``, ``names`` as for
        :func:`opdisc.read_table`.

    Returns
    -------
    tuple of str
        In the file's order, white space around them dropped, not checked for repeats. As private
        as a row: the file may have no line of names. :func:`public_header` returns none such.

    Raises
    ------
    TableError
        If the file cannot be read or has no header.
    """
    with open_table(path, TableFormat(**reading)) as table:
        return table.header


def public_header(path: FilePath, **reading: Any) -> tuple[str, ...]:
    """Return the names of a table's columns, to be written or shown; see :func:`read_header`.

    Raises
    ------
    TableError
        If they may be the cells of a row, too: the first line alone decides that. Names that were
        given, and those that Parquet, Arrow and databases keep apart from the rows, are names.
    """
    with open_table(path, TableFormat(**reading)) as table:
        refuse_doubtful(table.header, table.doubt, path, table.remedy)
        return table.header
