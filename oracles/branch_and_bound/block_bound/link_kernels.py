"""Compiled arithmetic of links: what a context's outside score costs, and who would change it.

A context ``c`` with messages ``m`` to columns outside its block charges a threshold ``l``

    cost[c, l] = least sum over its links e of m[e, a_e]  with  1 - score of the a_e  equal to l,

thresholds beyond its range counting as the nearest one in it. All of it is integers.
"""

from __future__ import annotations

from typing import Any

from oracles.arithmetic import BoolArray, IntArray, compiled, compiled_in_place
from oracles.branch_and_bound.block_bound.arrays import (
    UNREACHED,
    BlockArrays,
    FloatArray,
    LinkArrays,
    MediumArray,
)


@compiled
def spread_sums(
    links: LinkArrays,
    c: int,
    message: MediumArray,
    values: IntArray,
    allowed: BoolArray,
    work: Any,
) -> tuple[int, int]:
    """``work[n, i]`` = least messages of the context's first ``n`` links with score ``low + i``.

    Returns the lowest score of all links, and how many scores there are.
    """
    low, width, n = 0, 1, 0
    work[0, 0] = 0
    for e in range(links.at[c], links.at[c + 1]):
        j, x = links.coord[e], links.coef[e]
        least, most = least_and_most(j, x, values, allowed)
        wider = width + most - least
        for i in range(wider):
            work[n + 1, i] = UNREACHED
        for a in range(values.shape[1]):
            if allowed[j, a]:
                shift, charge = x * values[j, a] - least, message[e, a]
                for i in range(width):
                    if work[n, i] < UNREACHED:
                        work[n + 1, i + shift] = min(work[n + 1, i + shift], work[n, i] + charge)
        low, width, n = low + least, wider, n + 1
    return low, width


@compiled
def least_and_most(j: int, x: int, values: IntArray, allowed: BoolArray) -> tuple[int, int]:
    """Return the least and the largest of ``x`` times an allowed value."""
    first = True
    least, most = 0, 0
    for a in range(values.shape[1]):
        if allowed[j, a]:
            v = x * values[j, a]
            least = v if first else min(least, v)
            most = v if first else max(most, v)
            first = False
    return least, most


@compiled
def place_of(score: int, first: int, n: int) -> int:
    """Return which of ``n`` thresholds from ``first`` on an outside score makes."""
    return min(max(1 - score - first, 0), n - 1)


@compiled_in_place
def charge_levels(
    block: BlockArrays,
    links: LinkArrays,
    message: MediumArray,
    values: IntArray,
    allowed: BoolArray,
    work: IntArray,
    cost: MediumArray,
) -> None:
    """Fill ``cost[c, l]``; contexts without links charge nothing."""
    for c in range(len(block.n_levels)):
        first, n = block.first_level[c], block.n_levels[c]
        if links.at[c] == links.at[c + 1]:
            cost[c, :n] = 0
            continue
        cost[c, :n] = UNREACHED
        low, width = spread_sums(links, c, message, values, allowed, work)
        last = links.at[c + 1] - links.at[c]
        for i in range(width):
            place = place_of(low + i, first, n)
            cost[c, place] = min(cost[c, place], work[last, i])


@compiled_in_place
def pull_messages(
    block: BlockArrays,
    links: LinkArrays,
    message: MediumArray,
    values: IntArray,
    allowed: BoolArray,
    mass: FloatArray,
    held: FloatArray,
    work: IntArray,
    pull: FloatArray,
) -> None:
    """Fill ``pull[e, a]``: how often the context takes a value, less how often its home does.

    ``mass[c, l]`` is how often the context takes a threshold, ``held[j, a]`` how often the block
    that a column's costs are charged to takes its value.
    """
    for c in range(len(block.n_levels)):
        begin, end = links.at[c], links.at[c + 1]
        if begin == end:
            continue
        for e in range(begin, end):
            for a in range(values.shape[1]):
                pull[e, a] = -held[links.coord[e], a]
        first, n = block.first_level[c], block.n_levels[c]
        low, width = spread_sums(links, c, message, values, allowed, work)
        for level in range(n):
            if mass[c, level] <= 0:
                continue
            best = -1
            for i in range(width):
                if place_of(low + i, first, n) == level and (
                    best < 0 or work[end - begin, i] < work[end - begin, best]
                ):
                    best = i
            for e in range(end - 1, begin - 1, -1):
                j, x = links.coord[e], links.coef[e]
                least, _ = least_and_most(j, x, values, allowed)
                for a in range(values.shape[1]):
                    before = best - (x * values[j, a] - least)
                    if (
                        allowed[j, a]
                        and 0 <= before < work.shape[1]
                        and work[e - begin, before] < UNREACHED
                        and work[e - begin, before] + message[e, a] == work[e - begin + 1, best]
                    ):
                        pull[e, a] += mass[c, level]
                        best = before
                        break


@compiled_in_place
def step_messages(pull: FloatArray, mean: FloatArray, rate: float, message: FloatArray) -> None:
    """Take a step with momentum."""
    for e in range(pull.shape[0]):
        for a in range(pull.shape[1]):
            mean[e, a] = 0.9 * mean[e, a] + 0.1 * pull[e, a]
            message[e, a] += rate * mean[e, a]


@compiled_in_place
def add_up(links: LinkArrays, message: MediumArray, total: IntArray) -> None:
    """``total[j, a] += sum over links e to column j of message[e, a]``."""
    for e in range(len(links.coord)):
        for a in range(message.shape[1]):
            total[links.coord[e], a] += message[e, a]


@compiled_in_place
def add_tables(positions: Any, table: MediumArray, cost: MediumArray) -> None:
    """``cost[s] += sum over the block's columns i of table[i, positions[i, s]]``."""
    for i in range(positions.shape[0]):
        row, into = positions[i], table[i]
        for s in range(positions.shape[1]):
            cost[s] += into[row[s]]
