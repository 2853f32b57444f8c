"""Raising a node's bound: supergradient steps on the shares, pricing, and dropping of states.

The steps are floats; what is priced are integers, and only a pricing of every state is a bound.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from oracles.arithmetic import IntArray
from oracles.branch_and_bound.arrays import INFINITE
from oracles.branch_and_bound.block_bound.arrays import (
    CHUNK,
    LARGEST_SUM,
    BlockArrays,
    FloatArray,
    MediumArray,
    PricingScratch,
    new_pricing_scratch,
)
from oracles.branch_and_bound.block_bound.kernels import add_gradient, price, step_shares
from oracles.branch_and_bound.block_bound.relaxation import Block, Relaxation

Stop = Callable[[], bool]
"""Called now and then; True ends the ascent, which keeps what is proved."""

_SLICE_WORK = 300_000_000

_FASTER, _SLOWER = 1.25, 0.4
"""Steps of a warm start get so much longer when a pricing is the best; any, shorter if not."""

_ACTIVE = 2 * CHUNK
"""States that steps look at between pricings."""

_TEMPERATURES, _MOST_CHOSEN = 6.0, 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """How an ascent goes.

    Parameters
    ----------
    n_steps : int
        Most steps.
    every : int
        Steps between pricings of all states.
    step, decay : float
        First step in mean costs, and how steps shrink.
    temperature : float
        In mean costs: states this much above the least still pull.
    patience : float
        The ascent ends when a pricing closes less than this part of the gap to the target.
    least_steps : int
        Steps before patience may end the ascent.
    """

    n_steps: int
    every: int = 12
    step: float = 0.06
    decay: float = 0.02
    temperature: float = 1.0
    patience: float = 0.001
    least_steps: int = 0


class _Slopes:
    """Moments of one block's steps, and the states that they look at."""

    def __init__(self, block: Block) -> None:
        n = len(block.share)
        self.mean = np.zeros(n)
        self.warm = len(block.square) == n and n > 0
        self.square = block.square.copy() if self.warm else np.zeros(n)
        self.gradient = np.zeros(n)
        self.scores = np.zeros(len(block.arrays.pattern_at), dtype=np.int64)
        levels = int(block.arrays.n_levels.max(initial=1))
        self.buckets = np.zeros(levels, dtype=np.int64)
        self.active: IntArray | None = None
        self.narrow = block.arrays

    def focus(self, block: Block, table: MediumArray) -> None:
        """Look at the cheapest states until the next pricing."""
        size = block.states.size
        if size <= 2 * _ACTIVE:
            self.active = None
            return
        # The best shares' cheapest states too: else steps forget what held the bound there.
        self.active = np.argpartition(np.minimum(table[:size], block.table), _ACTIVE)[:_ACTIVE]
        self.narrow = block.arrays._replace(
            weights=np.ascontiguousarray(block.arrays.weights[:, self.active]),
            own=block.arrays.own[self.active],
        )


def raise_bound(node: Relaxation, target: int, course: Course, stop: Stop) -> bool:
    """Raise ``node.bound`` towards the target; return whether it was stopped.

    States that a pricing proves to reach the target are dropped, so the bound is one on every
    hypothesis below the target.
    """
    n_patterns = max((len(b.arrays.pattern_at) for b in node.blocks), default=1)
    scratch = new_pricing_scratch(n_patterns)
    costs = np.abs(node.cells.costs)
    mean = max(1.0, float(costs.sum()) / max(1, len(costs)) / node.unit)
    slopes = [_Slopes(block) for block in node.blocks]
    for block in node.blocks:
        block.table = np.zeros(0, dtype=np.int32)
    node.priced = -INFINITE
    if any(block.states.size == 0 for block in node.blocks):
        node.bound = max(node.bound, target)
        return False
    best: int | None = None
    last: int | None = None
    pace, stale = 1.0, 0
    for n in range(1, course.n_steps + 1):
        everything = n % course.every == 1 or course.every == 1 or n == course.n_steps
        shares = [round_shares(block.share) for block in node.blocks]
        rest = node.cells.costs.copy()
        for block, share in zip(node.blocks, shares, strict=True):
            rest[block.arrays.point] -= share.astype(np.int64) * node.unit  # each point once
        tables = []
        for block, share, slope in zip(node.blocks, shares, slopes, strict=True):
            if everything or slope.active is None:
                arrays = block.arrays
            else:
                arrays = slope.narrow
            table = price_states(arrays, share, scratch, stop)
            if table is None:
                return True
            tables.append(table)
        if everything:
            value = priced_bound(node, rest, tables)
            if best is None or value > best:
                best = node.priced = value
                node.bound = max(node.bound, value)
                for block, share, table in zip(node.blocks, shares, tables, strict=True):
                    block.rounded = share
                    block.table = table[: block.states.size].copy()
            if value < target:
                tables = _drop_states(node, tables, target - value)
            if node.bound >= target or any(block.states.size == 0 for block in node.blocks):
                node.bound = max(node.bound, target)
                break
            for block, slope, table in zip(node.blocks, slopes, tables, strict=True):
                slope.focus(block, table)
            stale = stale + 1 if _is_stale(n, course, best, last, target) else 0
            if n == course.n_steps or stale == 2 or (stale and value == best):
                break
            last = best
            if value == best:
                pace *= _FASTER if any(slope.warm for slope in slopes) else 1.0
            else:
                pace *= _SLOWER
                shares, rest = _back_to_best(node, slopes)
                tables = [block.table for block in node.blocks]
        for block, share, slope, table in zip(node.blocks, shares, slopes, tables, strict=True):
            arrays = block.arrays
            size = block.states.size
            if slope.active is not None:
                if everything:
                    table = table[slope.active]
                arrays, size = slope.narrow, _ACTIVE
            _add_slope(slope, arrays, share, table[:size], mean * course.temperature)
            early = (1 - 0.9**n, 1.0 if slope.warm else 1 - 0.99**n)
            step = pace * course.step * mean / (1 + course.decay * n)
            step_shares(
                arrays, slope.gradient, rest, slope.mean, slope.square, step, early, block.share
            )
        if stop():
            return True
    for block, slope in zip(node.blocks, slopes, strict=True):
        block.share = block.rounded.astype(np.float64)
        block.square = slope.square
    return False


def _back_to_best(node: Relaxation, slopes: list[_Slopes]) -> tuple[list[MediumArray], IntArray]:
    """Return to the shares that were priced best; return them and what they leave of the costs."""
    rest = node.cells.costs.copy()
    for block, slope in zip(node.blocks, slopes, strict=True):
        block.share = block.rounded.astype(np.float64)
        slope.mean[:] = 0
        rest[block.arrays.point] -= block.rounded.astype(np.int64) * node.unit
    return [block.rounded for block in node.blocks], rest


def _is_stale(n: int, course: Course, best: int, last: int | None, target: int) -> bool:
    if last is None or n <= max(course.every, course.least_steps):
        return False
    return best - last < course.patience * (target - best)


def round_shares(share: FloatArray) -> MediumArray:
    """Return the shares as integers whose absolute values sum to less than ``LARGEST_SUM``."""
    total = float(np.abs(share).sum()) + len(share)
    if total >= LARGEST_SUM:
        share = share * (LARGEST_SUM / 2 / total)
    return np.rint(share).astype(np.int32)


def price_states(
    arrays: BlockArrays, share: MediumArray, scratch: PricingScratch, stop: Stop
) -> MediumArray | None:
    """Return ``F`` of every state, padding included; None if stopped."""
    n = arrays.own.shape[0]
    table = np.empty(n, dtype=np.int32)
    levels = int(arrays.n_levels.mean()) + 1 if len(arrays.n_levels) else 1
    work = CHUNK * (len(share) * levels + len(arrays.pattern_coord) + 10)
    slice_size = max(1, _SLICE_WORK // work) * CHUNK
    for first in range(0, n, slice_size):
        last = min(n, first + slice_size)
        price(arrays, first, last, share, scratch, table)
        if last < n and stop():
            return None
    return table


def priced_bound(node: Relaxation, rest: IntArray, tables: list[MediumArray]) -> int:
    """Return ``base + sum of min(0, rest) + unit * sum over blocks of min F``."""
    least = sum(int(table.min()) for table in tables)
    return node.base + int(np.minimum(rest, 0).sum()) + node.unit * least


def _drop_states(node: Relaxation, tables: list[MediumArray], slack: int) -> list[MediumArray]:
    """Drop states that cannot be part of a hypothesis below the target."""
    left = []
    for block, table in zip(node.blocks, tables, strict=True):
        table = table[: block.states.size]
        kept = table.astype(np.int64) - int(table.min()) < -(-slack // node.unit)
        if kept.mean() < 0.8:
            block.keep(kept, node.model)
            table = table[kept]
        left.append(table)
    return left


def _add_slope(
    slope: _Slopes, arrays: BlockArrays, share: MediumArray, table: MediumArray, temperature: float
) -> None:
    """Set the gradient under a softmin over the cheapest states."""
    chosen = np.arange(len(table))
    if len(table) > _MOST_CHOSEN:
        chosen = np.argpartition(table, _MOST_CHOSEN)[:_MOST_CHOSEN]
    above = (table[chosen] - table.min()) / temperature
    chosen, above = chosen[above <= _TEMPERATURES], above[above <= _TEMPERATURES]
    portion = np.exp(-above)
    portion /= portion.sum()
    chosen, portion = chosen[portion >= 2e-3], portion[portion >= 2e-3]
    slope.gradient[:] = 0
    add_gradient(
        arrays,
        share,
        chosen.astype(np.int64),
        portion,
        slope.scores,
        slope.buckets,
        slope.gradient,
    )
