"""Making and bounding the nodes of the tree: narrower domains, warm shares, merged blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oracles.arithmetic import BoolArray, IntArray
from oracles.branch_and_bound.arrays import INFINITE
from oracles.branch_and_bound.block_bound.ascent import value_rises
from oracles.branch_and_bound.block_bound.cells import Cells, cells_of, narrowed, spread
from oracles.branch_and_bound.block_bound.choice import (
    ClosePairs,
    Conflicts,
    disjoint_blocks,
    exclusive_groups,
)
from oracles.branch_and_bound.block_bound.links import inherit
from oracles.branch_and_bound.block_bound.relaxation import Block, Relaxation, relax, share_unit
from oracles.branch_and_bound.block_bound.states import (
    States,
    all_states,
    joined,
    joined_size,
    within,
)
from oracles.branch_and_bound.reduction import Reduction

_Made = tuple[States, list[int]]
"""A block, and the blocks of the parent that it is made of."""

_TYPICAL_SQUARE = 0.03

LARGEST_UNIT = 3**11
"""Units of columns with more joint values are split."""


@dataclass(frozen=True, slots=True)
class RootBlocks:
    """What the blocks of the whole box are chosen from.

    Parameters
    ----------
    reduction : Reduction
        The reduced problem.
    domain : ndarray of shape (coordinates, values), bool
        The values that each coordinate may still take.
    cells : Cells
        The undecided points.
    units : list of tuple of int
        Free columns, those of a one-hot group or of a block of the perturbation together.
    """

    reduction: Reduction
    domain: BoolArray
    cells: Cells
    units: list[tuple[int, ...]]

    def disjoint(self, cap: int) -> Relaxation:
        """Return the relaxation with disjoint blocks of at most so many states."""
        conflicts = Conflicts(self.cells, self.reduction.model)
        blocks = disjoint_blocks(conflicts, self.units, self.domain, cap)
        return _start(self.reduction, self.domain, self.cells, blocks)

    def times_held(self, n_states: int, n_blocks: int) -> float:
        """Return how often so many blocks of so many states hold each column, on average."""
        columns = [j for unit in self.units for j in unit]
        values = float(np.log(self.domain[columns].sum(axis=1)).mean())
        return n_blocks * int(np.log(n_states) / values + 1e-9) / len(columns)

    def overlapping(self, cap: int, n_blocks: int) -> Relaxation:
        """Return the relaxation with overlapping blocks of at most so many states."""
        pairs = ClosePairs(self.cells.points.astype(np.int64), self.cells.costs)
        sizes = self.domain.sum(axis=1)
        columns = [j for unit in self.units for j in unit]
        blocks = []
        for _ in range(n_blocks):
            block = pairs.grow(frozenset(), 1.0, columns, sizes, cap)
            if block and block not in blocks:
                blocks.append(block)
        blocks += [frozenset([j]) for j in columns if not any(j in block for block in blocks)]
        made = [tuple(sorted(block)) for block in blocks]
        return _start(self.reduction, self.domain, self.cells, made)

    def without(self) -> Relaxation:
        """Return the relaxation without blocks."""
        return _start(self.reduction, self.domain, self.cells, [])


def root_blocks(reduction: Reduction, domain: BoolArray) -> RootBlocks:
    """Find the units that blocks of the whole box are made of."""
    cells, _ = narrowed(cells_of(reduction), reduction.model, domain)
    units: list[tuple[int, ...]] = []
    if len(cells.points):
        units = exclusive_groups(cells.points.astype(np.int64), np.abs(cells.costs))
    return RootBlocks(reduction, domain, cells, _whole_perturbations(reduction, units, domain))


def is_plain(reduction: Reduction) -> bool:
    """Return whether the columns fall into many groups of which every point uses at most one."""
    points = reduction.points
    groups = exclusive_groups(points.astype(np.int64), np.abs(reduction.costs))
    return 2 * len(groups) > int(points.any(axis=0).sum())


def _whole_perturbations(
    reduction: Reduction, units: list[tuple[int, ...]], domain: BoolArray
) -> list[tuple[int, ...]]:
    """Keep blocks of the perturbation whole where they fit; split units that are too large."""
    model = reduction.model
    free = {int(j) for j in np.flatnonzero(domain.sum(axis=1) > 1)}
    result: list[tuple[int, ...]] = []
    for b in range(len(model.block_at)):
        span = range(int(model.block_start[b]), int(model.block_start[b + 1]))
        coords = tuple(j for q in span if (j := int(model.block_coord[q])) in free)
        if coords and _n_states(coords, domain) <= LARGEST_UNIT:
            result.append(coords)
    taken = {j for unit in result for j in unit}
    for unit in units:
        part: list[int] = []
        for j in unit:
            if j in taken or j not in free:
                continue
            if _n_states((*part, j), domain) > LARGEST_UNIT:
                result.append(tuple(part))
                part = []
            if _n_states((j,), domain) <= LARGEST_UNIT:
                part.append(j)
        if part:
            result.append(tuple(part))
    return result


def _n_states(coords: tuple[int, ...], domain: BoolArray) -> float:
    return float(np.prod([float(domain[j].sum()) for j in coords]))


def _start(
    reduction: Reduction, domain: BoolArray, cells: Cells, blocks: list[tuple[int, ...]]
) -> Relaxation:
    """Return the relaxation in which every block of a point has an equal share of its cost."""
    states = [all_states(block, domain) for block in blocks]
    node = relax(reduction, domain, cells, states, share_unit(reduction))
    count = np.zeros(len(cells.costs))
    for block in node.blocks:
        count[block.arrays.point] += 1
    for block in node.blocks:
        point = block.arrays.point
        block.share = cells.costs[point] / count[point] / node.unit
    return node


def child_of(
    reduction: Reduction,
    parent: Relaxation,
    domain: BoolArray,
    target: int,
    most_states: int,
    *,
    by_conflict: bool = False,
) -> Relaxation:
    """Return the relaxation of part of a node, with the parent's shares.

    States that the parent's pricing proves to reach the target are left out, joint ones too.
    Blocks are joined up to so many states: the smallest first, or those whose columns together
    set most of opposite labels against each other.
    """
    cells, where = narrowed(parent.cells, reduction.model, domain)
    slack = INFINITE
    if parent.priced > -INFINITE:
        slack = max(0, -(-(target - parent.priced) // parent.unit))
    parts = [within(block.rated_states(), domain, slack) for block in parent.blocks]
    made = [(s, [b]) for b, s in enumerate(parts) if s.coords and len(cells.costs)]
    conflicts = Conflicts(cells, reduction.model) if by_conflict else None
    made = _merged(made, slack, most_states, conflicts)
    return _continued(reduction, parent, domain, cells, where, made)


def widened(
    reduction: Reduction, parent: Relaxation, domain: BoolArray, target: int, cap: int
) -> Relaxation | None:
    """Return part of a node with more columns in its blocks, with its shares; None if none fits.

    Columns are added while a block's states, those that the pricing leaves, stay below the cap.
    """
    slack = max(0, -(-(target - parent.priced) // parent.unit))
    cells, where = narrowed(parent.cells, reduction.model, domain)
    points = cells.points.astype(np.int64)
    pairs = ClosePairs(points, cells.costs)
    sizes = domain.sum(axis=1)
    columns = [int(j) for j in np.flatnonzero(points.any(axis=0))]
    made: list[_Made] = []
    changed = bool((domain != parent.domain).any())
    for b, block in enumerate(parent.blocks):
        part = within(block.rated_states(), domain, slack)
        if len(part.coords) > 1:
            grown = pairs.grow(frozenset(part.coords), part.size, columns, sizes, cap)
            extra = tuple(sorted(grown.difference(part.coords)))
            if extra:
                changed = True
                part = joined(part, all_states(extra, domain), slack)
        if part.coords and len(cells.costs):
            made.append((part, [b]))
    return _continued(reduction, parent, domain, cells, where, made) if changed else None


def _continued(
    reduction: Reduction,
    parent: Relaxation,
    domain: BoolArray,
    cells: Cells,
    where: IntArray,
    made: list[_Made],
) -> Relaxation:
    """Return a relaxation with the shares and links of the parent's blocks that it is made of."""
    node = relax(reduction, domain, cells, [states for states, _ in made], parent.unit)
    for block, (_, sources) in zip(node.blocks, made, strict=True):
        parts = [_at_points(parent.blocks[b], where, len(cells.costs)) for b in sources]
        amount = np.sum(parts, axis=0)
        block.share, block.square = amount[:, block.arrays.point]
    inherit(
        node.links,
        parent.links,
        [sources for _, sources in made],
        [block.arrays for block in parent.blocks],
        [block.arrays for block in node.blocks],
        where,
    )
    node.bound = parent.bound
    return node


def _at_points(block: Block, where: IntArray, n: int) -> np.ndarray:
    """Return the block's share of every point, and its mean squared slope."""
    amounts = np.zeros((2, len(where)))
    amounts[1] = _TYPICAL_SQUARE
    amounts[0, block.arrays.point] = block.share
    if len(block.square):
        amounts[1, block.arrays.point] = block.square
    return np.array([spread(where, row, n) for row in amounts])


def _merged(made: list[_Made], slack: int, most: int, conflicts: Conflicts | None) -> list[_Made]:
    """Join blocks until no two of them fit together, and blocks that lie within others."""
    made = list(made)
    while len(made) > 1:
        found = _pair_to_join([states for states, _ in made], slack, most, conflicts)
        if found is None:
            break
        (ours, mine), (theirs, yours) = made[found[1]], made[found[0]]
        made = [part for n, part in enumerate(made) if n not in found]
        made.append((joined(ours, theirs, slack), mine + yours))
    return made


def _pair_to_join(
    states: list[States], slack: int, most: int, conflicts: Conflicts | None
) -> tuple[int, int] | None:
    order = sorted(range(len(states)), key=lambda i: (states[i].size, states[i].coords))
    best, best_gain = None, -1.0
    for at, i in enumerate(order[:-1]):
        if conflicts is None and at >= 2:
            break
        for k in reversed(order[at + 1 :]):
            inside = set(states[i].coords) <= set(states[k].coords)
            if not inside and joined_size(states[k], states[i], slack) > most:
                continue
            if conflicts is None or inside:
                return i, k
            a, b = frozenset(states[i].coords), frozenset(states[k].coords)
            gain = conflicts.score(a | b) - conflicts.score(a) - conflicts.score(b)
            if gain > best_gain:
                best, best_gain = (i, k), gain
    return best


def increases(node: Relaxation) -> IntArray:
    """Return how much each value of each coordinate raises the priced bound, internal units.

    ``increase[j, a] = unit * sum over blocks with j of (min F over states with w_j = a - min F)``;
    at least ``INFINITE`` where no state is left.
    """
    result = np.where(node.domain, 0, INFINITE)
    most = INFINITE // node.unit + 1
    for block in node.blocks:
        if len(block.table):
            found = value_rises(block, block.table, result.shape[1], most)
            for j, row in zip(block.coords, found * node.unit, strict=True):
                result[j] = np.minimum(result[j] + row, 2 * INFINITE)
    return result
