"""Choosing blocks from the points: which columns' joint values tell opposite labels apart.

No choice can make the bound wrong, so points may be sampled and scores may be rough.
"""

from __future__ import annotations

import numpy as np

from oracles.arithmetic import BoolArray, IntArray
from oracles.branch_and_bound.arrays import Model
from oracles.branch_and_bound.block_bound.cells import Cells

_MOST_POINTS = 12_000

_NEAR = 4

_MOST_PAIRS, _PAIRED_AT_ONCE = 200_000, 512

_USED = 0.3


def exclusive_groups(points: IntArray, weights: IntArray) -> list[tuple[int, ...]]:
    """Return groups of columns of which every point uses at most one, heaviest columns first."""
    active = points != 0
    both = active.T.astype(np.float32) @ active.astype(np.float32)
    groups: list[list[int]] = []
    used = active.any(axis=0)
    for j in np.argsort(-(active * weights[:, None]).sum(axis=0), kind="stable"):
        if not used[j]:
            continue
        # The group that the column completes best: the one it shares the most points' rest with.
        open_groups = [g for g in groups if not both[j, g].any()]
        if open_groups:
            max(open_groups, key=lambda g: int(both[g, g].sum())).append(int(j))
        else:
            groups.append([int(j)])
    return [tuple(sorted(group)) for group in groups]


def column_weights(points: IntArray, costs: IntArray) -> np.ndarray:
    """Return how evenly each column splits the points' costs: ``4 m (1 - m)``."""
    size = np.abs(costs).astype(float)
    mass = size @ (points != 0) / max(size.sum(), 1.0)
    return np.asarray(4 * mass * (1 - mass))


class Conflicts:
    """How much of the points' costs meets an opposite label in the same context of a block."""

    def __init__(self, cells: Cells, model: Model) -> None:
        order = np.argsort(-np.abs(cells.costs), kind="stable")[:_MOST_POINTS]
        self.points = cells.points[order].astype(np.int64)
        self.costs = cells.costs[order].astype(np.float64)
        self.parts = self.points * model.keys
        self.total = self.parts.sum(axis=1)
        self.known: dict[frozenset[int], float] = {}

    def contexts(self, coords: frozenset[int]) -> IntArray:
        """Return each point's context: a number that points with the same outside share."""
        outside = self.total - self.parts[:, sorted(coords)].sum(axis=1)
        return np.unique(outside, return_inverse=True)[1].ravel()

    def score(self, coords: frozenset[int]) -> float:
        """``sum over contexts of min(mass of one label, mass of the other)``."""
        if coords not in self.known:
            context = self.contexts(coords)
            plus = np.bincount(context, weights=np.maximum(self.costs, 0))
            minus = np.bincount(context, weights=np.maximum(-self.costs, 0))
            self.known[coords] = float(np.minimum(plus, minus).sum())
        return self.known[coords]


def disjoint_blocks(
    conflicts: Conflicts, units: list[tuple[int, ...]], domain: BoolArray, cap: int
) -> list[tuple[int, ...]]:
    """Merge units while the joint values stay below the cap, the best gain in score first."""
    blocks = [frozenset(unit) for unit in units]
    sizes = domain.sum(axis=1).astype(float)

    def size(block: frozenset[int]) -> float:
        return float(np.prod([sizes[j] for j in block]))

    while True:
        gains = [
            (conflicts.score(a | b) - conflicts.score(a) - conflicts.score(b), i, k)
            for i, a in enumerate(blocks)
            for k, b in enumerate(blocks[:i])
            if size(a) * size(b) <= cap
        ]
        if not gains:
            break
        _, i, k = max(gains)
        merged = blocks[i] | blocks[k]
        blocks = [b for n, b in enumerate(blocks) if n not in (i, k)] + [merged]
    return [tuple(sorted(block)) for block in blocks]


class ClosePairs:
    """Pairs of points of opposite label that differ in a few columns.

    A block that holds all columns in which a pair differs has both points in one context.
    """

    def __init__(self, points: IntArray, costs: IntArray) -> None:
        order = np.argsort(-np.abs(costs), kind="stable")[:_MOST_POINTS]
        points, costs = points[order], costs[order].astype(np.float64)
        plus, minus = np.flatnonzero(costs > 0), np.flatnonzero(costs < 0)
        unlike = [np.zeros((0, points.shape[1]), dtype=bool)]
        weights = [np.zeros(0)]
        found = 0
        for first in range(0, len(plus), _PAIRED_AT_ONCE):
            rows = plus[first : first + _PAIRED_AT_ONCE]
            i, k = _near(points[rows], points[minus])
            i, k = rows[i], minus[k]
            different = points[i] != points[k]
            unlike.append(different)
            common = np.minimum(costs[i], -costs[k])
            weights.append(common / np.maximum(different.sum(axis=1), 1))
            found += len(i)
            if found > _MOST_PAIRS:
                break
        self.unlike = np.concatenate(unlike).astype(np.float32)
        self.weights = np.concatenate(weights).astype(np.float32)

    def grow(
        self, block: frozenset[int], n_states: float, columns: list[int], sizes: IntArray, cap: int
    ) -> frozenset[int]:
        """Add the columns that complete most pairs, or nearly, while the states fit the cap.

        Pairs within the grown block count less from then on.
        """
        grown = set(block)
        missing = self.unlike.sum(axis=1) - self.unlike[:, sorted(grown)].sum(axis=1)
        while True:
            options = [j for j in columns if j not in grown and n_states * sizes[j] <= cap]
            if not options:
                break
            pull = np.where(missing > 0, self.weights / np.maximum(missing, 1) ** 3, 0)
            force = pull @ self.unlike
            best = max(options, key=lambda j: (force[j], -j))
            grown.add(best)
            n_states *= int(sizes[best])
            missing -= self.unlike[:, best]
        self.weights[missing == 0] *= _USED
        return frozenset(grown)


def _near(left: IntArray, right: IntArray) -> tuple[IntArray, IntArray]:
    """Return pairs of rows whose active columns differ in a few places."""
    ours, theirs = (left != 0).astype(np.float32), (right != 0).astype(np.float32)
    distance = ours.sum(axis=1)[:, None] + theirs.sum(axis=1) - 2 * ours @ theirs.T
    i, k = np.nonzero(distance <= _NEAR)
    return i, k
