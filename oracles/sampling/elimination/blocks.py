"""Blocks: which groups of columns are summed together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from oracles.errors import UnsupportedProblem
from oracles.problem import ColumnGroup, WeightGrid

COMFORTABLE_BLOCK = 100_000_000
"""Table work of a block (entries, weighted by lookups) up to which fewer blocks are preferred."""

LARGEST_BLOCK = 100_000_000
"""Largest table work of a block in a number of blocks that was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnBlock:
    """Groups whose weights are summed over together, exactly.

    Parameters
    ----------
    groups : tuple of ColumnGroup
        Disjoint groups of columns.
    """

    groups: tuple[ColumnGroup, ...]

    @property
    def columns(self) -> tuple[int, ...]:
        """All columns of the block, in order of the groups."""
        return tuple(c for group in self.groups for c in group.columns)


def choose_blocks(
    groups: Sequence[ColumnGroup], grid: WeightGrid, n_blocks: int | None = None
) -> tuple[ColumnBlock, ...]:
    """Split groups into blocks that are cheap to sum over, by public facts alone.

    Parameters
    ----------
    groups : sequence of ColumnGroup
        As returned by :func:`complete_structure`.
    grid : WeightGrid
        Allowed weights.
    n_blocks : int or None
        How many blocks; None: the fewest, at least two, that are small enough.

    Raises
    ------
    UnsupportedProblem
        If even one group alone is too large.

    Notes
    -----
    Which columns share a block affects speed only: columns that depend on each other belong
    together, so declare attributes in an order that puts related ones side by side.
    """
    counts = range(2, max(2, len(groups)) + 1) if n_blocks is None else (n_blocks,)
    limit = COMFORTABLE_BLOCK if n_blocks is None else LARGEST_BLOCK
    for k in counts:
        parts, largest = _best_parts(groups, grid, k)
        if largest <= limit:
            parts = [part for part in parts if part] or [[]]
            return tuple(ColumnBlock(groups=tuple(groups[i] for i in part)) for part in parts)
    raise UnsupportedProblem(
        f"a block may take at most {limit:,} table entries, but the smallest split of these "
        f"columns needs about {largest:.1e}; use fewer categories, fewer thresholds or smaller "
        "weights."
    )


def block_work(groups: Sequence[ColumnGroup], grid: WeightGrid, n_blocks: int) -> float:
    """Return the table work of the largest block when groups are split into so many blocks.

    Parameters
    ----------
    groups : sequence of ColumnGroup
        As returned by :func:`complete_structure`.
    grid : WeightGrid
        Allowed weights.
    n_blocks : int
        How many blocks.
    """
    return _best_parts(groups, grid, n_blocks)[1]


def _best_parts(
    groups: Sequence[ColumnGroup], grid: WeightGrid, n_blocks: int
) -> tuple[list[list[int]], float]:
    """Return the groups of each block and the work of the largest one."""
    sizes = [tuple(len(grid.values[c]) for c in group.columns) for group in groups]
    reach = [max(max(abs(v) for v in grid.values[c]) for c in g.columns) for g in groups]
    owner = _local_search(groups, sizes, reach, n_blocks)
    parts = [[i for i in range(len(groups)) if owner[i] == b] for b in range(n_blocks)]
    largest = max(_work([groups[i] for i in part], [sizes[i] for i in part]) for part in parts)
    return parts, largest


def _work(groups: Sequence[ColumnGroup], sizes: Sequence[Sequence[int]]) -> float:
    """Estimate the table work of a block in which every combination occurs."""
    joint = [math.prod(map(float, s)) for s in sizes]
    patterns = [len(g.columns) + 1.0 for g in groups]
    # Of the enumerated groups the widest varies slowest: a context touches one of its one-hot
    # columns only, so its factor is looked up for that column's weights alone.
    spared = [
        math.prod(map(float, s[1:])) if g.kind == "exclusive" else 1.0
        for g, s in zip(groups, sizes, strict=True)
    ]
    best = math.inf
    for last in range(len(groups)):
        core = math.prod(joint[:last] + joint[last + 1 :])
        contexts = math.prod(patterns[:last] + patterns[last + 1 :])
        factors = 1 + contexts / max(spared[:last] + spared[last + 1 :], default=1.0)
        own = float(sum(sizes[last]))
        if groups[last].kind == "nested":
            totals = [1 + sum(s - 1 for s in sizes[last][:i]) for i in range(len(sizes[last]) + 1)]
            chain = sum(a * b for a, b in zip(totals, totals[1:], strict=False))
            own = float(min(chain, joint[last]))
        best = min(best, core * (1 + own) * factors)
    return best if groups else 1.0


def _local_search(
    groups: Sequence[ColumnGroup],
    sizes: Sequence[tuple[int, ...]],
    reach: Sequence[int],
    n_blocks: int,
) -> list[int]:
    """Return the block of each group: moves and swaps from a greedy start, deterministic."""

    def cost(owner: Sequence[int]) -> float:
        total, spread = 0.0, []
        for b in range(n_blocks):
            part = [i for i in range(len(groups)) if owner[i] == b]
            total += _work([groups[i] for i in part], [sizes[i] for i in part])
            spread.append(sum(_reach(groups[i], reach[i]) for i in part))
        # Thresholds per point and children per split both grow with the narrower block's scores.
        apart = sum(a != b for a, b in zip(owner, owner[1:], strict=False))
        # Where costs tie, groups that were declared next to each other stay together.
        return float(total * (2 + 2 * sorted(spread)[0]) ** 2 * (1 + 1e-3 * apart))

    order = sorted(range(len(groups)), key=lambda i: -math.prod(map(float, sizes[i])))
    owner = [0] * len(groups)
    for place, i in enumerate(order):
        owner[i] = place % n_blocks
    best = cost(owner)
    improved = True
    while improved:
        improved = False
        for trial in _neighbours(owner, n_blocks):
            value = cost(trial)
            if value < best * (1 - 1e-12):
                owner, best, improved = trial, value, True
    return owner


def _reach(group: ColumnGroup, largest: int) -> int:
    return largest if group.kind == "exclusive" else largest * len(group.columns)


def _neighbours(owner: Sequence[int], n_blocks: int) -> list[list[int]]:
    trials = []
    for i in range(len(owner)):
        for b in range(n_blocks):
            if b != owner[i]:
                trials.append([*owner[:i], b, *owner[i + 1 :]])
        for j in range(i):
            if owner[i] != owner[j]:
                swapped = list(owner)
                swapped[i], swapped[j] = swapped[j], swapped[i]
                trials.append(swapped)
    return trials
