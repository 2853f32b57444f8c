"""Why rows got their answers: the statements that cost them most points."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from opdisc.data import column_structure
from opdisc.models.card.source import plain
from oracles.problem import ColumnGroup

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from opdisc.data import CellArray, Schema
    from opdisc.models.scorecard import Scorecard

_NOT = "not: "


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
