"""Tables on a cluster: each part is counted where it is, and only counts come back."""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Callable, Iterator
from typing import Any

from opdisc.data.counting.row_counts import PointCounter, RowCounts
from opdisc.data.schema import Schema
from opdisc.errors import OPDiscError, TableError

Counter = Callable[[Any, Schema], RowCounts]

_FAN = 16
"""Counts that a cluster adds up at a time."""


def engine_counts(source: Any, schema: Schema, count: Counter) -> Iterator[RowCounts] | None:
    """Return the counts of a Dask or Ray data set, or None for anything else.

    Parameters
    ----------
    source : object
        Perhaps a ``dask.dataframe.DataFrame`` or a ``ray.data.Dataset``.
    schema : Schema
        Public facts.
    count : callable
        Counts one part; runs on the workers.

    Raises
    ------
    TableError
        If a part cannot be read. Workers log no cell: they return what is wrong.
    """
    package = type(source).__module__.partition(".")[0]
    if package == "dask" and hasattr(source, "to_delayed"):
        return _dask_counts(source, schema, count)
    if package == "ray" and hasattr(source, "map_batches"):
        return _ray_counts(source, schema, count)
    return None


def _dask_counts(source: Any, schema: Schema, count: Counter) -> Iterator[RowCounts]:
    dask: Any = importlib.import_module("dask")
    counted, added = dask.delayed(_counted), dask.delayed(_added)
    # Pure tasks would be named by a digest of their rows.
    parts = [counted(part, schema.to_dict(), count) for part in source.to_delayed()]
    while len(parts) > 1:
        parts = [added(parts[first : first + _FAN]) for first in range(0, len(parts), _FAN)]
    for outcome in dask.compute(*parts):
        yield _unpacked(outcome)


def _ray_counts(source: Any, schema: Schema, count: Counter) -> Iterator[RowCounts]:
    fields = schema.to_dict()

    def counted(batch: Any) -> dict[str, list[bytes]]:
        return {"counts": [_counted(batch, fields, count)]}

    for row in source.map_batches(counted, batch_format="pandas", batch_size=None).iter_rows():
        yield _unpacked(row["counts"])


def _counted(part: Any, schema: dict[str, Any], count: Counter) -> bytes:
    """Count one part; of a failure only what may be said of it leaves the worker."""
    try:
        return pickle.dumps(count(part, Schema.from_stored(schema)))
    except OPDiscError as error:
        return pickle.dumps(str(error))
    except Exception as error:
        return pickle.dumps(f"a part of a table must be counted, but {type(error).__name__}")


def _added(outcomes: list[bytes]) -> bytes:
    total: PointCounter | None = None
    for outcome in outcomes:
        read = pickle.loads(outcome)  # nosec B301 # of our own workers
        if isinstance(read, str):
            return outcome
        total = total or PointCounter(read.schema)
        total.add_counts(read)
    return pickle.dumps(None if total is None else total.result())


def _unpacked(outcome: bytes) -> RowCounts:
    read = pickle.loads(outcome)  # nosec B301 # of our own workers
    if isinstance(read, str):
        raise TableError(read)
    counts: RowCounts = read
    return counts
