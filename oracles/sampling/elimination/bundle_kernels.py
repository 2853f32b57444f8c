"""Compiled loops over a bundle: halved cliques whose messages are never written down.

Cliques of a bundle hand their messages, entry by entry, to the last clique, and are cut at the
same axis. Over the entries ``(h, i)`` of the last clique's table, the message of clique ``c`` and
the marginals of its two tables under the law ``belief`` are

    message_c(h, i) = sum over v of one[v, i] * two[v, h]
    marginal of one[v, i] = one[v, i] * sum over h of two[v, h] * belief[h, i] / message_c(h, i)
    marginal of two[v, h] = two[v, h] * sum over i of one[v, i] * belief[h, i] / message_c(h, i)

(variable elimination and its way back, :mod:`oracles.sampling.elimination.sum_kernels`). ``one``
has shape (own,
low), ``two`` (own, high); both lie in ``tables``, one behind the other. Rows of that table (fixed
``h``) are short, and everything about a row is computed while it is in the processor's cache.
"""

from __future__ import annotations

from oracles.arithmetic import FloatArray, njit
from oracles.sampling.elimination.plan import Plan

_FAST = {"reassoc", "contract", "arcp", "nsz"}

_TINY = 1e-300

ROWS = 4
"""Rows of the last table that are taken back together."""


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy", inline="always")
def _mix(out, tables, at, low, second, high, own):  # type: ignore[no-untyped-def]
    """Write ``sum_v one[v, i] * two[v, h]`` to a row of ``low`` entries.

    ``at`` is the place of ``one[0, 0]`` in ``tables``, ``second`` that of ``two[0, h]``.
    """
    v = 0
    while v < own:
        kept = 0.0 if v == 0 else 1.0
        p, q = at + v * low, second + v * high
        a, x = tables[p : p + low], tables[q]
        if own - v >= 5:
            b, c = tables[p + low : p + 2 * low], tables[p + 2 * low : p + 3 * low]
            d, e = tables[p + 3 * low : p + 4 * low], tables[p + 4 * low : p + 5 * low]
            y, z = tables[q + high], tables[q + 2 * high]
            s, t = tables[q + 3 * high], tables[q + 4 * high]
            if v == 0:
                for i in range(low):
                    out[i] = a[i] * x + b[i] * y + c[i] * z + d[i] * s + e[i] * t
            else:
                for i in range(low):
                    out[i] += a[i] * x + b[i] * y + c[i] * z + d[i] * s + e[i] * t
            v += 5
        elif own - v >= 3:
            b, c = tables[p + low : p + 2 * low], tables[p + 2 * low : p + 3 * low]
            y, z = tables[q + high], tables[q + 2 * high]
            for i in range(low):
                out[i] = kept * out[i] + a[i] * x + b[i] * y + c[i] * z
            v += 3
        elif own - v >= 2:
            b, y = tables[p + low : p + 2 * low], tables[q + high]
            for i in range(low):
                out[i] = kept * out[i] + a[i] * x + b[i] * y
            v += 2
        else:
            for i in range(low):
                out[i] = kept * out[i] + a[i] * x
            v += 1


@njit(cache=True, nogil=True, error_model="numpy")
def scale_halves(tables: FloatArray, at: int, own: int, low: int, high: int) -> float:
    """Divide a clique's second tables by its message's mean, and return the mean.

    The mean is ``sum_v (sum_i one[v, i]) * (sum_h two[v, h])`` over the number of entries: the
    message need not be written down. The first tables begin at ``tables[at]``.
    """
    second = at + own * low
    total = 0.0
    for v in range(own):
        one = two = 0.0
        for i in range(low):
            one += tables[at + v * low + i]
        for h in range(high):
            two += tables[second + v * high + h]
        total += one * two
    mean = total / (low * high)
    if mean > 0.0:
        inverse = 1.0 / mean
        for i in range(own * high):
            tables[second + i] *= inverse
    return mean


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def multiply_bundle(plan: Plan, low: int, tables: FloatArray, scratch: FloatArray) -> None:
    """Multiply the last clique's table, rows of ``low`` entries, by all messages of the bundle.

    ``scratch``, at least ``low`` entries, is overwritten.
    """
    last = len(plan.own) - 1
    root, high = plan.table_at[last], plan.rest[last] // low
    message = scratch[:low]
    for h in range(high):
        row = tables[root + h * low : root + (h + 1) * low]
        for c in range(last):
            if plan.bundled[c]:
                own, at = plan.own[c], plan.table_at[c]
                _mix(message, tables, at, low, at + own * low + h, high, own)
                for i in range(low):
                    row[i] *= message[i]


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def take_back_bundle(
    plan: Plan,
    low: int,
    tables: FloatArray,
    belief: FloatArray,
    scratch: FloatArray,
    sides: FloatArray,
) -> None:
    """Fill both marginals of every clique of the bundle, given the law of the last one's table.

    Parameters
    ----------
    plan : Plan
        The block's.
    low : int
        Length of a row.
    tables : float64 array, shape (entries of all tables,)
        As the sum left them.
    belief : float64 array, shape (rest,)
        Probability of every entry of the last clique's table.
    scratch : float64 array, at least ROWS * low entries
        Overwritten.
    sides : float64 array, at least the sum over the bundle of own * (low + high) entries
        Per clique of the bundle, one behind the other: the marginals of its first tables, shape
        (own, low), and of its second ones, shape (own, high); probabilities.
    """
    last = len(plan.own) - 1
    high = plan.rest[last] // low
    n_sides = 0
    for c in range(last):
        if plan.bundled[c]:
            n_sides += plan.own[c] * (low + high)
    sides[:n_sides] = 0.0
    d0, d1 = scratch[:low], scratch[low : 2 * low]
    d2, d3 = scratch[2 * low : 3 * low], scratch[3 * low : 4 * low]
    for start in range(0, high, ROWS):
        n = min(ROWS, high - start)
        scratch[n * low : ROWS * low] = 0.0
        side = 0
        for c in range(last):
            if not plan.bundled[c]:
                continue
            own, at = plan.own[c], plan.table_at[c]
            second = at + own * low + start
            for k in range(n):
                down = scratch[k * low : (k + 1) * low]
                row = belief[(start + k) * low : (start + k + 1) * low]
                _mix(down, tables, at, low, second + k, high, own)
                for i in range(low):
                    down[i] = row[i] / (down[i] + _TINY)
            for v in range(own):
                one = tables[at + v * low : at + (v + 1) * low]
                left = sides[side + v * low : side + (v + 1) * low]
                q, right = second + v * high, side + own * low + v * high + start
                z0 = tables[q]
                z1 = tables[q + 1] if n > 1 else 0.0
                z2 = tables[q + 2] if n > 2 else 0.0
                z3 = tables[q + 3] if n > 3 else 0.0
                s0 = s1 = s2 = s3 = 0.0
                for i in range(low):
                    s0 += d0[i] * one[i]
                    s1 += d1[i] * one[i]
                    s2 += d2[i] * one[i]
                    s3 += d3[i] * one[i]
                sides[right] = s0 * z0
                if n > 1:
                    sides[right + 1] = s1 * z1
                if n > 2:
                    sides[right + 2] = s2 * z2
                if n > 3:
                    sides[right + 3] = s3 * z3
                for i in range(low):
                    left[i] += d0[i] * z0 + d1[i] * z1 + d2[i] * z2 + d3[i] * z3
            side += own * (low + high)
    side = 0
    for c in range(last):
        if plan.bundled[c]:
            own, at = plan.own[c], plan.table_at[c]
            for i in range(own * low):
                sides[side + i] *= tables[at + i]
            side += own * (low + high)
