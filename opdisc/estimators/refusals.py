"""What may be said of rows that cannot be learned from: no cell, and no count."""

from __future__ import annotations

import re
from collections.abc import Sized

from opdisc.data import Schema, SchemaLike, parse_schema
from opdisc.errors import CalibrationError, TableError

_NAMES_NO_CELL = re.compile(
    r"X has \d+ features, but|The feature names should match|Sparse data was passed|"
    r"Input X contains (NaN|infinity)|Feature names are only supported|np.matrix is not supported"
)
"""Beginnings of scikit-learn's messages that may be shown as they are."""

_SENTENCES = (
    ("Complex", "Complex data not supported: X must hold real numbers."),
    # scikit-learn's checks look for "0 feature(s) ... required" and "Reshape your data".
    ("0 feature(s)", "X must have columns: 0 feature(s) (shape=(, 0)) while a minimum of 1 is "
     "required."),
    ("Expected", "X must be two-dimensional, rows by columns. Reshape your data."),
    ("Found array with dim", "X must be two-dimensional, rows by columns. Reshape your data."),
    ("0 sample(s)", "X must have at least one row."),
    ("could not convert", "X must hold numbers, it has text; encode it, or declare a schema where "
     "the estimator takes one."),
)  # fmt: skip


def rows_refusal(error: Exception) -> Exception:
    """Return what may be said of rows that scikit-learn refused, without a cell or a count."""
    said = str(error)
    if _NAMES_NO_CELL.match(said):
        return TypeError(said) if isinstance(error, TypeError) else TableError(said)
    for fragment, sentence in _SENTENCES:
        if fragment in said:
            return TableError(sentence)
    if isinstance(error, TypeError):
        return TypeError(
            "X must hold numbers: each argument must be a string or a real number that float() "
            "takes, and a cell is neither."
        )
    return TableError("X must be a table of finite numbers, rows by columns.")


def require_no_limits(schema: Schema | None) -> None:
    """Refuse limits of points where weights are real: they would not be kept."""
    if schema is not None and any(limits.has_sizes for limits in schema.point_limits):
        raise CalibrationError(
            "limits of points need a scorecard, but a linear model has real weights; leave "
            "at_least and at_most out of the schema, or fit a scorecard."
        )


def require_no_alternatives(schema: SchemaLike | None, but: str) -> None:
    """Refuse alternatives where they would not be kept, before a row is read."""
    if schema is not None and parse_schema(schema).alternatives:
        raise CalibrationError(
            f"alternatives need a draw from listed or counted cards, but {but}; leave them out of "
            "the schema, or use PrivateScorecardClassifier."
        )


def require_same_length(rows: Sized, column: Sized) -> None:
    """Refuse rows and labels of different number, without saying either."""
    if len(rows) != len(column):
        raise TableError("X and y must have the same number of rows.")
