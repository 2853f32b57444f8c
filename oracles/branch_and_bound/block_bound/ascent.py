"""Raising a node's bound: supergradient steps on the shares, pricing, and dropping of states.

The steps are floats; what is priced are integers, and only a pricing of every state is a bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oracles.arithmetic import IntArray
from oracles.branch_and_bound.arrays import INFINITE
from oracles.branch_and_bound.block_bound.arrays import CHUNK, LARGEST_SUM, FloatArray, MediumArray
from oracles.branch_and_bound.block_bound.kernels import (
    add_excess,
    add_gradient,
    least_by_value,
    step_shares,
)
from oracles.branch_and_bound.block_bound.link_kernels import (
    add_tables,
    pull_messages,
    step_messages,
)
from oracles.branch_and_bound.block_bound.links import WIDEST_LINK, BlockLinks, PricedLinks
from oracles.branch_and_bound.block_bound.pricing import PricingTeam, Stop
from oracles.branch_and_bound.block_bound.relaxation import Block, Relaxation

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
    message_step, table_step : float
        First steps of messages and of blocks' parts of columns' costs, in mean costs.
    temperature : float
        In mean costs: states this much above the least still pull.
    patience : float
        The ascent ends when a pricing closes less than this part of the gap to the target.
    least_steps : int
        Steps before patience may end the ascent.
    thin : float
        The ascent ends when fewer than this part of the states are left: wider blocks pay then.
    """

    n_steps: int
    every: int = 12
    step: float = 0.06
    decay: float = 0.02
    message_step: float = 0.02
    table_step: float = 0.5
    temperature: float = 1.0
    patience: float = 0.001
    least_steps: int = 0
    thin: float = 0.0


class _Slopes:
    """Moments of one block's steps, and the states that they look at."""

    def __init__(self, block: Block, links: BlockLinks) -> None:
        n = len(block.share)
        self.mean = np.zeros(n)
        self.warm = len(block.square) == n and n > 0
        self.square = block.square.copy() if self.warm else np.zeros(n)
        self.gradient = np.zeros(n)
        self.scores = np.zeros(len(block.arrays.pattern_at), dtype=np.int64)
        levels = int(block.arrays.n_levels.max(initial=1))
        self.buckets = np.zeros(levels, dtype=np.int64)
        self.mass = np.zeros((len(block.arrays.n_levels), levels))
        self.pull, self.message = np.zeros((2, *links.message.shape))
        self.taken, self.table = np.zeros((2, *links.table.shape))
        self.focus(block, None)

    def focus(self, block: Block, table: MediumArray | None) -> None:
        """Look at the cheapest states until the next pricing; at all, where there are few."""
        size = block.states.size
        self.active: IntArray | None = None
        self.arrays, self.positions = block.arrays, block.states.positions
        if table is not None and size > 2 * _ACTIVE:
            # The best shares' cheapest states too: else steps forget what held the bound there.
            cheapest = np.minimum(table[:size], block.table)
            self.active = np.argpartition(cheapest, _ACTIVE)[:_ACTIVE]
            self.arrays = block.arrays._replace(
                weights=np.ascontiguousarray(block.arrays.weights[:, self.active]),
                own=block.arrays.own[self.active],
            )
            self.positions = np.ascontiguousarray(block.states.positions[:, self.active])


@dataclass(frozen=True, slots=True)
class Point:
    """Integers at which a node is priced.

    Parameters
    ----------
    shares : list of ndarray of int32
        By block, share units.
    links : list of PricedLinks
        By block, share units.
    rest : ndarray of int64
        What the shares leave of the points' costs, internal units.
    """

    shares: list[MediumArray]
    links: list[PricedLinks]
    rest: IntArray


def rounded_point(node: Relaxation, work: IntArray) -> Point:
    """Return the node's shares and links as integers."""
    shares = [round_shares(block.share) for block in node.blocks]
    rest = node.cells.costs.copy()
    for block, share in zip(node.blocks, shares, strict=True):
        rest[block.arrays.point] -= share.astype(np.int64) * node.unit  # each point once
    return Point(shares, node.links.priced([b.arrays for b in node.blocks], work), rest)


def new_link_work(node: Relaxation) -> IntArray:
    """Return working memory for a node's links."""
    return np.zeros((node.links.most_links + 1, WIDEST_LINK + 1), dtype=np.int64)


def raise_bound(
    node: Relaxation, target: int, course: Course, stop: Stop, n_threads: int = 1
) -> bool:
    """Raise ``node.bound`` towards the target; return whether it was stopped.

    States that a pricing proves to reach the target are dropped, so the bound is one on every
    hypothesis below the target. Threads price one block each; their number changes no figure.
    Stopped or not, shares and links end where they were priced best.
    """
    for block in node.blocks:
        block.table = np.zeros(0, dtype=np.int32)
    node.priced = -INFINITE
    if any(block.states.size == 0 for block in node.blocks):
        node.bound = max(node.bound, target)
        return False
    with PricingTeam(node, n_threads) as team:
        return _Ascent(node, target, course, team).run(stop)


class _Ascent:
    """Steps on one node's shares and links, and pricings in between."""

    def __init__(self, node: Relaxation, target: int, course: Course, team: PricingTeam) -> None:
        self.node, self.target, self.course, self.team = node, target, course, team
        self.work = new_link_work(node)
        costs = np.abs(node.cells.costs)
        self.mean = max(1.0, float(costs.sum()) / max(1, len(costs)) / node.unit)
        pairs = zip(node.blocks, node.links.blocks, strict=True)
        self.slopes = [_Slopes(block, links) for block, links in pairs]
        self.warm = any(slope.warm for slope in self.slopes)
        self.best = rounded_point(node, self.work)
        self.last: int | None = None
        self.pace, self.stale = 1.0, 0
        self.thin = course.thin * node.n_states

    def run(self, stop: Stop) -> bool:
        """Go on until the course ends; return whether it was stopped."""
        course, node = self.course, self.node
        for n in range(1, course.n_steps + 1):
            point = self.best if n == 1 else rounded_point(node, self.work)
            everything = n % course.every == 1 or course.every == 1 or n == course.n_steps
            tables = self._price(point, everything, stop)
            if tables is None:
                self._go_back()
                return True
            if everything:
                if self._ends(n, point, tables):
                    break
                point, tables = self.best, [block.table for block in node.blocks]
                if any(slope.active is not None for slope in self.slopes):
                    tables = [
                        table if slope.active is None else table[slope.active]
                        for slope, table in zip(self.slopes, tables, strict=True)
                    ]
            self._step(n, point, tables)
            if stop():
                self._go_back()
                return True
        self._go_back()
        for block, slope in zip(node.blocks, self.slopes, strict=True):
            block.square = slope.square
        return False

    def _price(self, point: Point, everything: bool, stop: Stop) -> list[MediumArray] | None:
        """Return what the states that are looked at cost; None if stopped."""
        jobs, held = [], []
        parts = zip(self.node.blocks, self.slopes, point.shares, point.links, strict=True)
        for block, slope, share, links in parts:
            whole = everything or slope.active is None
            arrays, plan = (block.arrays, block.plan) if whole else (slope.arrays, None)
            jobs.append((arrays, share, links.cost, plan))
            held.append(block.states.positions if whole else slope.positions)
        tables = self.team.price(jobs, stop)
        if tables is not None:
            for positions, links, table in zip(held, point.links, tables, strict=True):
                add_tables(positions, links.table, table)
        return tables

    def _ends(self, n: int, point: Point, tables: list[MediumArray]) -> bool:
        """Learn from a pricing of every state; return whether the ascent ends with it."""
        node, course, target = self.node, self.course, self.target
        value = priced_bound(node, point.rest, tables)
        better = value > node.priced
        if better:
            node.priced, self.best = value, point
            node.bound = max(node.bound, value)
            for block, table in zip(node.blocks, tables, strict=True):
                block.table = table[: block.states.size].copy()
        if value < target:
            tables = _drop_states(node, tables, target - value)
        if node.bound >= target or any(block.states.size == 0 for block in node.blocks):
            node.bound = max(node.bound, target)
            return True
        for block, slope, table in zip(node.blocks, self.slopes, tables, strict=True):
            slope.focus(block, table)
        stale = (
            self.last is not None
            and n > max(course.every, course.least_steps)
            and node.priced - self.last < course.patience * (target - node.priced)
        )
        self.stale = self.stale + 1 if stale else 0
        is_thin = better and node.n_states < self.thin
        if n == course.n_steps or is_thin or self.stale == 2 or (stale and better):
            return True
        self.last = node.priced
        if better:
            self.pace *= _FASTER if self.warm else 1.0
        else:
            self.pace *= _SLOWER
            self._go_back()
        return False

    def _go_back(self) -> None:
        """Return to what was priced best."""
        self.node.links.keep(self.best.links)
        for block, slope, share in zip(
            self.node.blocks, self.slopes, self.best.shares, strict=True
        ):
            block.share = share.astype(np.float64)
            slope.mean[:] = slope.message[:] = slope.table[:] = 0

    def _step(self, n: int, point: Point, tables: list[MediumArray]) -> None:
        """Move the shares and links uphill from a point."""
        course, links = self.course, self.node.links
        scale = self.pace * self.mean / (1 + course.decay * n)
        held = np.zeros(links.own.shape)
        parts = zip(self.node.blocks, self.slopes, tables, strict=True)
        for b, (block, slope, table) in enumerate(parts):
            share, cost = point.shares[b], point.links[b].cost
            _add_slope(slope, share, cost, table, self.mean * course.temperature)
            for j, taken in zip(block.coords, slope.taken, strict=True):
                if links.home[j] == b:
                    held[j] = taken
            early = (1 - 0.9**n, 1.0 if slope.warm else 1 - 0.99**n)
            step_shares(
                slope.arrays,
                slope.gradient,
                point.rest,
                slope.mean,
                slope.square,
                scale * course.step,
                early,
                block.share,
            )
        for part, slope, priced in zip(links.blocks, self.slopes, point.links, strict=True):
            rates = np.array([course.message_step, course.table_step]) * scale / (1 - 0.9**n)
            slope.table *= 0.9
            slope.table += 0.1 * (slope.taken - held[list(part.coords)])
            part.table += rates[1] * slope.table
            if len(part.arrays.coord):
                pull_messages(
                    slope.arrays,
                    part.arrays,
                    priced.message,
                    links.values,
                    links.allowed,
                    slope.mass,
                    held,
                    self.work,
                    slope.pull,
                )
                step_messages(slope.pull, slope.message, rates[0], part.message)


def round_shares(share: FloatArray) -> MediumArray:
    """Return the shares as integers whose absolute values sum to less than ``LARGEST_SUM``."""
    total = float(np.abs(share).sum()) + len(share)
    if total >= LARGEST_SUM:
        share = share * (LARGEST_SUM / 2 / total)
    return np.rint(share).astype(np.int32)


def priced_bound(node: Relaxation, rest: IntArray, tables: list[MediumArray]) -> int:
    """Return ``base + sum of min(0, rest) + unit * sum over blocks of min F``."""
    least = sum(int(table.min()) for table in tables)
    return node.base + int(np.minimum(rest, 0).sum()) + node.unit * least


def _drop_states(node: Relaxation, tables: list[MediumArray], slack: int) -> list[MediumArray]:
    """Drop states that cannot be part of a hypothesis below the target.

    A state's own excess adds up with that of every other block, which must take the same values
    of the columns that both hold.
    """
    slack = -(-slack // node.unit)
    tables = [table[: block.states.size] for block, table in zip(node.blocks, tables, strict=True)]
    width = node.model.values.shape[1]
    rises = [
        value_rises(block, table, width, slack)
        for block, table in zip(node.blocks, tables, strict=True)
    ]
    left = []
    for block, table in zip(node.blocks, tables, strict=True):
        excess = table.astype(np.int64) - int(table.min())
        for other, rise in zip(node.blocks, rises, strict=True):
            shared = [j for j in block.coords if j in other.coords]
            if other is not block and shared:
                places = np.array([block.coords.index(j) for j in shared], dtype=np.int64)
                rows = rise[[other.coords.index(j) for j in shared]]
                add_excess(block.states.positions, places, rows, excess)
        kept = excess < slack
        if kept.mean() < 0.8:
            block.keep(kept, node.model)
            table = table[kept]
        left.append(table)
    return left


def value_rises(block: Block, table: MediumArray, width: int, most: int) -> IntArray:
    """Return by how much each value of the block's coordinates raises ``min F``, at most so much.

    A value of which no state is left raises it by the most.
    """
    rises = np.full((len(block.coords), width), most, dtype=np.int64)
    if block.states.size:
        least_by_value(block.states.positions, table, block.states.size, rises, int(table.min()))
    return rises


def _add_slope(
    slope: _Slopes, share: MediumArray, cost: MediumArray, table: MediumArray, temperature: float
) -> None:
    """Set the gradient under a softmin over the cheapest states."""
    table = table[: slope.positions.shape[1]]
    chosen = np.arange(len(table))
    if len(table) > _MOST_CHOSEN:
        chosen = np.argpartition(table, _MOST_CHOSEN)[:_MOST_CHOSEN]
    above = (table[chosen] - table.min()) / temperature
    chosen, above = chosen[above <= _TEMPERATURES], above[above <= _TEMPERATURES]
    portion = np.exp(-above)
    portion /= portion.sum()
    chosen, portion = chosen[portion >= 2e-3].astype(np.int64), portion[portion >= 2e-3]
    slope.gradient[:] = slope.mass[:] = slope.taken[:] = 0
    add_gradient(
        slope.arrays,
        share,
        cost,
        chosen,
        portion,
        slope.scores,
        slope.buckets,
        slope.gradient,
        slope.mass,
    )
    for row, taken in zip(slope.positions, slope.taken, strict=True):
        np.add.at(taken, row[chosen], portion)
