"""Compiled loops of the envelope: tables from thresholds, and steps that tighten them.

Index conventions: a second-block score ``y`` has index ``y - lowest``, ``0 .. n - 1``; a
first-block score ``t`` has index ``t + highest`` clipped to ``0 .. n``; threshold ``x`` is
``lowest + x``.
Then a point is predicted "+" if and only if its two indices add up to ``n`` or more.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from oracles.block_kernels import FloatArray
from oracles.problem import IntArray

SHARES = 32768
"""Shares of thresholds are stored as integers that add up to this for every point."""

_FAST = {"reassoc", "contract", "arcp", "nsz"}


@njit(cache=True, fastmath=_FAST, error_model="numpy")
def threshold_tables(
    shares: FloatArray,
    owner: IntArray,
    cell: IntArray,
    counts: IntArray,
    first: FloatArray,
    second: FloatArray,
) -> None:
    """Fill the two blocks' costs of ``m(w)``, flat tables (K, n + 1) and (J, n).

    ``counts[p] > 0``: the point wants "-" and costs that much if predicted "+"; ``< 0``: mirrored.
    """
    n = shares.shape[1] - 1
    above = np.zeros(len(first))
    below = np.zeros(len(first))
    lower = np.zeros((len(second) // n) * (n + 1))
    upper = np.zeros_like(lower)
    for p in range(len(counts)):
        row = shares[p]
        c = counts[p]
        k, j = owner[p] * (n + 1), cell[p] * (n + 1)
        if c > 0:
            a, b = above[k : k + n + 1], lower[j : j + n + 1]
        else:
            c = -c
            a, b = below[k : k + n + 1], upper[j : j + n + 1]
        for x in range(n + 1):
            z = c * row[x]
            a[x] += z
            b[x] += z
    for k in range(0, len(first), n + 1):
        s = 0.0
        for t in range(n + 1):
            s += above[k + n - t]
            first[k + t] = s
        s = 0.0
        for t in range(n, -1, -1):
            s += below[k + n - t]
            first[k + t] += s
    for j in range(len(second) // n):
        s = 0.0
        for y in range(n - 1, -1, -1):
            s += lower[j * (n + 1) + y + 1]
            second[j * n + y] = -s
        s = 0.0
        for y in range(n):
            s += upper[j * (n + 1) + y]
            second[j * n + y] -= s


@njit(cache=True, error_model="numpy")
def boltzmann(
    costs: FloatArray, width: int, beta: float, low: IntArray, high: IntArray, out: FloatArray
) -> float:
    """Fill ``exp(-beta * (cost - least))`` within ``low .. high`` per context, 0 outside.

    Returns the sum of the least costs.
    """
    total = 0.0
    for k in range(len(low)):
        at = k * width
        least = np.inf
        for t in range(low[k], high[k] + 1):
            least = min(least, costs[at + t])
        total += least
        for t in range(width):
            out[at + t] = 0.0
        for t in range(low[k], high[k] + 1):
            out[at + t] = np.exp(-beta * (costs[at + t] - least))
    return total


@njit(cache=True, error_model="numpy")
def cumulated(
    first: FloatArray, second: FloatArray, n: int, reach: FloatArray, below: FloatArray
) -> None:
    """Cumulate laws: ``reach[k, x] = P[t >= n - x]``, ``below[j, x] = P[y < x]``, x in 0 .. n."""
    for k in range(len(first) // (n + 1)):
        s = 0.0
        for x in range(n + 1):
            s += first[k * (n + 1) + n - x]
            reach[k * (n + 1) + x] = s
    for j in range(len(second) // n):
        s = 0.0
        for x in range(n + 1):
            below[j * (n + 1) + x] = s
            if x < n:
                s += second[j * n + x]


@njit(cache=True, error_model="numpy", inline="always")
def _gains(n, c, k, j, first, reach, below, out):  # type: ignore[no-untyped-def]
    """Fill what each threshold certifies on average for one point."""
    if c > 0:
        for x in range(n + 1):
            out[x] = reach[k + x] - below[j + x]
    else:
        for x in range(n + 1):
            out[x] = below[j + x] - (reach[k + x] - first[k + n - x])


@njit(cache=True, fastmath=_FAST, error_model="numpy")
def tighten(
    shares: FloatArray,
    frozen: NDArray[np.bool_],
    owner: IntArray,
    cell: IntArray,
    counts: IntArray,
    laws: tuple[FloatArray, FloatArray, FloatArray],
    previous: FloatArray,
    paces: FloatArray,
    step: float,
) -> None:
    """Move every point's shares towards the thresholds that certify more than average.

    A multiplicative step; ``paces`` adapt per point to whether successive steps agree.
    """
    first, reach, below = laws
    n = shares.shape[1] - 1
    gains = np.empty(n + 1)
    for p in range(len(counts)):
        if frozen[p]:
            continue
        row, last = shares[p], previous[p]
        _gains(n, counts[p], owner[p] * (n + 1), cell[p] * (n + 1), first, reach, below, gains)
        mean = 0.0
        for x in range(n + 1):
            mean += row[x] * gains[x]
        agreement = 0.0
        for x in range(n + 1):
            z = gains[x] - mean
            agreement += row[x] * z * last[x]
            last[x] = z
        if agreement > 0.0:
            paces[p] = min(paces[p] * 1.3, 30.0)
        elif agreement < 0.0:
            paces[p] = max(paces[p] * 0.6, 0.02)
        pace = step * paces[p]
        total = 0.0
        for x in range(n + 1):
            # (1 + z / 64) ** 64 stands in for exp(z): any positive factor is valid.
            z = 1.0 + min(30.0, max(-30.0, pace * gains[x])) / 64.0
            z *= z
            z *= z
            z *= z
            z *= z
            z *= z
            z *= z
            row[x] = (row[x] + 1e-6) * z
            total += row[x]
        for x in range(n + 1):
            row[x] /= total


@njit(cache=True, error_model="numpy")
def round_shares(shares: FloatArray, out: NDArray[np.uint16]) -> None:
    """Round to integers that add up to ``SHARES`` exactly, the remainder to the largest."""
    for p in range(len(shares)):
        row = shares[p]
        total, largest = 0, 0
        for x in range(len(row)):
            z = int(row[x] * SHARES)
            out[p, x] = z
            total += z
            if row[x] > row[largest]:
                largest = x
        out[p, largest] += SHARES - total


@njit(cache=True, error_model="numpy")
def expected_losses(
    shares: FloatArray,
    owner: IntArray,
    cell: IntArray,
    counts: IntArray,
    second: FloatArray,
    laws: tuple[FloatArray, FloatArray, FloatArray],
    by_context: FloatArray,
    by_cell: FloatArray,
) -> None:
    """Add up how far the bound falls short on average, per context and per cell."""
    first, reach, below = laws
    n = shares.shape[1] - 1
    gains = np.empty(n + 1)
    for p in range(len(counts)):
        k, j = owner[p] * (n + 1), cell[p] * (n + 1)
        _gains(n, counts[p], k, j, first, reach, below, gains)
        certified = 0.0
        for x in range(n + 1):
            certified += shares[p, x] * gains[x]
        truth = 0.0
        for y in range(n):
            truth += second[cell[p] * n + y] * reach[k + y]
        if counts[p] < 0:
            truth = 1.0 - truth
        lost = max(0.0, abs(counts[p]) * (truth - certified))
        by_context[owner[p]] += lost
        by_cell[cell[p]] += lost
