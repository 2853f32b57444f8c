"""Compiled branching: which coordinate to split, into which children, in which order.

With ``upper`` the best objective, costs in internal units, a node is done when its bound reaches

    prune_at = upper - (gap + 1) * scale + 1

since objectives are multiples of ``scale``: what improves by more than ``gap`` steps is at most
``upper - (gap + 1) * scale``. With ``slack = prune_at - bound``, the coordinate with the largest

    (gained_j + 2 * mean over a of min(1, (theta[j, a] - least_j) / slack)) / (tries_j + 2)
    + 0.01 * rule * weight_j / largest weight

is branched on: what its children closed of the gap so far (``gained_j`` over ``tries_j``), two
tries' worth of what its table says, and the cost of undecided points. A child with the values
``A`` has the bound ``bound - least_j + min over A of theta[j, a]``. The choice affects time only.
"""

from __future__ import annotations

from oracles.arithmetic import IntArray, compiled, copy_into
from oracles.branch_and_bound.arrays import INFINITE, Arena, Frames, Model, Scratch

(
    DEPTH,
    ENTERED,
    NODES,
    UPPER,
    GAP,
    MAX_PASSES,
    MIN_GAIN,
    RULE,
    SPLIT,
    HYPOTHESIS_WORK,
    CREDIT,
    COMPLETING,
) = range(12)
"""Places in the state, an int64 array: depth of the current node, -1 at the end; whether it is yet
to be bounded; nodes so far; objective of the best hypothesis, internal units; absolute gap in
objective steps; most sharing passes per node; percent of the gap that a pass must close to be
followed by another; weight of the undecided points in branching, percent; most values that are
branched on one by one; work of looking at one hypothesis, 0 if nodes are never completed; work
that completions in vain may still cost; about how many hypotheses the node to be completed leaves,
0 if none is."""

GIVEN_UP = 2
"""Value of ENTERED: the node is bounded, but its completion was given up."""

NODE_CREDIT = 5_000_000
"""What each node adds to the credit: about the work of a node."""

_WORTHWHILE = 2000
"""Tables and points together leave hundreds of times fewer hypotheses than the tables alone."""

GAIN_UNIT = 1000
"""Parts of a gap are remembered in thousandths."""


@compiled
def prune_at(model: Model, state: IntArray) -> int:
    """Return the least internal bound at which a node cannot improve by more than the gap."""
    return state[UPPER] - (state[GAP] + 1) * model.scale + 1


@compiled
def weigh_coordinates(
    model: Model, frames: Frames, t: int, arena: Arena, scratch: Scratch
) -> bool:
    """Fill ``scratch.weight``; return whether there are factors other than groups of points."""
    coupled = len(model.block_at) > 0 or len(model.norm_cost) > 0
    scratch.weight[:] = 0
    for g in range(frames.group_at[t], frames.group_end[t]):
        total = 0
        for q in range(arena.cell_at[g], arena.cell_at[g] + arena.n_cells[g]):
            total += abs(arena.cell_cost[q])
        for e in range(arena.entry_at[g], arena.entry_at[g] + arena.n_entries[g]):
            scratch.weight[arena.entry_coord[e]] += total
    return coupled


@compiled
def drop_idle(model: Model, frames: Frames, t: int, scratch: Scratch) -> None:
    """Leave one value to coordinates that no point depends on."""
    for j in range(len(model.n_values)):
        if frames.fixed[t, j] or scratch.weight[j] > 0:
            continue
        found = False
        for a in range(model.n_values[j]):
            if frames.domain[t, j, a]:
                if found or frames.theta[t, j, a] > scratch.least[j]:
                    frames.domain[t, j, a] = False
                else:
                    found = True


@compiled
def choose_coordinate(
    model: Model, frames: Frames, t: int, scratch: Scratch, slack: int, rule: int
) -> int:
    """Return the coordinate to branch on, -1 if every coordinate has one value."""
    heaviest = 1
    for j in range(len(model.n_values)):
        if not frames.fixed[t, j]:
            heaviest = max(heaviest, scratch.weight[j])
    best = -1
    best_score = -1.0
    for j in range(len(model.n_values)):
        if frames.fixed[t, j]:
            continue
        n = 0
        lifted = 0.0
        for a in range(model.n_values[j]):
            if frames.domain[t, j, a]:
                n += 1
                lift = (frames.theta[t, j, a] - scratch.least[j]) / max(slack, 1)
                lifted += min(lift, 1.0)
        if n < 2:
            continue
        gain = (scratch.gained[j] / GAIN_UNIT + 2 * lifted / n) / (scratch.tries[j] + 2)
        score = gain + 0.01 * rule * scratch.weight[j] / heaviest
        if score > best_score:
            best_score = score
            best = j
    return best


@compiled
def take_raw_tables(model: Model, frames: Frames, t: int, arena: Arena, scratch: Scratch) -> int:
    """Fill ``scratch.lam`` with tables without the points' messages; return their bound."""
    raw = scratch.lam
    bound = frames.base[t]
    for j in range(len(model.n_values)):
        copy_into(raw[j], frames.theta[t, j])
    for g in range(frames.group_at[t], frames.group_end[t]):
        bound += arena.constant[g]
        for e in range(arena.entry_at[g], arena.entry_at[g] + arena.n_entries[g]):
            j = arena.entry_coord[e]
            for a in range(model.n_values[j]):
                raw[j, a] -= arena.message[e, a]
    for j in range(len(model.n_values)):
        least = INFINITE
        for a in range(model.n_values[j]):
            if frames.domain[t, j, a]:
                least = min(least, raw[j, a])
        scratch.least_lam[j] = least
        if not frames.fixed[t, j]:
            bound += least
    return bound


@compiled
def count_hypotheses(
    model: Model, frames: Frames, t: int, scratch: Scratch, slack: int, most: int
) -> int:
    """Return about how many hypotheses the raw tables leave, from 1 to ``most``.

    Counts the ``w`` with ``sum_j (raw[j, w_j] - least_j)`` up to ``slack``, each term rounded to
    128ths of the slack: counts by rounded sum are convolved, coordinate by coordinate.
    """
    parts = 128
    unit = slack // parts + 1
    counts = scratch.terminal[:parts]
    counts[:] = 0
    counts[0] = 1
    for j in range(len(model.n_values)):
        if frames.fixed[t, j]:
            continue
        for v in range(parts - 1, -1, -1):
            total = 0
            for a in range(model.n_values[j]):
                if frames.domain[t, j, a]:
                    part = (scratch.lam[j, a] - scratch.least_lam[j] + unit // 2) // unit
                    if part <= v:
                        total += counts[v - part]
            counts[v] = min(total, most)
    total = 0
    for v in range(parts):
        total += counts[v]
    return max(min(total, most), 1)


@compiled
def worth_completing(
    model: Model, frames: Frames, t: int, arena: Arena, scratch: Scratch, state: IntArray
) -> bool:
    """Return whether looking at the node's hypotheses one by one is likely to be quick."""
    if state[HYPOTHESIS_WORK] == 0:
        return False
    slack = prune_at(model, state) - take_raw_tables(model, frames, t, arena, scratch)
    most = state[CREDIT] // state[HYPOTHESIS_WORK] * _WORTHWHILE
    count = count_hypotheses(model, frames, t, scratch, max(slack, 1), most + 1)
    if count > most:
        return False
    state[COMPLETING] = count
    return True


@compiled
def add_child(frames: Frames, t: int, low: int, high: int, bound: int) -> None:
    """Insert a child with positions ``low .. high``, least bound first."""
    k = frames.n_children[t]
    while k > 0 and frames.child_bound[t, k - 1] > bound:
        frames.child_low[t, k] = frames.child_low[t, k - 1]
        frames.child_high[t, k] = frames.child_high[t, k - 1]
        frames.child_bound[t, k] = frames.child_bound[t, k - 1]
        k -= 1
    frames.child_low[t, k] = low
    frames.child_high[t, k] = high
    frames.child_bound[t, k] = bound
    frames.n_children[t] += 1


@compiled
def branch(
    model: Model, frames: Frames, t: int, scratch: Scratch, bound: int, state: IntArray
) -> None:
    """List the node's children (none if it is solved)."""
    frames.n_children[t] = 0
    frames.next_child[t] = 0
    slack = prune_at(model, state) - bound
    j = choose_coordinate(model, frames, t, scratch, slack, state[RULE])
    if j < 0:
        return
    frames.child_coord[t] = j
    n = 0
    for a in range(model.n_values[j]):
        if frames.domain[t, j, a]:
            n += 1
    per_child = 1 if n <= state[SPLIT] else (n + 1) // 2
    first = -1
    taken = 0
    least = INFINITE
    for a in range(model.n_values[j]):
        if not frames.domain[t, j, a]:
            continue
        if taken == 0:
            first = a
            least = INFINITE
        least = min(least, frames.theta[t, j, a])
        taken += 1
        n -= 1
        if taken == per_child or n == 0:
            add_child(frames, t, first, a, bound - scratch.least[j] + least)
            taken = 0


@compiled
def learn_gain(
    model: Model, frames: Frames, t: int, scratch: Scratch, state: IntArray, bound: int
) -> None:
    """Remember which part of its parent's gap a child closed, for the coordinate branched on."""
    if t < 2:
        return
    j = frames.child_coord[t - 1]
    slack = max(1, prune_at(model, state) - frames.reached[t - 1])
    part = min(1.0, (bound - frames.reached[t - 1]) / slack)
    scratch.gained[j] += int(GAIN_UNIT * part)
    scratch.tries[j] += 1
