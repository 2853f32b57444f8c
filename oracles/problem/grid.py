"""The lattice: which integer weights a hypothesis may have."""

from __future__ import annotations

import functools
import math
import operator
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oracles.arithmetic import IntArray
from oracles.errors import InvalidProblem


def grid_assignments(values: tuple[tuple[int, ...], ...]) -> IntArray:
    """Return all assignments of the coordinates, last one fastest, shape (N, k) int64."""
    if not values:
        return np.zeros((1, 0), dtype=np.int64)
    axes = np.meshgrid(*[np.asarray(v, dtype=np.int64) for v in values], indexing="ij")
    return np.stack([axis.ravel() for axis in axes], axis=1)


def squared_norms(grid: WeightGrid) -> IntArray:
    """Return ``|w|^2`` for every assignment of the box, in enumeration order, shape (N,) int64."""
    total = np.zeros((1,), dtype=np.int64)
    for allowed in grid.values:
        squares = np.asarray(allowed, dtype=np.int64) ** 2
        total = (total[:, None] + squares[None, :]).ravel()
    return total


def hypothesis_at(grid: WeightGrid, position: int) -> tuple[int, ...]:
    """Return the hypothesis at a position of the enumeration order."""
    indices = np.unravel_index(position, grid.shape)
    return tuple(allowed[int(i)] for allowed, i in zip(grid.values, indices, strict=True))


ENUMERATION_LIMIT = 10_000_000
"""Largest box (grid assignments) that ``enumeration`` takes."""

Hypothesis = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightGrid:
    """The finite set of hypotheses: a box of integer values, optionally within a norm budget.

    Parameters
    ----------
    values : tuple of tuple of int
        For each coordinate its allowed weights, strictly increasing.
    norm_budget : int or None
        If given, only hypotheses with ``sum(w_j ** 2) <= norm_budget`` belong to the grid.

    Raises
    ------
    InvalidProblem
        If a coordinate has no value, values are not increasing, or no hypothesis is left.

    Examples
    --------
    >>> WeightGrid.box(2, 1).n_hypotheses
    9
    >>> WeightGrid.box(2, 1, norm_budget=1).n_hypotheses
    5
    """

    values: tuple[tuple[int, ...], ...]
    norm_budget: int | None = None

    def __post_init__(self) -> None:
        """Validate, and store plain integers."""
        values = tuple(tuple(int(v) for v in allowed) for allowed in self.values)
        if not values:
            raise InvalidProblem("a grid needs at least one coordinate, got none.")
        for j, allowed in enumerate(values):
            if not allowed or any(a >= b for a, b in zip(allowed, allowed[1:], strict=False)):
                raise InvalidProblem(
                    f"values of a coordinate must be non-empty and strictly increasing, "
                    f"got {allowed} for coordinate {j}."
                )
        object.__setattr__(self, "values", values)
        if self.norm_budget is not None:
            object.__setattr__(self, "norm_budget", int(self.norm_budget))
            smallest = sum(min(v * v for v in allowed) for allowed in values)
            if smallest > int(self.norm_budget):
                raise InvalidProblem(
                    f"norm_budget must admit at least one hypothesis (squared norm {smallest}), "
                    f"got norm_budget={self.norm_budget}."
                )

    @classmethod
    def box(cls, n_features: int, bound: int, norm_budget: int | None = None) -> WeightGrid:
        """Return the grid ``{-bound, ..., bound}`` in every one of ``n_features`` coordinates."""
        allowed = tuple(range(-bound, bound + 1))
        return cls(values=(allowed,) * n_features, norm_budget=norm_budget)

    @property
    def n_features(self) -> int:
        """Number of coordinates, d."""
        return len(self.values)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each coordinate."""
        return tuple(len(allowed) for allowed in self.values)

    @property
    def n_assignments(self) -> int:
        """Size of the box, norm budget ignored (an exact Python integer)."""
        sizes = Counter(map(len, self.values))  # thousands of equal factors: powers are quicker
        return math.prod(size**count for size, count in sizes.items())

    def norm_counts(self) -> dict[int, int]:
        """Return how many hypotheses have each squared norm reachable within the budget."""
        counts = {0: 1}
        for allowed in self.values:
            extended: dict[int, int] = {}
            for norm, count in counts.items():
                for value in allowed:
                    total = norm + value * value
                    if self.norm_budget is None or total <= self.norm_budget:
                        extended[total] = extended.get(total, 0) + count
            counts = extended
        return dict(sorted(counts.items()))

    @property
    def n_hypotheses(self) -> int:
        """Number of hypotheses, norm budget respected (an exact Python integer)."""
        if self.norm_budget is None:
            return self.n_assignments
        return sum(self.norm_counts().values())

    @property
    def largest_norm(self) -> int:
        """Largest reachable squared norm."""
        free = sum(max(v * v for v in allowed) for allowed in self.values)
        if self.norm_budget is None or free <= self.norm_budget:
            return free
        within, reached = (1 << (self.norm_budget + 1)) - 1, 1  # bit k: a squared norm of k
        for allowed in self.values:
            squares = {v * v for v in allowed}
            reached = functools.reduce(operator.or_, (reached << s for s in squares)) & within
        return reached.bit_length() - 1

    def contains(self, hypothesis: Sequence[int]) -> bool:
        """Return whether the hypothesis belongs to the grid."""
        if len(hypothesis) != self.n_features:
            return False
        if any(w not in allowed for w, allowed in zip(hypothesis, self.values, strict=True)):
            return False
        norm = sum(int(w) ** 2 for w in hypothesis)
        return self.norm_budget is None or norm <= self.norm_budget

    def indices(self, hypothesis: Sequence[int]) -> tuple[int, ...]:
        """Return the position of each weight among its coordinate's values."""
        if not self.contains(hypothesis):
            raise InvalidProblem("a hypothesis must belong to the grid, got one outside it.")
        return tuple(
            allowed.index(int(w)) for w, allowed in zip(hypothesis, self.values, strict=True)
        )
