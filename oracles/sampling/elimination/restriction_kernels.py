"""Compiled loops that restrict a block's plan to parts of its variables' domains.

A condition on scores rules out some states of the variables that the scores depend on. Tables
over the others alone are smaller, by a factor for every variable, and nothing is lost: a state is
left out only if no assignment that has it meets the conditions.

With ``z_v(s, r)`` what state ``s`` of variable ``v`` adds to row ``r``'s score, and ``clip`` from
scores to indices, ``s`` is dropped if for some row

    clip(z_v(s, r) + sum over u != v of max z_u(., r)) < low[r]   or
    clip(z_v(s, r) + sum over u != v of min z_u(., r)) > high[r]

the extremes being over the states that are left. No assignment with ``s`` can then have an index
in ``low[r] .. high[r]``.

States of a variable are numbered within the variable; ``offsets[v] + state`` is their place in a
list of all states. ``kept`` lists the kept states of variable ``v`` in
``starts[v] .. starts[v + 1] - 1``. Both ``offsets`` and ``starts`` have shape (variables + 1,),
``kept`` (kept states,), int64.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oracles.arithmetic import IntArray, njit
from oracles.sampling.elimination.plan import Plan


@njit(cache=True, nogil=True, error_model="numpy")
def feasible_states(
    scores: NDArray[np.int32],
    offsets: IntArray,
    lowest: int,
    top: int,
    low: IntArray,
    high: IntArray,
    alive: NDArray[np.bool_],
) -> bool:
    """Drop states that no assignment within the rows' index intervals can have.

    ``scores[offsets[v] + s]``, shape (rows,) int32, is what state ``s`` of variable ``v`` adds to
    every row's score; an index is the score minus ``lowest``, clipped to ``0 .. top``. ``low`` and
    ``high``, shape (rows,) int64, are indices. States are dropped from ``alive``, shape (states,)
    bool, until nothing changes. Returns False if it finds that no assignment is left.
    """
    n_variables = len(offsets) - 1
    least = np.zeros(n_variables, dtype=np.int64)
    most = np.zeros(n_variables, dtype=np.int64)
    changed = True
    while changed:
        changed = False
        for row in range(len(low)):
            if low[row] <= 0 and high[row] >= top:
                continue
            bottom, peak = -lowest, -lowest
            for v in range(n_variables):
                first = True
                for s in range(offsets[v], offsets[v + 1]):
                    if alive[s]:
                        z = np.int64(scores[s, row])
                        if first or z < least[v]:
                            least[v] = z
                        if first or z > most[v]:
                            most[v] = z
                        first = False
                if first:
                    return False
                bottom += least[v]
                peak += most[v]
            for v in range(n_variables):
                if least[v] == most[v]:
                    if min(max(peak, 0), top) < low[row] or min(max(bottom, 0), top) > high[row]:
                        return False
                    continue
                for s in range(offsets[v], offsets[v + 1]):
                    if alive[s]:
                        z = np.int64(scores[s, row])
                        upper = min(max(peak - most[v] + z, 0), top)
                        lower = min(max(bottom - least[v] + z, 0), top)
                        if upper < low[row] or lower > high[row]:
                            alive[s] = False
                            changed = True
    return True


@njit(cache=True, nogil=True, error_model="numpy")
def restricted_shape(plan: Plan, starts: IntArray, shape: IntArray, strides: IntArray) -> None:
    """Fill the sizes and offsets of the restricted plan.

    ``shape`` is (cliques + extensions + 1, 5) int64, ``strides`` (axes,) int64. Columns of
    ``shape`` per clique: own, rest, table_at, message_at; per extension behind them: dim, length,
    prefix, factor_at, term_map_at of its first term; the last row holds the totals of terms,
    factors and incoming maps in its first three columns: entries, not maps.
    """
    n_cliques = len(plan.own)
    table = message = factor = term = incoming = 0
    for c in range(n_cliques):
        first, last = plan.axes[c], plan.axes[c + 1]
        own = 1
        if plan.variable[c] >= 0:
            own = starts[plan.variable[c] + 1] - starts[plan.variable[c]]
        stride = 1
        for a in range(first, last):
            v = plan.axis_variable[a]
            strides[a] = stride
            stride *= starts[v + 1] - starts[v]
        shape[c, 0], shape[c, 1], shape[c, 2], shape[c, 3] = own, stride, table, message
        table += own * stride
        message += stride
        for e in range(plan.extensions[c], plan.extensions[c + 1]):
            axis = e - plan.extensions[c]
            dim = length = prefix = 1
            if axis > 0:
                v = plan.axis_variable[first + axis - 1]
                dim = starts[v + 1] - starts[v]
                length = strides[first + axis - 1]
            for a in range(first, first + plan.prefix_axes[e]):
                v = plan.axis_variable[a]
                prefix *= starts[v + 1] - starts[v]
            row = shape[n_cliques + e]
            row[0], row[1], row[2], row[3], row[4] = dim, length, prefix, factor, term
            factor += own * dim * prefix
            term += own * dim * prefix * (plan.terms[e + 1] - plan.terms[e])
        for k in range(plan.incoming[c], plan.incoming[c + 1]):
            if plan.incoming_map_at[k] >= 0:
                incoming += own * stride
    totals = shape[len(shape) - 1]
    totals[0], totals[1], totals[2] = term, factor, incoming


@njit(cache=True, nogil=True, error_model="numpy")
def fill_restricted(
    plan: Plan,
    kept: IntArray,
    starts: IntArray,
    shape: IntArray,
    strides: IntArray,
    term_map_at: IntArray,
    term_maps: NDArray[np.int32],
    fixed: NDArray[np.float64],
    incoming_map_at: IntArray,
    incoming_maps: NDArray[np.int32],
) -> None:
    """Copy the kept entries of a plan's maps and constants, after :func:`restricted_shape`.

    The last five arrays are filled: those of the restricted
    :class:`~oracles.sampling.elimination.plan.Plan`.
    """
    n_cliques = len(plan.own)
    largest = 1
    for e in range(n_cliques, len(shape) - 1):
        largest = max(largest, shape[e, 2])
    for c in range(n_cliques):
        largest = max(largest, shape[c, 1])
    places = np.zeros(largest, dtype=np.int64)
    at_incoming = 0
    for c in range(n_cliques):
        first = plan.axes[c]
        own, rest = shape[c, 0], shape[c, 1]
        mine = plan.variable[c]
        for e in range(plan.extensions[c], plan.extensions[c + 1]):
            axis = e - plan.extensions[c]
            row = shape[n_cliques + e]
            dim, prefix, f = row[0], row[2], row[3]
            n = 1
            places[0] = 0
            for a in range(first, first + plan.prefix_axes[e]):
                v = plan.axis_variable[a]
                for s in range(starts[v + 1] - starts[v] - 1, -1, -1):
                    shift = kept[starts[v] + s] * plan.axis_stride[a]
                    for i in range(n):
                        places[s * n + i] = places[i] + shift
                n *= starts[v + 1] - starts[v]
            size = own * dim * prefix
            m = row[4]
            for t in range(plan.terms[e], plan.terms[e + 1]):
                term_map_at[t] = m
                m += size
            i = 0
            for x in range(own):
                here = kept[starts[mine] + x] if mine >= 0 else 0
                for y in range(dim):
                    there = 0
                    if axis > 0:
                        there = kept[starts[plan.axis_variable[first + axis - 1]] + y]
                    source = (here * plan.dim[e] + there) * plan.prefix[e]
                    for j in range(prefix):
                        fixed[f + i + j] = plan.fixed[plan.factor_at[e] + source + places[j]]
                    for t in range(plan.terms[e], plan.terms[e + 1]):
                        old = plan.term_map_at[t] + source
                        new = term_map_at[t] + i
                        for j in range(prefix):
                            term_maps[new + j] = plan.term_maps[old + places[j]]
                    i += prefix
        for k in range(plan.incoming[c], plan.incoming[c + 1]):
            if plan.incoming_map_at[k] < 0:
                incoming_map_at[k] = -1
                continue
            child = plan.incoming_clique[k]
            n = 1
            places[0] = 0
            for a in range(first, plan.axes[c + 1]):
                v = plan.axis_variable[a]
                stride = _stride_in(plan, strides, child, v)
                for s in range(starts[v + 1] - starts[v] - 1, -1, -1):
                    for i in range(n):
                        places[s * n + i] = places[i] + s * stride
                n *= starts[v + 1] - starts[v]
            incoming_map_at[k] = at_incoming
            stride = _stride_in(plan, strides, child, mine) if mine >= 0 else 0
            for x in range(own):
                for j in range(rest):
                    incoming_maps[at_incoming + j] = places[j] + x * stride
                at_incoming += rest


@njit(cache=True, nogil=True, error_model="numpy")
def _stride_in(plan: Plan, strides: IntArray, clique: int, variable: int) -> int:
    """Return the stride of a variable in a clique's message, 0 if it is not there."""
    for a in range(plan.axes[clique], plan.axes[clique + 1]):
        if plan.axis_variable[a] == variable:
            return int(strides[a])
    return 0


@njit(cache=True, nogil=True, error_model="numpy")
def to_full_states(states: IntArray, kept: IntArray, starts: IntArray) -> None:
    """Turn numbers among the kept states into states, in place, shape (n, variables)."""
    for r in range(states.shape[0]):
        for v in range(states.shape[1]):
            states[r, v] = kept[starts[v] + states[r, v]]
