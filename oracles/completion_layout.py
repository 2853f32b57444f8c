"""Arrays of the completion of a node: the hypotheses its tables leave, looked at one by one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from oracles.arrays import IntArray

ShortArray = NDArray[np.int32]

LARGEST_REACH = 2**14
"""Scores of nodes to be completed must stay below this."""

LEVEL, N_COORDS, N_CELLS, N_PLUS, FIXED_COST, TABLE_COST, VISITED, UNIT = range(8)
"""Places in ``numbers``: depth in the tree; coordinates that may change; undecided cells; how many
of them want "+" (they come first); cost of the default hypothesis apart from undecided cells;
the node's bound; hypotheses looked at."""


class Completion(NamedTuple):
    """A node to be completed, and where its completion stands.

    Parameters
    ----------
    score : ndarray of shape (d + 1, n) int32
        Score of every cell, for the hypothesis of each level.
    column : ndarray of shape (d, n) int32
        Coefficients of the coordinates that may change, cell by cell.
    weight : ndarray of shape (n,) int32
        What a wrong cell costs, in rows.
    raw : ndarray of shape (d, k) int64
        Cost of each value of each coordinate without the points' messages.
    start : ndarray of shape (d,) int64
        Positions of the default hypothesis.
    coord, n_changes : ndarray of shape (d,) int64
        Coordinates that may change, cheapest first, and in how many ways.
    position, table_change, cost_change, value_change : ndarray of shape (d, k) int64
        Changes of each coordinate, cheapest first: new position, what it adds to the tables, to
        the cost of the values, and to the value.
    least_cost, least_table, least_next : ndarray of shape (d + 1,) int64
        Least cost change of all later coordinates together; least table change of any of them;
        least cost once any of them changes.
    reach : ndarray of shape (d + 1, levels, n) int16
        How far later coordinates can move each cell's score towards its wish, for each budget.
    next_coord, next_change, tables, cost, sure : ndarray of shape (d + 1,) int64
        Each level's next child, its changes so far and the rows that stay wrong.
    taken_coord, taken_change : ndarray of shape (d + 1,) int64
        How each level differs from the one before.
    numbers : ndarray of int64
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
