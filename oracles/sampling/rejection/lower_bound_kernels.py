"""Compiled loops of the lower bound on the loss: from mixtures of thresholds to tables.

Every context of every block is a *row*; a score's index is the score minus the block's lowest one.
A point belongs to one row per block, ``k`` in all, and is predicted "+" if and only if its indices
``x_1 .. x_k`` add up to ``target`` or more. A point that wants "-" (count > 0) chooses thresholds
``a_i`` that add up to ``target`` and certifies ``sum_i 1[x_i >= a_i] - (k - 1)``; one that wants
"+" chooses thresholds that add up to ``target - 1`` and certifies
``sum_i 1[x_i <= a_i] - (k - 1)``; either may also certify nothing. With ``share_p(i, a)`` the
probability of ``a_i = a`` in a mixture of choices, and ``share_p(0)`` that of nothing, the lower
bound is, in rows of loss,

    m(w) = base + constant + sum over rows r of costs[r, x_r]
    constant = - sum over points p of |count_p| * (k - 1) * (1 - share_p(0))
    costs[r, x] = sum over p of row r of |count_p| * sum over a <= x (or a >= x) of share_p(i, a)

with ``a <= x`` for points that want "-" and ``a >= x`` for others; points that are lost in the
whole region add ``|count_p|`` to the constant. That ``m(w) <= L(w)`` for every mixture and every
``w`` of the region is proved in docs/theory.md, entry "exact-sampler". Choices are mixed with
weights ``exp(sum_i u_i(a_i))``, or any positive stand-in for them: *shares* are the marginals of
that mixture. Of two blocks the first carries all the logs ``u``, the second's are 0.

Shapes below: ``m`` points, ``k`` blocks, ``w`` the largest number of indices. ``logs`` and
``shares`` are (m, k * w + 1) float64, entry ``i * w + a`` for block ``i`` and threshold ``a``, the
last one for certifying nothing; logs in nats. ``rows`` (m, k) int64; ``counts`` (m,) int64, rows
of loss that "+" costs more than "-"; ``low`` and ``high`` (rows,) int64, the region's indices;
``costs`` (rows, w) float64, rows of loss.
"""

from __future__ import annotations

import numpy as np

from oracles.arithmetic import FloatArray, IntArray, njit

_FAST = {"reassoc", "contract", "arcp", "nsz"}

DEEPEST = -14.0
"""Logs of mixtures are cut off this far below their peak."""


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _exp(z):  # type: ignore[no-untyped-def]
    """Return a positive, increasing stand-in for ``exp(z)``; any such weight is valid."""
    z = 1.0 + z / 64.0
    z *= z
    z *= z
    z *= z
    z *= z
    z *= z
    z *= z
    return z


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _mix(k, r, depth, span, weights, forward, backward):  # type: ignore[no-untyped-def]
    """Turn weights ``(k, r)`` into marginals over choices that add up to ``depth``, in place.

    Entry ``i * r + a`` counts for ``a`` in ``0 .. span[i]``. ``forward`` and ``backward``, float64
    of ``(k + 1) * (depth + 1)`` entries or more, are overwritten: sums of the blocks before, and
    from there on, by what their choices add up to. Returns the sum over the choices.
    """
    n = depth + 1
    for s in range(n):
        forward[s] = 0.0
        backward[k * n + s] = 0.0
    forward[0] = 1.0
    backward[k * n + depth] = 1.0
    for i in range(k - 1):
        for s in range(n):
            forward[(i + 1) * n + s] = 0.0
        for a in range(min(span[i], depth) + 1):
            w = weights[i * r + a]
            for s in range(n - a):
                forward[(i + 1) * n + s + a] += w * forward[i * n + s]
    for i in range(k - 1, -1, -1):
        for s in range(n):
            backward[i * n + s] = 0.0
        for a in range(r):
            w = weights[i * r + a]
            mass = 0.0
            if a <= span[i] and a <= depth:
                for s in range(n - a):
                    z = backward[(i + 1) * n + s + a]
                    mass += forward[i * n + s] * z
                    backward[i * n + s] += w * z
            weights[i * r + a] = w * mass
    return backward[0]


@njit(cache=True, nogil=True, error_model="numpy", inline="always")
def _mix_pair(logs, w, wanted, rows, low, high, out):  # type: ignore[no-untyped-def]
    """Fill the shares of two blocks, whose first threshold carries all the logs.

    ``logs``, ``rows`` and ``out`` are those of one point; thresholds add up to ``wanted``.
    """
    first, last = low[rows[0]], high[rows[0]]
    start = max(first, wanted - high[rows[1]])
    stop = min(last, wanted - low[rows[1]])
    total = 0.0
    for a in range(start, stop + 1):
        z = _exp(logs[a])
        out[a] = z
        total += z
    if first < last and low[rows[1]] < high[rows[1]]:
        z = _exp(logs[2 * w])
        out[2 * w] = z
        total += z
    total = 1.0 / total
    out[2 * w] *= total
    for a in range(start, stop + 1):
        out[a] *= total
        out[w + wanted - a] = out[a]


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def mix_shares(
    logs: FloatArray,
    rows: IntArray,
    counts: IntArray,
    low: IntArray,
    high: IntArray,
    target: int,
    shares: FloatArray,
) -> None:
    """Fill ``shares`` from the logs of mixtures.

    A point whose prediction is settled within ``low .. high`` gets shares 0, and in the
    last column -1 if it is surely lost, 1 if not.
    """
    k = rows.shape[1]
    w = (logs.shape[1] - 1) // k
    span = np.empty(k, dtype=np.int64)
    weights = np.empty(k * w)
    forward = np.empty((k + 1) * (k * w + 2))
    backward = np.empty_like(forward)
    for p in range(len(counts)):
        least, most = 0, 0
        for i in range(k):
            first, last = low[rows[p, i]], high[rows[p, i]]
            span[i] = last - first
            least += first
            most += last
        out = shares[p]
        out[:] = 0.0
        wanted = target if counts[p] > 0 else target - 1
        if counts[p] > 0 and (least >= wanted or most < wanted):
            out[k * w] = -1.0 if least >= wanted else 1.0
            continue
        if counts[p] < 0 and (most <= wanted or least > wanted):
            out[k * w] = -1.0 if most <= wanted else 1.0
            continue
        if k == 2:
            _mix_pair(logs[p], w, wanted, rows[p], low, high, out)
            continue
        level = logs[p, k * w]
        open_blocks = 0
        for i in range(k):
            first = low[rows[p, i]]
            peak = -np.inf
            for a in range(span[i] + 1):
                peak = max(peak, logs[p, i * w + first + a])
            for a in range(span[i] + 1):
                weights[i * w + a] = _exp(max(DEEPEST, logs[p, i * w + first + a] - peak))
            level -= peak
            open_blocks += span[i] > 0
            for a in range(span[i] + 1, w):
                weights[i * w + a] = 0.0
        total = _mix(k, w, wanted - least, span, weights, forward, backward)
        nothing = _exp(min(30.0, max(DEEPEST, level)))
        if open_blocks < 2:  # the only choice left certifies the point's loss itself
            nothing = 0.0
        total += nothing
        out[k * w] = nothing / total
        for i in range(k):
            first = low[rows[p, i]]
            for a in range(span[i] + 1):
                out[i * w + first + a] = weights[i * w + a] / total


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def threshold_tables(
    shares: FloatArray, rows: IntArray, counts: IntArray, costs: FloatArray
) -> float:
    """Fill ``costs`` and return the constant: their sum is ``m(w)`` without the base."""
    k = rows.shape[1]
    w = costs.shape[1]
    constant = 0.0
    rising = np.zeros(costs.shape)
    falling = np.zeros(costs.shape)
    for p in range(len(counts)):
        c = float(abs(counts[p]))
        out = shares[p]
        if out[k * w] < 0.0:
            constant += c
            continue
        constant -= c * (k - 1) * (1.0 - out[k * w])
        for i in range(k):
            part = out[i * w : (i + 1) * w]
            row = rising[rows[p, i]] if counts[p] > 0 else falling[rows[p, i]]
            for a in range(w):
                row[a] += c * part[a]
    for row in range(len(costs)):
        s = 0.0
        for a in range(w):
            s += rising[row, a]
            costs[row, a] = s
        s = 0.0
        for a in range(w - 1, -1, -1):
            s += falling[row, a]
            costs[row, a] += s
    return constant


@njit(cache=True, nogil=True, error_model="numpy")
def boltzmann(
    costs: FloatArray,
    beta: float,
    low: IntArray,
    high: IntArray,
    out: FloatArray,
    logs: FloatArray,
) -> float:
    """Fill ``exp(-beta * (cost - least))`` within ``low .. high`` per row, 0 outside, and its log.

    ``beta`` is the inverse temperature, nats per row of loss; ``out`` and ``logs`` have the shape
    of ``costs``, logs in nats. Returns the sum of the least costs, rows of loss.
    """
    total = 0.0
    for row in range(len(costs)):
        least = np.inf
        for a in range(low[row], high[row] + 1):
            least = min(least, costs[row, a])
        total += least
        out[row, :] = 0.0
        logs[row, :] = -np.inf
        for a in range(low[row], high[row] + 1):
            logs[row, a] = -beta * (costs[row, a] - least)
            out[row, a] = np.exp(logs[row, a])
    return total
