"""Weights of hypotheses by how many of their weights are not 0: each level has a share of all."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from oracles.arithmetic import IntArray
from oracles.errors import InvalidProblem
from oracles.problem.grid import WeightGrid


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelWeights:
    """A mixture of uniform measures: on cards of 0, 1, 2, ... points, and on the whole grid.

    A card's points are its weights other than 0 but the first one's, which belongs to the
    constant column.

    Parameters
    ----------
    shares : tuple of int
        Mass of each level in turn, at least 0; levels without a hypothesis lose theirs.
    whole : int
        Mass of the whole grid, at least 0.

    Raises
    ------
    InvalidProblem
        If a mass is negative or all are 0.

    Examples
    --------
    >>> weights = LevelWeights(shares=(1, 1), whole=2)
    >>> weights.factors(WeightGrid.box(2, 1))  # 3 cards without, 6 with a point; one weighs
    (10, 7)
    """

    shares: tuple[int, ...]
    whole: int

    def __post_init__(self) -> None:
        """Refuse what is not a measure."""
        if min(*self.shares, self.whole) < 0 or not (sum(self.shares) or self.whole):
            raise InvalidProblem("masses of levels must be at least 0, and one above 0.")

    def factors(self, grid: WeightGrid) -> tuple[int, ...]:
        """Return what one hypothesis weighs, by its number of points: integers, exactly."""
        counts = size_counts(grid)
        common = math.lcm(sum(counts), *(c for c in counts[: len(self.shares)] if c))
        rest = self.whole * common // sum(counts)
        shares = (*self.shares, *[0] * len(counts))
        return tuple(
            rest + (share * common // count if count else 0)
            for share, count in zip(shares, counts, strict=False)
        )

    def log_inverse(self, grid: WeightGrid) -> float:
        """Return the largest log of the total weight over one hypothesis's."""
        counts, factors = size_counts(grid), self.factors(grid)
        total = sum(count * factor for count, factor in zip(counts, factors, strict=True))
        least = min(factor for count, factor in zip(counts, factors, strict=True) if count)
        return math.log(total) - math.log(least) if least else math.inf


def size_counts(grid: WeightGrid) -> tuple[int, ...]:
    """Return how many hypotheses have 0, 1, 2, ... points, norm budget respected."""
    known = {(0, 0): 1}
    for j, allowed in enumerate(grid.values):
        extended: dict[tuple[int, int], int] = {}
        for (size, norm), count in known.items():
            for value in allowed:
                total = 0 if grid.norm_budget is None else norm + value * value
                if grid.norm_budget is None or total <= grid.norm_budget:
                    key = (size + (1 if j and value else 0), total)
                    extended[key] = extended.get(key, 0) + count
        known = extended
    counts = [0] * grid.n_features
    for (size, _), count in known.items():
        counts[size] += count
    return tuple(counts)


def all_sizes(grid: WeightGrid) -> IntArray:
    """Return the number of points of every assignment of the box, enumeration order."""
    total = np.zeros(1, dtype=np.int64)
    for j, allowed in enumerate(grid.values):
        points = np.array([1 if j and value else 0 for value in allowed], dtype=np.int64)
        total = (total[:, None] + points[None, :]).ravel()
    return total
