"""Rows that tie neighbouring points together, which a big-M row alone cannot.

Take two points that differ by one step in one or two coordinates, ``x' = x - e_j + e_k``. If ``x``
is predicted "+" and ``x'`` is predicted "-", the score fell, so ``w_j > w_k`` (a missing
coordinate counts as weight 0). Where the labels want just that, the row

    s_x - s_x' <= [w_j > w_k]

says so. Few order indicators ``[w_j > w_k]`` serve many pairs of points, so that the relaxation
cannot please all of them at once. True predictions satisfy every row: no hypothesis is lost and
no objective changes.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from oracles.arithmetic import IntArray
from oracles.milp.program import ProgramBuilder

ROWS_PER_POINT = 4
"""At most this many rows are added for each point, the costliest conflicts first."""

_NOBODY = -1


def conflicting_neighbours(points: IntArray, costs: IntArray) -> IntArray:
    """Return the pairs of points one step apart whose labels pull the wrong way.

    Parameters
    ----------
    points : ndarray of int64, shape (m, d)
        Distinct.
    costs : ndarray of int64, shape (m,)
        What predicting "+" costs more than "-".

    Returns
    -------
    ndarray of int64, shape (n, 4)
        Rows ``(i, t, j, k)``: ``costs[i] < 0 < costs[t]`` and ``points[t]`` is ``points[i]`` minus
        one in column ``j`` plus one in column ``k``; -1 for no column. The pairs whose smaller
        cost is largest come first.
    """
    d = points.shape[1]
    steps = np.zeros(d + 1, dtype=np.uint64)  # the last one stands for no column
    steps[:d] = np.random.default_rng(0).integers(1, 2**63, d, dtype=np.uint64)
    keys: NDArray[np.uint64] = points.astype(np.uint64) @ steps[:-1]
    wants_plus, wants_minus = np.flatnonzero(costs < 0), np.flatnonzero(costs > 0)
    if not len(wants_plus) or not len(wants_minus):
        return np.zeros((0, 4), dtype=np.int64)
    wants_minus = wants_minus[np.argsort(keys[wants_minus], kind="stable")]
    known = keys[wants_minus]
    found = []
    for j in range(d + 1):
        wanted = keys[wants_plus, None] - steps[j] + steps[None, :]
        place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        hits, k = np.nonzero(known[place] == wanted)
        pairs = np.stack([wants_plus[hits], wants_minus[place[hits, k]]], axis=1)
        columns = np.stack([np.full(len(k), j), k], axis=1)
        found.append(np.concatenate([pairs, columns], axis=1))
    rows = np.concatenate(found)
    rows = rows[rows[:, 2] != rows[:, 3]]
    rows = rows[_one_step_apart(points, rows)]
    smaller = np.minimum(-costs[rows[:, 0]], costs[rows[:, 1]])
    rows = rows[np.lexsort((*rows.T[::-1], -smaller))]
    rows[:, 2:][rows[:, 2:] == d] = _NOBODY
    ordered: IntArray = rows.astype(np.int64)
    return ordered


def _one_step_apart(points: IntArray, rows: IntArray) -> NDArray[np.bool_]:
    """Check the pairs themselves: equal keys may be a coincidence."""
    d = points.shape[1]
    step = np.zeros((len(rows), d + 1), dtype=np.int64)
    np.subtract.at(step, (np.arange(len(rows)), rows[:, 2]), 1)
    np.add.at(step, (np.arange(len(rows)), rows[:, 3]), 1)
    difference = points[rows[:, 1]] - points[rows[:, 0]]
    return np.asarray((difference == step[:, :d]).all(axis=1))


def add_order_rows(
    program: ProgramBuilder,
    choices: tuple[tuple[int, ...], ...],
    values: tuple[tuple[int, ...], ...],
    points: IntArray,
    costs: IntArray,
    predictions: IntArray,
) -> None:
    """Add the rows for every pair of conflicting neighbours, up to the limit.

    Parameters
    ----------
    program : ProgramBuilder
        Gets the rows.
    choices : tuple of tuple of int
        ``choices[j][a]`` is the binary that says that ``w_j`` has its ``a``-th value.
    values : tuple of tuple of int
        ``values[j][a]`` is that value.
    points, costs
        As in :func:`conflicting_neighbours`.
    predictions : ndarray of int64, shape (m,)
        The binary that says that a point is predicted "+".
    """
    orders = _Orders(program, choices, values)
    pairs = conflicting_neighbours(points, costs)[: ROWS_PER_POINT * len(points)]
    for i, t, j, k in pairs.tolist():
        falls = orders.indicator(j, k)
        columns = (int(predictions[i]), int(predictions[t]), *falls)
        program.row(-math.inf, 0, columns, (1, -1, *(-1 for _ in falls)))


class _Orders:
    """Sums of binaries that are 1 where one weight exceeds another, each made once."""

    def __init__(
        self,
        program: ProgramBuilder,
        choices: tuple[tuple[int, ...], ...],
        values: tuple[tuple[int, ...], ...],
    ) -> None:
        self._program, self._choices, self._values = program, choices, values
        self._made: dict[tuple[int, int], tuple[int, ...]] = {}

    def indicator(self, j: int, k: int) -> tuple[int, ...]:
        """Return the columns whose sum is at most ``[w_j > w_k]``, and may equal it."""
        if (j, k) not in self._made:
            self._made[j, k] = self._indicator(j, k)
        return self._made[j, k]

    def _indicator(self, j: int, k: int) -> tuple[int, ...]:
        if j == _NOBODY:
            return self._with(k, lambda value: value < 0)
        if k == _NOBODY:
            return self._with(j, lambda value: value > 0)
        # Continuous: the choices leave it 0 or at most 1.
        exceeds = self._program.variable(0.0, integer=False)
        for value in self._values[j]:
            low = self._with(j, functools.partial(operator.ge, value))
            high = self._with(k, functools.partial(operator.le, value))
            if high:
                columns = (exceeds, *low, *high)
                self._program.row(-math.inf, 2, columns, np.ones(len(columns)))
        return (exceeds,)

    def _with(self, j: int, wanted: Callable[[int], bool]) -> tuple[int, ...]:
        return tuple(
            column
            for column, value in zip(self._choices[j], self._values[j], strict=True)
            if wanted(value)
        )
