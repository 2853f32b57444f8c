"""Compiled local search that weighs mistakes: a point that stays wrong counts more and more.

Moves as in ``local_search``, the best of all coordinates each time, without going back at once.
Where none helps, every wrong point's cost grows by its own, until all count their own cost again.
So the search leaves hypotheses that single moves cannot improve, and soon finds good ones where
few points are lost. Nothing is proved.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oracles.arithmetic import IntArray, compiled, compiled_in_place, copy_into
from oracles.branch_and_bound.arrays import INFINITE, Model
from oracles.branch_and_bound.local_search import (
    BEST,
    Columns,
    Walk,
    draw,
    evaluate,
    move,
    new_walk,
    points_cost,
    tabulate_moves,
)
from oracles.branch_and_bound.reduction import Reduction

_PERIOD = 100
"""Moves after which all points count their own cost again."""

_ANYWAY, _KEPT, _SPREAD = 10, 3, 5
"""One in so many times a move that costs is made anyway; and a value that was left stays away for
so many moves, and up to so many more."""


class WeightedWalk(NamedTuple):
    """Where a search that weighs mistakes stands.

    Parameters
    ----------
    columns : Columns
        The points.
    walk : Walk
        The current and the best hypothesis; its ``home`` is not used.
    weighted : Columns
        The points, with what they count now.
    until : ndarray of shape (d + 1, k), int64
        The move from which on a value may be taken again; the last row begins with the moves so
        far.
    """

    columns: Columns
    walk: Walk
    weighted: Columns
    until: IntArray


def can_weigh(reduction: Reduction) -> bool:
    """Return whether a hypothesis costs what its points cost, and sums of weighed costs fit."""
    only_points = not reduction.is_perturbed and len(reduction.model.norm_cost) == 0
    return only_points and int(np.abs(reduction.costs).sum()) < INFINITE // (2 * _PERIOD)


def new_weighted_walk(reduction: Reduction, columns: Columns, start: Walk) -> WeightedWalk:
    """Return a search that starts from another one's best hypothesis."""
    walk = new_walk(reduction, int(start.numbers[0]) >> 8)
    walk.current[:] = walk.best[:] = start.best
    walk.numbers[BEST] = start.numbers[BEST]
    d, k = reduction.model.values.shape
    weighted = columns._replace(costs=columns.costs.copy())
    return WeightedWalk(columns, walk, weighted, np.zeros((d + 1, k), dtype=np.int64))


def move_work(weigher: WeightedWalk) -> int:
    """Return how many entries a move looks at."""
    return len(weigher.columns.point) + weigher.until.size + len(weigher.columns.costs)


@compiled
def _best_move(
    model: Model, weighted: Columns, walk: Walk, until: IntArray
) -> tuple[int, int, int]:
    """Return what the best allowed move adds, its coordinate (-1 if none) and its position."""
    now = until[len(model.n_values), 0]
    least, coord, position, ties = INFINITE, -1, 0, 0
    for j in range(len(model.n_values)):
        if model.n_values[j] == 1:
            continue
        tabulate_moves(model, weighted, walk, j)
        here = walk.table[walk.current[j]]
        for a in range(model.n_values[j]):
            if a == walk.current[j] or until[j, a] > now:
                continue
            added = walk.table[a] - here
            if added < least:
                least, coord, position, ties = added, j, a, 1
            elif added == least:
                ties += 1
                if draw(walk, ties) == 0:
                    coord, position = j, a
    return least, coord, position


@compiled
def _weigh(columns: Columns, weighted: Columns, walk: Walk) -> None:
    """Let every wrong point count more by its own cost."""
    for i in range(len(columns.costs)):
        cost = columns.costs[i]
        if (walk.scores[i] >= 1) == (cost > 0):
            weighted.costs[i] += cost


@compiled_in_place
def weigh_on(model: Model, weigher: WeightedWalk, n_moves: int) -> None:
    """Do so many moves; remember the best hypothesis. See :func:`can_weigh`."""
    columns, walk, weighted, until = weigher
    last = len(model.n_values)
    evaluate(model, columns, walk)
    for _ in range(n_moves):
        until[last, 0] += 1
        if until[last, 0] % _PERIOD == 0:
            copy_into(weighted.costs, columns.costs)
        added, j, a = _best_move(model, weighted, walk, until)
        if added >= 0:
            _weigh(columns, weighted, walk)
        if j < 0 or (added > 0 and draw(walk, _ANYWAY) != 0):
            continue
        until[j, walk.current[j]] = until[last, 0] + _KEPT + draw(walk, _SPREAD)
        move(model, columns, walk, j, a)
        cost = columns.base + points_cost(columns, walk)
        if cost < walk.numbers[BEST]:
            walk.numbers[BEST] = cost
            copy_into(walk.best, walk.current)
