"""What cards add to a table of rows in files, SQL and Python: names, columns, and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from opdisc.arguments import check_integer
from opdisc.data import column_structure
from opdisc.errors import ModelFileError, OPDiscError
from opdisc.models.card.source import CardsSource, plain
from oracles.problem import ColumnGroup

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from opdisc.data import CellArray, Schema
    from opdisc.models.card.source import CardSource
    from opdisc.models.scorecard import Scorecard
    from oracles.arithmetic import FloatArray, IntArray

_NOT = "not: "

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

    @property
    def probability(self) -> str | None:
        """That of the chance of one card; None where none is known, or cards are several."""
        return self.probabilities[0] if self.probabilities and len(self.totals) == 1 else None


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


def free_prediction(columns: Iterable[str]) -> str:
    """Return the name of the answer's column beside these columns, which keep theirs."""
    return _FreeNames(columns)(PREDICTION)


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
    """
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


def row_reasons(card: Scorecard, schema: Schema, encoded: CellArray, count: int) -> NDArray[Any]:
    """Return the statements that cost each row most.

    Parameters
    ----------
    card : Scorecard
        Of the schema's columns.
    schema : Schema
        Says which statements exclude or include each other: these are one line of a card.
    encoded : ndarray of shape (n, 1 + n_columns)
        The rows.
    count : int
        How many reasons a row has.

    Returns
    -------
    ndarray of shape (n, count), object
        Statements, with "not: " before one that is not true; empty texts where no line cost
        anything.

    Notes
    -----
    **Rule.** A line of a card costs what a row below the threshold has less there than the most
    points that the line can give, and what a row from the threshold on has more than the fewest.
    The reason is the one statement that would have to be otherwise. Of equal costs the one whose
    statement comes first on the card comes first.
    """
    is_high = card.scores(encoded) >= card.threshold
    lines = [line for line in _lines(schema) if any(card.points[c - 1] for c in line.columns)]
    shape = (len(encoded), max(len(lines), count))
    costs, places = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    texts = np.full(shape, "", dtype=object)
    for k, line in enumerate(lines):
        states = _states(line, encoded)
        for rows, sign in ((~is_high, 1), (is_high, -1)):
            cost, place, text = _missed(card, line, sign)
            costs[rows, k] = cost[states[rows]]
            places[rows, k] = place[states[rows]]
            texts[rows, k] = text[states[rows]]
    order = np.lexsort((places, -costs), axis=1)[:, :count]
    return np.asarray(np.take_along_axis(texts, order, axis=1))


def _lines(schema: Schema) -> Iterator[ColumnGroup]:
    """Return the encoded columns that depend on each other; one that does not is by itself."""
    for group in column_structure(schema):
        if group.kind == "free":
            yield from (
                ColumnGroup(columns=(column,), kind="exclusive") for column in group.columns
            )
        else:
            yield group


def _states(line: ColumnGroup, encoded: CellArray) -> NDArray[np.int64]:
    """Return what is true of each row: how many cuts are reached, or which statement, from 1."""
    true = encoded[:, list(line.columns)].astype(np.int64)
    if line.kind == "nested":
        return np.asarray(true.sum(axis=1))
    return np.asarray(true @ np.arange(1, true.shape[1] + 1))


def _missed(
    card: Scorecard, line: ColumnGroup, sign: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return cost, position and words of the reason in each state; ``sign`` of what is wanted."""
    own = [sign * card.points[column - 1] for column in line.columns]
    given = [0, *(accumulate(own) if line.kind == "nested" else own)]
    costs = max(given) - np.array(given, dtype=np.int64)
    places = np.zeros(len(given), dtype=np.int64)
    texts = np.full(len(given), "", dtype=object)
    for state in np.flatnonzero(costs).tolist():
        at, holds = _otherwise(line, given, state)
        places[state] = line.columns[at]
        name = plain(card.columns[line.columns[at] - 1])
        texts[state] = name if holds else f"{_NOT}{name}"
    return costs, places, texts


def _otherwise(line: ColumnGroup, given: list[int], state: int) -> tuple[int, bool]:
    """Return which statement would have to be otherwise for more points, and if it is true."""
    best = max(given)
    if line.kind == "nested":
        wanted = min((abs(k - state), k) for k, points in enumerate(given) if points == best)[1]
        return (wanted, True) if wanted < state else (wanted - 1, False)
    if given[state] < 0:
        return state - 1, True
    return given.index(best) - 1, False
