"""Compiled completion of a node: all hypotheses that its tables allow, the cheapest kept.

Worth it where the tables leave few hypotheses: then looking at each costs less than bounding the
nodes in between. The node's *default* hypothesis takes the cheapest entry of every table; the
others differ from it in some coordinates, and are visited in the order of a tree: a child differs
from its parent in one more, later coordinate. A hypothesis that differs in the changes ``C`` costs

    fixed_cost + sum over C of cost_change + row * (rows of undecided cells that are wrong)

and a branch is left when either lower bound on this reaches ``prune = upper - gap``:

- tables: ``table_cost + sum over C of table_change``, the node's bound plus what the changes add;
- points: ``fixed_cost + sum over C of cost_change + least_cost + row * sure``, with the least that
  later changes add, and the rows that are wrong now and stay wrong whatever the remaining budget
  can still change: the tables of reach below.

``row`` is the cost of one wrong row; all costs are in internal units.

The tables of reach say how far a budget can still move each undecided cell's score. Changes ``x``
of the coordinates ``q`` that may change cost ``cost_change[q, x]`` and add
``value_change[q, x]`` to a weight. No change costs 0 and adds 0. With ``least_q = min(0, cheapest
change)`` and costs counted in whole levels of ``unit`` above ``least_q``, rounded down,

    reach[m, b, i] = 0
    reach[q, b, i] = max over x with level(q, x) <= b of
                     reach[q + 1, b - level(q, x), i] +- column[q, i] * value_change[q, x]

with + for cells that want "+", - for others. Rounding down only makes the reach larger, so a cell
that is wrong beyond its reach stays wrong for every hypothesis within the budget.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from oracles.arithmetic import IntArray, compiled, compiled_in_place, copy_into
from oracles.branch_and_bound.arrays import INFINITE, Arena, Frames, Model
from oracles.branch_and_bound.completion_arrays import (
    FIXED_COST,
    LARGEST_REACH,
    LEVEL,
    N_CELLS,
    N_COORDS,
    N_PLUS,
    TABLE_COST,
    UNIT,
    VISITED,
    Completion,
)


@compiled
def take_tables(model: Model, frames: Frames, t: int, arena: Arena, work: Completion) -> None:
    """Set the default hypothesis, its cost without cells, and tables without messages."""
    for j in range(len(model.n_values)):
        copy_into(work.raw[j], frames.theta[t, j])
    fixed_cost = frames.base[t]
    table_cost = frames.base[t]
    for g in range(frames.group_at[t], frames.group_end[t]):
        fixed_cost += arena.constant[g]
        for e in range(arena.entry_at[g], arena.entry_at[g] + arena.n_entries[g]):
            j = arena.entry_coord[e]
            for a in range(model.n_values[j]):
                work.raw[j, a] -= arena.message[e, a]
    for j in range(len(model.n_values)):
        least = INFINITE
        for a in range(model.n_values[j]):
            if frames.domain[t, j, a] and frames.theta[t, j, a] < least:
                least = frames.theta[t, j, a]
                work.start[j] = a
        if not frames.fixed[t, j]:
            fixed_cost += work.raw[j, work.start[j]]
            table_cost += least
    work.numbers[FIXED_COST] = fixed_cost
    work.numbers[TABLE_COST] = table_cost


@compiled
def list_changes(model: Model, frames: Frames, t: int, work: Completion, slack: int) -> None:
    """List the coordinates that may change, and their changes, cheapest first."""
    n = 0
    for j in range(len(model.n_values)):
        if frames.fixed[t, j]:
            continue
        start = work.start[j]
        cheapest = INFINITE
        for a in range(model.n_values[j]):
            if a != start and frames.domain[t, j, a]:
                cheapest = min(cheapest, frames.theta[t, j, a] - frames.theta[t, j, start])
        if cheapest >= slack:
            continue
        q = n
        while q > 0 and work.least_table[q - 1] > cheapest:
            work.coord[q] = work.coord[q - 1]
            work.least_table[q] = work.least_table[q - 1]
            q -= 1
        work.coord[q] = j
        work.least_table[q] = cheapest
        n += 1
    work.least_table[n] = INFINITE
    work.numbers[N_COORDS] = n
    for q in range(n):
        j = work.coord[q]
        start = work.start[j]
        k = 0
        for a in range(model.n_values[j]):
            change = frames.theta[t, j, a] - frames.theta[t, j, start]
            if a == start or not frames.domain[t, j, a] or change >= slack:
                continue
            x = k
            while x > 0 and work.raw[j, work.position[q, x - 1]] > work.raw[j, a]:
                work.position[q, x] = work.position[q, x - 1]
                x -= 1
            work.position[q, x] = a
            k += 1
        work.n_changes[q] = k
        for x in range(k):
            a = work.position[q, x]
            work.table_change[q, x] = frames.theta[t, j, a] - frames.theta[t, j, start]
            work.cost_change[q, x] = work.raw[j, a] - work.raw[j, start]
            work.value_change[q, x] = model.values[j, a] - model.values[j, start]
    for q in range(n - 1, -1, -1):
        work.least_table[q] = min(work.least_table[q], work.least_table[q + 1])


@compiled
def take_cells(
    model: Model, frames: Frames, t: int, arena: Arena, work: Completion, row: int
) -> None:
    """List the undecided cells, those that want "+" first, with the default's scores.

    ``next_coord`` serves as the number of each coordinate among those that may change, or -1.
    """
    n_coords = work.numbers[N_COORDS]
    place = work.next_coord
    place[:] = -1
    for q in range(n_coords):
        place[work.coord[q]] = q
    n = 0
    for wanted in range(2):
        for g in range(frames.group_at[t], frames.group_end[t]):
            first = arena.entry_at[g]
            last = first + arena.n_entries[g]
            if first == last:
                continue
            shift = 0
            for e in range(first, last):
                j = arena.entry_coord[e]
                shift += arena.entry_coef[e] * model.values[j, work.start[j]]
            for c in range(arena.cell_at[g], arena.cell_at[g] + arena.n_cells[g]):
                cost = arena.cell_cost[c]
                if cost == 0 or (cost > 0) != (wanted == 1):
                    continue
                work.score[0, n] = arena.cell_score[c] + shift
                work.weight[n] = abs(cost) // row
                for q in range(n_coords):
                    work.column[q, n] = 0
                for e in range(first, last):
                    q = place[arena.entry_coord[e]]
                    if q >= 0:
                        work.column[q, n] = arena.entry_coef[e]
                n += 1
        if wanted == 0:
            work.numbers[N_PLUS] = n
    work.numbers[N_CELLS] = n


@compiled
def change_scores(
    work: Completion, level: int, q: int, change: int, budget: int
) -> tuple[int, int]:
    """Fill the next level's scores; return rows wrong now, and rows that stay wrong.

    ``q`` is the coordinate's number and ``change`` what is added to its weight; ``budget`` is the
    level of ``reach`` that later changes can use.
    """
    n_plus, n = work.numbers[N_PLUS], work.numbers[N_CELLS]
    step, nothing = np.int32(change), np.int32(0)
    # 32-bit sums of one kind in plain loops over whole arrays become vector instructions.
    wrong, sure = np.int32(0), np.int32(0)
    old, new = work.score[level, :n_plus], work.score[level + 1, :n_plus]
    column, weight = work.column[q, :n_plus], work.weight[:n_plus]
    reach = work.reach[q + 1, budget, :n_plus]
    for i in range(len(old)):
        score = np.int32(old[i] + column[i] * step)
        new[i] = score
        wrong = np.int32(wrong + (weight[i] if score <= nothing else nothing))
        best = np.int32(score + reach[i])
        sure = np.int32(sure + (weight[i] if best <= nothing else nothing))
    old, new = work.score[level, n_plus:n], work.score[level + 1, n_plus:n]
    column, weight = work.column[q, n_plus:n], work.weight[n_plus:n]
    reach = work.reach[q + 1, budget, n_plus:n]
    for i in range(len(old)):
        score = np.int32(old[i] + column[i] * step)
        new[i] = score
        wrong = np.int32(wrong + (weight[i] if score > nothing else nothing))
        best = np.int32(score - reach[i])
        sure = np.int32(sure + (weight[i] if best > nothing else nothing))
    return int(wrong), int(sure)


@compiled_in_place
def open_completion(
    model: Model,
    frames: Frames,
    t: int,
    arena: Arena,
    work: Completion,
    row: int,
    prune: int,
    n_levels: int,
) -> None:
    """Prepare the completion of node ``t``; what costs ``prune`` or more is not looked for.

    ``n_levels`` is how many budgets are told apart, at most those ``work.reach`` has room for.
    """
    take_tables(model, frames, t, arena, work)
    list_changes(model, frames, t, work, prune - work.numbers[TABLE_COST])
    take_cells(model, frames, t, arena, work, row)
    tabulate_reach(work, prune, n_levels)
    work.numbers[LEVEL] = 0
    work.numbers[VISITED] = 0
    work.next_coord[0] = 0
    work.next_change[0] = 0
    work.tables[0] = 0
    work.cost[0] = 0
    work.sure[0] = 0


@compiled_in_place
def complete(
    work: Completion, best: IntArray, upper: int, gap: int, row: int, n_hypotheses: int
) -> tuple[bool, int]:
    """Look at up to so many hypotheses; return whether all are done, and the least cost known.

    ``gap`` is what an improvement must exceed, in internal units. ``best``, shape (d,) int64, gets
    the positions of what is better.
    """
    numbers = work.numbers
    prune = upper - gap
    slack = prune - numbers[TABLE_COST]
    todo = n_hypotheses
    level = numbers[LEVEL]
    while level >= 0:
        q, x = work.next_coord[level], work.next_change[level]
        tables = work.tables[level]
        known = numbers[FIXED_COST] + work.cost[level] + work.sure[level] * row
        if tables + work.least_table[q] >= slack or known + work.least_next[q] >= prune:
            level -= 1
            continue
        if (
            x >= work.n_changes[q]
            or known + work.cost_change[q, x] + work.least_cost[q + 1] >= prune
        ):
            work.next_coord[level] = q + 1
            work.next_change[level] = 0
            continue
        if todo == 0:
            break
        work.next_change[level] = x + 1
        tables += work.table_change[q, x]
        if tables >= slack:
            continue
        cost = work.cost[level] + work.cost_change[q, x]
        bound = numbers[FIXED_COST] + cost + work.least_cost[q + 1]
        budget = (prune - 1 - bound - work.sure[level] * row) // numbers[UNIT]
        wrong, sure = change_scores(work, level, q, work.value_change[q, x], budget)
        todo -= 1
        numbers[VISITED] += 1
        total = numbers[FIXED_COST] + cost + wrong * row
        if total < upper:
            upper = total
            prune = upper - gap
            slack = prune - numbers[TABLE_COST]
            copy_into(best, work.start)
            for u in range(level):
                best[work.coord[work.taken_coord[u]]] = work.position[
                    work.taken_coord[u], work.taken_change[u]
                ]
            best[work.coord[q]] = work.position[q, x]
        if bound + sure * row >= prune:
            continue
        work.taken_coord[level] = q
        work.taken_change[level] = x
        level += 1
        work.next_coord[level] = q + 1
        work.next_change[level] = 0
        work.tables[level] = tables
        work.cost[level] = cost
        work.sure[level] = max(sure, work.sure[level - 1])
    numbers[LEVEL] = level
    return level < 0, upper


@compiled
def widen(new: Any, old: Any, column: Any, change: int) -> None:
    """Raise ``new`` to what a change of a coordinate adds to ``old``.

    ``new`` and ``old``, shape (cells,) int16, are reaches; ``column``, int32, are coefficients.
    """
    step = np.int32(change)
    for i in range(len(new)):
        gain = np.int32(old[i] + column[i] * step)
        gain = np.int32(min(gain, np.int32(LARGEST_REACH)))
        new[i] = np.int16(max(np.int32(new[i]), gain))


@compiled
def tabulate_reach(work: Completion, prune: int, n_levels: int) -> None:
    """Fill ``reach``, ``least_cost`` and ``least_next``, last coordinate first."""
    m = work.numbers[N_COORDS]
    n_plus, n = work.numbers[N_PLUS], work.numbers[N_CELLS]
    work.least_cost[m] = 0
    work.least_next[m] = INFINITE
    for q in range(m - 1, -1, -1):
        least = work.cost_change[q, 0]
        work.least_next[q] = min(work.least_next[q + 1], work.least_cost[q + 1] + least)
        work.least_cost[q] = work.least_cost[q + 1] + min(least, 0)
    budget = max(prune - work.numbers[FIXED_COST] - work.least_cost[0], 1)
    unit = budget // n_levels + 1
    work.numbers[UNIT] = unit
    for b in range(n_levels):
        work.reach[m, b, :n] = 0
    for q in range(m - 1, -1, -1):
        least = work.least_cost[q] - work.least_cost[q + 1]
        unchanged = -least // unit
        for b in range(n_levels):
            new = work.reach[q, b]
            new[:n] = -LARGEST_REACH
            if unchanged <= b:
                copy_into(new[:n], work.reach[q + 1, b - unchanged, :n])
            for x in range(work.n_changes[q]):
                used = (work.cost_change[q, x] - least) // unit
                if used > b:
                    break
                change = work.value_change[q, x]
                old = work.reach[q + 1, b - used]
                widen(new[:n_plus], old[:n_plus], work.column[q, :n_plus], change)
                widen(new[n_plus:n], old[n_plus:n], work.column[q, n_plus:n], -change)
