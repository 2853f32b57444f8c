"""Lazy tables: their engine groups and adds up, and only points and counts come back."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from opdisc.data.counting.cell_expressions import InexactColumn, nw, unsayable
from opdisc.data.counting.row_counts import PointCounter
from opdisc.data.counting.spark import CLASSIC, silent, uncompared
from opdisc.data.counting.statements import Joined, Statements, joined, schema_statements
from opdisc.data.counting.texts import ChunkEncoder
from opdisc.data.encoding import check_names
from opdisc.data.packing import WORD_BITS, WordArray, set_column
from opdisc.data.reading import (
    ROWS_ALONE,
    FrameReader,
    TableReader,
    optional_module,
    relation_batches,
)
from opdisc.data.schema import Schema
from opdisc.errors import TableError, engine_refusals

_EXACT = ("polars", "pyspark")
"""Engines that compare texts letter by letter; Spark does unless a column's type says another."""

_LAZY = {
    ("polars", "LazyFrame"): "polars",
    ("duckdb", "DuckDBPyRelation"): "duckdb",
    ("ibis", "Table"): "ibis",
}
"""Packages and their classes of what they have not computed yet, and what we call them."""

_STOPPED = (
    "a query must run to its end on Spark, but it stopped ({reason}); try it there first: its log "
    "stays off, as it may quote cells, until sparkContext.setLogLevel puts it on"
)

_BEHIND_IBIS = ("duckdb", "postgres")
"""Databases whose cells are compared exactly by way of Ibis; a type of SQLite binds no cell."""


@dataclass(frozen=True, slots=True, eq=False)
class LazyTable:
    """A table that an engine holds, or will make.

    Parameters
    ----------
    frame : narwhals.LazyFrame
        The table.
    is_exact : bool
        Whether its engine compares its texts letter by letter.
    assumptions : tuple of str
        What must be true of it, and cannot be seen.
    """

    frame: Any
    is_exact: bool
    assumptions: tuple[str, ...] = (*FrameReader.assumptions, ROWS_ALONE)


def is_lazy(source: object) -> bool:
    """Return whether something is a lazy table of an engine that counts exactly."""
    return _engine(source) is not None


def _engine(source: object) -> str | None:
    """Return the name of the engine of a lazy table; no library is imported to see it."""
    for kind in type(source).__mro__:
        package = kind.__module__.partition(".")[0].lstrip("_")
        if (package, kind.__name__) in _LAZY:
            return _LAZY[package, kind.__name__]
        if (kind.__module__, kind.__name__) == (CLASSIC, "DataFrame"):
            return "pyspark"
    return None


def lazy_table(source: Any) -> LazyTable | None:
    """Return a lazy table of an engine that counts exactly, or None for anything else.

    A DuckDB relation is none where what its engine needs is not installed: it can be read, too.

    Raises
    ------
    TableError
        If narwhals is needed and not installed, or a database is behind Ibis that does not count
        exactly.
    """
    engine = _engine(source)
    if engine is None or (engine == "duckdb" and not are_installed("narwhals", "pyarrow")):
        return None
    if engine == "ibis" and source.get_backend().name not in _BEHIND_IBIS:
        raise TableError(
            "a table of Ibis must be one of DuckDB or PostgreSQL to be counted there, but this is "
            "one of another database; read it by a cursor or a query, or as a table of Arrow"
        )
    narwhals = optional_module("narwhals", "tables", "a lazy table")
    frame = narwhals.from_native(source)
    if not isinstance(frame, narwhals.LazyFrame):  # a relation, to a narwhals of old
        return None
    return LazyTable(frame, is_exact=engine in _EXACT)


def are_installed(*names: str) -> bool:
    """Return whether some modules are installed; none is imported."""
    return all(importlib.util.find_spec(name) is not None for name in names)


def count_lazily(counter: PointCounter, table: LazyTable, chunk_cells: int) -> None:
    """Add all rows of a lazy table, most of them counted by its engine.

    What an engine says of a fault may hold a cell: the caller lets none of it out.

    Raises
    ------
    TableError
        As for a table in memory; or if a column's type is none that the engine compares exactly.
        Then no row was read.
    """
    schema = counter.encoded_by
    frame, types = declared_columns(table, schema)
    columns = {name: nw().col(at) for name, (at, _) in types.items()}
    dtypes = {name: dtype for name, (_, dtype) in types.items()}
    statements = schema_statements(schema, columns, dtypes, is_exact=table.is_exact)
    n_unsure = _add_groups(counter, frame, statements)
    if n_unsure:
        _add_unsure(counter, frame.filter(statements.unsure), n_unsure, chunk_cells)
    counter.assume(table.assumptions)


def declared_columns(table: LazyTable, schema: Schema) -> tuple[Any, dict[str, tuple[str, Any]]]:
    """Return the declared columns under names of ours, by which no engine confuses them.

    Returns
    -------
    frame : narwhals.LazyFrame
        Of these columns alone, in the order in which rows are read.
    types : dict
        From each declared name to the name in the frame and the type.

    Raises
    ------
    TableError
        If a column is missing, or another one has its name but for capital letters.
    """
    found = table.frame.collect_schema()
    own = list(found)
    plain = [name.strip() for name in own]
    declared = (*schema.columns, schema.target.column)
    check_names(plain, declared)
    folded = [name.casefold() for name in own]
    is_spark = table.frame.implementation.is_pyspark()
    refused = uncompared(table.frame.to_native()) if is_spark else {}
    named: dict[str, tuple[str, Any]] = {}
    for at, name in enumerate(declared):
        given = own[plain.index(name)]
        if folded.count(given.casefold()) > 1:
            raise InexactColumn(
                f"names of columns must differ in more than capital letters for an engine, but "
                f"{name!r} does not; rename the other"
            )
        if refused.get(given):
            raise unsayable(name)
        named[name] = (f"c{at}", found[given])
    kept = [nw().col(own[plain.index(name)]).alias(named[name][0]) for name in declared]
    return table.frame.select(*kept), named


def _add_groups(counter: PointCounter, frame: Any, statements: Statements) -> int:
    """Add the rows that the engine is sure of; return the number of the others."""
    keys = {f"k{at}": each for at, each in enumerate(joined(statements.features))}
    # A step of its own: an engine would find out anew at every mention what it is unsure of.
    said = frame.select(
        *(each.number.alias(name) for name, each in keys.items()),
        statements.positive.alias("positive"),
        statements.negative.alias("negative"),
        statements.unsure.alias("unsure"),
    )
    is_unsure = nw().col("unsure")
    is_one = {
        "positives": nw().col("positive") & ~is_unsure,
        "negatives": nw().col("negative") & ~is_unsure,
        "unsure": is_unsure,
    }
    flags = said.select(
        *keys,
        # PostgreSQL casts no truth value to 64 bits, and polars adds up narrow ones in their type.
        *(
            nw().when(each).then(1).otherwise(0).cast(nw().Int64).alias(name)
            for name, each in is_one.items()
        ),
    )
    sums = tuple(is_one)
    grouped = flags.group_by(*keys).agg(
        *(nw().col(name).sum().cast(nw().Int64) for name in sums),
        nw().len().cast(nw().Int64).alias("n"),
    )
    groups = _collected(grouped)
    positives, negatives, unsure, rows = (
        np.asarray(groups.get_column(name).to_numpy(), dtype=np.int64) for name in (*sums, "n")
    )
    kept = positives + negatives > 0
    words = _packed_groups(groups, keys)[kept]
    n_unsure = int(unsure.sum())
    counter.add_groups(words, positives[kept], negatives[kept], int(rows.sum()) - n_unsure)
    return n_unsure


def _packed_groups(groups: Any, keys: Mapping[str, Joined]) -> WordArray:
    n_statements = sum(each.n_statements for key in keys.values() for each in key.columns)
    words = np.zeros((len(groups), -(-(1 + n_statements) // WORD_BITS)), dtype=np.uint64)
    set_column(words, 0, np.ones(len(groups), dtype=bool))
    at = 1
    for name, key in keys.items():
        for is_true in key.truths(groups.get_column(name).to_numpy()):
            set_column(words, at, is_true)
            at += 1
    return words


def _add_unsure(counter: PointCounter, frame: Any, n_rows: int, chunk_cells: int) -> None:
    """Let the reader of rows read, or refuse, what the engine is not sure of."""
    encoder = ChunkEncoder(counter.encoded_by)
    read = 0
    for chunk in _reader(frame).chunks(range(len(encoder.columns)), chunk_cells):
        counter.add_rows(*encoder.packed(chunk))
        read += chunk.n_rows
    if read != n_rows:
        raise TableError(
            "a table must stay as it is while it is counted, but this one changed; count a copy"
        )


def _reader(frame: Any) -> TableReader:
    """Return a reader of the rows of a lazy table, piece by piece where its engine can."""
    if frame.implementation.is_duckdb():
        return relation_batches(frame.to_native())
    return FrameReader(_collected(frame))


def _collected(frame: Any) -> Any:
    """Return a lazy table in memory."""
    if frame.implementation.is_polars():
        return frame.collect(engine="streaming")
    if frame.implementation.is_pyspark():
        with engine_refusals(_STOPPED), silent(frame.to_native().sparkSession):
            return frame.collect("pyarrow")
    return frame.collect("pyarrow")
