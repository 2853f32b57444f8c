"""Making and bounding the nodes of the tree: narrower domains, warm shares, merged blocks."""

from __future__ import annotations

import numpy as np

from oracles.arithmetic import BoolArray, IntArray
from oracles.branch_and_bound.arrays import INFINITE
from oracles.branch_and_bound.block_bound.ascent import value_rises
from oracles.branch_and_bound.block_bound.branching_choice import ClosePairs, Conflicts
from oracles.branch_and_bound.block_bound.cells import Cells, narrowed, spread
from oracles.branch_and_bound.block_bound.links import inherit
from oracles.branch_and_bound.block_bound.relaxation import Block, Relaxation, relax
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

_NARROWER = 0.9
"""Part of the logarithm of hypotheses below which it pays to start from what is left."""


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
    Where none is added the part must be much narrower than the node.
    """
    slack = max(0, -(-(target - parent.priced) // parent.unit))
    cells, where = narrowed(parent.cells, reduction.model, domain)
    points = cells.points.astype(np.int64)
    pairs = ClosePairs(points, cells.costs)
    sizes = domain.sum(axis=1)
    columns = [int(j) for j in np.flatnonzero(points.any(axis=0))]
    made: list[_Made] = []
    changed = log_size(domain) < _NARROWER * log_size(parent.domain)
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


def shaved(node: Relaxation, target: int) -> tuple[BoolArray, IntArray]:
    """Return the node's values that may still improve, and how much each raises the bound."""
    rises = increases(node)
    return node.domain & (node.priced + rises < target), rises


def log_size(domain: BoolArray) -> float:
    """Return the logarithm of the number of hypotheses."""
    return float(np.log(domain.sum(axis=1)).sum())


def bound_without_blocks(node: Relaxation) -> int:
    """Return the bound with all shares 0; it is the exact cost where every value is fixed."""
    return node.base + int(np.minimum(node.cells.costs, 0).sum())
