"""Reading and writing files: CSV tables as text, and text written whole or not at all."""

import contextlib
import csv
import os
import re
import secrets
import stat
from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import TextIO, TypeAlias

import pandas as pd

from opdisc.errors import TableError

FilePath: TypeAlias = str | PathLike[str]

PRIVATE_MODE = 0o600
"""Of new files with private rows: nobody but their owner reads them."""

_SCRATCH_BYTES = 64 * 1024
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
        One text column per header cell, at least one row; an empty cell is the empty string.

    Raises
    ------
    TableError
        If the file cannot be read, is not UTF-8, is empty, has no rows, or has a line whose number
        of cells differs from the header's. No cell is named.
    """
    path = Path(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header, rows = _read_rows(file, path)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise TableError(f"a table must be a readable file, but {path} is not: {reason}") from None
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
    return pd.DataFrame(rows, columns=columns, dtype="str")


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


def check_output(path: FilePath, *, inputs: Iterable[FilePath] = ()) -> None:
    """Refuse a place that :func:`atomic_write_text` could not write to, before work is spent.

    A scratch file of 64 KiB is written beside the target and removed, so that a missing or
    read-only directory and a full disk are found before any privacy budget is spent.

    Parameters
    ----------
    path : path
        Where the output is to go.
    inputs : iterable of path
        Files that the same command reads or appends to; replacing one would lose it.

    Raises
    ------
    TableError
        If the place is not writable, or is one of the inputs.
    """
    target = Path(os.path.realpath(path))
    if any(target == Path(os.path.realpath(other)) for other in inputs):
        raise TableError(f"output must not replace an input, but {path} is one; name another path")
    scratch = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        _check_regular(target, path)
        try:
            _write_synced(scratch, bytes(_SCRATCH_BYTES))
        finally:
            scratch.unlink(missing_ok=True)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise TableError(f"output must go to a writable place, but {path}: {reason}") from None


def atomic_write_text(path: FilePath, text: str, *, mode: int = 0o666) -> None:
    """Write UTF-8 text to a file, whole or not at all.

    The text goes to a temporary file in the same directory, which then takes the place of the old
    one: a reader sees the old text or the new, and an interruption leaves the old.

    Parameters
    ----------
    path : path
        File to create or replace; of a symbolic link, the file it points to.
    text : str
        Written as is, line ends included.
    mode : int
        Permissions of a new file, less the umask; a replaced file keeps its own.

    Raises
    ------
    TableError
        If the place is not writable, or the text has no UTF-8 form.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        _check_regular(target, path)
        try:
            _write_synced(temporary, text.encode("utf-8"), _mode_of(target), mode)
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise TableError(f"output must go to a writable place, but {path}: {reason}") from None
    except UnicodeEncodeError:
        raise TableError(f"output must be UTF-8 text, but that for {path} is not") from None


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


def _check_regular(target: Path, named: FilePath) -> None:
    """Refuse directories and devices; OSError for a name that the file system does not take."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(target.stat().st_mode):
            raise TableError(
                f"output must go to a file, but {named} is not one; name another path"
            )


def _mode_of(path: Path) -> int | None:
    """Return the permissions of a file, None where there is none."""
    with contextlib.suppress(FileNotFoundError):
        return stat.S_IMODE(path.stat().st_mode)
    return None


def _write_synced(path: Path, data: bytes, kept: int | None = None, mode: int = 0o600) -> None:
    """Write a new file; ``kept`` are the permissions of the one that it will replace, if any."""
    # Never wider than in the end, not even for a moment.
    descriptor = os.open(
        path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode if kept is None else kept & mode
    )
    with os.fdopen(descriptor, "wb") as file:
        if kept is not None:
            os.fchmod(descriptor, kept)
        file.write(data)
        file.flush()
        os.fsync(descriptor)
