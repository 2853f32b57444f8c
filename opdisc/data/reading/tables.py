"""Reading and writing whole tables, every cell as text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

import pandas as pd

from opdisc.data.cells import note_numbers
from opdisc.data.encoding import check_names
from opdisc.data.files import atomic_write_text
from opdisc.data.reading.cell_texts import csv_text
from opdisc.data.reading.chunks import require_rows
from opdisc.data.reading.opening import open_table
from opdisc.data.reading.provenance import all_assumptions, with_assumptions, with_declared_dtypes
from opdisc.data.reading.table_format import TableFormat
from opdisc.data.value_labels import note_listed

if TYPE_CHECKING:
    from opdisc.data.files import FilePath
    from opdisc.data.reading.chunks import TableReader


def read_table(
    path: FilePath,
    *,
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    query: str | None = None,
    table_name: str | None = None,
    sheet: str | None = None,
    names: Sequence[str] | None = None,
) -> pd.DataFrame:
    """Read a table in which nothing is guessed: every cell is text.

    Parameters
    ----------
    path : path
        A text file whose first line names the columns, plain or compressed by gzip; or a Parquet,
        Arrow or Excel file; or a DuckDB or SQLite file with a ``query`` or a ``table_name``. What
        a file is its first bytes say. White space around a column name is dropped; empty lines at
        the end are ignored.
    columns : sequence of str or None
        Names of the columns to keep, in this order; None keeps all.
    delimiter : str or None
        One character between the cells of a text file, or "tab". None takes, of comma, semicolon,
        tab and bar, the one that occurs most often in the header line.
    encoding : str
        Of a text file.
    query : str or None
        SQL whose result is the table.
    table_name : str or None
        Of the table in a DuckDB or SQLite file, instead of a ``query``; or in the PostgreSQL
        server whose URL ``path`` then is.
    sheet : str or None
        Name of the sheet of an Excel file. None takes the first visible one, which
        ``attrs["sheet"]`` of the result names; several visible ones with a table are refused.
    names : sequence of str or None
        One for each column, for a text or Excel file whose first line is a row. A text file then
        has commas between its cells, if no ``delimiter`` is given.

    Returns
    -------
    DataFrame
        One text column per name, at least one row; a missing or empty cell is the empty string. A
        table from a text file carries a note that its types were not inferred from the rows. So a
        fit by a schema needs no condition about them. The note follows the table's rows, columns
        and copies. Other files have types that somebody declared or inferred before.

    Raises
    ------
    TableError
        If the file cannot be read, has no rows, lacks a column, or has a line whose number of
        cells differs from the header's. No cell is named.
    """
    declared = TableFormat(
        delimiter=delimiter,
        encoding=encoding,
        query=query,
        table_name=table_name,
        sheet=sheet,
        names=names,
    )
    with open_table(path, declared) as table:
        kept = list(table.header if columns is None else columns)
        chunks = list(table.chunks(_positions(table, columns)))
        assumptions, sheet = table.assumptions, getattr(table, "title", None)
    require_rows(len(chunks))
    cells = [
        list(chain.from_iterable(parts))
        for parts in zip(*(chunk.cells for chunk in chunks), strict=True)
    ]
    read = pd.concat([pd.Series(column, dtype="str") for column in cells], axis=1)
    read.columns = pd.Index(kept, dtype="str")
    note_numbers(read, (kept[at] for at in sorted({at for c in chunks for at in c.numbers})))
    note_listed(read, {kept[at]: values for at, values in chunks[-1].listed.items()})
    if sheet is not None:
        read.attrs["sheet"] = sheet
    return with_assumptions(read, assumptions) if assumptions else with_declared_dtypes(read)


def _positions(table: TableReader, columns: Sequence[str] | None) -> Sequence[int]:
    if columns is None:
        return range(len(table.header))
    check_names(table.header, columns, table.remedy)
    return [table.header.index(name) for name in columns]


def count_lines(
    path: FilePath,
    *,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    query: str | None = None,
    table_name: str | None = None,
    sheet: str | None = None,
    names: Sequence[str] | None = None,
) -> int:
    """Return the number of rows of a file that :func:`opdisc.read_table` reads; none is held."""
    return public_facts(
        path,
        delimiter=delimiter,
        encoding=encoding,
        query=query,
        table_name=table_name,
        sheet=sheet,
        names=names,
    )[0]


def public_facts(
    path: FilePath,
    *,
    columns: Sequence[str] = (),
    delimiter: str | None = None,
    encoding: str = "utf-8",
    query: str | None = None,
    table_name: str | None = None,
    sheet: str | None = None,
    names: Sequence[str] | None = None,
) -> tuple[int, tuple[str, ...]]:
    """Return the number of rows of a file, and what a receipt takes for granted of its kind.

    A file without one of the columns is refused, as by :func:`opdisc.data.check_names`.
    """
    declared = TableFormat(
        delimiter=delimiter,
        encoding=encoding,
        query=query,
        table_name=table_name,
        sheet=sheet,
        names=names,
    )
    with open_table(path, declared) as table:
        if columns:
            check_names(table.header, columns, table.remedy)
        found = sum(chunk.n_rows for chunk in table.chunks(()))
        assumptions = all_assumptions(table.assumptions)
    return require_rows(found), assumptions


def write_table(table: pd.DataFrame, path: FilePath, *, mode: int = 0o666) -> None:
    """Write a table as CSV, whole or not at all.

    Parameters
    ----------
    table : DataFrame
        Written without its index; missing cells become empty.
    path : path
        File to create or replace.
    mode : int
        Permissions of a new file, less the umask; a replaced file keeps its own.

    Raises
    ------
    TableError
        If the file cannot be written; an older file is then untouched.
    """
    atomic_write_text(path, table_text(table), mode=mode)


def table_text(table: pd.DataFrame) -> str:
    """Return a table as the CSV text that :func:`write_table` writes."""
    columns = (["" if pd.isna(c) else str(c) for c in cells] for _, cells in table.items())
    return csv_text([[str(name) for name in table]]) + csv_text(zip(*columns, strict=True))
