"""What cards add to a table of rows: names and columns, alike in every form."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from opdisc.arguments import check_integer
from opdisc.errors import ModelFileError, OPDiscError
from opdisc.models.card.reasons import row_reasons
from opdisc.models.card.source import CardsSource, plain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opdisc.data import CellArray, Schema
    from opdisc.models.card.source import CardSource
    from opdisc.models.scorecard import Scorecard
    from oracles.arithmetic import FloatArray, IntArray

PREDICTION = "prediction"

MOST_REASONS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputNames:
    """Names of the columns that cards add to a table; none is a column of the schema.

    Parameters
    ----------
    prediction : str
        The label.
    totals : tuple of str
        One for each card.
    probabilities : tuple of str
        Of one card that of the label from the threshold on; of several one for each label. Empty
        where no odds are known and no rates were bought.
    reasons : tuple of str
        What cost most, in order.
    points : tuple of tuple of str
        Of each card those of its statements with points.
    """

    prediction: str
    totals: tuple[str, ...]
    probabilities: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    points: tuple[tuple[str, ...], ...] = ()


def output_names(model: CardSource | CardsSource, *, reasons: int = 0) -> OutputNames:
    """Return the names of what a model adds to a table: a function of the model alone.

    Parameters
    ----------
    model : SavedModel or SavedMulticlassModel
        Its schema's columns keep their names: one of these gets underscores at its end.
    reasons : int
        How many reasons a row has.
    """
    free = _free_names(model.schema)
    prediction = free(PREDICTION)
    listed = free.all(f"reason_{rank}" for rank in range(1, reasons + 1))
    if not isinstance(model, CardsSource):
        has_chance = getattr(model, "odds", None) or getattr(model, "risk_table", None)
        return OutputNames(
            prediction=prediction,
            totals=(free("total"),),
            probabilities=(free("probability"),) if has_chance else (),
            reasons=listed,
            points=(free.all(f"points: {plain(name)}" for name, _ in _scored(model.scorecard)),),
        )
    numbered = list(enumerate(model.scorecards, start=1))
    labels = model.schema.labels if getattr(model, "risk_tables", ()) else ()
    return OutputNames(
        prediction=prediction,
        totals=free.all(f"total_{number}" for number, _ in numbered),
        probabilities=free.all(f"probability: {plain(label)}" for label in labels),
        reasons=listed,
        points=tuple(
            free.all(f"points {number}: {plain(name)}" for name, _ in _scored(card))
            for number, card in numbered
        ),
    )


class _FreeNames:
    """Takes names, and changes one that is taken."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(map(str.casefold, taken))  # SQL reads A and a as one name

    def __call__(self, name: str) -> str:
        while name.casefold() in self._taken:
            name += "_"
        self._taken.add(name.casefold())
        return name

    def all(self, names: Iterable[str]) -> tuple[str, ...]:
        return tuple(map(self, names))


def _free_names(schema: Schema) -> _FreeNames:
    return _FreeNames([*schema.columns, schema.target.column])


def _scored(card: Scorecard) -> list[tuple[str, int]]:
    """Return the statements with points, and their positions."""
    return [(name, at) for at, name in enumerate(card.columns) if card.points[at]]


def output_columns(
    model: CardSource | CardsSource,
    answers: NDArray[Any],
    encoded: CellArray,
    chances: FloatArray,
    *,
    reasons: int = 0,
    points: bool = False,
) -> dict[str, NDArray[Any]]:
    """Return what a model adds to rows.

    Parameters
    ----------
    model : SavedModel or SavedMulticlassModel
        Who scores.
    answers : ndarray of shape (n,)
        Labels of the rows.
    encoded : ndarray of shape (n, 1 + n_columns)
        The rows.
    chances : ndarray of shape (n, n_probabilities), float64
        In the order of their names.
    reasons : int
        How many reasons a row has.
    points : bool
        Whether statements have columns.

    Returns
    -------
    dict of str to ndarray of shape (n,)
        Labels and reasons are objects, totals and points int64, probabilities float64.

    Raises
    ------
    ModelFileError
        If several cards are asked for reasons.
    """
    check_reasons(model, reasons)
    names = output_names(model, reasons=reasons)
    cards = model.scorecards if isinstance(model, CardsSource) else (model.scorecard,)
    found: dict[str, NDArray[Any]] = {names.prediction: answers}
    found |= {n: card.scores(encoded) for n, card in zip(names.totals, cards, strict=True)}
    found |= dict(zip(names.probabilities, chances.T, strict=True))
    if reasons:
        texts = row_reasons(cards[0], model.schema, encoded, reasons)
        found |= dict(zip(names.reasons, texts.T, strict=True))
    for own, card in zip(names.points if points else (), cards, strict=False):
        found |= dict(zip(own, _points(card, encoded), strict=True))
    return found


def check_reasons(model: object, reasons: int) -> None:
    """Refuse a number of reasons that a model does not give.

    Raises
    ------
    OPDiscError
        If it is no number from 0 to 100.
    ModelFileError
        If the model is not one scorecard.
    """
    check_integer(
        "reasons", reasons, least=0, most=MOST_REASONS, remedy="correct it", error=OPDiscError
    )
    if reasons and isinstance(model, CardsSource):
        raise ModelFileError(
            "reasons need one scorecard, but this model has several for its classes; leave them "
            "out, or take the points of each statement."
        )


def _points(card: Scorecard, encoded: CellArray) -> list[IntArray]:
    """Return what each statement with points gives to each row."""
    return [encoded[:, 1 + at].astype(np.int64) * card.points[at] for _, at in _scored(card)]
