"""The compiled sum over a block's cliques in logarithms, for sums too deep for doubles.

Variable elimination as in :mod:`oracles.block_kernels`, with ``t = ln table``::

    t_c(v, i) = sum of its factors' logs + sum of the messages it gets
    message_c(i) = p + ln(sum over v of exp(t_c(v, i) - p)),  p = max over v of t_c(v, i)
"""

from __future__ import annotations

import numpy as np

from oracles.arrays import FloatArray
from oracles.block_plan import Plan
from oracles.compilation import njit


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
