"""Compiled construction of child nodes: fix coordinates, merge the groups that become alike.

A child has the parent's tables and messages. Where coordinate ``j`` gets fixed at position ``a``,
with weight ``v``, each group ``g`` that has an entry of coefficient ``c`` for it becomes

    cell_score' = cell_score + c * v,   constant' = constant - message[entry, a],
    key' = key - keys[j] * c,           base' = base + theta[j, a]

so what a hypothesis of the child costs stays the same (:mod:`oracles.branch_and_bound.arrays`).
Groups with
equal entries left become one: constants and messages add up, and cells of equal score merge. Of
two costs ``x`` and ``y`` with opposite signs the smaller one is lost whatever is predicted:

    constant += (|x| + |y| - |x + y|) / 2,   cost = x + y
"""

from __future__ import annotations

from oracles.arithmetic import compiled, copy_into
from oracles.branch_and_bound.arrays import Arena, Frames, Model, Scratch


@compiled
def has_room(frames: Frames, t: int, arena: Arena) -> bool:
    """Return whether the arena can hold a child of node ``t``."""
    first = frames.group_at[t]
    end = frames.group_end[t]
    cells = 0
    entries = 0
    for g in range(first, end):
        cells += arena.n_cells[g]
        entries += arena.n_entries[g]
    return (
        end + (end - first) <= len(arena.constant)
        and frames.cell_end[t] + cells <= len(arena.cell_score)
        and frames.entry_end[t] + entries <= len(arena.entry_coord)
    )


@compiled
def copy_tables(model: Model, frames: Frames, t: int, coord: int, low: int, high: int) -> None:
    """Give node ``t + 1`` the parent's tables, ``coord`` restricted, single values fixed."""
    u = t + 1
    for j in range(len(model.n_values)):
        frames.fixed[u, j] = frames.fixed[t, j]
        copy_into(frames.theta[u, j], frames.theta[t, j])
        copy_into(frames.domain[u, j], frames.domain[t, j])
        copy_into(frames.block_message[u, j], frames.block_message[t, j])
        copy_into(frames.norm_message[u, j], frames.norm_message[t, j])
    copy_into(frames.block_done[u], frames.block_done[t])
    frames.base[u] = frames.base[t]
    if coord >= 0:
        for a in range(model.n_values[coord]):
            if a < low or a > high:
                frames.domain[u, coord, a] = False


@compiled
def fix_singles(model: Model, frames: Frames, u: int, scratch: Scratch) -> None:
    """Fix coordinates with one value left; ``candidate[j]`` is its position, -1 for others."""
    for j in range(len(model.n_values)):
        scratch.candidate[j] = -1
        if frames.fixed[u, j]:
            continue
        n = 0
        last = 0
        for a in range(model.n_values[j]):
            if frames.domain[u, j, a]:
                n += 1
                last = a
        if n == 1:
            frames.fixed[u, j] = True
            frames.base[u] += frames.theta[u, j, last]
            scratch.candidate[j] = last


@compiled
def place_group(
    frames: Frames, u: int, arena: Arena, g: int, key: int, n_entries: int, scratch: Scratch
) -> int:
    """Return the child's group with the pending entries, a new one unless an equal one exists.

    ``u`` is the child's row of the frames. The pending entries are at the end of the node's
    entries: a new group keeps them.
    """
    slots = len(scratch.slot_group)
    stamp = scratch.slot_stamp[slots]
    pending = frames.entry_end[u]
    slot = (key ^ (key >> 29) ^ (key >> 47)) & (slots - 1)
    while scratch.slot_stamp[slot] == stamp:
        h = scratch.slot_group[slot]
        if arena.key[h] == key and arena.n_entries[h] == n_entries:
            e = arena.entry_at[h]
            same = True
            for i in range(n_entries):
                if (
                    arena.entry_coord[e + i] != arena.entry_coord[pending + i]
                    or arena.entry_coef[e + i] != arena.entry_coef[pending + i]
                ):
                    same = False
                    break
            if same:
                for i in range(n_entries):
                    for a in range(arena.message.shape[1]):
                        arena.message[e + i, a] += arena.message[pending + i, a]
                return h
        slot = (slot + 1) & (slots - 1)
    scratch.slot_stamp[slot] = stamp
    h = frames.group_end[u]
    scratch.slot_group[slot] = h
    frames.group_end[u] = h + 1
    frames.entry_end[u] = pending + n_entries
    arena.constant[h] = 0
    arena.key[h] = key
    arena.n_cells[h] = 0
    arena.entry_at[h] = pending
    arena.n_entries[h] = n_entries
    return h


@compiled
def carry_groups(model: Model, frames: Frames, t: int, arena: Arena, scratch: Scratch) -> None:
    """Carry the parent's groups over without the coordinates just fixed; only count cells."""
    u = t + 1
    slots = len(scratch.slot_group)
    scratch.slot_stamp[slots] += 1
    for g in range(frames.group_at[t], frames.group_end[t]):
        p = g - frames.group_at[t]
        scratch.target[p] = -1
        if arena.n_entries[g] == 0:
            continue
        key = arena.key[g]
        constant = arena.constant[g]
        shift = 0
        n = 0
        pending = frames.entry_end[u]
        for e in range(arena.entry_at[g], arena.entry_at[g] + arena.n_entries[g]):
            j = arena.entry_coord[e]
            a = scratch.candidate[j]
            if a >= 0:
                key -= model.keys[j] * arena.entry_coef[e]
                constant -= arena.message[e, a]
                shift += arena.entry_coef[e] * model.values[j, a]
            else:
                arena.entry_coord[pending + n] = j
                arena.entry_coef[pending + n] = arena.entry_coef[e]
                copy_into(arena.message[pending + n], arena.message[e])
                n += 1
        if n == 0:
            frames.base[u] += constant
            for q in range(arena.cell_at[g], arena.cell_at[g] + arena.n_cells[g]):
                cost = arena.cell_cost[q]
                wrong = cost if arena.cell_score[q] + shift >= 1 else -cost
                frames.base[u] += max(wrong, 0)
            continue
        h = place_group(frames, u, arena, g, key, n, scratch)
        arena.constant[h] += constant
        arena.n_cells[h] += arena.n_cells[g]
        scratch.target[p] = h
        scratch.moved[p] = shift


@compiled
def add_cell(arena: Arena, h: int, score: int, cost: int) -> None:
    """Add a cell to a group whose cells are sorted by score; equal scores become one cell."""
    at = arena.cell_at[h]
    q = at + arena.n_cells[h]
    while q > at and arena.cell_score[q - 1] > score:
        q -= 1
    if q > at and arena.cell_score[q - 1] == score:
        old = arena.cell_cost[q - 1]
        arena.cell_cost[q - 1] = old + cost
        # Opposite wishes at one score: the smaller one is lost whatever is predicted.
        arena.constant[h] += (abs(old) + abs(cost) - abs(old + cost)) // 2
        return
    for r in range(at + arena.n_cells[h], q, -1):
        arena.cell_score[r] = arena.cell_score[r - 1]
        arena.cell_cost[r] = arena.cell_cost[r - 1]
    arena.cell_score[q] = score
    arena.cell_cost[q] = cost
    arena.n_cells[h] += 1


@compiled
def carry_cells(frames: Frames, t: int, arena: Arena, scratch: Scratch) -> None:
    """Distribute the parent's cells to the child's groups, scores shifted, equal scores merged."""
    u = t + 1
    end = frames.cell_end[t]
    for h in range(frames.group_at[u], frames.group_end[u]):
        arena.cell_at[h] = end
        end += arena.n_cells[h]
        arena.n_cells[h] = 0
    frames.cell_end[u] = end
    for g in range(frames.group_at[t], frames.group_end[t]):
        p = g - frames.group_at[t]
        h = scratch.target[p]
        if h < 0:
            continue
        for q in range(arena.cell_at[g], arena.cell_at[g] + arena.n_cells[g]):
            add_cell(arena, h, arena.cell_score[q] + scratch.moved[p], arena.cell_cost[q])


@compiled
def make_child(
    model: Model,
    frames: Frames,
    t: int,
    arena: Arena,
    scratch: Scratch,
    coord: int,
    low: int,
    high: int,
) -> None:
    """Make node ``t + 1``: node ``t`` with value positions ``low..high`` of ``coord`` only."""
    u = t + 1
    copy_tables(model, frames, t, coord, low, high)
    fix_singles(model, frames, u, scratch)
    frames.group_at[u] = frames.group_end[t]
    frames.group_end[u] = frames.group_end[t]
    frames.entry_end[u] = frames.entry_end[t]
    carry_groups(model, frames, t, arena, scratch)
    carry_cells(frames, t, arena, scratch)
