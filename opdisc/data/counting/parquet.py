"""Parquet files, counted by DuckDB within this process where every column's type allows."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from opdisc.data.counting.lazy_tables import LazyTable, are_installed
from opdisc.data.files import FilePath
from opdisc.data.reading import DTYPES_DECLARED, TableFormat, plain_name
from opdisc.errors import engine_refusals

SETTINGS = {
    # Rows are written to no disk: what does not fit into memory is an error.
    "temp_directory": "",
    "preserve_insertion_order": "false",
    # Each thread holds some 20 MiB, and all of them take longer together than one.
    "threads": "1",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}

_MAGIC = b"PAR1"

_PATTERN = frozenset("*?[]{}")
"""Of these DuckDB makes other files of a path."""

_TYPES = {
    **{
        f"{sign}int{bits}": f"{sign.upper()}Int{bits}"
        for sign in ("", "u")
        for bits in (8, 16, 32)
    },
    **{"int64": "Int64", "uint64": "UInt64", "float": "Float32", "double": "Float64"},
    **{"bool": "Boolean", "string": "String", "large_string": "String", "date32[day]": "Date"},
    **{"timestamp[ms]": "Datetime", "timestamp[us]": "Datetime"},
}
"""Types of Arrow that DuckDB reads as these of narwhals, each value the same."""


_READ = "SELECT * FROM read_parquet(?, hive_partitioning = false, can_have_nan = true)"
"""What a file says of a column's range leaves NaN out; DuckDB takes that for "there is none"."""


@contextmanager
def parquet_table(
    path: FilePath, declared: TableFormat, columns: tuple[str, ...]
) -> Iterator[LazyTable | None]:
    """Open a Parquet file as a lazy table; give None for what the reader of rows must read.

    Parameters
    ----------
    path : path
        Any file.
    declared : TableFormat
        Of the file.
    columns : tuple of str
        Declared columns. One that is missing, or of another type, is the reader's to refuse.

    Raises
    ------
    TableError
        If DuckDB stops while it is used; its own words may hold a cell.
    """
    if not (_is_parquet(path, declared) and are_installed("duckdb", "narwhals", "pyarrow")):
        yield None
        return
    names, types = _stored(path)
    plain = list(map(plain_name, names))
    if any(plain.count(name) != 1 or types[plain.index(name)] not in _TYPES for name in columns):
        yield None
        return
    refusal = (
        f"DuckDB must be able to count a Parquet file in memory, but on {path} it stopped "
        "({reason}); give it more memory where that ended, or write the file again"
    )
    expected = {names[plain.index(name)]: _TYPES[types[plain.index(name)]] for name in columns}
    with (
        engine_refusals(refusal),
        importlib.import_module("duckdb").connect(config=SETTINGS) as connection,
    ):
        connection.execute("SET enable_progress_bar = false")
        yield _relation(connection, path, names, expected)


def _is_parquet(path: FilePath, declared: TableFormat) -> bool:
    """Return whether a path is that of a Parquet file, about which nothing else is declared."""
    if (declared.query, declared.sheet, declared.names) != (None, None, None):
        return False
    if not os.path.isfile(path) or _PATTERN.intersection(_place(path)):
        return False
    try:
        with open(path, "rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def _place(path: FilePath) -> str:
    """Return a path from the root; ``..`` stays, for what it leads to depends on links."""
    return str(Path(path).absolute())


def _stored(path: FilePath) -> tuple[list[str], list[str]]:
    """Return names and types of Arrow of a file's columns; none if it cannot be read."""
    parquet: Any = importlib.import_module("pyarrow.parquet")
    try:
        found = parquet.read_schema(path)
    except Exception:  # the reader of rows says what is wrong
        return [], []
    return list(found.names), list(map(str, found.types))


def _relation(
    connection: Any, path: FilePath, names: list[str], expected: dict[str, str]
) -> LazyTable | None:
    """Return a file as DuckDB reads it, if it reads the same names and the expected types."""
    narwhals: Any = importlib.import_module("narwhals")
    relation = _opened(connection, _place(path))
    frame = narwhals.from_native(relation)
    if not isinstance(frame, narwhals.LazyFrame) or relation.columns != names:
        return None
    types = frame.collect_schema()
    if any(type(types[name]).__name__ != kind for name, kind in expected.items()):
        return None
    return LazyTable(frame, is_exact=True, assumptions=(DTYPES_DECLARED,))


def _opened(connection: Any, path: str) -> Any:
    """Return a file as a relation; versions that know no such option look for NaN anyway."""
    try:
        return connection.sql(_READ, params=[path])
    except importlib.import_module("duckdb").Error:
        return connection.read_parquet(path, hive_partitioning=False)
