"""Compiled loops over a block's cliques: the marginals, after the sum.

The way back of variable elimination (:mod:`oracles.sampling.elimination.sum_kernels`), from the
last clique to the
first. With ``table_c`` as the sum left it, ``message_c`` before it was divided by its mean and
``q_c(i)`` the probability of the states ``i`` of clique ``c``'s axes,

    down_c(i) = q_c(i) / message_c(i),   belief_c(v, i) = table_c(v, i) * down_c(i)

is the probability of the clique's states, and sums of beliefs are the ``q`` of the cliques that
sent it messages. For the last clique ``down`` is 1 over the sum of its table. A context's law is
the belief of the clique that has it as a term, summed by score index. Halved cliques never write
their beliefs down: those of either table are summed apart.

Arrays are one-dimensional float64; ``law`` (contexts * width,), ``downward`` like ``messages``,
``beliefs`` as long as the largest table.
"""

from __future__ import annotations

from oracles.arithmetic import FloatArray, njit
from oracles.sampling.elimination.bundle_kernels import take_back_bundle
from oracles.sampling.elimination.plan import Plan
from oracles.sampling.elimination.sum_kernels import half_sizes

_FAST = {"reassoc", "contract", "arcp", "nsz"}

_TINY = 1e-300


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy", inline="always")
def _collapse(plan, e, v, n, belief, factors):  # type: ignore[no-untyped-def]
    """Sum a belief over all but one axis into the factor's place, then over that axis.

    ``belief`` has ``n`` entries per state of the axis of extension ``e``; the first ``n`` hold its
    sum over the axis afterwards. ``v`` is the own state that it is for.
    """
    p, dim = plan.prefix[e], plan.dim[e]
    f = plan.factor_at[e] + v * dim * p
    if plan.terms[e + 1] > plan.terms[e]:
        for u in range(dim):
            part = belief[u * n : (u + 1) * n]
            if p == 1:
                s = 0.0
                for i in range(n):
                    s += part[i]
                factors[f + u] = s
            else:
                share = factors[f + u * p : f + (u + 1) * p]
                share[:] = 0.0
                for b in range(0, n, p):
                    run = part[b : b + p]
                    for i in range(p):
                        share[i] += run[i]
    head = belief[:n]
    for u in range(1, dim):
        part = belief[u * n : (u + 1) * n]
        for i in range(n):
            head[i] += part[i]


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def _take_halves(
    plan: Plan,
    c: int,
    tables: FloatArray,
    down: FloatArray,
    factors: FloatArray,
    beliefs: FloatArray,
) -> None:
    """Fill the factors' marginals of a halved clique."""
    low, high, shared = half_sizes(plan, c)
    own = plan.own[c]
    second = plan.table_at[c] + own * low
    behind = own * low
    beliefs[: own * (low + high * shared)] = 0.0
    for h in range(high):
        row = down[h * low : (h + 1) * low]
        for v in range(own):
            one = tables[plan.table_at[c] + v * low : plan.table_at[c] + (v + 1) * low]
            left = beliefs[v * low : (v + 1) * low]
            at = (v * high + h) * shared
            if shared == 1:
                z = tables[second + at]
                s = 0.0
                for i in range(low):
                    left[i] += row[i] * z
                    s += row[i] * one[i]
                beliefs[behind + at] = s * z
            else:
                two = tables[second + at : second + at + shared]
                into = beliefs[behind + at : behind + at + shared]
                for b in range(0, low, shared):
                    part, more = row[b : b + shared], one[b : b + shared]
                    sums = left[b : b + shared]
                    for i in range(shared):
                        sums[i] += part[i] * two[i]
                        into[i] += part[i] * more[i]
                for i in range(shared):
                    into[i] *= two[i]
    for v in range(own):
        one = tables[plan.table_at[c] + v * low : plan.table_at[c] + (v + 1) * low]
        left = beliefs[v * low : (v + 1) * low]
        for i in range(low):
            left[i] *= one[i]
    _collapse_halves(plan, c, beliefs, factors)


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def _collapse_halves(plan: Plan, c: int, beliefs: FloatArray, factors: FloatArray) -> None:
    """Fill the factors' marginals from those of a clique's first and second tables."""
    first, middle, last = plan.extensions[c], plan.half[c] + 1, plan.extensions[c + 1]
    middle += first
    low, high, shared = half_sizes(plan, c)
    own = plan.own[c]
    behind = own * low
    for v in range(own):
        left = beliefs[v * low : (v + 1) * low]
        right = beliefs[behind + v * high * shared : behind + (v + 1) * high * shared]
        for e in range(last - 1, middle - 1, -1):
            _collapse(plan, e, v, plan.length[e] // low * shared, right, factors)
        for e in range(middle - 1, first - 1, -1):
            _collapse(plan, e, v, plan.length[e], left, factors)


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def block_marginals(
    law: FloatArray,
    plan: Plan,
    factors: FloatArray,
    tables: FloatArray,
    messages: FloatArray,
    peaks: FloatArray,
    downward: FloatArray,
    beliefs: FloatArray,
    scratch: FloatArray,
    sides: FloatArray,
) -> None:
    """Fill ``law`` with the probability of every context's score, after :func:`sum_block`.

    Rows of ``law`` sum to 1 up to rounding. ``factors``, ``downward``, ``beliefs``, ``scratch``
    and ``sides`` are overwritten; the last two are as in :func:`take_back_bundle`.
    """
    law[:] = 0.0
    n_cliques = len(plan.own)
    total = 0.0
    side = row = int(plan.own[0]) * 0  # not literals: numba would compile what takes them twice
    for c in range(n_cliques):
        if plan.bundled[c]:
            low, high, _ = half_sizes(plan, c)
            row = low
            side += plan.own[c] * (low + high)
        else:
            downward[plan.message_at[c] : plan.message_at[c] + plan.rest[c]] = 0.0
    root = plan.message_at[n_cliques - 1]
    for i in range(plan.rest[n_cliques - 1]):
        total += messages[root + i]
    for c in range(n_cliques - 1, -1, -1):
        own, rest, at = plan.own[c], plan.rest[c], plan.table_at[c]
        own_here = 0 if plan.half[c] >= 0 else own
        down = downward[plan.message_at[c] : plan.message_at[c] + rest]
        up = messages[plan.message_at[c] : plan.message_at[c] + rest]
        if plan.bundled[c]:
            side -= own * (row + rest // row)
            _collapse_halves(plan, c, sides[side:], factors)
        elif c == n_cliques - 1:
            down[:] = 1.0 / total
        else:
            inverse = 1.0 / peaks[c]
            for i in range(rest):
                down[i] = down[i] * inverse / (up[i] + _TINY)
        if plan.half[c] >= 0 and not plan.bundled[c]:
            _take_halves(plan, c, tables, down, factors, beliefs)
        for v in range(own_here):
            part = tables[at + v * rest : at + (v + 1) * rest]
            belief = beliefs[v * rest : (v + 1) * rest]
            for i in range(rest):
                belief[i] = part[i] * down[i]
        for k in range(plan.incoming[c], plan.incoming[c + 1]):
            m, g = plan.incoming_map_at[k], plan.message_at[plan.incoming_clique[k]]
            if plan.bundled[plan.incoming_clique[k]]:
                continue
            if m < 0:
                child = downward[g : g + rest]
                for v in range(own):
                    belief = beliefs[v * rest : (v + 1) * rest]
                    for i in range(rest):
                        child[i] += belief[i]
            else:
                child, places = downward[g:], plan.incoming_maps[m : m + own * rest]
                for i in range(own * rest):
                    child[places[i]] += beliefs[i]
        if c == n_cliques - 1 and row > 0:
            take_back_bundle(plan, row, tables, beliefs, scratch, sides)
        for v in range(own_here):
            belief = beliefs[v * rest : (v + 1) * rest]
            for e in range(plan.extensions[c + 1] - 1, plan.extensions[c] - 1, -1):
                _collapse(plan, e, v, plan.length[e], belief, factors)
        for e in range(plan.extensions[c], plan.extensions[c + 1]):
            f = plan.factor_at[e]
            for t in range(plan.terms[e], plan.terms[e + 1]):
                m = plan.term_map_at[t]
                for i in range(own * plan.dim[e] * plan.prefix[e]):
                    law[plan.term_maps[m + i]] += factors[f + i]
