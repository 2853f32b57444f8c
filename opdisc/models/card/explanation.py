"""Why a row gets its answer: the statements that are true of it, and their points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from opdisc.data import encode_features, plain_cells
from opdisc.errors import TableError, escaped
from opdisc.models.scorecard import used_columns
from opdisc.privacy import TREE, preferences, way_to

if TYPE_CHECKING:
    import pandas as pd

    from opdisc.data import CellArray, Label, Schema
    from opdisc.models.scorecard import Scorecard
    from opdisc.privacy import Question

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
    chance : float or None
        Of a logistic card: probability of the label from the threshold on.

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
    chance: float | None = None

    def lines(self) -> list[str]:
        """Return the summands, one a line."""
        summands = [("start with", self.start), *self.statements]
        width = min(_WIDEST, max(18, *(len(name) for name, _ in summands)))
        return [f"  {name:<{width}}  {points:+d}" for name, points in summands]

    def __str__(self) -> str:
        """Return the sum as it would be done on paper."""
        said = (
            f"Total: {self.total}. From {self.threshold} on it is {self.positive}, so the answer "
            f"is: {self.answer}."
        )
        if self.chance is not None:
            said += f" The chance of {self.positive} is {self.chance:.1%}."
        return "\n".join(map(escaped, [f"Predict {self.target}", *self.lines(), said]))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassExplanation:
    """The way of one row to its class, of several: the cards that it meets, and their sums.

    Parameters
    ----------
    target : str
        Name of what is predicted.
    strategy : str
        How the cards go together, as in :func:`opdisc.privacy.ask`.
    cards : tuple of (int, Explanation)
        Number of each card that the row meets, from 1, and how its points add up there.
    answer : str, int, float or bool
        The predicted label.

    Examples
    --------
    >>> one = Explanation(target="ill", start=0, statements=(("fever", 2),), total=2, threshold=1,
    ...                   positive="a little or very", answer="a little or very")
    >>> print(ClassExplanation(target="ill", strategy="tree", answer="very",
    ...                        cards=((1, one), (2, one))))
    Predict ill
    Card 1
      start with          +0
      fever               +2
    Total: 2. From 1 on it is a little or very, so go on with card 2.
    Card 2
      start with          +0
      fever               +2
    Total: 2. From 1 on it is a little or very, so the answer is: very.
    """

    target: str
    strategy: str
    cards: tuple[tuple[int, Explanation], ...]
    answer: Label

    def __str__(self) -> str:
        """Return the sums as they would be done on paper."""
        text = [f"Predict {self.target}"]
        then = [f"so go on with card {number}" for number, _ in self.cards[1:]]
        then.append(f"so the answer is: {self.answer}")
        for (number, one), what in zip(self.cards, then, strict=True):
            text += [f"Card {number}", *one.lines()]
            if self.strategy == TREE:
                above = one.total >= one.threshold
                range_ = f"From {one.threshold} on" if above else f"Below {one.threshold}"
                text.append(f"Total: {one.total}. {range_} it is {one.answer}, {what}.")
            else:
                text.append(f"Total: {one.total}, for: {one.positive}.")
        if self.strategy != TREE:
            text.append(f"The highest total gives the answer: {self.answer}.")
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
    used = used_columns(schema, (scorecard,))
    return _explained(scorecard, encode_features(_one_row(row, schema, used), schema, used))


def explain_class(
    scorecards: Sequence[Scorecard],
    questions: tuple[Question, ...],
    strategy: str,
    schema: Schema,
    row: Row,
) -> ClassExplanation:
    """Return the way of a row to its class.

    Parameters
    ----------
    scorecards : sequence of Scorecard
        One for each question.
    questions : tuple of Question
        What each card tells apart.
    strategy : str
        As in :func:`opdisc.privacy.ask`.
    schema, row
        As in :func:`explain_row`.
    """
    used = used_columns(schema, scorecards)
    encoded = encode_features(_one_row(row, schema, used), schema, used)
    found = [_explained(card, encoded) for card in scorecards]
    totals = np.array([[one.total for one in found]], dtype=np.int64)
    position = int(preferences(strategy, questions, totals)[0].argmax())
    way = way_to(questions, position)
    return ClassExplanation(
        target=schema.target.column,
        strategy=strategy,
        cards=tuple((k + 1, found[k]) for k, _ in way),
        answer=schema.labels[position],
    )


def _explained(scorecard: Scorecard, encoded: CellArray) -> Explanation:
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


def _one_row(row: Row, schema: Schema, used: tuple[str, ...]) -> pd.DataFrame:
    import pandas as pd

    from opdisc.data import as_table  # loads readers: a card that is shown has none

    if isinstance(row, pd.Series):
        row = plain_cells(row)
    if isinstance(row, Mapping | pd.Series):
        # As objects: a number keeps its own precision.
        return pd.DataFrame(
            {name: [row[name]] for name in used if name in row}, index=[0], dtype=object
        )
    if hasattr(row, "columns"):
        if len(row) != 1:
            raise TableError(
                "a row to explain must be one row: take one, such as table.iloc[[0]]."
            )
        return as_table(row, schema, used)
    cells = list(row)
    if len(cells) != len(schema.columns):
        raise TableError(
            "a row without column names must have one cell for each column of the schema, in "
            f"order: {len(schema.columns)}."
        )
    return pd.DataFrame(
        {name: [cell] for name, cell in zip(schema.columns, cells, strict=True)}, dtype=object
    )
