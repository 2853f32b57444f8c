"""Compiled A* sampling: the least loss minus gain, gains drawn where the search goes.

What is minimised over ``w``, ``L`` the loss in rows and ``T`` independent exponential variables of
rate 1, the *clocks*::

    steps * L(w) - gain(w),    gain(w) = floor(-ln(1 - exp(-T_w)) / rate)

The gain decreases in the clock. Clocks are drawn top-down: the earliest of ``N`` clocks is
exponential with rate ``N``. It belongs to each part of them with the part's share. In any other
part the earliest clock is later by a fresh exponential with that part's number as its rate. A node
of the search has a lower bound on the loss and the earliest clock below it; points that agree on
all open coordinates lose together at least

    min over r of sum_i cost_i * 1[r >= threshold_i]

``r`` their common rest of the score. Rounding: notes of
:func:`oracles.sampling.minimise_by_a_star`; proof: the entry of docs/theory.md that names it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from oracles.arithmetic import FloatArray, IntArray, compiled, compiled_entry

RUNNING, FINISHED, FULL, WORDS, BROKEN = 0, 1, 2, 3, 4

SIZE, INCUMBENT, BEST, NODES, USED = 0, 1, 2, 3, 4
"""Places in the state, an int64 array of 8: open nodes; least objective met, in gain units; its
hypothesis as a number, -1 if none; nodes expanded; random words used."""

_DEPTHS = 64

_PRECISE = 2.0**52

_WORD = 2.0**-64


class AStarModel(NamedTuple):
    """The problem in search order; coordinates are fixed one after the other.

    Shapes: ``d`` coordinates, ``m`` points, ``k`` the largest number of values of a coordinate.

    Parameters
    ----------
    columns : ndarray of shape (d, m), int64
        Point entries, one row per coordinate.
    costs : ndarray of shape (m,), int64
        What predicting "+" costs more than predicting "-", rows.
    values : ndarray of shape (d, k), int64
        Allowed weights, ascending, padded with 0.
    n_values : ndarray of shape (d,), int64
        Number of allowed weights.
    strides : ndarray of shape (d + 1,), int64
        Number of assignments of the coordinates from each on: also how a prefix is written as one
        number.
    low, high : ndarray of shape (d + 1, m), int64
        Least and largest part of a point's score that the coordinates from each on can make up.
    squares : ndarray of shape (d + 1,), int64
        Least squared norm of the coordinates from each on.
    order : ndarray of shape (d + 1, m), int64
        Points sorted such that those which agree from a coordinate on are neighbours.
    last : ndarray of shape (d + 1, m), bool
        Whether the point at that place of the order is the last one of its group.
    base, budget, steps : int
        Loss of predicting "-" everywhere, rows; largest squared norm; gain units per row.
    rate : float
        Decay of gains per unit.
    ways : int
        Into how many parts a coordinate's values are split at once.
    """

    columns: IntArray
    costs: IntArray
    values: IntArray
    n_values: IntArray
    strides: IntArray
    low: IntArray
    high: IntArray
    squares: IntArray
    order: IntArray
    last: NDArray[np.bool_]
    base: int
    budget: int
    steps: int
    rate: float
    ways: int


class Heap(NamedTuple):
    """Open nodes, a binary heap with the least key first.

    Shapes: ``R`` nodes have room; ``state[SIZE]`` are there.

    Parameters
    ----------
    key : ndarray of shape (R,), int64
        Lower bound on the objective below the node, in gain units, times 64, plus 63 minus the
        depth: of equal bounds the deeper one comes first.
    clock : ndarray of shape (R,), float64
        Earliest clock below the node; no unit, the rate of each clock being 1.
    code : ndarray of shape (R,), int64
        Positions of the coordinates that are fixed, as one number: the sum of position times
        the stride of the coordinate after.
    place : ndarray of shape (R,), int64
        ``(depth * 2**16 + a) * 2**16 + b``: so many coordinates are fixed, and the next one has a
        position in ``a .. b - 1``.
    """

    key: IntArray
    clock: FloatArray
    code: IntArray
    place: IntArray


@compiled
def gain_of(clock: float, rate: float) -> int:
    """Return the gain that belongs to a clock: geometric, the floor of an exponential."""
    return int(math.floor(-math.log(-math.expm1(-clock)) / rate))


@compiled
def exponential(words, state) -> float:  # type: ignore[no-untyped-def]
    """Return an exponential variable to relative precision ``2**-50``, however small or large.

    ``words`` is a uint64 array of random words, ``state[USED]`` of which are used up.
    """
    used = state[USED]
    word = words[used]
    used += 1
    value, scale = np.float64(word >> np.uint64(1)), 2.0**-64
    while value < _PRECISE:
        value = value / _WORD + np.float64(words[used])
        scale *= _WORD
        used += 1
    state[USED] = used
    uniform = (value + 0.5) * scale  # in (0, 1/2]
    return -math.log(uniform) if word & np.uint64(1) else -math.log1p(-uniform)


@compiled
def below(bound: int, words, state):  # type: ignore[no-untyped-def]
    """Return a uniform integer in ``0 .. bound - 1``, exactly, by rejection."""
    mask = np.uint64(1)
    while mask < np.uint64(bound):
        mask *= np.uint64(2)
    mask -= np.uint64(1)
    threshold = bound
    while threshold >= bound:
        threshold = int(words[state[USED]] & mask)
        state[USED] += 1
    return threshold


@compiled
def least_loss(model, scores, t: int, a: int, b: int, value: int, steps):  # type: ignore[no-untyped-def]
    """Bound the loss from below over a prefix with the values ``a .. b - 1`` of coordinate t open.

    With ``b <= a`` coordinate t has ``value`` and the later ones are open. Points that agree on
    what is open share the same unknown rest of their scores: together they lose at least what the
    best rest leaves. ``scores``, shape (m,) int64, are those of the prefix; ``steps``, int64 with
    an entry for each rest that a point can have, is overwritten. In rows.
    """
    total = model.base
    open_from = t if a < b else t + 1
    start = 0
    column = model.columns[t]
    for last in range(len(model.costs)):
        if not model.last[open_from, last]:
            continue
        i = model.order[open_from, start]
        low, high = model.low[t + 1, i], model.high[t + 1, i]
        if a < b:
            first, other = column[i] * model.values[t, a], column[i] * model.values[t, b - 1]
            low += min(first, other)
            high += max(first, other)
        if start == last:
            threshold = 1 - scores[i] - (0 if a < b else column[i] * value)
            cost = model.costs[i]
            if threshold <= low or (threshold <= high and cost < 0):
                total += cost
        else:
            steps[: high - low + 1] = 0
            for q in range(start, last + 1):
                i = model.order[open_from, q]
                threshold = 1 - scores[i] - (0 if a < b else column[i] * value)
                if threshold <= high:
                    steps[max(threshold - low, 0)] += model.costs[i]
            running = steps[0]
            best = running
            for r in range(1, high - low + 1):
                running += steps[r]
                best = min(best, running)
            total += best
        start = last + 1
    return total


@compiled
def sift_up(heap, at: int) -> None:  # type: ignore[no-untyped-def]
    """Restore the heap's order from a leaf upwards."""
    while at > 0:
        parent = (at - 1) // 2
        if heap.key[parent] <= heap.key[at]:
            return
        swap(heap, parent, at)
        at = parent


@compiled
def sift_down(heap, size: int) -> None:  # type: ignore[no-untyped-def]
    """Restore the heap's order from the top downwards."""
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and heap.key[child + 1] < heap.key[child]:
            child += 1
        if heap.key[at] <= heap.key[child]:
            return
        swap(heap, at, child)
        at = child


@compiled
def swap(heap, i: int, j: int) -> None:  # type: ignore[no-untyped-def]
    """Exchange two nodes."""
    heap.key[i], heap.key[j] = heap.key[j], heap.key[i]
    heap.clock[i], heap.clock[j] = heap.clock[j], heap.clock[i]
    heap.code[i], heap.code[j] = heap.code[j], heap.code[i]
    heap.place[i], heap.place[j] = heap.place[j], heap.place[i]


@compiled_entry
def root_clock(words, state, number: float) -> float:  # type: ignore[no-untyped-def]
    """Return the earliest of all clocks."""
    return exponential(words, state) / number


@compiled_entry
def expand(  # type: ignore[no-untyped-def]
    model, heap, state, words, scores, steps, n_nodes: int
) -> int:
    """Expand up to ``n_nodes`` nodes, best bound first; return why it stopped.

    ``words`` are uint64; ``scores``, shape (m,) int64, and ``steps``, int64 with two entries more
    than the widest reach, are overwritten. Bounds allow for gains one unit above the computed one,
    so rounding of the logarithms cannot cut off the minimum.
    """
    d, m = model.columns.shape
    for _ in range(n_nodes):
        size = state[SIZE]
        if size == 0 or (heap.key[0] // _DEPTHS) >= state[INCUMBENT]:
            return FINISHED
        if size + model.ways > len(heap.key):
            return FULL
        if len(words) - state[USED] < 256 + 4 * model.ways:
            return WORDS
        state[NODES] += 1
        clock, code, place = heap.clock[0], heap.code[0], heap.place[0]
        size -= 1
        swap(heap, 0, size)
        sift_down(heap, size)
        state[SIZE] = size
        t, a, b = place >> 32, (place >> 16) & 65535, place & 65535
        scores[:] = 0
        norm = 0
        for j in range(t):
            v = model.values[j, (code // model.strides[j + 1]) % model.n_values[j]]
            norm += v * v
            if v != 0:
                column = model.columns[j]
                for i in range(m):
                    scores[i] += v * column[i]
        parts = min(model.ways, b - a)
        heir = a + below(b - a, words, state)
        gain = gain_of(clock, model.rate)
        for k in range(parts):
            first = a + (b - a) * k // parts
            stop = a + (b - a) * (k + 1) // parts
            least = model.values[t, first] ** 2
            for u in range(first, stop):
                least = min(least, model.values[t, u] ** 2)
            if norm + least + model.squares[t + 1] > model.budget:
                continue
            single = stop - first == 1
            value = model.values[t, first]
            if single:
                loss = least_loss(model, scores, t, 0, 0, value, steps)
            else:
                loss = least_loss(model, scores, t, first, stop, 0, steps)
            if loss * model.steps - gain - 1 >= state[INCUMBENT]:
                continue  # no clock of this part is earlier than the parent's
            own, own_gain = clock, gain
            if not first <= heir < stop:
                number = np.float64(stop - first) * np.float64(model.strides[t + 1])
                own = clock + exponential(words, state) / number
                own_gain = gain_of(own, model.rate)
            child = code + (first * model.strides[t + 1] if single else 0)
            if single and t + 1 == d:
                objective = loss * model.steps - own_gain
                if objective < state[INCUMBENT]:
                    state[INCUMBENT], state[BEST] = objective, child
                continue
            bound = loss * model.steps - own_gain - 1
            if bound >= state[INCUMBENT]:
                continue
            depth = t + 1 if single else t
            low, high = (0, model.n_values[t + 1]) if single else (first, stop)
            at = state[SIZE]
            heap.key[at] = bound * _DEPTHS + (_DEPTHS - 1 - depth)
            heap.clock[at], heap.code[at] = own, child
            heap.place[at] = (depth * 65536 + low) * 65536 + high
            state[SIZE] = at + 1
            sift_up(heap, at)
    return RUNNING
