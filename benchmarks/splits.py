"""Encoded tables and their 70/30 splits, for benchmarks."""

from __future__ import annotations

import numpy as np

from opdisc.data import load_dataset, load_schema
from opdisc.data.encoding import encode_features
from opdisc.data.label_encoding import encode_label_values

HELD_OUT = 0.3


def encoded(dataset: str, schema_name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return a table's 0/1 columns, (n, d) int64, and whether each label is positive."""
    schema, table = load_schema(schema_name), load_dataset(dataset)
    columns = encode_features(table, schema).astype(np.int64)
    return columns, encode_label_values(table[schema.target.column], schema) > 0


def split_rows(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to learn from and those held out."""
    order = np.random.default_rng(seed).permutation(n_rows)
    cut = round(HELD_OUT * n_rows)
    return order[cut:], order[:cut]


def halves(
    columns: np.ndarray, positive: np.ndarray, split: int
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Return columns without the constant one, and 0/1 labels, of both parts of a split."""
    learned, held = (
        (columns[rows, 1:], positive[rows].astype(np.int64))
        for rows in split_rows(len(columns), split)
    )
    return learned, held
