"""Named tables of a database, counted there: by a DuckDB file's engine, or a PostgreSQL server."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opdisc.data.counting.lazy_tables import LazyTable, are_installed
from opdisc.data.counting.parquet import SETTINGS
from opdisc.data.files import FilePath, open_input
from opdisc.data.reading import (
    FoundTable,
    find_table,
    is_database,
    is_server,
    open_database,
    open_server,
    query_refusals,
)

_SQLITE = b"SQLite"


@contextmanager
def named_table(path: FilePath, name: str) -> Iterator[LazyTable | None]:
    """Open a named table as a lazy one; give None for what the reader of rows must read.

    SQLite is read row by row: the type of a column binds no cell of it.

    Parameters
    ----------
    path : path or str
        A database file, or the URL of a server.
    name : str
        As the database spells it.

    Raises
    ------
    TableError
        If the database has no such table, or stops; its own words may hold a cell.
    """
    if not are_installed("narwhals", "pyarrow", "ibis" if is_server(path) else "duckdb"):
        yield None
    elif is_server(path):
        with _server_table(str(path), name) as lazy:
            yield lazy
    else:
        start = _start(path)
        if not is_database(start) or start.startswith(_SQLITE):
            yield None
            return
        with query_refusals(), open_database(path, start, **SETTINGS) as database:
            database.execute("SET enable_progress_bar = false")
            found = find_table(database, name)
            yield _lazy(database.sql(f"FROM {found.sql}"), found)


def _start(path: FilePath) -> bytes:
    """Return how a file starts; nothing of one that cannot be read, which its reader refuses."""
    try:
        with open_input(path) as file:
            return file.read(16)
    except OSError:
        return b""


@contextmanager
def _server_table(url: str, name: str) -> Iterator[LazyTable | None]:
    with open_server(url) as server:
        found = find_table(server, name)
        database = server.info.dbname
    folder, own = found.parts
    ibis: Any = importlib.import_module("ibis")
    with query_refusals():
        connection = ibis.connect(url)
        try:
            # As a pair: a text with a dot would be a database's name and a schema's.
            yield _lazy(connection.table(own, database=(database, folder)), found)
        finally:
            connection.disconnect()


def _lazy(native: Any, found: FoundTable) -> LazyTable | None:
    narwhals: Any = importlib.import_module("narwhals")
    frame = narwhals.from_native(native)
    if not isinstance(frame, narwhals.LazyFrame):  # a relation, to a narwhals of old
        return None
    return LazyTable(frame, is_exact=False, assumptions=found.assumptions)
