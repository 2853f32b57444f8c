"""Reading and writing files: CSV tables as text, and text written whole or not at all."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO

import pandas as pd

from opdisc.data.files import FilePath, atomic_write_text, open_input, unusable
from opdisc.data.reading.provenance import with_declared_dtypes
from opdisc.errors import TableError

_QUOTED = re.compile('[",\r\n]')


def read_table(path: FilePath) -> pd.DataFrame:
    """Read a CSV file in which nothing is guessed: every cell stays text.

    Parameters
    ----------
    path : path
        A comma-separated UTF-8 file whose first line names the columns. White space around a
        column name is dropped; empty lines at the end are ignored.

    Returns
    -------
    DataFrame
        One text column per header cell, at least one row; an empty cell is the empty string. It
        is noted on the table that its types were not inferred from the rows, so a fit by a schema
        needs no condition about them; the note follows the table's rows, columns and copies.

    Raises
    ------
    TableError
        If the file cannot be read, is not UTF-8, is empty, has no rows, or has a line whose number
        of cells differs from the header's. No cell is named.
    """
    path = Path(path)
    try:
        with TextIOWrapper(open_input(path), encoding="utf-8-sig", newline="") as file:
            header, rows = _read_rows(file, path)
    except OSError as error:
        raise unusable(f"a table must be a readable file, but {path} is not", error) from None
    except UnicodeDecodeError:
        raise TableError(f"a table must be UTF-8 text, but {path} is not; convert it") from None
    except csv.Error:
        raise TableError(
            f"a table must be comma-separated text, but {path} has a malformed line; check its "
            "quotation marks"
        ) from None
    if not rows:
        raise TableError(f"a table must have a header and at least one row, but {path} has no row")
    columns = pd.Index([name.strip() for name in header], dtype="str")
    return with_declared_dtypes(pd.DataFrame(rows, columns=columns, dtype="str"))


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
    lines = [[str(name) for name in table], *zip(*columns, strict=True)]
    return "".join(_csv_line(cells) + "\n" for cells in lines)


def _read_rows(file: TextIO, path: Path) -> tuple[list[str], list[list[str]]]:
    reader = csv.reader(file, strict=True)
    header = next(reader, [])
    if not header:
        raise TableError(f"a table must start with a line of column names, but {path} does not")
    rows = []
    blank_line = 0
    for row in reader:
        if not row:
            blank_line = blank_line or reader.line_num
            continue
        if blank_line or len(row) != len(header):
            raise TableError(
                "every line of a table must have as many cells as its header, but line "
                f"{blank_line or reader.line_num} of {path} does not; correct that line"
            )
        rows.append(row)
    return header, rows


def _csv_line(cells: Iterable[str]) -> str:
    """Quote what RFC 4180 says must be quoted, and a lone empty cell: a blank line is no row."""
    line = ",".join(
        '"' + cell.replace('"', '""') + '"' if _QUOTED.search(cell) else cell for cell in cells
    )
    return line or '""'
