"""Compiled pricing of a block's states, and the direction in which shares raise the bound.

A state ``s`` whose patterns have scores ``y`` costs

    F(s) = own(s) + sum over contexts c  min over thresholds l  cost[c, l] + sum over cells q of c
                        share[q] [offset[q] + y[pattern[q]] >= l].

Everything priced is an integer. The gradient uses floats: it proposes shares, and proves nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from oracles.arithmetic import IntArray, compiled, compiled_in_place
from oracles.branch_and_bound.block_bound.arrays import (
    CHUNK,
    UNREACHED,
    BlockArrays,
    FloatArray,
    MediumArray,
    PricingScratch,
)


@compiled
def fill_scores(block: BlockArrays, first: int, scratch: PricingScratch) -> None:
    """``scores[p, s] = sum over entries e of p of coef_e * weights[coord_e, first + s]``."""
    for p in range(len(block.pattern_at) - 1):
        row = scratch.scores[p]
        for s in range(CHUNK):
            row[s] = 0
        for e in range(block.pattern_at[p], block.pattern_at[p + 1]):
            coef = np.int16(block.pattern_coef[e])
            weights = block.weights[block.pattern_coord[e], first : first + CHUNK]
            for s in range(CHUNK):
                row[s] = np.int16(row[s] + coef * weights[s])
        low, high = row[0], row[0]
        for s in range(CHUNK):
            low = min(low, row[s])
            high = max(high, row[s])
        scratch.lowest[p] = low
        scratch.highest[p] = high


@compiled
def add_where(sums: Any, scores: Any, threshold: int, share: Any) -> None:
    """``sums[s] += share [scores[s] >= threshold]``."""
    # Sums of one kind in plain loops over whole arrays become vector instructions.
    least = np.int16(threshold)
    nothing = np.int32(0)
    for s in range(CHUNK):
        sums[s] = np.int32(sums[s] + (share if scores[s] >= least else nothing))


@compiled
def level_range(
    block: BlockArrays, share: MediumArray, cost: MediumArray, c: int
) -> tuple[int, int]:
    """Return the first and last threshold that matter: one alone if all shares agree."""
    first = block.first_level[c]
    last = first + block.n_levels[c] - 1
    for level in range(block.n_levels[c]):
        if cost[c, level] != 0:
            return first, last
    gains, losses = False, False
    for q in range(block.context_at[c], block.context_at[c + 1]):
        gains = gains or share[q] < 0
        losses = losses or share[q] > 0
    if not gains:
        first = last
    elif not losses:
        last = first
    return first, last


@compiled
def price_context(
    block: BlockArrays,
    c: int,
    first: int,
    last: int,
    share: MediumArray,
    cost: MediumArray,
    scratch: PricingScratch,
) -> None:
    """``best[s] = min over l of  cost[l] + sum over q of share[q] [offset + y >= l]``."""
    sums, best = scratch.sums, scratch.best
    fresh = True
    for level in range(first, last + 1):
        constant = cost[c, level - block.first_level[c]]
        if constant >= UNREACHED:
            continue
        for s in range(CHUNK):
            sums[s] = 0
        for q in range(block.context_at[c], block.context_at[c + 1]):
            p = block.pattern[q]
            threshold = level - block.offset[q]
            if share[q] == 0 or threshold > scratch.highest[p]:
                continue
            if threshold <= scratch.lowest[p]:
                constant = np.int32(constant + share[q])
            else:
                add_where(sums, scratch.scores[p], threshold, share[q])
        if fresh:
            fresh = False
            for s in range(CHUNK):
                best[s] = np.int32(sums[s] + constant)
        else:
            for s in range(CHUNK):
                best[s] = min(best[s], np.int32(sums[s] + constant))


@compiled_in_place
def price(
    block: BlockArrays,
    first: int,
    last: int,
    share: MediumArray,
    cost: MediumArray,
    scratch: PricingScratch,
    table: MediumArray,
) -> None:
    """``table[s] = F(s)`` for states ``first`` to ``last``, both multiples of the chunk."""
    for start in range(first, last, CHUNK):
        fill_scores(block, start, scratch)
        out = table[start : start + CHUNK]
        own = block.own[start : start + CHUNK]
        for s in range(CHUNK):
            out[s] = own[s]
        for c in range(len(block.first_level)):
            low, high = level_range(block, share, cost, c)
            price_context(block, c, low, high, share, cost, scratch)
            for s in range(CHUNK):
                out[s] = np.int32(out[s] + scratch.best[s])


@compiled_in_place
def add_gradient(
    block: BlockArrays,
    share: MediumArray,
    cost: MediumArray,
    chosen: IntArray,
    portion: FloatArray,
    scores: IntArray,
    buckets: IntArray,
    gradient: FloatArray,
    mass: FloatArray,
) -> None:
    """``gradient[q] += sum over chosen s of portion[s] [q predicted + at the best threshold]``.

    ``mass[c, l]`` gets the portions of the states for which threshold ``l`` is the best.
    """
    for k in range(len(chosen)):
        s, part = chosen[k], portion[k]
        for p in range(len(block.pattern_at) - 1):
            score = 0
            for e in range(block.pattern_at[p], block.pattern_at[p + 1]):
                score += block.pattern_coef[e] * block.weights[block.pattern_coord[e], s]
            scores[p] = score
        for c in range(len(block.first_level)):
            n, first = block.n_levels[c], block.first_level[c]
            for level in range(n):
                buckets[level] = 0
            for q in range(block.context_at[c], block.context_at[c + 1]):
                v = block.offset[q] + scores[block.pattern[q]] - first
                if v >= 0:
                    buckets[min(v, n - 1)] += share[q]
            running, best, least = 0, -1, 0
            for level in range(n - 1, -1, -1):
                running += buckets[level]
                total = running + cost[c, level]
                if cost[c, level] < UNREACHED and (best < 0 or total < least):
                    least, best = total, level
            mass[c, best] += part
            for q in range(block.context_at[c], block.context_at[c + 1]):
                v = block.offset[q] + scores[block.pattern[q]] - first
                if v >= best:
                    gradient[q] += part


@compiled_in_place
def step_shares(
    block: BlockArrays,
    gradient: FloatArray,
    rest: IntArray,
    mean: FloatArray,
    square: FloatArray,
    step: float,
    early: tuple[float, float],
    share: FloatArray,
) -> None:
    """Adam: ``share[q] += step * mean / sqrt(square)`` of ``gradient[q] - [rest of q < 0]``."""
    for q in range(len(share)):
        g = gradient[q]
        if rest[block.point[q]] < 0:
            g -= 1.0
        mean[q] = 0.9 * mean[q] + 0.1 * g
        square[q] = 0.99 * square[q] + 0.01 * g * g
        share[q] += step * (mean[q] / early[0]) / (np.sqrt(square[q] / early[1]) + 1e-3)


@compiled_in_place
def least_by_value(
    positions: Any, table: MediumArray, n_states: int, increase: IntArray, least: int
) -> None:
    """``increase[i, a] = min over states s with position a at coordinate i of F(s) - least``."""
    for i in range(positions.shape[0]):
        row, into = positions[i], increase[i]
        for s in range(n_states):
            value = np.int64(table[s]) - least
            if value < into[row[s]]:
                into[row[s]] = value


@compiled_in_place
def add_excess(positions: Any, places: IntArray, rises: IntArray, excess: IntArray) -> None:
    """``excess[s] += max over r of rises[r, positions[places[r], s]]``, where that is positive."""
    for s in range(positions.shape[1]):
        most = np.int64(0)
        for r in range(len(places)):
            most = max(most, rises[r, positions[places[r], s]])
        excess[s] += most
