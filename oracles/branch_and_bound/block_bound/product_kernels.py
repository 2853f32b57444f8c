"""Compiled pricing of all joint values of a block, part by part; integers throughout."""

from __future__ import annotations

from typing import Any

import numpy as np

from oracles.arithmetic import IntArray, compiled, compiled_in_place
from oracles.branch_and_bound.block_bound.arrays import UNREACHED, BlockArrays, MediumArray
from oracles.branch_and_bound.block_bound.kernels import level_range
from oracles.branch_and_bound.block_bound.product_plan import ProductArrays, ProductScratch


@compiled
def add_share(sums: Any, scores: Any, threshold: int, share: Any) -> None:
    """``sums[s] += share [scores[s] >= threshold]``."""
    least = np.int16(threshold)
    nothing = np.int32(0)
    for s in range(len(sums)):
        sums[s] = np.int32(sums[s] + (share if scores[s] >= least else nothing))


@compiled
def set_share(sums: Any, scores: Any, threshold: int, share: Any) -> None:
    """``sums[s] = share [scores[s] >= threshold]``."""
    least = np.int16(threshold)
    nothing = np.int32(0)
    for s in range(len(sums)):
        sums[s] = share if scores[s] >= least else nothing


@compiled
def add_context(
    block: BlockArrays,
    plan: ProductArrays,
    c: int,
    share: MediumArray,
    cost: MediumArray,
    first: int,
    last: int,
    scratch: ProductScratch,
    into: Any,
) -> None:
    """``into[s] += min over l of cost[l] + sum of share[q] [outside + scores[q, s] >= l]``."""
    outside, sums, best = scratch.outside, scratch.sums, scratch.best
    flat = np.int32(UNREACHED)
    fresh = True
    for level in range(first, last + 1):
        constant = cost[c, level - block.first_level[c]]
        if constant >= UNREACHED:
            continue
        varies = False
        for q in range(block.context_at[c], block.context_at[c + 1]):
            p = block.pattern[q]
            threshold = level - outside[q]
            if share[q] == 0 or threshold > plan.highest[p]:
                continue
            if threshold <= plan.lowest[p]:
                constant = np.int32(constant + share[q])
            elif varies:
                add_share(sums, plan.scores[p], threshold, share[q])
            else:
                set_share(sums, plan.scores[p], threshold, share[q])
                varies = True
        if not varies:
            flat = min(flat, constant)
        elif fresh:
            fresh = False
            for s in range(len(best)):
                best[s] = np.int32(sums[s] + constant)
        else:
            for s in range(len(best)):
                best[s] = min(best[s], np.int32(sums[s] + constant))
    if fresh:
        for s in range(len(best)):
            into[s] = np.int32(into[s] + flat)
    else:
        for s in range(len(best)):
            into[s] = np.int32(into[s] + min(best[s], flat))


@compiled
def fill_part(
    block: BlockArrays,
    plan: ProductArrays,
    g: int,
    share: MediumArray,
    cost: MediumArray,
    scratch: ProductScratch,
) -> None:
    """Fill a part's table: one row for each joint value of its outer columns, the last fastest."""
    rows, digits, outside = scratch.rows, scratch.digits, scratch.outside
    begin, end = plan.column_at[g], plan.column_at[g + 1]
    digits[:] = 0
    n_rows = plan.row_at[g + 1] - plan.row_at[g]
    rows[plan.row_at[g] : plan.row_at[g + 1]] = 0
    for r in range(n_rows):
        into = rows[plan.row_at[g] + r]
        for k in range(plan.part_at[g], plan.part_at[g + 1]):
            c = plan.context[k]
            first, last = level_range(block, share, cost, c)
            for q in range(block.context_at[c], block.context_at[c + 1]):
                p = block.pattern[q]
                score = block.offset[q]
                for e in range(plan.outer_at[p], plan.outer_at[p + 1]):
                    i = plan.outer_place[e]
                    score += plan.outer_coef[e] * plan.values[i, digits[i]]
                outside[q] = score
            add_context(block, plan, c, share, cost, first, last, scratch, into)
        for e in range(end - 1, begin - 1, -1):
            i = plan.column[e]
            digits[i] += 1
            if digits[i] < plan.sizes[i]:
                break
            digits[i] = 0


@compiled
def copy(row: Any, into: Any) -> None:
    """``into[s] = row[s]``."""
    for s in range(len(into)):
        into[s] = row[s]


@compiled
def add_parts(
    plan: ProductArrays, rows: MediumArray, depth: int, digits: IntArray, into: Any
) -> None:
    """Add the parts whose last outer column is that of a depth, at the digits' joint value."""
    for g in range(plan.by_depth[depth], plan.by_depth[depth + 1]):
        row = 0
        for e in range(plan.column_at[g], plan.column_at[g + 1]):
            i = plan.column[e]
            row = row * plan.sizes[i] + digits[i]
        part = rows[plan.row_at[g] + row]
        for s in range(len(into)):
            into[s] = np.int32(into[s] + part[s])


@compiled_in_place
def fill_parts(
    block: BlockArrays,
    plan: ProductArrays,
    begin: int,
    end: int,
    share: MediumArray,
    cost: MediumArray,
    scratch: ProductScratch,
) -> None:
    """Fill the tables of some parts."""
    for g in range(begin, end):
        fill_part(block, plan, g, share, cost, scratch)


@compiled_in_place
def join_parts(
    block: BlockArrays, plan: ProductArrays, scratch: ProductScratch, table: MediumArray
) -> None:
    """``table[s] = F(s)`` for all states, from the parts' tables."""
    rows, digits, so_far, joint = scratch.rows, scratch.digits, scratch.so_far, scratch.joint
    n_outer = len(plan.sizes)
    digits[:] = 0
    so_far[0] = 0
    add_parts(plan, rows, 0, digits, so_far[0])
    changed = 0
    width = so_far.shape[1]
    for r in range(len(joint) // width):
        for t in range(changed, n_outer):
            copy(so_far[t], so_far[t + 1])
            add_parts(plan, rows, t + 1, digits, so_far[t + 1])
        copy(so_far[n_outer], joint[r * width : (r + 1) * width])
        for i in range(n_outer - 1, -1, -1):
            changed = i
            digits[i] += 1
            if digits[i] < plan.sizes[i]:
                break
            digits[i] = 0
    for s in range(len(plan.place)):
        table[s] = np.int32(block.own[s] + joint[plan.place[s]])
    for s in range(len(plan.place), len(table)):
        table[s] = block.own[s]
