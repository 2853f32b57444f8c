"""Why a row gets its answer: the statements that are true of it, and their points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from opdisc.data import Label, Schema, encode_features
from opdisc.errors import TableError, escaped
from opdisc.models.scorecard import Scorecard

Row: TypeAlias = "Mapping[str, Any] | Sequence[Any] | pd.Series[Any] | pd.DataFrame"
"""One row: cells by column, or one cell for each column of the schema in order."""

_WIDEST = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """How the points of one row add up.

    Parameters
    ----------
    target : str
        Name of what is predicted.
    start : int
        Points that everyone starts with.
    statements : tuple of (str, int)
        The statements that are true of the row, and their points; those with 0 points are left
        out.
    total : int
        The start and all points.
    threshold : int
        The smallest total of the positive label.
    positive : str, int, float or bool
        The label from the threshold on.
    answer : str, int, float or bool
        The predicted label.

    Examples
    --------
    >>> print(Explanation(target="ill", start=-1, statements=(("fever", 2),), total=1,
    ...                   threshold=1, positive="yes", answer="yes"))
    Predict ill
      start with          -1
      fever               +2
    Total: 1. From 1 on it is yes, so the answer is: yes.
    """

    target: str
    start: int
    statements: tuple[tuple[str, int], ...]
    total: int
    threshold: int
    positive: Label
    answer: Label

    def __str__(self) -> str:
        """Return the sum as it would be done on paper."""
        lines = [("start with", self.start), *self.statements]
        width = min(_WIDEST, max(18, *(len(name) for name, _ in lines)))
        text = [f"Predict {self.target}"]
        text += [f"  {name:<{width}}  {points:+d}" for name, points in lines]
        text.append(
            f"Total: {self.total}. From {self.threshold} on it is {self.positive}, so the answer "
            f"is: {self.answer}."
        )
        return "\n".join(map(escaped, text))


def explain_row(scorecard: Scorecard, schema: Schema, row: Row) -> Explanation:
    """Return why a row gets its answer.

    Parameters
    ----------
    scorecard : Scorecard
        Of the schema's columns.
    schema : Schema
        Encodes the row.
    row : mapping, Series, sequence or DataFrame of one row
        Cells by column name; a sequence has one cell for each column of the schema, in order.

    Returns
    -------
    Explanation

    Raises
    ------
    TableError
        If the row lacks a column, or a cell cannot be read.
    """
    encoded = encode_features(_one_row(row, schema), schema)
    (total,) = scorecard.scores(encoded).tolist()
    true = np.flatnonzero(encoded[0, 1:])
    named = [(scorecard.columns[i], scorecard.points[i]) for i in true]
    return Explanation(
        target=scorecard.target,
        start=scorecard.start,
        statements=tuple((name, points) for name, points in named if points),
        total=total,
        threshold=scorecard.threshold,
        positive=scorecard.classes[1],
        answer=scorecard.classes[int(total >= scorecard.threshold)],
    )


def _one_row(row: Row, schema: Schema) -> pd.DataFrame:
    if isinstance(row, pd.DataFrame):
        if len(row) != 1:
            raise TableError("a row to explain must be one row: take one, such as table.iloc[0].")
        return row
    if isinstance(row, Mapping | pd.Series):
        return pd.DataFrame({name: [row[name]] for name in schema.columns if name in row})
    cells = list(row)
    if len(cells) != len(schema.columns):
        raise TableError(
            "a row without column names must have one cell for each column of the schema, in "
            f"order: {len(schema.columns)}."
        )
    return pd.DataFrame({name: [cell] for name, cell in zip(schema.columns, cells, strict=True)})
