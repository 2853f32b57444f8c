"""Compiled loops over a block's cliques: the sum, by variable elimination.

With ``s`` the states of the block's variables and ``x_k(s)`` the clipped score index of context
``k``, the sum is

    Z = sum over s of prod over k of weights[k, x_k(s)] * prod of the constant factors

Clique ``c`` sums its own variable ``v`` out, given the states ``i`` of its axes::

    table_c(v, i) = prod of its factors * prod of the messages it gets
    message_c(i) = sum over v of table_c(v, i)

and ``Z`` is the sum of the last clique's message. Messages are divided by their mean, whose
logarithm is added to the result. That elimination gives ``Z`` is the distributive law; what
underflow may lose is in docs/theory.md, entry "exact-sampler".

Arrays are one-dimensional float64, no unit, laid out as
:class:`~oracles.sampling.elimination.plan.Plan` says:
``weights`` (contexts * width,), ``factors`` (entries of all factors,), ``tables`` (entries of all
tables,), ``messages`` (entries of all messages,), ``peaks`` (cliques,): the messages' means.

All tables hold non-negative doubles. Contexts' factors are at most 1, so an entry that underflows
stands for configurations of relative weight below ``2**-1022``.

Sums too deep for doubles are taken in logarithms, with ``t = ln table``::

    t_c(v, i) = sum of its factors' logs + sum of the messages it gets
    message_c(i) = p + ln(sum over v of exp(t_c(v, i) - p)),  p = max over v of t_c(v, i)
"""

from __future__ import annotations

import numpy as np

from oracles.arithmetic import FloatArray, njit
from oracles.sampling.elimination.bundle_kernels import multiply_bundle, scale_halves
from oracles.sampling.elimination.plan import Plan

# Sums may be reordered, but infinities and NaNs keep their meaning.
_FAST = {"reassoc", "contract", "arcp", "nsz"}


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy", inline="always")
def _extend(tables, source, target, n, factors, f, p):  # type: ignore[no-untyped-def]
    """Write the first ``n`` entries, times a factor that repeats every ``p``, to the target.

    ``source`` and ``target`` are places in ``tables``, ``f`` is one in ``factors``.
    """
    c = factors[f]
    if source == target:
        if p == 1:
            part = tables[source : source + n]
            for i in range(n):
                part[i] *= c
        else:
            repeated = factors[f : f + p]
            for b in range(0, n, p):
                part = tables[source + b : source + b + p]
                for i in range(p):
                    part[i] *= repeated[i]
    elif p == 1:
        old, new = tables[source : source + n], tables[target : target + n]
        for i in range(n):
            new[i] = old[i] * c
    else:
        repeated = factors[f : f + p]
        for b in range(0, n, p):
            old = tables[source + b : source + b + p]
            new = tables[target + b : target + b + p]
            for i in range(p):
                new[i] = old[i] * repeated[i]


@njit(cache=True, nogil=True, error_model="numpy")
def half_sizes(plan: Plan, c: int) -> tuple[int, int, int]:
    """Return the sizes of a halved clique: first table, other axes, axes shared.

    For each own state the first table has ``low`` entries, and the second one ``high * shared``:
    entry ``i + low * h`` of the clique's table is ``first[i] * second[h, i % shared]``.
    """
    first = plan.extensions[c]
    cut = plan.half[c]
    low = plan.length[first + cut + 1]
    shared = 1
    for e in range(first + cut + 1, plan.extensions[c + 1]):
        shared = max(shared, plan.prefix[e])
    return low, plan.rest[c] // low, shared


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def _fill_halves(plan: Plan, c: int, tables: FloatArray, factors: FloatArray) -> None:
    """Fill a clique's two tables per state: all first ones, then all second ones."""
    first, middle, last = plan.extensions[c], plan.half[c] + 1, plan.extensions[c + 1]
    middle += first
    low, high, shared = half_sizes(plan, c)
    own = plan.own[c]
    second = plan.table_at[c] + own * low
    for v in range(own):
        base = plan.table_at[c] + v * low
        tables[base] = 1.0
        for e in range(first, middle):
            n, p = plan.length[e], plan.prefix[e]
            f = plan.factor_at[e] + v * plan.dim[e] * p
            for u in range(plan.dim[e] - 1, -1, -1):
                _extend(tables, base, base + u * n, n, factors, f + u * p, p)
        base = second + v * high * shared
        tables[base : base + shared] = 1.0
        for e in range(middle, last):
            n, p = plan.length[e] // low * shared, plan.prefix[e]
            f = plan.factor_at[e] + v * plan.dim[e] * p
            for u in range(plan.dim[e] - 1, -1, -1):
                _extend(tables, base, base + u * n, n, factors, f + u * p, p)


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def _sum_halves(plan: Plan, c: int, tables: FloatArray, out: FloatArray) -> None:
    """Sum the products of a clique's two tables over the states: ``out`` is its message."""
    low, high, shared = half_sizes(plan, c)
    own = plan.own[c]
    second = plan.table_at[c] + own * low
    for h in range(high):
        row = out[h * low : (h + 1) * low]
        row[:] = 0.0
        for v in range(0, own, 2):
            # Two states at a time: the row is read and written half as often.
            w = min(v + 1, own - 1)
            one = tables[plan.table_at[c] + v * low : plan.table_at[c] + (v + 1) * low]
            two = tables[plan.table_at[c] + w * low : plan.table_at[c] + (w + 1) * low]
            x, y = second + (v * high + h) * shared, second + (w * high + h) * shared
            kept = 1.0 if w > v else 0.0
            if shared == 1:
                z1, z2 = tables[x], kept * tables[y]
                for i in range(low):
                    row[i] += one[i] * z1 + two[i] * z2
            else:
                first_part, second_part = tables[x : x + shared], tables[y : y + shared]
                for b in range(0, low, shared):
                    part = row[b : b + shared]
                    left, right = one[b : b + shared], two[b : b + shared]
                    for i in range(shared):
                        part[i] += left[i] * first_part[i] + kept * right[i] * second_part[i]


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def sum_block(
    weights: FloatArray,
    plan: Plan,
    factors: FloatArray,
    tables: FloatArray,
    messages: FloatArray,
    peaks: FloatArray,
    scratch: FloatArray,
) -> float:
    """Fill the tables and return the log of the sum (``-inf`` if every entry vanished).

    ``scratch`` has at least :data:`~oracles.sampling.elimination.bundle_kernels.ROWS` rows of the
    bundle's length. All
    arrays but ``weights`` are overwritten.
    """
    log_scale = 0.0
    n_cliques = len(plan.own)
    row = int(plan.own[0]) * 0  # not a literal: numba would compile what takes it twice
    for c in range(n_cliques):
        first, last = plan.extensions[c], plan.extensions[c + 1]
        own, rest, at = plan.own[c], plan.rest[c], plan.table_at[c]
        for e in range(first, last):
            f = plan.factor_at[e]
            n = own * plan.dim[e] * plan.prefix[e]
            for i in range(n):
                factors[f + i] = plan.fixed[f + i]
            for t in range(plan.terms[e], plan.terms[e + 1]):
                m = plan.term_map_at[t]
                for i in range(n):
                    factors[f + i] *= weights[plan.term_maps[m + i]]
        out = messages[plan.message_at[c] : plan.message_at[c] + rest]
        halved = plan.half[c] >= 0
        if halved:
            _fill_halves(plan, c, tables, factors)
            low, high, _ = half_sizes(plan, c)
            if plan.bundled[c]:
                row = low
                mean = scale_halves(tables, at, own, low, high)
                if not mean > 0.0:
                    return -np.inf
                log_scale += np.log(mean)
                continue
            _sum_halves(plan, c, tables, out)
        for v in range(0 if halved else own):
            base = at + v * rest
            tables[base] = 1.0
            for e in range(first, last):
                n, p = plan.length[e], plan.prefix[e]
                f = plan.factor_at[e] + v * plan.dim[e] * p
                for u in range(plan.dim[e] - 1, -1, -1):
                    _extend(tables, base, base + u * n, n, factors, f + u * p, p)
        for k in range(plan.incoming[c], plan.incoming[c + 1]):
            child = plan.incoming_clique[k]
            m, g = plan.incoming_map_at[k], plan.message_at[child]
            if plan.bundled[child]:
                continue
            if m < 0:
                message = messages[g : g + rest]
                for v in range(own):
                    part = tables[at + v * rest : at + (v + 1) * rest]
                    for i in range(rest):
                        part[i] *= message[i]
            else:
                places, message = plan.incoming_maps[m : m + own * rest], messages[g:]
                for i in range(own * rest):
                    tables[at + i] *= message[places[i]]
        if c == n_cliques - 1 and row > 0:
            multiply_bundle(plan, row, tables, scratch)
        if not halved:
            out[:] = tables[at : at + rest]
        for v in range(1, 1 if halved else own):
            part = tables[at + v * rest : at + (v + 1) * rest]
            for i in range(rest):
                out[i] += part[i]
        if c == n_cliques - 1:
            total = 0.0
            for i in range(rest):
                total += out[i]
            return log_scale + np.log(total) if total > 0.0 else -np.inf
        # Scaling by the mean (not the sum) leaves entries of configurations no smaller.
        peak = 0.0
        for i in range(rest):
            peak += out[i]
        peak /= rest
        if not peak > 0.0:
            return -np.inf
        inverse = 1.0 / peak
        for i in range(rest):
            out[i] *= inverse
        peaks[c] = peak
        log_scale += np.log(peak)
    return log_scale


@njit(cache=True, nogil=True, error_model="numpy")
def sum_block_logs(
    logs: FloatArray,
    plan: Plan,
    factors: FloatArray,
    tables: FloatArray,
    messages: FloatArray,
    peaks: FloatArray,
) -> float:
    """Do what :func:`sum_block` does, in logarithms: slower, but sums of any depth survive.

    ``logs``, shape (contexts * width,) float64, are the logs of the weights in nats; the other
    arrays are those of :func:`sum_block` and are overwritten. Cliques are never halved here.
    Tables end up as conditional laws of the eliminated variables and messages as 1, the last
    clique's apart, which is all that marginals and draws need.
    """
    n_cliques = len(plan.own)
    for c in range(n_cliques):
        own, rest, at = plan.own[c], plan.rest[c], plan.table_at[c]
        for e in range(plan.extensions[c], plan.extensions[c + 1]):
            n, p, dim, f = plan.length[e], plan.prefix[e], plan.dim[e], plan.factor_at[e]
            for i in range(own * dim * p):
                factors[f + i] = np.log(plan.fixed[f + i])
            for t in range(plan.terms[e], plan.terms[e + 1]):
                m = plan.term_map_at[t]
                for i in range(own * dim * p):
                    factors[f + i] += logs[plan.term_maps[m + i]]
            for v in range(own):
                base = at + v * rest
                if e == plan.extensions[c]:
                    tables[base] = 0.0
                for u in range(dim - 1, -1, -1):
                    for i in range(n):
                        z = factors[f + (v * dim + u) * p + i % p]
                        tables[base + u * n + i] = tables[base + i] + z
        for k in range(plan.incoming[c], plan.incoming[c + 1]):
            m, g = plan.incoming_map_at[k], plan.message_at[plan.incoming_clique[k]]
            for i in range(own * rest):
                j = i % rest if m < 0 else plan.incoming_maps[m + i]
                tables[at + i] += messages[g + j]
        out = plan.message_at[c]
        for i in range(rest):
            peak = -np.inf
            for v in range(own):
                peak = max(peak, tables[at + v * rest + i])
            total = 0.0
            for v in range(own):
                z = np.exp(tables[at + v * rest + i] - peak) if peak > -np.inf else 0.0
                tables[at + v * rest + i] = z
                total += z
            messages[out + i] = peak + np.log(total) if peak > -np.inf else -np.inf
            for v in range(own):
                tables[at + v * rest + i] /= max(total, 1.0)
    out, rest = plan.message_at[n_cliques - 1], plan.rest[n_cliques - 1]
    peak = -np.inf
    for i in range(rest):
        peak = max(peak, messages[out + i])
    total = 0.0
    for i in range(out):
        messages[i] = 1.0
    for i in range(rest):
        messages[out + i] = np.exp(messages[out + i] - peak) if peak > -np.inf else 0.0
        total += messages[out + i]
        tables[plan.table_at[n_cliques - 1] + i] = messages[out + i]
    peaks[:] = 1.0
    return peak + np.log(total) if peak > -np.inf else -np.inf
