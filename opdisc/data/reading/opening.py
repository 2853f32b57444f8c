"""Opening a file with a table, whatever kind it is: its first bytes say that, not its name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO, cast

from opdisc.data.files import open_input
from opdisc.data.reading.chunks import TableReader
from opdisc.data.reading.database import SQLITE, open_query
from opdisc.data.reading.named_table import is_server, open_named, open_server_table
from opdisc.data.reading.text_file import open_text, refusals
from opdisc.data.reading.typed_file import open_arrow, open_parquet
from opdisc.data.reading.workbook import OLD_EXCEL, open_excel, other_spreadsheet
from opdisc.errors import FileMistake

if TYPE_CHECKING:
    from opdisc.data.files import FilePath
    from opdisc.data.reading.table_format import TableFormat

_KINDS = (
    (b"ARROW1\0\0", open_arrow),
    (b"\xff\xff\xff\xff", open_arrow),
)

_EXCEL = b"PK\x03\x04"

_PARQUET = b"PAR1"

_STATA = "a Stata file", "read it with pandas.read_stata, or export it as CSV"
_SPSS = "an SPSS file", "read it with pandas.read_spss, or export it as CSV"
_SAS = "a SAS file", "read it with pandas.read_sas, or export it as CSV"

_OTHER = (
    (b"\x28\xb5\x2f\xfd", "packed by zstd", "unpack it"),
    *((b"BZh%d1AY&SY" % level, "packed by bzip2", "unpack it") for level in range(1, 10)),
    (b"\xfd7zXZ\0", "packed by xz", "unpack it"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "unpack it"),
    (b"$FL2@(#)", *_SPSS),
    (b"$FL3@(#)", *_SPSS),
    (b"<stata_dta>", *_STATA),
    *((bytes([kind, order, 1, 0]), *_STATA) for kind in (113, 114, 115) for order in (1, 2)),
    (b"HEADER RECORD***", *_SAS),
    (b"\0" * 12 + b"\xc2\xea\x81\x60", *_SAS),
)
"""How files start that have a table which only others read, and what to do with them."""

_DUCKDB = b"DUCK"
"""At the ninth byte."""


@contextmanager
def open_table(path: FilePath, declared: TableFormat) -> Iterator[TableReader]:
    """Open a file with a table; read its header, and its rows by ``chunks``.

    Raises
    ------
    TableError
        If it cannot be read, then or while its rows are read.
    """
    if is_server(path):
        with _open_server(str(path), declared) as table:
            yield table
        return
    with refusals(path, declared.encoding), open_input(path) as file:
        start = file.peek(16)[:16]  # type: ignore[attr-defined]
        if is_database(start):
            with _open_database(path, start, declared) as table:
                yield table
            return
        if (declared.query, declared.table_name) != (None, None):
            given = "a query" if declared.table_name is None else "a named table"
            raise FileMistake(f"{given} is for a DuckDB or SQLite file, but {path} is neither")
        if start.startswith(_EXCEL):
            _check_seekable(file, path)
            with open_excel(file, path, declared.sheet, declared.names) as table:
                yield table
            return
        if start.startswith(OLD_EXCEL):
            raise other_spreadsheet(path)
        _refuse_others(start, path)
        if declared.sheet is not None:
            raise _no_sheets(path)
        opener = next((opener for magic, opener in _KINDS if start.startswith(magic)), None)
        if opener is None and start.startswith(_PARQUET) and _ends_with(file, _PARQUET):
            opener = open_parquet
        if opener is not None:
            if declared.names is not None:
                raise _has_names(path)
            _check_seekable(file, path)
        with open_text(file, path, declared) if opener is None else opener(file, path) as table:
            yield table


def is_database(start: bytes) -> bool:
    """Return whether a file that starts so is one of DuckDB or SQLite."""
    return start.startswith(SQLITE) or start[8:12] == _DUCKDB


@contextmanager
def _open_server(url: str, declared: TableFormat) -> Iterator[TableReader]:
    if declared.table_name is None:
        raise FileMistake("a table of a server must have a name, but there is none; say which")
    if (declared.sheet, declared.names) != (None, None):
        raise FileMistake("a table of a server has no sheets and its own names; leave them out")
    with open_server_table(url, declared.table_name) as result:
        yield cast(TableReader, result)


@contextmanager
def _open_database(path: FilePath, start: bytes, declared: TableFormat) -> Iterator[TableReader]:
    if declared.sheet is not None:
        raise _no_sheets(path)
    if declared.query is None and declared.table_name is None:
        raise FileMistake(
            f"a database needs a query that returns the table, but for {path} there is none; say "
            "which in SQL, or name the table"
        )
    if declared.names is not None:
        raise _has_names(path)
    if declared.table_name is not None:
        with open_named(path, start, declared.table_name) as named:
            yield cast(TableReader, named)
    elif declared.query is not None:
        with open_query(path, start, declared.query) as result:
            yield cast(TableReader, result)


def _refuse_others(start: bytes, path: FilePath) -> None:
    """Refuse a file that no encoding makes a table, by its first bytes."""
    for magic, kind, remedy in _OTHER:
        if start.startswith(magic):
            raise FileMistake(
                "a table must be text, Parquet, Arrow, Excel or a database, but "
                f"{path} is {kind}; {remedy}"
            )


def _check_seekable(file: BinaryIO, path: FilePath) -> None:
    if not file.seekable():
        raise FileMistake(f"only text can be read from a pipe, but {path} is one; name a file")


def _no_sheets(path: FilePath) -> FileMistake:
    return FileMistake(f"a sheet is for an Excel file, but {path} is none; leave it out")


def _has_names(path: FilePath) -> FileMistake:
    return FileMistake(
        f"names are for text and Excel files without a line of names, but {path} has names of its "
        "own; leave them out"
    )


def _ends_with(file: BinaryIO, magic: bytes) -> bool:
    """Return whether a file ends with these bytes too, as no text with such a header does."""
    if not file.seekable():
        return False
    file.seek(-len(magic), os.SEEK_END)
    found = file.read() == magic
    file.seek(0)
    return found
