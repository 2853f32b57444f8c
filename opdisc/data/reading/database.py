"""Tables that a query returns: of a DuckDB or SQLite file, or of any open cursor."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from opdisc.data.reading.cell_texts import chunk_of_rows
from opdisc.data.reading.chunks import CHUNK_CELLS, COLUMNS_UNSEEN, DTYPES_DECLARED, ROWS_ALONE
from opdisc.data.reading.typed_file import ArrowBatches, optional_module
from opdisc.errors import TableError, engine_refusals

if TYPE_CHECKING:
    from opdisc.data.files import FilePath
    from opdisc.data.reading.chunks import Chunk

SQLITE = b"SQLite format 3\0"


class QueryResult:
    """What a query returned, row by row.

    Parameters
    ----------
    cursor : object
        Of Python's database interface (``description`` and ``fetchmany``), or a DuckDB connection
        after ``execute``.

    Attributes
    ----------
    header, doubt, assumptions
        As in :class:`opdisc.data.reading.chunks.TableReader`.
    """

    assumptions: tuple[str, ...] = (DTYPES_DECLARED, COLUMNS_UNSEEN, ROWS_ALONE)
    doubt = ""
    remedy = ""

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor
        described = getattr(cursor, "description", None)
        if not described:
            raise TableError("a query must return a table, but this one returns none; SELECT one")
        self.header = tuple(str(column[0]).strip() for column in described)
        listed = {at: _enum(column[1]) for at, column in enumerate(described)}
        self._listed = {at: values for at, values in listed.items() if values}
        self._narrow = {at for at, column in enumerate(described) if _is_narrow(column[1])}

    def chunks(self, positions: Sequence[int], chunk_cells: int = CHUNK_CELLS) -> Iterator[Chunk]:
        """Yield all rows; see :class:`opdisc.data.reading.chunks.TableReader`."""
        size = max(1, chunk_cells // len(self.header))
        narrow = self._narrow.intersection(positions)
        listed = {i: self._listed[at] for i, at in enumerate(positions) if at in self._listed}
        while rows := self._fetch(size):
            if narrow:
                rows = [_at_own_precision(row, narrow) for row in rows]
            yield replace(chunk_of_rows(rows, positions), listed=listed)

    def _fetch(self, size: int) -> list[Any]:
        with query_refusals():
            return list(self._cursor.fetchmany(size))


def _enum(kind: Any) -> tuple[object, ...]:
    """Return the values that a type of DuckDB lists; none of any other type."""
    if getattr(kind, "id", None) != "enum":
        return ()
    return tuple(dict(kind.children)["values"])


def _is_narrow(kind: Any) -> bool:
    """Return whether a column holds 4 bytes a number, which DuckDB and Arrow hand out as doubles.

    Other databases hand out the nearest double to the number's text.
    """
    package = type(kind).__module__.partition(".")[0]
    return package in ("duckdb", "_duckdb", "pyarrow") and str(kind).lower() == "float"


def _at_own_precision(row: Sequence[Any], narrow: set[int]) -> list[Any]:
    return [
        np.float32(value) if at in narrow and value is not None else value
        for at, value in enumerate(row)
    ]


def relation_batches(relation: Any) -> ArrowBatches:
    """Return a DuckDB relation as record batches of Arrow."""
    optional_module("pyarrow", "tables", "a DuckDB relation")
    with query_refusals():
        read = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch
        reader = read()
    batches = ArrowBatches(reader.schema.names, lambda _names, _size: reader)
    batches.assumptions = QueryResult.assumptions
    return batches


@contextmanager
def open_query(path: FilePath, start: bytes, query: str) -> Iterator[QueryResult]:
    """Run a query on a database file, opened to be read only.

    Parameters
    ----------
    path : path
        A DuckDB or SQLite file.
    start : bytes
        How it begins.
    query : str
        SQL.
    """
    with query_refusals(), open_database(path, start) as database:
        yield QueryResult(database.execute(query))


@contextmanager
def open_database(path: FilePath, start: bytes, **settings: str) -> Iterator[Any]:
    """Connect to a database file, only to read; one of DuckDB can reach no other file."""
    if start.startswith(SQLITE):
        uri = f"{Path(path).absolute().as_uri()}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True)) as lite:
            yield lite
        return
    duckdb = optional_module("duckdb", "sql", "a DuckDB file")
    # The query is about this file: it may not read or write another, nor load an extension.
    settings |= {"autoinstall_known_extensions": "false"}
    with engine_refusals(
        "a database file must open, but DuckDB did not open this one ({reason}); end the programs "
        "that write to it, close connections of your own, and try it in DuckDB"
    ):
        opened = duckdb.connect(str(path), read_only=True, config=settings)
    with closing(opened) as database:
        # Afterwards: without access to files DuckDB lets nobody say where it may not write.
        database.execute("SET enable_external_access = false")
        yield database


def query_refusals() -> AbstractContextManager[None]:
    """Turn what a database says of a query into one sentence."""
    return engine_refusals(
        "a query must run to its end on the database, but it stopped ({reason}); try it there "
        "first"
    )
