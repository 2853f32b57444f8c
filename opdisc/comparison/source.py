"""The table of a comparison: where it comes from, and how each repeat splits it."""

from __future__ import annotations

import hashlib
import math
import pickle
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from opdisc.arguments import check_choice
from opdisc.comparison.methods import ComparisonError, ComparisonMistake, class_positions
from opdisc.data import (
    DATASETS,
    Schema,
    check_columns,
    encode_features,
    encode_labels,
    load_comparison_dataset,
    load_dataset,
    load_schema,
    read_table,
    require_both_classes,
)
from oracles.arithmetic import IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A labelled table with its schema.

    Parameters
    ----------
    dataset : str
        What results call it.
    table : DataFrame
        The schema's columns and the target, rows without a label left out.
    schema : Schema
        Public facts.
    """

    dataset: str
    table: pd.DataFrame
    schema: Schema

    def packed(self) -> bytes:
        """Return the source as bytes for a worker of the same installation."""
        return zlib.compress(pickle.dumps((self.dataset, self.table, self.schema.to_dict())), 6)

    def digest(self) -> str:
        """Return the SHA-256 (hex) of the rows and the schema. It depends on private rows."""
        parts = [self.schema.digest(), *map(str, self.table.columns)]
        hashes = pd.util.hash_pandas_object(self.table.astype(str), index=False).to_numpy()
        return hashlib.sha256("\n".join(parts).encode() + hashes.tobytes()).hexdigest()


def unpack_source(packed: bytes) -> Source:
    """Return the source that :meth:`Source.packed` packed. For bytes of one's own only."""
    dataset, table, schema = pickle.loads(zlib.decompress(packed))  # nosec B301
    return Source(dataset=dataset, table=table, schema=Schema.from_dict(schema))


def load_source(
    data: Path | None = None,
    schema: str | None = None,
    dataset: str | None = None,
    **reading: Any,
) -> Source:
    """Load a table of one's own with its schema, or a known one.

    Parameters
    ----------
    data, schema : path and str
        File and schema; with ``dataset``, ``schema`` chooses among its schemas.
    dataset : str or None
        A known table, or a shipped schema, which stands for the known table that it fits
        ("adult-small" is the balanced census table with seven columns).
    **reading
        As for :func:`opdisc.read_table`.

    Raises
    ------
    ComparisonError, SchemaError, TableError
        If the table cannot be found, read, or does not fit its schema.
    """
    if dataset is not None:
        return make_source(dataset, *_known(dataset, schema))
    assert data is not None and schema is not None
    declared = load_schema(schema)
    columns = (*declared.columns, declared.target.column)
    return make_source(data.stem, read_table(data, columns=columns, **reading), declared)


def make_source(dataset: str, table: pd.DataFrame, schema: Schema) -> Source:
    """Check a table against its schema and keep what a comparison needs.

    Raises
    ------
    TableError
        If a column is missing, a cell cannot be read, or a class does not occur.
    """
    encode_features(table, schema)
    check_columns(table, (schema.target.column,))
    positions = _positions(table, schema)
    if not schema.is_multiclass:
        require_both_classes(encode_labels(table, schema))
    elif len(np.unique(positions[positions >= 0])) < 2:
        raise ComparisonError("a comparison needs rows of two classes or more; use another table.")
    kept = table.loc[positions >= 0, [*schema.columns, schema.target.column]]
    return Source(dataset=dataset, table=kept.reset_index(drop=True), schema=schema)


def _positions(table: pd.DataFrame, schema: Schema) -> IntArray:
    """Return the position of each row's class, negative before positive; -1: no label."""
    if schema.is_multiclass:
        return class_positions(table, schema)
    signs = encode_labels(table, schema).astype(np.int64)
    return np.where(signs == 0, -1, (signs + 1) // 2)


def _known(dataset: str, schema: str | None) -> tuple[pd.DataFrame, Schema]:
    if dataset in DATASETS:
        chosen = DATASETS[dataset].schemas[0] if schema is None else schema
        return load_dataset(dataset), load_schema(chosen)
    schemas = [name for known in DATASETS.values() for name in known.schemas]
    if dataset.replace("_", "-") not in {name.replace("_", "-") for name in schemas}:
        known = dict.fromkeys((*DATASETS, *schemas))
        check_choice("a dataset", dataset, known, error=ComparisonMistake)
    if schema is not None:
        raise ComparisonMistake(f"'{dataset}' is a schema already; leave out --schema.")
    return load_comparison_dataset(dataset)


def split_rows(source: Source, test_fraction: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (training, held-out) positions, each class split in the same proportion.

    Parameters
    ----------
    source : Source
        The table.
    test_fraction : float
        Share held out; 0 trains on every row.
    seed : int
        Of the split.
    """
    from sklearn.model_selection import train_test_split

    positions = np.arange(len(source.table))
    if test_fraction == 0:
        return positions, positions[:0]
    classes = _positions(source.table, source.schema)
    train, test = train_test_split(
        positions, test_size=test_fraction, random_state=seed, stratify=classes
    )
    return np.sort(train), np.sort(test)


def check_split(source: Source, test_fraction: float) -> None:
    """Refuse a share that leaves a part without rows of both classes.

    Raises
    ------
    ComparisonError
        If a split would.
    """
    n_rows = len(source.table)
    counts = np.bincount(_positions(source.table, source.schema))
    counts = counts[counts > 0]
    kept = training_rows(n_rows, test_fraction)
    if test_fraction > 0 and (counts.min() < 2 or min(kept, n_rows - kept) < len(counts)):
        each = "every class" if source.schema.is_multiclass else "both classes"
        raise ComparisonError(
            f"a split needs rows of {each} in both parts, but this table has too few; use "
            "--test-fraction 0 or more rows."
        )


def training_rows(n_rows: int, test_fraction: float) -> int:
    """Return how many of the labelled rows a split keeps for training."""
    return n_rows - math.ceil(n_rows * test_fraction)
