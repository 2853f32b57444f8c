"""The relaxation of a node: blocks of columns, each with shares of the points' costs.

For hypotheses of the node, with ``c`` the cost of predicting a point positive,

    cost(w) >= base + sum over points of min(0, c - sum over blocks U of share_U)
                    + unit * sum over blocks U of  min over states s of F_U(s),

where ``F_U`` has the block's shares and its links.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from oracles.arithmetic import BoolArray, IntArray
from oracles.branch_and_bound.arrays import INFINITE, Model
from oracles.branch_and_bound.block_bound.arrays import (
    LARGEST_SUM,
    MOST_LEVELS,
    PADDING,
    BlockArrays,
    FloatArray,
    LinkArrays,
    MediumArray,
    padded_size,
)
from oracles.branch_and_bound.block_bound.cells import Cells, alike, score_ranges
from oracles.branch_and_bound.block_bound.links import WIDEST_LINK, Links, new_links
from oracles.branch_and_bound.block_bound.product_plan import ProductArrays, plan_product
from oracles.branch_and_bound.block_bound.states import States
from oracles.branch_and_bound.reduction import Reduction, value_ranges

_NONE = np.zeros(0, dtype=np.int64)


@dataclass(slots=True)
class Block:
    """One block of a node: its states, arrays and shares.

    Parameters
    ----------
    states : States
        What is not excluded.
    arrays : BlockArrays
        What the kernels work on.
    share : ndarray of float64
        Shares that the ascent moves, in share units.
    square : ndarray of float64
        Mean squared slope of every share, empty where no ascent went before.
    table : ndarray of int32
        ``F`` of every state where priced best; empty before the first pricing.
    plan : ProductArrays or None
        How to price all states faster than one by one.
    """

    states: States
    arrays: BlockArrays
    share: FloatArray
    square: FloatArray = field(default_factory=lambda: np.zeros(0))
    table: MediumArray = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    plan: ProductArrays | None = None

    @property
    def coords(self) -> tuple[int, ...]:
        """The block's coordinates."""
        return self.states.coords

    def rated_states(self) -> States:
        """Return the states with what the pricing says of each beyond the node's priced bound."""
        if len(self.table) == 0:
            return States(self.coords, self.states.positions, np.zeros(self.states.size, np.int64))
        excess = self.table.astype(np.int64) - int(self.table.min())
        return States(self.coords, self.states.positions, excess)

    def keep(self, kept: BoolArray, model: Model) -> None:
        """Keep some of the states; the others are proved to hold no better hypothesis."""
        old = self.states
        own = self.arrays.own[: old.size][kept]
        self.states = old.chosen(kept)
        self.arrays = self.arrays._replace(weights=_weights(self.states, model), own=_padded(own))
        if len(self.table):
            self.table = self.table[: old.size][kept]
        if self.plan is not None:
            self.plan = plan_product(model, self.states, self.arrays)


@dataclass(slots=True)
class Relaxation:
    """A node: what its points and tables cost, and its blocks.

    Parameters
    ----------
    model : Model
        Grid, blocks of the perturbation and norm.
    domain : ndarray of shape (d, k) bool
        Allowed positions.
    cells : Cells
        Undecided points.
    base : int
        Cost of every hypothesis apart from what points and blocks add, internal units.
    blocks : list of Block
        Blocks of free coordinates.
    links : Links
        How the blocks share out the free coordinates' own costs.
    unit : int
        Internal units per share unit.
    bound : int
        Best bound proved, internal units.
    priced : int
        What the blocks' tables prove, internal units: excesses in the tables are beyond this.
    """

    model: Model
    domain: BoolArray
    cells: Cells
    base: int
    blocks: list[Block]
    links: Links
    unit: int
    bound: int
    priced: int = -INFINITE

    def strip(self, target: int) -> None:
        """Keep only what children need: the states that may still improve, and the shares."""
        slack = max(0, -(-(target - self.priced) // self.unit))
        for block in self.blocks:
            if len(block.table):
                rated = block.rated_states()
                block.keep(rated.excess < slack, self.model)
            block.plan = None
            block.arrays = block.arrays._replace(
                weights=np.zeros((0, 0), dtype=np.int16),
                own=np.zeros(0, dtype=np.int32),
                pattern_at=_NONE,
                pattern_coord=_NONE,
                pattern_coef=_NONE,
            )

    @property
    def n_states(self) -> int:
        """States of all blocks."""
        return sum(block.states.size for block in self.blocks)

    @property
    def size(self) -> int:
        """About how many bytes the node takes."""
        n = self.cells.points.nbytes + 16 * len(self.cells.costs)
        for block in self.blocks:
            n += block.states.positions.nbytes + 20 * len(block.share)
            n += sum(array.nbytes for array in block.arrays)
        for links in self.links.blocks:
            n += links.message.nbytes + sum(array.nbytes for array in links.arrays)
        return n


def share_unit(reduction: Reduction) -> int:
    """Return the internal units per share unit with which all sums fit 32 bits."""
    total = int(np.abs(reduction.costs).astype(object).sum())
    total += int(np.ptp(reduction.unary, axis=1).astype(object).sum())
    total += int(reduction.model.block_cost.max(initial=0)) * len(reduction.model.block_at)
    return max(1, -(-total * 8 // LARGEST_SUM))


def relax(
    reduction: Reduction, domain: BoolArray, cells: Cells, blocks: list[States], unit: int
) -> Relaxation:
    """Return the relaxation of a node with these blocks, all shares and messages 0."""
    model = reduction.model
    base = cells.constant
    costs = np.zeros(model.values.shape, dtype=np.int64)
    for j in range(len(model.n_values)):
        least = int(reduction.unary[j, domain[j]].min())
        base += least
        costs[j, domain[j]] = (reduction.unary[j, domain[j]] - least) // unit
    own = [np.zeros(states.size, dtype=np.int64) for states in blocks]
    for b in range(len(model.block_at)):
        base += _charge_perturbation(model, b, domain, blocks, own)
    base += least_norm_cost(model, domain)
    linked = np.zeros(len(domain), dtype=bool)
    if reduction.is_perturbed:
        for states in blocks:
            linked[list(states.coords)] = True
    made, links = [], []
    for states, total in zip(blocks, own, strict=True):
        arrays, outside = _block_arrays(model, domain, cells, states, total // unit, linked)
        plan = plan_product(model, states, arrays)
        made.append(Block(states, arrays, np.zeros(len(arrays.point)), plan=plan))
        links.append(outside)
    held = new_links(model.values, domain, costs, [s.coords for s in blocks], links)
    return Relaxation(model, domain, cells, base, made, held, unit, -INFINITE)


def least_norm_cost(model: Model, domain: BoolArray) -> int:
    """Return the least cost of a squared norm within the node's range; at most ``INFINITE``."""
    if len(model.norm_cost) == 0:
        return 0
    squares = model.values**2
    least = int(np.where(domain, squares, INFINITE).min(axis=1).sum())
    largest = int(np.where(domain, squares, 0).max(axis=1).sum())
    reachable = model.norm_cost[least : largest + 1]
    return int(reachable.min()) if len(reachable) else INFINITE


def _charge_perturbation(
    model: Model, b: int, domain: BoolArray, blocks: list[States], own: list[IntArray]
) -> int:
    """Charge a block of the perturbation to one block that holds it; return its least cost."""
    members = range(int(model.block_start[b]), int(model.block_start[b + 1]))
    coords = [int(model.block_coord[q]) for q in members]
    strides = [int(model.block_stride[q]) for q in members]
    place = np.array([int(model.block_at[b])], dtype=np.int64)
    for j, stride in zip(coords, strides, strict=True):
        allowed = np.flatnonzero(domain[j])
        place = (place[:, None] + allowed * stride).ravel()
    least = int(model.block_cost[place].min())
    for states, total in zip(blocks, own, strict=True):
        if all(j in states.coords or domain[j].sum() == 1 for j in coords):
            at = np.full(states.size, int(model.block_at[b]), dtype=np.int64)
            for j, stride in zip(coords, strides, strict=True):
                if j in states.coords:
                    at += stride * states.positions[states.coords.index(j)].astype(np.int64)
                else:
                    at += stride * int(np.argmax(domain[j]))
            total += model.block_cost[at] - least
            break
    return least


def _weights(states: States, model: Model) -> np.ndarray:
    """Return the states' weights, padded by zeros."""
    weights = np.zeros((len(states.coords), padded_size(states.size)), dtype=np.int16)
    for i, j in enumerate(states.coords):
        weights[i, : states.size] = model.values[j, states.positions[i]]
    return weights


def _padded(own: IntArray | MediumArray) -> MediumArray:
    padded = np.full(padded_size(len(own)), PADDING, dtype=np.int32)
    padded[: len(own)] = np.minimum(own, LARGEST_SUM // 2)
    return padded


def _block_arrays(
    model: Model,
    domain: BoolArray,
    cells: Cells,
    states: States,
    own: IntArray,
    linked: BoolArray,
) -> tuple[BlockArrays, LinkArrays]:
    """Return a block's arrays, and its links to the columns that may have some."""
    coords = list(states.coords)
    points = cells.points.astype(np.int64)
    inside = points[:, coords]
    least, largest = value_ranges(model, domain)
    inside_key = inside @ model.keys[coords]
    first, pattern = alike(inside, inside_key)
    low, high = score_ranges(inside[first], least[coords], largest[coords])
    outside = points.copy()
    outside[:, coords] = 0
    outside_low, outside_high = score_ranges(outside, least, largest)
    _, context = alike(outside, points @ model.keys - inside_key)
    order = np.argsort(context, kind="stable")
    start = np.flatnonzero(np.diff(context[order], prepend=-1))
    sizes = np.diff(np.append(start, len(order)))
    lowest = np.minimum.reduceat((cells.offsets + low[pattern])[order], start)
    highest = np.maximum.reduceat((cells.offsets + high[pattern])[order], start)
    example = order[start]
    from_level = np.maximum(1 - outside_high[example], lowest)
    to_level = np.minimum(1 - outside_low[example], highest + 1)
    n_levels = np.maximum(to_level - from_level, 0) + 1
    costs = cells.costs[order]
    one_sign = (np.minimum.reduceat(costs, start) >= 0) | (np.maximum.reduceat(costs, start) <= 0)
    free = (from_level == lowest) & (to_level == highest + 1)
    # A threshold without limits makes one point, or points of one sign, no dearer than alone.
    kept = (n_levels <= MOST_LEVELS) & ~(free & ((sizes == 1) | one_sign))
    members = order[np.repeat(kept, sizes)]
    rows, places = np.nonzero(inside[first])
    arrays = BlockArrays(
        weights=_weights(states, model),
        own=_padded(own),
        pattern_at=np.searchsorted(rows, np.arange(len(first) + 1)).astype(np.int64),
        pattern_coord=places.astype(np.int64),
        pattern_coef=inside[first][rows, places].astype(np.int64),
        context_at=np.concatenate([[0], np.cumsum(sizes[kept])]).astype(np.int64),
        first_level=from_level[kept].astype(np.int64),
        n_levels=n_levels[kept].astype(np.int64),
        point=members.astype(np.int64),
        pattern=pattern[members].astype(np.int64),
        offset=cells.offsets[members].astype(np.int64),
    )
    narrow = (outside_high - outside_low)[example] < WIDEST_LINK
    # The kernels take a context's outside score to be that of its links: all columns, or none.
    whole = ~(outside[example] != 0)[:, ~linked].any(axis=1)
    charged = np.where((narrow & whole)[kept, None], outside[example[kept]], 0)
    contexts, columns = np.nonzero(charged)
    links = LinkArrays(
        at=np.searchsorted(contexts, np.arange(len(charged) + 1)).astype(np.int64),
        coord=columns.astype(np.int64),
        coef=charged[contexts, columns].astype(np.int64),
    )
    return arrays, links
