"""Counting the rows of whatever holds them: a file, a database, a table in memory, chunks."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import weakref
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import pandas as pd

from opdisc.data.counting.cell_expressions import InexactColumn
from opdisc.data.counting.lazy_tables import count_lazily, is_lazy, lazy_table
from opdisc.data.counting.named_tables import named_table
from opdisc.data.counting.parquet import parquet_table
from opdisc.data.counting.row_counts import PointCounter, RowCounts, new_part
from opdisc.data.counting.texts import ChunkEncoder
from opdisc.data.encoded_table import aggregate
from opdisc.data.encoding import check_names, encode_features, refuse_listed, with_plain_names
from opdisc.data.inputs import SchemaLike, parse_schema
from opdisc.data.label_encoding import encode_labels
from opdisc.data.reading import (
    CHUNK_CELLS,
    QueryResult,
    TableFormat,
    TableReader,
    frame_reader,
    is_server,
    open_table,
    query_refusals,
    relation_batches,
    table_assumptions,
)
from opdisc.data.rows import refuse_value_labels_of
from opdisc.data.schema import Schema
from opdisc.errors import SchemaError, TableError, memory_refusals

_CLUSTERS = {
    "dask": ("Dask", "to_delayed"),
    "ray": ("Ray", "map_batches"),
    "pyspark": ("Spark Connect, or PySpark before version 4,", "toLocalIterator"),
}
"""Packages whose tables have no way here: what we call them, and what such a table can do."""

_NOTHING = (
    "a table to count must be a path, a DataFrame, a cursor, or an iterable of such chunks, got {}"
)


def count_rows(
    source: Any,
    schema: SchemaLike,
    *,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    query: str | None = None,
    table_name: str | None = None,
    sheet: str | None = None,
    names: Sequence[str] | None = None,
    chunk_cells: int = CHUNK_CELLS,
) -> RowCounts:
    """Count the rows of a table of any size, for an estimator's ``fit_counts``.

    Parameters
    ----------
    source : path, table or iterable
        One of these: a file that :func:`opdisc.read_table` reads; a DataFrame of pandas, polars,
        Arrow or whatever narwhals knows; a LazyFrame of polars, a DuckDB relation, a frame of
        PySpark 4 or a table of Ibis on DuckDB or PostgreSQL, whose engine groups and adds up; a
        database cursor; an iterable of any of these. An iterable's tables are added up; a table
        that is given twice is refused where that can be seen, else that no row is in two of them
        becomes a condition. A table of Dask, Ray or Spark Connect is refused: write it as Parquet.
    schema : Schema, mapping, path or name of a shipped schema
        Public facts.
    delimiter, encoding, query, table_name, sheet, names
        As for :func:`opdisc.read_table`, of paths. A named table of DuckDB or PostgreSQL is
        counted there.
    chunk_cells : int
        About how many cells are held at a time, >= 1; the counts do not depend on it.

    Returns
    -------
    RowCounts
        Private but for its schema. Of a text file it needs no condition on a receipt. With private
        thresholds the fit reads the source once more, when they are drawn: keep it until then. A
        file that is gone or has changed is refused before anything is spent.

    Raises
    ------
    TableError, SchemaError
        As for a fit to the whole table, but for missing rows or classes, which a fit refuses. No
        cell is named.

    Examples
    --------
    >>> import pandas as pd
    >>> from opdisc import PrivateScorecardClassifier, Schema
    >>> schema = Schema.equal_width(2)
    >>> rows = pd.DataFrame({"x0": [0, 1], "x1": [1, 0], "target": [0, 1]})
    >>> counts = count_rows(rows, schema) + count_rows([rows.copy(), rows.copy()], schema)
    >>> counts
    RowCounts(schema='equal-width')
    >>> model = PrivateScorecardClassifier(schema=schema, random_state=0).fit_counts(counts)
    """
    declared = TableFormat(
        delimiter=delimiter,
        encoding=encoding,
        query=query,
        table_name=table_name,
        sheet=sheet,
        names=names,
    )
    parsed = parse_schema(schema)
    if parsed.is_multiclass:
        raise SchemaError(
            "rows are counted for two classes, but the schema declares more; fit to the rows "
            "themselves."
        )
    if not parsed.private_thresholds:
        return _counted(source, declared, chunk_cells, parsed)
    if not reads_twice(source):
        kind = type(source).__name__
        if isinstance(source, str | PathLike):
            kind = "server" if is_server(source) else "pipe"
        raise TableError(
            f"rows are read twice for private thresholds, but a {kind} gives them once; read them "
            "into a table or a file first."
        )
    again = _Again(source, declared, chunk_cells, tuple(map(_file_state, _paths(source))))
    return again(parsed).described(recount=again)


@dataclass(frozen=True, slots=True)
class _Again:
    """Reads a source once more, as long as its files are what they were."""

    source: Any
    declared: TableFormat
    chunk_cells: int
    states: tuple[str, ...]

    def __call__(self, schema: Schema) -> RowCounts:
        return _counted(self.source, self.declared, self.chunk_cells, schema)

    def check(self) -> None:
        if tuple(map(_file_state, _paths(self.source))) != self.states or "" in self.states:
            raise TableError(
                "rows are read once more for private thresholds, but a file is gone or has "
                "changed since they were counted; count the rows again."
            )
        for counts in self.source if isinstance(self.source, list | tuple) else [self.source]:
            if isinstance(counts, RowCounts) and counts.recount is not None:
                counts.recount.check()


def _paths(source: Any) -> list[str | PathLike[str]]:
    """Return the paths in a source."""
    if isinstance(source, str | PathLike):
        return [source]
    if isinstance(source, list | tuple):
        return [path for part in source for path in _paths(part)]
    return []


def _file_state(path: str | PathLike[str]) -> str:
    """Return what the disk's records tell a file and a change of it by; "" without one."""
    if _is_pipe(path):
        return ""  # opening it twice could cut its writer off
    try:
        with open(path, "rb") as file:
            found = os.fstat(file.fileno())
    except (OSError, ValueError):
        return ""
    return f"{found.st_dev} {found.st_ino} {found.st_size} {found.st_mtime_ns}"


def reads_twice(source: Any) -> bool:
    """Return whether the rows of a source can be read once more, and are sure to be the same.

    Those of a pipe or a cursor cannot; those of a server may have changed.
    """
    if isinstance(source, str | PathLike):
        return not (_is_pipe(source) or is_server(source))
    if isinstance(source, RowCounts):
        return source.recount is not None
    if isinstance(source, list | tuple):
        return all(map(reads_twice, source))
    if is_lazy(source):  # its engine counts statements, and ranks are none
        return _has_reader(source)
    return hasattr(source, "columns") and not hasattr(source, "fetchmany")


def _is_pipe(path: str | PathLike[str]) -> bool:
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):  # what cannot be opened is refused where it is
        return False


def _counted(source: Any, declared: TableFormat, chunk_cells: int, schema: Schema) -> RowCounts:
    counter = PointCounter(schema)
    with memory_refusals():
        _add(counter, source, declared, chunk_cells)
        return counter.result()


def _add(counter: PointCounter, source: Any, declared: TableFormat, chunk_cells: int) -> None:
    """Add all rows of one thing, or of many things one after the other."""
    schema = counter.schema
    _refuse_clusters(source)
    counter.note_parts(_parts(source, declared))
    if isinstance(source, str | PathLike):
        if _add_in_place(counter, source, declared, chunk_cells):
            return
        with open_table(source, declared) as table:
            _add_texts(counter, table, chunk_cells)
    elif isinstance(source, RowCounts):
        drawn = source.recount is not None and not schema.private_thresholds
        counter.add_counts(source.recount(schema) if drawn and source.recount else source)
    elif _add_lazily(counter, source, chunk_cells):
        pass
    elif isinstance(source, pd.DataFrame):
        _add_frame(counter, source, max(1, chunk_cells // max(1, len(schema.columns))))
    elif hasattr(source, "fetchmany"):
        _add_texts(counter, QueryResult(source), chunk_cells)
    elif hasattr(source, "fetch_record_batch"):
        with query_refusals():
            _add_texts(counter, relation_batches(source), chunk_cells)
    elif (frame := frame_reader(source)) is not None:
        refuse_value_labels_of(source, schema)
        _add_texts(counter, frame, chunk_cells)
    elif isinstance(source, Iterable) and not isinstance(source, bytes | dict):
        counter.is_sum = True
        for part in source:
            _add(counter, part, declared, chunk_cells)
    else:
        raise TableError(_NOTHING.format(type(source).__name__))


def _refuse_clusters(source: Any) -> None:
    """Refuse a table of Dask, Ray or Spark Connect, before any of its parts is made."""
    package = type(source).__module__.partition(".")[0]
    name, parts = _CLUSTERS.get(package, ("", ""))
    if name and hasattr(source, parts) and not is_lazy(source):
        raise TableError(
            f"a table to count must be one that this library reads itself, but {name} holds this "
            "one; write it as Parquet and count the files"
        )


def _add_lazily(counter: PointCounter, source: Any, chunk_cells: int) -> bool:
    """Add all rows of a table that an engine counts; return whether it is one."""
    if counter.schema.private_thresholds or (table := lazy_table(source)) is None:
        return False
    try:
        with query_refusals():
            count_lazily(counter, table, chunk_cells)
    except InexactColumn:  # before any row was read
        if not _has_reader(source):
            raise
        return False
    return True


def _add_in_place(
    counter: PointCounter, path: str | PathLike[str], declared: TableFormat, chunk_cells: int
) -> bool:
    """Add all rows of a file or a named table that an engine counts; return whether it is one."""
    schema = counter.schema
    if schema.private_thresholds:
        return False
    if declared.table_name is not None and (declared.sheet, declared.names) != (None, None):
        return False  # whoever opens it refuses them
    columns = (*schema.columns, schema.target.column)
    opened = (
        parquet_table(path, declared, columns)
        if declared.table_name is None
        else named_table(path, declared.table_name)
    )
    with opened as table:
        try:
            if table is not None:
                count_lazily(counter, table, chunk_cells)
        except InexactColumn:  # before any row was read
            return False
        return table is not None


def _has_reader(source: Any) -> bool:
    """Return whether the rows of a lazy table can be read one after the other."""
    return hasattr(source, "fetch_record_batch")


_GIVEN: dict[int, tuple[weakref.ref[Any], str, int | None]] = {}
"""Tables in memory that were counted, by their place: the names that they got, and what they held.

What they held is a number of this process only: it enters no counts.
"""

_KEY = secrets.token_hex(8)


def _parts(source: Any, declared: TableFormat) -> list[str]:
    """Return the name of a table that may be given once more; another table has another."""
    if isinstance(source, str | PathLike):
        return _named_part(source, declared)
    if isinstance(source, RowCounts) or not (is_lazy(source) or hasattr(source, "columns")):
        return []
    known, held = _GIVEN.get(id(source)), _held(source)
    if known is not None and known[0]() is source and known[2] == held:
        return [known[1]]
    place, part = id(source), new_part()
    try:
        _GIVEN[place] = (weakref.ref(source, lambda gone: _forget(place, gone)), part, held)
    except TypeError:  # nothing can refer to it without keeping it
        return []
    return [part]


def _named_part(path: str | PathLike[str], declared: TableFormat) -> list[str]:
    """Return the name of a file's table, or of a server's: of the latter for this process only."""
    table = "" if declared.table_name is None else f" {declared.table_name}"
    if is_server(path):
        place = hashlib.blake2b(f"{path}{table}".encode(errors="surrogatepass"), key=_KEY.encode())
        return [place.hexdigest()]
    state = "" if _is_pipe(path) else _file_state(path)
    return [f"{state} {declared.sheet} {declared.query}{table}"] if state else []


def _held(source: Any) -> int | None:
    """Return a number that changes when a frame of pandas is filled anew; None of other tables."""
    if not isinstance(source, pd.DataFrame):
        return None
    try:
        rows = pd.util.hash_pandas_object(source, index=False, hash_key=_KEY)
    except Exception:  # what cannot be hashed counts as unchanged
        return None
    return hash(rows.to_numpy().tobytes())


def _forget(place: int, gone: weakref.ref[Any]) -> None:
    if place in _GIVEN and _GIVEN[place][0] is gone:
        del _GIVEN[place]


def _add_texts(counter: PointCounter, table: TableReader | Any, chunk_cells: int) -> None:
    encoder = ChunkEncoder(counter.encoded_by, counter.ranks)
    check_names(table.header, encoder.columns, table.remedy)
    positions = [table.header.index(name) for name in encoder.columns]
    listed: Mapping[int, Collection[object]] = {}
    for chunk in table.chunks(positions, chunk_cells):
        counter.add_rows(*encoder.packed(chunk))
        listed = chunk.listed
    refuse_listed({encoder.columns[at]: found for at, found in listed.items()}, counter.schema)
    counter.assume(table.assumptions)


def _add_frame(counter: PointCounter, frame: pd.DataFrame, size: int) -> None:
    """Add a table whose columns have types: it is read as a fit reads it."""
    schema, frame = counter.schema, with_plain_names(frame)
    check_names(list(frame.columns), (*schema.columns, schema.target.column))
    counter.assume(table_assumptions(frame, frame[schema.target.column], schema))
    for start in range(0, len(frame), size):
        rows = frame.iloc[start : start + size]
        labels = encode_labels(rows, schema)
        counter.ranks.add_table(rows, labels)
        counter.add_counts(aggregate(encode_features(rows, counter.encoded_by), labels))
