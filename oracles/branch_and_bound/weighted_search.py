"""Compiled local search that weighs mistakes: a point that stays wrong counts more and more.

Moves as in ``local_search``, the best of all coordinates each time, without going back at once.
Where none helps, every wrong point's cost grows by its own; what points count more is halved now
and then.
So the search leaves hypotheses that single moves cannot improve, and soon finds good ones where
few points are lost. Nothing is proved.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oracles.arithmetic import BoolArray, IntArray, compiled, compiled_in_place, copy_into
from oracles.branch_and_bound.arrays import INFINITE, Model
from oracles.branch_and_bound.local_search import (
    BEST,
    Columns,
    Walk,
    draw,
    evaluate,
    first_position,
    move,
    new_walk,
    points_cost,
)
from oracles.branch_and_bound.reduction import Reduction, value_ranges, whole_domain

_PERIOD = 10
"""Moves after which what points count more than their own cost is halved."""

_ANYWAY, _KEPT, _SPREAD = 10, 3, 5
"""One in so many times a move that costs is made anyway; and a value that was left stays away for
so many moves, and up to so many more."""


class Rows(NamedTuple):
    """The points by row: entries of point ``i`` are at ``start[i] .. start[i + 1] - 1``.

    Parameters
    ----------
    start : ndarray of shape (n + 1,), int64
        Place of each point's first entry.
    coord, coef : ndarray of shape (non-zeros,), int64
        Coordinate, and value, of each non-zero entry.
    reach : ndarray of shape (n,), int64
        How much one coordinate can change each point's score at most.
    even : ndarray of shape (d,), bool
        Whether the values of a coordinate are one apart.
    """

    start: IntArray
    coord: IntArray
    coef: IntArray
    reach: IntArray
    even: BoolArray


class WeightedWalk(NamedTuple):
    """Where a search that weighs mistakes stands.

    Parameters
    ----------
    columns : Columns
        The points by column.
    rows : Rows
        The points by row.
    walk : Walk
        The current and the best hypothesis; its ``home`` is not used.
    costs : ndarray of shape (n,), int64
        What the points count now.
    tables : ndarray of shape (d, k + 1), int64
        What every value of every coordinate would cost, up to a constant for each coordinate:
        first what it costs more than the value before, then summed up.
    until : ndarray of shape (d + 1, k), int64
        The move from which on a value may be taken again; the last row begins with the moves so
        far.
    """

    columns: Columns
    rows: Rows
    walk: Walk
    costs: IntArray
    tables: IntArray
    until: IntArray


def can_weigh(reduction: Reduction) -> bool:
    """Return whether a hypothesis costs what its points cost, and sums of weighed costs fit."""
    only_points = not reduction.is_perturbed and len(reduction.model.norm_cost) == 0
    return only_points and int(np.abs(reduction.costs).sum()) < INFINITE // (4 * _PERIOD)


def new_weighted_walk(reduction: Reduction, columns: Columns, start: Walk) -> WeightedWalk:
    """Return a search that starts from another one's best hypothesis."""
    walk = new_walk(reduction, int(start.numbers[0]) >> 8)
    walk.current[:] = walk.best[:] = start.best
    walk.numbers[BEST] = start.numbers[BEST]
    d, k = reduction.model.values.shape
    return WeightedWalk(
        columns=columns,
        rows=_rows_of(reduction),
        walk=walk,
        costs=columns.costs.copy(),
        tables=np.zeros((d, k + 1), dtype=np.int64),
        until=np.zeros((d + 1, k), dtype=np.int64),
    )


def _rows_of(reduction: Reduction) -> Rows:
    points, coords = np.nonzero(reduction.points)
    model = reduction.model
    width = np.ptp(value_ranges(model, whole_domain(reduction)), axis=0)
    return Rows(
        start=np.searchsorted(points, np.arange(len(reduction.points) + 1)).astype(np.int64),
        coord=coords.astype(np.int64),
        coef=reduction.points[points, coords].astype(np.int64),
        reach=(np.abs(reduction.points) * width).max(axis=1).astype(np.int64),
        even=width == model.n_values - 1,
    )


def move_work(weigher: WeightedWalk) -> int:
    """Return how many entries a move looks at."""
    return len(weigher.columns.point) + weigher.until.size + len(weigher.columns.costs)


@compiled
def tabulate(model: Model, weigher: WeightedWalk) -> None:
    """Fill the tables, unsummed: value ``a`` of ``j`` costs ``tables[j, :a + 1].sum()`` more.

    Only points that one coordinate can turn matter.
    """
    _, rows, walk, costs, tables, _ = weigher
    tables[:] = 0
    for i in range(len(costs)):
        need = 1 - walk.scores[i]
        if need > rows.reach[i] or -need >= rows.reach[i]:
            continue
        cost = costs[i]
        for e in range(rows.start[i], rows.start[i + 1]):
            j, coef = rows.coord[e], rows.coef[e]
            if coef == 1 and rows.even[j]:
                tables[j, min(max(need + walk.current[j], 0), model.n_values[j])] += cost
                continue
            least = need + coef * model.values[j, walk.current[j]]
            if coef > 0:
                tables[j, first_position(model, j, -((-least) // coef))] += cost
            else:
                tables[j, 0] += cost
                tables[j, first_position(model, j, least // coef + 1)] -= cost


@compiled
def _best_move(model: Model, weigher: WeightedWalk) -> tuple[int, int, int]:
    """Return what the best allowed move adds, its coordinate (-1 if none) and its position."""
    walk, until = weigher.walk, weigher.until
    tabulate(model, weigher)
    now = until[len(model.n_values), 0]
    least, coord, position, ties = INFINITE, -1, 0, 0
    for j in range(len(model.n_values)):
        table = weigher.tables[j]
        for a in range(1, model.n_values[j]):
            table[a] += table[a - 1]
        for a in range(model.n_values[j]):
            if a == walk.current[j] or until[j, a] > now:
                continue
            added = table[a] - table[walk.current[j]]
            if added < least:
                least, coord, position, ties = added, j, a, 1
            elif added == least:
                ties += 1
                if draw(walk, ties) == 0:
                    coord, position = j, a
    return least, coord, position


@compiled
def _weigh(columns: Columns, costs: IntArray, walk: Walk) -> None:
    """Let every wrong point count more by its own cost."""
    for i in range(len(costs)):
        cost = columns.costs[i]
        if (walk.scores[i] >= 1) == (cost > 0):
            costs[i] += cost


@compiled_in_place
def weigh_on(model: Model, weigher: WeightedWalk, n_moves: int) -> None:
    """Do so many moves; remember the best hypothesis. See :func:`can_weigh`."""
    columns, _, walk, costs, _, until = weigher
    last = len(model.n_values)
    evaluate(model, columns, walk)
    for _ in range(n_moves):
        until[last, 0] += 1
        if until[last, 0] % _PERIOD == 0:
            for i in range(len(costs)):
                costs[i] -= (costs[i] - columns.costs[i]) // 2
        added, j, a = _best_move(model, weigher)
        if added >= 0:
            _weigh(columns, costs, walk)
        if j < 0 or (added > 0 and draw(walk, _ANYWAY) != 0):
            continue
        until[j, walk.current[j]] = until[last, 0] + _KEPT + draw(walk, _SPREAD)
        move(model, columns, walk, j, a)
        cost = columns.base + points_cost(columns, walk)
        if cost < walk.numbers[BEST]:
            walk.numbers[BEST] = cost
            copy_into(walk.best, walk.current)
