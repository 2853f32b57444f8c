"""Arrays of the completion of a node: the hypotheses that its tables leave, one by one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from oracles.arithmetic import IntArray

ShortArray = NDArray[np.int32]

LARGEST_REACH = 2**14
"""Scores of nodes to be completed must stay below this."""

LEVEL, N_COORDS, N_CELLS, N_PLUS, FIXED_COST, TABLE_COST, VISITED, UNIT = range(8)
"""Places in ``numbers``: depth in the tree; coordinates that may change; undecided cells; how many
of them want "+" (they come first); cost of the default hypothesis apart from undecided cells;
the node's bound; hypotheses looked at; width of a budget level. Costs, the bound and the width are
in internal units."""


class Completion(NamedTuple):
    """A node to be completed, and where its completion stands.

    Shapes: ``d`` coordinates, ``k`` the largest number of values of one, ``n`` undecided cells.
    A *position* is the index of a value among its coordinate's allowed ones. Coordinates that may
    change are numbered from 0, cheapest first; changes of each are too. Costs are in internal
    units, see :mod:`oracles.branch_and_bound.arrays`.

    Parameters
    ----------
    score : ndarray of shape (d + 1, n), int32
        Score of every cell, for the hypothesis of each level.
    column : ndarray of shape (d, n), int32
        What the weights of the coordinates that may change are multiplied by in each cell's score.
    weight : ndarray of shape (n,), int32
        What a wrong cell costs, in rows.
    raw : ndarray of shape (d, k), int64
        Cost of each position of each coordinate without the points' messages, internal units.
    start : ndarray of shape (d,), int64
        Positions of the default hypothesis.
    coord : ndarray of shape (d,), int64
        Coordinates that may change.
    n_changes : ndarray of shape (d,), int64
        In how many ways each of them may change.
    position : ndarray of shape (d, k), int64
        New position of each change.
    table_change, cost_change : ndarray of shape (d, k), int64
        What each change adds to the node's tables, and to ``raw``, internal units.
    value_change : ndarray of shape (d, k), int64
        What each change adds to the weight itself.
    least_cost : ndarray of shape (d + 1,), int64
        Least that changes of all coordinates from each on add to ``raw`` together, at most 0,
        internal units.
    least_table : ndarray of shape (d + 1,), int64
        Least that any one change of these coordinates adds to the tables, internal units.
    least_next : ndarray of shape (d + 1,), int64
        Least that they add to ``raw`` if at least one of them changes, internal units.
    reach : ndarray of shape (d + 1, levels, n), int16
        How far these coordinates can move each cell's score towards its wish, for each budget:
        level ``b`` allows ``b`` widths above ``least_cost``.
    next_coord, next_change : ndarray of shape (d + 1,), int64
        Next child of each level: number of the coordinate, and of its change.
    tables, cost : ndarray of shape (d + 1,), int64
        What the changes so far add to the tables, and to ``raw``, internal units, for each level.
    sure : ndarray of shape (d + 1,), int64
        Rows that are wrong at each level and stay wrong below it.
    taken_coord, taken_change : ndarray of shape (d + 1,), int64
        Number of the coordinate, and of its change, that leads to the level after each.
    numbers : ndarray of shape (8,), int64
        Places are listed above.
    """

    score: ShortArray
    column: ShortArray
    weight: ShortArray
    raw: IntArray
    start: IntArray
    coord: IntArray
    n_changes: IntArray
    position: IntArray
    table_change: IntArray
    cost_change: IntArray
    value_change: IntArray
    least_cost: IntArray
    least_table: IntArray
    least_next: IntArray
    reach: NDArray[np.int16]
    next_coord: IntArray
    next_change: IntArray
    tables: IntArray
    cost: IntArray
    sure: IntArray
    taken_coord: IntArray
    taken_change: IntArray
    numbers: IntArray


def new_completion(d: int, width: int, n: int, n_levels: int) -> Completion:
    """Return room for completing nodes of so many coordinates, values and cells."""

    def integers(*shape: int) -> IntArray:
        return np.zeros(shape, dtype=np.int64)

    return Completion(
        score=np.zeros((d + 1, n), dtype=np.int32),
        column=np.zeros((d, n), dtype=np.int32),
        weight=np.zeros(n, dtype=np.int32),
        raw=integers(d, width),
        start=integers(d),
        coord=integers(d),
        n_changes=integers(d),
        position=integers(d, width),
        table_change=integers(d, width),
        cost_change=integers(d, width),
        value_change=integers(d, width),
        least_cost=integers(d + 1),
        least_table=integers(d + 1),
        least_next=integers(d + 1),
        reach=np.zeros((d + 1, n_levels, n), dtype=np.int16),
        next_coord=integers(d + 1),
        next_change=integers(d + 1),
        tables=integers(d + 1),
        cost=integers(d + 1),
        sure=integers(d + 1),
        taken_coord=integers(d + 1),
        taken_change=integers(d + 1),
        numbers=integers(8),
    )
