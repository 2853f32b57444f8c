"""Compiled iterated local search: a good hypothesis before the proof starts.

What is minimised, ``s_i`` the score of point ``i`` and ``c_i`` what "+" costs it more than "-"::

    f(w) = base + sum_j unary[j, w_j] + sum_b block_b(w) + norm(|w|^2)
           + sum_i max(c_i if s_i >= 1 else -c_i, 0)

A move gives one coordinate its best value given all others: for all values of coordinate ``j``
together, ``sum_i c_i * 1[s_i - x_ij * old + x_ij * value >= 1]`` is a cumulative sum of costs at
the values where predictions flip. A kick changes a few coordinates. Nothing is proved here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oracles.arithmetic import IntArray, compiled, compiled_in_place, copy_into
from oracles.branch_and_bound.arrays import INFINITE, Model
from oracles.branch_and_bound.reduction import Reduction


class Columns(NamedTuple):
    """The points by column: entries of column ``j`` are at ``start[j] .. start[j + 1] - 1``.

    Shapes: ``n`` points, ``d`` coordinates, ``k`` the largest number of values of one. Costs are
    in internal units, see :mod:`oracles.branch_and_bound.arrays`.

    Parameters
    ----------
    start : ndarray of shape (d + 1,), int64
        Place of each column's first entry.
    point, coef : ndarray of shape (non-zeros,), int64
        Point, and value, of each non-zero entry, column after column.
    costs : ndarray of shape (n,), int64
        What predicting "+" costs more than "-", internal units.
    unary : ndarray of shape (d, k), int64
        Cost of each value of each coordinate, internal units.
    block_of, stride_of : ndarray of shape (d,), int64
        Block of several coordinates that a coordinate is in, -1 if none, and its stride there.
    base : int
        Cost of every hypothesis, internal units.
    """

    start: IntArray
    point: IntArray
    coef: IntArray
    costs: IntArray
    unary: IntArray
    block_of: IntArray
    stride_of: IntArray
    base: int


class Walk(NamedTuple):
    """Where a local search stands.

    Parameters
    ----------
    current, home, best : ndarray of shape (d,), int64
        Positions of the values of the hypothesis that is changed, of the one that kicks start
        from, and of the best one.
    scores : ndarray of shape (n,), int64
        Score of each point under the current hypothesis.
    places : ndarray of shape (B + 1,), int64
        Place of the current hypothesis among each block's costs; the last is its squared norm.
    table : ndarray of shape (k + 1,), int64
        Cost of each value of the coordinate looked at, up to a constant, internal units.
    numbers : ndarray of shape (4,), int64
        State of the random generator, cost of ``home`` and of ``best`` in internal units, and
        kicks since the best one.
    """

    current: IntArray
    home: IntArray
    best: IntArray
    scores: IntArray
    places: IntArray
    table: IntArray
    numbers: IntArray


_RANDOM, _HOME, BEST, _STALE = range(4)


def columns_of(reduction: Reduction) -> Columns:
    """Return the points column by column."""
    coords, points = np.nonzero(reduction.points.T)
    d = reduction.points.shape[1]
    model = reduction.model
    block_of = np.full(d, -1, dtype=np.int64)
    stride_of = np.zeros(d, dtype=np.int64)
    for b in range(len(model.block_at)):
        for q in range(model.block_start[b], model.block_start[b + 1]):
            block_of[model.block_coord[q]] = b
            stride_of[model.block_coord[q]] = model.block_stride[q]
    return Columns(
        start=np.searchsorted(coords, np.arange(d + 1)).astype(np.int64),
        point=points.astype(np.int64),
        coef=reduction.points.T[coords, points].astype(np.int64),
        costs=reduction.costs,
        unary=reduction.unary,
        block_of=block_of,
        stride_of=stride_of,
        base=reduction.base,
    )


def new_walk(reduction: Reduction, seed: int) -> Walk:
    """Return a walk that starts at the cheapest tables, or at the least norm under a budget."""
    model, d = reduction.model, reduction.points.shape[1]
    start = np.zeros(d, dtype=np.int64)
    for j in range(d):
        n = model.n_values[j]
        squares = model.values[j, :n] ** 2
        start[j] = np.argmin(squares if len(model.norm_cost) else reduction.unary[j, :n])
    return Walk(
        current=start,
        home=start.copy(),
        best=start.copy(),
        scores=np.zeros(len(reduction.points), dtype=np.int64),
        places=np.zeros(len(model.block_at) + 1, dtype=np.int64),
        table=np.zeros(model.values.shape[1] + 1, dtype=np.int64),
        numbers=np.array([seed * 2 + 88172645463325253, INFINITE, INFINITE, 0], dtype=np.int64),
    )


def take_over(walk: Walk, other: Walk) -> None:
    """Let a walk go on from another one's best hypothesis where that is better."""
    if other.numbers[BEST] < walk.numbers[BEST]:
        walk.best[:] = walk.home[:] = other.best
        walk.numbers[BEST] = walk.numbers[_HOME] = other.numbers[BEST]
        walk.numbers[_STALE] = 0


@compiled
def draw(walk: Walk, n: int) -> int:
    """Return a pseudo-random number below ``n`` (xorshift)."""
    x = walk.numbers[_RANDOM]
    x ^= x << 13
    x ^= (x >> 7) & 0x1FFFFFFFFFFFFFF
    x ^= x << 17
    walk.numbers[_RANDOM] = x
    return ((x >> 11) & 0xFFFFFFFFFFFF) % n


@compiled
def first_position(model: Model, j: int, need: int) -> int:
    """Return how many values of coordinate ``j`` are below ``need``."""
    low, high = 0, model.n_values[j]
    gap = need - model.values[j, 0]
    if model.values[j, high - 1] - model.values[j, 0] == high - 1:
        return min(max(gap, 0), high)
    while low < high:
        middle = (low + high) // 2
        if model.values[j, middle] >= need:
            high = middle
        else:
            low = middle + 1
    return low


@compiled
def points_cost(columns: Columns, walk: Walk) -> int:
    """Return what all points cost at their scores."""
    total = 0
    for i in range(len(columns.costs)):
        cost = columns.costs[i]
        total += max(cost if walk.scores[i] >= 1 else -cost, 0)
    return total


@compiled
def evaluate(model: Model, columns: Columns, walk: Walk) -> int:
    """Recompute scores and places of the current hypothesis; return its cost."""
    d = len(model.n_values)
    total = columns.base
    walk.scores[:] = 0
    walk.places[:] = 0
    norm = 0
    for j in range(d):
        a = walk.current[j]
        value = model.values[j, a]
        norm += value * value
        total += columns.unary[j, a]
        if columns.block_of[j] >= 0:
            walk.places[columns.block_of[j]] += columns.stride_of[j] * a
        for e in range(columns.start[j], columns.start[j + 1]):
            walk.scores[columns.point[e]] += columns.coef[e] * value
    for b in range(len(model.block_at)):
        total += model.block_cost[model.block_at[b] + walk.places[b]]
    walk.places[len(model.block_at)] = norm
    if len(model.norm_cost) > 0:
        if norm >= len(model.norm_cost):
            return INFINITE
        total = min(total + model.norm_cost[norm], INFINITE)
    return total + points_cost(columns, walk)


@compiled
def tabulate_moves(model: Model, columns: Columns, walk: Walk, j: int) -> None:
    """Fill ``walk.table`` with the cost of every value of coordinate ``j``, up to a constant."""
    n = model.n_values[j]
    table = walk.table
    table[: n + 1] = 0
    old = model.values[j, walk.current[j]]
    for e in range(columns.start[j], columns.start[j + 1]):
        i = columns.point[e]
        coef = columns.coef[e]
        need = 1 - walk.scores[i] + coef * old
        if coef > 0:
            table[first_position(model, j, -((-need) // coef))] += columns.costs[i]
        else:
            table[0] += columns.costs[i]
            table[first_position(model, j, need // coef + 1)] -= columns.costs[i]
    running = 0
    n_blocks = len(model.block_at)
    b = columns.block_of[j]
    for a in range(n):
        running += table[a]
        table[a] = running + columns.unary[j, a]
        if b >= 0:
            step = (a - walk.current[j]) * columns.stride_of[j]
            table[a] += model.block_cost[model.block_at[b] + walk.places[b] + step]
        if len(model.norm_cost) > 0:
            value = model.values[j, a]
            norm = walk.places[n_blocks] - old * old + value * value
            if norm >= len(model.norm_cost) or model.norm_cost[norm] >= INFINITE:
                table[a] = INFINITE
            else:
                table[a] += model.norm_cost[norm]


@compiled
def move(model: Model, columns: Columns, walk: Walk, j: int, a: int) -> None:
    """Set coordinate ``j`` to its value at position ``a``."""
    old, new = model.values[j, walk.current[j]], model.values[j, a]
    for e in range(columns.start[j], columns.start[j + 1]):
        walk.scores[columns.point[e]] += columns.coef[e] * (new - old)
    if columns.block_of[j] >= 0:
        step = (a - walk.current[j]) * columns.stride_of[j]
        walk.places[columns.block_of[j]] += step
    walk.places[len(model.block_at)] += new * new - old * old
    walk.current[j] = a


@compiled
def descend(model: Model, columns: Columns, walk: Walk) -> None:
    """Improve single coordinates until none can be improved."""
    d = len(model.n_values)
    unchanged = 0
    j = draw(walk, d)
    while unchanged < d:
        j = (j + 1) % d
        unchanged += 1
        if model.n_values[j] == 1:
            continue
        tabulate_moves(model, columns, walk, j)
        best = walk.current[j]
        for a in range(model.n_values[j]):
            if walk.table[a] < walk.table[best]:
                best = a
        if best != walk.current[j]:
            move(model, columns, walk, j, best)
            unchanged = 0


@compiled
def kick(model: Model, walk: Walk) -> None:
    """Change one to four coordinates at random; the norm may end up beyond the budget."""
    d = len(model.n_values)
    for _ in range(1 + draw(walk, 4)):
        j = draw(walk, d)
        n = model.n_values[j]
        if draw(walk, 2) == 0:
            walk.current[j] = draw(walk, n)
        else:
            step = 2 * draw(walk, 2) - 1
            walk.current[j] = min(max(walk.current[j] + step, 0), n - 1)


@compiled_in_place
def walk_on(model: Model, columns: Columns, walk: Walk, n_kicks: int) -> None:
    """Do so many kicks, each followed by descent; remember the best hypothesis."""
    numbers = walk.numbers
    for _ in range(n_kicks):
        copy_into(walk.current, walk.home)
        if numbers[BEST] < INFINITE:
            kick(model, walk)
        if evaluate(model, columns, walk) >= INFINITE:
            continue
        descend(model, columns, walk)
        cost = evaluate(model, columns, walk)
        numbers[_STALE] += 1
        if cost <= numbers[_HOME] or draw(walk, 100) == 0:
            numbers[_HOME] = cost
            copy_into(walk.home, walk.current)
        if cost < numbers[BEST]:
            numbers[BEST] = cost
            numbers[_STALE] = 0
            copy_into(walk.best, walk.current)
        if numbers[_STALE] % 200 == 199:
            numbers[_HOME] = numbers[BEST]
            copy_into(walk.home, walk.best)
