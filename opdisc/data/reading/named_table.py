"""Tables that a database knows by name: no query of a user stands before their rows."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opdisc.data.files import may_hold_password
from opdisc.data.reading.chunks import CHUNK_CELLS, DTYPES_DECLARED, Chunk
from opdisc.data.reading.database import QueryResult, open_database, query_refusals
from opdisc.data.reading.typed_file import optional_module
from opdisc.errors import FileMistake, TableError, engine_refusals, quoted

if TYPE_CHECKING:
    from opdisc.data.files import FilePath

_SERVERS = ("postgresql://", "postgres://")

_FILES = ("duckdb://", "sqlite://")

_DUCKDB = """
SELECT current_database(), table_schema, table_name, table_type = 'BASE TABLE'
FROM information_schema.tables
WHERE table_catalog = current_database() AND table_schema = ? AND table_name = ?
"""

_SQLITE = """
SELECT 'main', name, type = 'table' AND sql NOT LIKE 'create virtual%' FROM sqlite_master
WHERE type IN ('table', 'view') AND 'main' = ? AND name = ?
"""

_POSTGRES = """
SELECT nspname, relname, relkind IN ('r', 'p') AND NOT relrowsecurity
FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE relkind IN ('r', 'p', 'v', 'm', 'f') AND nspname = %s AND relname = %s
"""


_ALIAS = "opdisc_table"


@dataclass(frozen=True, slots=True)
class FoundTable:
    """A table as its database knows it.

    Parameters
    ----------
    parts : tuple of str
        Its name, after those of what it is in.
    assumptions : tuple of str
        What must be true of it and cannot be seen. A view is a query that somebody stored.
    """

    parts: tuple[str, ...]
    assumptions: tuple[str, ...]

    @property
    def sql(self) -> str:
        """The name as SQL: as the catalog has it, quoted."""
        return ".".join(map(_quoted, self.parts))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class NamedResult(QueryResult):
    """The rows of a named table, as often as they are asked for.

    Parameters
    ----------
    database : object
        Open, and in one transaction: each time the rows are the same.
    found : FoundTable
        Which of its tables.
    new_cursor : callable
        Opens what runs a statement.
    """

    def __init__(
        self,
        database: Any,
        found: FoundTable,
        new_cursor: Callable[[], AbstractContextManager[Any]],
    ) -> None:
        # Of all that a statement is made of, only names of the catalog come from outside.
        with query_refusals():
            described = database.execute(f"SELECT * FROM {found.sql} LIMIT 0")  # nosec B608
        super().__init__(described)
        self.assumptions = found.assumptions
        self._names = [str(column[0]) for column in described.description]
        self._database, self._new_cursor, self._table = database, new_cursor, found.sql

    def chunks(self, positions: Sequence[int], chunk_cells: int = CHUNK_CELLS) -> Iterator[Chunk]:
        """Yield all rows; see :class:`opdisc.data.reading.chunks.TableReader`."""
        if not positions:
            yield Chunk(n_rows=self._n_rows(), cells=())
            return
        # With the table's name: an unknown name alone is a text to SQLite.
        asked = ", ".join(f"{_ALIAS}.{_quoted(self._names[at])}" for at in positions)
        with query_refusals(), self._new_cursor() as cursor:
            cursor.execute(f"SELECT {asked} FROM {self._table} AS {_ALIAS}")  # nosec B608
            yield from QueryResult(cursor).chunks(range(len(positions)), chunk_cells)

    def _n_rows(self) -> int:
        with query_refusals():
            counting = f"SELECT count(*) FROM {self._table}"  # nosec B608
            return int(self._database.execute(counting).fetchall()[0][0])


def database_place(database: str) -> FilePath:
    """Return where a database is: the URL of a server, or the path of a file.

    Raises
    ------
    FileMistake
        If it is a URL of another kind. It is not quoted: a URL may hold a password.
    """
    if is_server(database):
        return database
    scheme = next(filter(database.startswith, _FILES), "")
    path = Path(database.removeprefix(scheme))
    if may_hold_password(database.removeprefix(scheme)) and not os.path.exists(path):
        raise FileMistake(
            "a database must be a DuckDB or SQLite file or the URL of a PostgreSQL server, but "
            "this is a URL of another kind; export the table as Parquet"
        )
    return path


def is_server(place: object) -> bool:
    """Return whether a place is the URL of a server."""
    return isinstance(place, str) and place.startswith(_SERVERS)


@contextmanager
def open_named(path: FilePath, start: bytes, name: str) -> Iterator[NamedResult]:
    """Read a named table of a DuckDB or SQLite file, which starts with these bytes.

    Raises
    ------
    TableError
        If the file has no such table, or cannot be read.
    """
    with query_refusals(), open_database(path, start) as database:
        if isinstance(database, sqlite3.Connection):
            database.execute("BEGIN")
        found = find_table(database, name)
        yield NamedResult(database, found, lambda: nullcontext(database.cursor()))


@contextmanager
def open_server_table(url: str, name: str) -> Iterator[NamedResult]:
    """Read a named table of a PostgreSQL server, piece by piece.

    Raises
    ------
    TableError
        If the server does not answer, has no such table, or stops.
    """
    with open_server(url) as server:
        found = find_table(server, name)
        yield NamedResult(server, found, lambda: server.cursor(name="opdisc"))


@contextmanager
def open_server(url: str) -> Iterator[Any]:
    """Connect to a PostgreSQL server, only to read.

    Raises
    ------
    TableError
        If it does not answer. Neither the URL nor the server's words are repeated.
    """
    psycopg = optional_module("psycopg", "postgres", "a PostgreSQL server")
    with engine_refusals(
        "a server must take the connection, but this one did not ({reason}); check its URL, and "
        "that you may read there"
    ):
        server = psycopg.connect(url)
        server.read_only = True
        server.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    with closing(server):
        yield server


def find_table(database: Any, name: str) -> FoundTable:
    """Return a table of an open database by its name, or by its schema's and its own.

    Capital letters count, and no search path is followed: ``loans`` is that of the first schema,
    ``main`` or ``public``. Either name may hold dots.

    Raises
    ------
    TableError
        If there is none, or several.
    """
    if not isinstance(name, str):
        raise TableError("the name of a table must be a text, but this one is none; spell it so")
    look, usual = _look(database)
    dots = [at for at, letter in enumerate(name) if letter == "."]
    read = [(usual, name), *((name[:at], name[at + 1 :]) for at in dots)]
    with query_refusals():
        rows = [row for each in read for row in database.execute(look, each).fetchall()]
    if len(rows) > 1:
        raise TableError(
            f"a named table must be one, but {quoted(name)} is {len(rows)}, by where the schema "
            "ends; rename one of them"
        )
    if not rows:
        raise TableError(
            f"a named table must be in the database, but {quoted(name)} is not; spell it as the "
            f"database does, and in another schema than {usual} say SCHEMA.TABLE"
        )
    *parts, is_plain = rows[0]
    return FoundTable(
        tuple(map(str, parts)), (DTYPES_DECLARED,) if is_plain else QueryResult.assumptions
    )


def _look(database: Any) -> tuple[str, str]:
    """Return how a kind of database finds a table, and its usual schema."""
    if isinstance(database, sqlite3.Connection):
        return _SQLITE, "main"
    if "duckdb" in type(database).__module__:
        return _DUCKDB, "main"
    return _POSTGRES, "public"
