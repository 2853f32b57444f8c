"""Compiled steps that tighten the lower bound; conventions as in ``lower_bound_kernels``.

The log of the sum of ``exp(-beta * m(w))`` is convex in the shares. Minus its derivative in the
share of a choice is ``beta * |count|`` times what the choice certifies on average, under the law
proportional to ``exp(-beta * m(w))``::

    sum over i of P[x_i >= a_i] - (k - 1)    for points that want "-"
    sum over i of P[x_i <= a_i] - (k - 1)    for points that want "+"
    0                                        for certifying nothing

A step adds these averages, times a pace of the point's own, to the logs of the mixture: a
multiplicative step (exponentiated gradient). A constant may be added to all choices: here
``k - 1``. Any step is valid, as any mixture gives a lower bound.
"""

from __future__ import annotations

import numpy as np

from oracles.arithmetic import FloatArray, IntArray, njit
from oracles.sampling.rejection.lower_bound_kernels import DEEPEST

_FAST = {"reassoc", "contract", "arcp", "nsz"}


@njit(cache=True, nogil=True, error_model="numpy")
def tails(law: FloatArray, at_least: FloatArray, at_most: FloatArray) -> None:
    """Cumulate every row's law from both ends; all three are (rows, w) float64, probabilities.

    ``at_least[r, a]`` is the probability of an index of ``a`` or more, ``at_most[r, a]`` that of
    ``a`` or less.
    """
    for row in range(len(law)):
        s = 0.0
        for a in range(law.shape[1] - 1, -1, -1):
            s += law[row, a]
            at_least[row, a] = s
        s = 0.0
        for a in range(law.shape[1]):
            s += law[row, a]
            at_most[row, a] = s


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _fold(logs, w, wanted, rows, low, high, tail, pace):  # type: ignore[no-untyped-def]
    """Step two blocks: the second threshold follows from the first, which carries all the logs.

    ``logs`` and ``rows`` are those of one point; ``tail`` is the one of the two that it wants.
    """
    peak = logs[2 * w]
    for a in range(low[rows[0]], high[rows[0]] + 1):
        b = wanted - a
        if low[rows[1]] <= b <= high[rows[1]]:
            logs[a] += pace * (tail[rows[0], a] + tail[rows[1], b])
            peak = max(peak, logs[a])
    for a in range(w):
        logs[a] = max(DEEPEST, logs[a] - peak)
    logs[2 * w] = max(DEEPEST, logs[2 * w] - peak)


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _common_slope(logs, w, wanted, rows, low, high, reach):  # type: ignore[no-untyped-def]
    """Return the slope at which the blocks' best thresholds add up to the wanted sum."""
    left, right = -reach, reach
    for _ in range(10):
        slope = 0.5 * (left + right)
        total = 0
        for i in range(len(rows)):
            best, place = -np.inf, 0
            for a in range(low[rows[i]], high[rows[i]] + 1):
                z = logs[i * w + a] - slope * a
                if z > best:
                    best, place = z, a
            total += place
        if total > wanted:
            left = slope
        elif total < wanted:
            right = slope
        else:
            return slope
    return 0.5 * (left + right)


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def tighten(
    logs: FloatArray,
    shares: FloatArray,
    previous: FloatArray,
    rows: IntArray,
    counts: IntArray,
    low: IntArray,
    high: IntArray,
    target: int,
    at_least: FloatArray,
    at_most: FloatArray,
    paces: FloatArray,
    step: float,
) -> None:
    """Shift every point's mixture towards the choices that certify more on average.

    A multiplicative step. ``paces``, (points,) float64, adapt per point to whether the last shift
    was right: whether ``shares`` moved from ``previous``, which has their shape, towards what
    certifies more. ``step`` is the step length that all points share; neither has a unit.
    """
    k = rows.shape[1]
    w = at_least.shape[1]
    for p in range(len(counts)):
        out, old = shares[p], previous[p]
        if abs(out[k * w]) == 1.0:
            continue
        tail = at_least if counts[p] > 0 else at_most
        agreement = (k - 1) * (out[k * w] - old[k * w])
        for i in range(k):
            gains = tail[rows[p, i]]
            for a in range(w):
                agreement += (out[i * w + a] - old[i * w + a]) * gains[a]
        if old[k * w] != 2.0:  # 2 marks the first step
            if agreement > 0.0:
                paces[p] = min(paces[p] * 1.3, 30.0)
            elif agreement < 0.0:
                paces[p] = max(paces[p] * 0.6, 0.02)
        old[:] = out
        pace = step * paces[p]
        logs[p, k * w] += pace * (k - 1)
        wanted = target if counts[p] > 0 else target - 1
        if k == 2:
            _fold(logs[p], w, wanted, rows[p], low, high, tail, pace)
            continue
        for i in range(k):
            gains = tail[rows[p, i]]
            for a in range(low[rows[p, i]], high[rows[p, i]] + 1):
                logs[p, i * w + a] += pace * gains[a]
        # Thresholds have a fixed sum, so a common slope is idle. The right one makes every block
        # peak where the best choice is; then what is far below the peak can be cut off.
        slope = _common_slope(logs[p], w, wanted, rows[p], low, high, pace)
        nothing = logs[p, k * w] - slope * wanted
        for i in range(k):
            peak = -np.inf
            for a in range(low[rows[p, i]], high[rows[p, i]] + 1):
                peak = max(peak, logs[p, i * w + a] - slope * a)
            for a in range(w):
                logs[p, i * w + a] = max(DEEPEST, logs[p, i * w + a] - slope * a - peak)
            nothing -= peak
        logs[p, k * w] = min(-DEEPEST, max(DEEPEST, nothing))


@njit(cache=True, nogil=True, error_model="numpy")
def shortfalls(
    shares: FloatArray,
    rows: IntArray,
    counts: IntArray,
    target: int,
    law: FloatArray,
    at_least: FloatArray,
    at_most: FloatArray,
    lost: FloatArray,
) -> None:
    """Add up how far the bound falls short on average, per row, taking rows as independent.

    Fills ``lost``, (rows,) float64, in rows of loss: for each row the sum over its points of
    ``|count| * (P[the point is wrong] - what its mixture certifies on average)`` where positive.
    """
    k = rows.shape[1]
    w = law.shape[1]
    total = np.zeros(k * w + 1)
    lost[:] = 0.0
    for p in range(len(counts)):
        out = shares[p]
        if abs(out[k * w]) == 1.0 and out[0] == 0.0:
            continue
        total[:] = 0.0
        total[0] = 1.0
        top = 0
        for i in range(k - 1):
            for s in range(top + w - 1, -1, -1):
                z = 0.0
                for a in range(max(0, s - top), min(w - 1, s) + 1):
                    z += law[rows[p, i], a] * total[s - a]
                total[s] = z
            top += w - 1
        reached = 0.0
        last = at_least[rows[p, k - 1]]
        for s in range(top + 1):
            need = target - s
            if need <= 0:
                reached += total[s]
            elif need < w:
                reached += total[s] * last[need]
        truth = reached if counts[p] > 0 else 1.0 - reached
        certified = -(k - 1) * (1.0 - out[k * w])
        tail = at_least if counts[p] > 0 else at_most
        for i in range(k):
            for a in range(w):
                certified += out[i * w + a] * tail[rows[p, i], a]
        gap = abs(counts[p]) * (truth - certified)
        if gap > 0.0:
            for i in range(k):
                lost[rows[p, i]] += gap
