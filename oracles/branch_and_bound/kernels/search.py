"""Compiled depth-first search, in slices of a given number of nodes.

Branch and bound for the minimum over ``w`` of the reduced problem's cost, in internal units. The
lower bound of node ``t`` is

    base[t] + sum over open coordinates j of min over a in domain of theta[t, j, a]

(proof in :mod:`oracles.branch_and_bound.arrays`). Sharing passes raise it
(:mod:`oracles.branch_and_bound.kernels.bounds`).
Position ``a`` of coordinate ``j`` is removed once ``theta[t, j, a] - min theta[t, j]`` is at least
``prune_at - bound``: every hypothesis that has it costs too much. The search ends with a proof: a
node is left only if its bound reaches ``prune_at``
(:mod:`oracles.branch_and_bound.kernels.branching`), if all its
hypotheses were looked at, or if its children were. ``state`` is the int64 array whose places
:mod:`oracles.branch_and_bound.kernels.branching` lists.
"""

from __future__ import annotations

from oracles.arithmetic import IntArray, compiled, compiled_apart, compiled_in_place, copy_into
from oracles.branch_and_bound.arrays import INFINITE, Arena, Frames, Model, Scratch
from oracles.branch_and_bound.kernels.bounds import update_block, update_group, update_norm
from oracles.branch_and_bound.kernels.branching import (
    COMPLETING,
    CREDIT,
    DEPTH,
    ENTERED,
    GIVEN_UP,
    MAX_PASSES,
    MIN_GAIN,
    NODE_CREDIT,
    NODES,
    UPPER,
    branch,
    drop_idle,
    learn_gain,
    prune_at,
    weigh_coordinates,
    worth_completing,
)
from oracles.branch_and_bound.kernels.children import has_room, make_child

FINISHED, PAUSED, FULL, COMPLETE = range(4)
"""What a slice returns: the tree is exhausted, the nodes are used up, the arena needs room, the
node at the top of the stack is to be completed."""


@compiled
def opening_bound(model: Model, frames: Frames, t: int, scratch: Scratch) -> int:
    """Compute the least entry of every open table; return the bound."""
    bound = frames.base[t]
    for j in range(len(model.n_values)):
        scratch.least[j] = 0
        if frames.fixed[t, j]:
            continue
        least = INFINITE
        for a in range(model.n_values[j]):
            if frames.domain[t, j, a]:
                least = min(least, frames.theta[t, j, a])
        scratch.least[j] = least
        bound += least
    return bound


@compiled
def shave(model: Model, frames: Frames, t: int, scratch: Scratch, slack: int) -> bool:
    """Remove values whose table entry alone lifts the bound by ``slack``; return whether any."""
    changed = False
    for j in range(len(model.n_values)):
        if frames.fixed[t, j]:
            continue
        limit = scratch.least[j] + slack
        for a in range(model.n_values[j]):
            if frames.domain[t, j, a] and frames.theta[t, j, a] >= limit:
                frames.domain[t, j, a] = False
                changed = True
    return changed


@compiled_apart
def bound_node(
    model: Model, frames: Frames, t: int, arena: Arena, scratch: Scratch, state: IntArray
) -> int:
    """Raise the node's bound by sharing passes and shave values; return the bound.

    Groups take turns forwards in one pass and backwards in the next, so that what one of them
    gives away reaches all others. It stops at ``prune_at``, after the most passes, or when a pass
    closed too little of the gap.
    """
    target = prune_at(model, state)
    bound = opening_bound(model, frames, t, scratch)
    passes = 0
    while bound < target:
        before = bound
        for b in range(len(model.block_at)):
            bound += update_block(model, frames, t, b, scratch)
        change = update_norm(model, frames, t, scratch)
        if change >= INFINITE // 4:
            return INFINITE
        bound += change
        first, last = frames.group_at[t], frames.group_end[t]
        for p in range(last - first):
            g = first + p if passes & 1 == 0 else last - 1 - p
            bound += update_group(model, frames, t, arena, g, scratch, passes & 1)
            if bound >= target:
                return bound
        if bound >= target:
            return bound
        shave(model, frames, t, scratch, target - bound)
        passes += 1
        if passes >= state[MAX_PASSES]:
            break
        if (bound - before) * 100 < (target - bound) * state[MIN_GAIN]:
            break
    return bound


@compiled
def factor_cost(model: Model, frames: Frames, t: int, scratch: Scratch) -> int:
    """Return what blocks and norm of the candidate cost beyond their messages."""
    total = 0
    for b in range(len(model.block_at)):
        if frames.block_done[t, b]:
            continue
        at = model.block_at[b]
        for q in range(model.block_start[b], model.block_start[b + 1]):
            j = model.block_coord[q]
            at += scratch.candidate[j] * model.block_stride[q]
            total -= frames.block_message[t, j, scratch.candidate[j]]
        total += model.block_cost[at]
    if len(model.norm_cost) > 0 and not frames.block_done[t, len(model.block_at)]:
        norm = 0
        for j in range(len(model.n_values)):
            value = model.values[j, scratch.candidate[j]]
            norm += value * value
            total -= frames.norm_message[t, j, scratch.candidate[j]]
        if norm >= len(model.norm_cost) or model.norm_cost[norm] >= INFINITE:
            return INFINITE
        total += model.norm_cost[norm]
    return total


@compiled
def group_cost(model: Model, arena: Arena, g: int, scratch: Scratch) -> int:
    """Return what the candidate costs in a group beyond the group's messages."""
    total = arena.constant[g]
    score = 0
    for e in range(arena.entry_at[g], arena.entry_at[g] + arena.n_entries[g]):
        j = arena.entry_coord[e]
        total -= arena.message[e, scratch.candidate[j]]
        score += arena.entry_coef[e] * model.values[j, scratch.candidate[j]]
    for q in range(arena.cell_at[g], arena.cell_at[g] + arena.n_cells[g]):
        cost = arena.cell_cost[q]
        total += max(cost if arena.cell_score[q] + score >= 1 else -cost, 0)
    return total


@compiled
def try_candidate(
    model: Model, frames: Frames, t: int, arena: Arena, scratch: Scratch, state: IntArray
) -> None:
    """Evaluate the node's cheapest table entries as a hypothesis; keep it if it is the best."""
    total = frames.base[t]
    for j in range(len(model.n_values)):
        least = INFINITE
        for a in range(model.n_values[j]):
            if frames.domain[t, j, a] and frames.theta[t, j, a] < least:
                least = frames.theta[t, j, a]
                scratch.candidate[j] = a
        if not frames.fixed[t, j]:
            total += least
    extra = factor_cost(model, frames, t, scratch)
    if extra >= INFINITE // 2:
        return
    total += extra
    for g in range(frames.group_at[t], frames.group_end[t]):
        if arena.n_entries[g] > 0:
            total += group_cost(model, arena, g, scratch)
        if total >= state[UPPER]:
            return
    if total < state[UPPER]:
        state[UPPER] = total
        copy_into(scratch.best, scratch.candidate)


@compiled
def visit(
    model: Model, frames: Frames, t: int, arena: Arena, scratch: Scratch, state: IntArray
) -> None:
    """Bound the node at the top of the stack; complete or branch unless that prunes it."""
    frames.n_children[t] = 0
    frames.next_child[t] = 0
    bound = bound_node(model, frames, t, arena, scratch, state)
    learn_gain(model, frames, t, scratch, state, bound)
    frames.reached[t] = bound
    if bound >= prune_at(model, state):
        return
    if not weigh_coordinates(model, frames, t, arena, scratch):
        drop_idle(model, frames, t, scratch)
    try_candidate(model, frames, t, arena, scratch, state)
    slack = prune_at(model, state) - bound
    if slack > 0 and not worth_completing(model, frames, t, arena, scratch, state):
        branch(model, frames, t, scratch, bound, state)


@compiled_in_place
def search(
    model: Model,
    frames: Frames,
    arena: Arena,
    scratch: Scratch,
    state: IntArray,
    n_nodes: int,
) -> int:
    """Continue the search for at most ``n_nodes`` nodes; return why it stopped."""
    last = state[NODES] + n_nodes
    while state[DEPTH] >= 0:
        t = state[DEPTH]
        if state[ENTERED] == GIVEN_UP:
            branch(model, frames, t, scratch, frames.reached[t], state)
            state[ENTERED] = 0
        elif state[ENTERED]:
            if state[NODES] >= last:
                return PAUSED
            state[NODES] += 1
            state[CREDIT] += NODE_CREDIT
            visit(model, frames, t, arena, scratch, state)
            state[ENTERED] = 0
            if state[COMPLETING] > 0:
                return COMPLETE
            continue
        k = frames.next_child[t]
        if k >= frames.n_children[t] or frames.child_bound[t, k] >= prune_at(model, state):
            state[DEPTH] = t - 1
            continue
        if not has_room(frames, t, arena):
            return FULL
        frames.next_child[t] = k + 1
        frames.bound[t + 1] = frames.child_bound[t, k]
        make_child(
            model,
            frames,
            t,
            arena,
            scratch,
            frames.child_coord[t],
            frames.child_low[t, k],
            frames.child_high[t, k],
        )
        state[DEPTH] = t + 1
        state[ENTERED] = 1
    return FINISHED
