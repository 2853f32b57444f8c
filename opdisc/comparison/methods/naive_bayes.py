"""Naive Bayes from noisy tables of label by attribute: a baseline, pure and exact."""

from __future__ import annotations

import numpy as np
import pandas as pd

from opdisc.comparison.methods.method import FitTask, Fitted, Method
from oracles.arithmetic import BoolArray, FloatArray, IntArray
from oracles.problem import ColumnGroup

NAME = "naive-bayes-attributes"


def fit_naive_bayes(task: FitTask) -> Fitted:
    """Release the label counts and one table per attribute, and classify by naive Bayes.

    Parameters
    ----------
    task : FitTask
        What to fit. An attribute is a feature of the schema, or a group of columns that exclude
        each other; its values are the patterns that it can encode to.

    Notes
    -----
    **Guarantee.** As stated on the receipt: docs/theory.md, entry "attribute-tables". What
    follows from the noisy tables is post-processing.
    """
    from opdisc.data import column_structure, encode_features, encode_labels
    from opdisc.mechanisms import release_tables
    from opdisc.privacy import NeighboringRelation, PrivacyParams, PublicInputs, parse_entropy

    assert task.epsilon is not None
    groups = column_structure(task.schema)
    signs = encode_labels(task.table, task.schema).astype(np.int64)
    values = attribute_values(encode_features(task.table, task.schema).astype(np.int64), groups)
    replaces = task.relation is NeighboringRelation.REPLACE_ONE
    public = PublicInputs(
        params=PrivacyParams(epsilon=task.epsilon, delta=0.0),
        relation=task.relation,
        rows_per_unit=task.schema.rows_per_unit,
        privacy_unit=task.schema.privacy_unit,
        schema_digest=task.schema.digest(),
        n_rows=len(signs) if replaces else None,
    )
    tables = [_count(signs, np.zeros(len(signs), dtype=np.int64), 1)]
    tables += [
        _count(signs, column, 1 + len(group.columns))
        for column, group in zip(values.T, groups, strict=True)
    ]
    released = release_tables(NAME, tables, public, parse_entropy(task.noise_seed))
    weights = [log_ratios(table) for table in released.tables]

    def scores(table: pd.DataFrame) -> FloatArray:
        rows = encode_features(table, task.schema).astype(np.int64)
        seen = attribute_values(rows, groups)
        total = np.full(len(table), weights[0][0])
        for column, ratios in zip(seen.T, weights[1:], strict=True):
            total += ratios[column]
        return total

    def predict(table: pd.DataFrame) -> BoolArray:
        return np.asarray(scores(table) > task.log_odds)

    return Fitted(predict=predict, scores=scores, receipt=released.receipt)


def attribute_values(rows: IntArray, groups: tuple[ColumnGroup, ...]) -> IntArray:
    """Return which of its values each attribute has, shape (n_rows, n_attributes).

    A group of k columns has the values 0 to k: the last threshold reached, the category, or
    whether a single column is 1.
    """
    found = np.zeros((len(rows), len(groups)), dtype=np.int64)
    for place, group in enumerate(groups):
        columns = rows[:, list(group.columns)]
        assert group.kind != "free" or columns.shape[1] == 1
        steps = np.arange(1, columns.shape[1] + 1) if group.kind == "exclusive" else 1
        found[:, place] = (columns * steps).sum(axis=1)
    return found


def log_ratios(table: IntArray) -> FloatArray:
    """Return the log of each value's share of positive over its share of negative rows.

    Counts below 0 are 0 and each has 1 added; of a table with a single value the counts are
    compared instead of the shares.
    """
    kept = np.maximum(table, 0) + 1.0
    shares = kept if table.shape[1] == 1 else kept / kept.sum(axis=1, keepdims=True)
    return np.asarray(np.log(shares[1]) - np.log(shares[0]))


def _count(signs: IntArray, values: IntArray, n_values: int) -> IntArray:
    """Return the rows by label and value, negatives first; rows without a label are left out."""
    counts = np.zeros((2, n_values), dtype=np.int64)
    known = signs != 0
    np.add.at(counts, ((signs[known] > 0).astype(np.int64), values[known]), 1)
    return counts


METHODS = (
    Method(
        name=NAME,
        title="naive Bayes, a noisy table per attribute",
        family="reference",
        private=True,
        tuning="fixed",
        fit=fit_naive_bayes,
        summary="Naive Bayes from exact Laplace noise on label x attribute tables, pure.",
    ),
)
