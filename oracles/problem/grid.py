"""The lattice: which integer weights a hypothesis may have."""

from __future__ import annotations

import functools
import math
import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oracles.arithmetic import IntArray
from oracles.errors import InvalidProblem, UnsupportedProblem

Alternatives = tuple[tuple[tuple[int, ...], ...], ...]
"""Groups of sets of coordinates: of each group at most one set has weights other than 0."""


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


def members(grid: WeightGrid) -> NDArray[np.bool_] | None:
    """Return which assignments of the box are hypotheses, shape (N,) bool, in enumeration order.

    None where all of them are.
    """
    if grid.is_box:
        return None
    inside = np.ones(grid.shape, dtype=np.bool_)
    for group in grid.alternatives:
        used = np.zeros(grid.shape, dtype=np.int16)
        for coordinates in group:
            has_points = np.zeros((1,) * grid.n_features, dtype=np.bool_)
            for j in coordinates:
                along = [len(grid.values[j]) if k == j else 1 for k in range(grid.n_features)]
                has_points = has_points | (np.array(grid.values[j]) != 0).reshape(along)
            used += has_points
        inside &= used <= 1
    flat = inside.ravel()
    return flat if grid.norm_budget is None else flat & (squared_norms(grid) <= grid.norm_budget)


def hypothesis_at(grid: WeightGrid, position: int) -> tuple[int, ...]:
    """Return the hypothesis at a position of the enumeration order."""
    indices = np.unravel_index(position, grid.shape)
    return tuple(allowed[int(i)] for allowed, i in zip(grid.values, indices, strict=True))


ENUMERATION_LIMIT = 10_000_000
"""Largest box (grid assignments) that ``enumeration`` takes."""

Hypothesis = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightGrid:
    """The finite set of hypotheses: a box of integer values, or a part of it.

    Parameters
    ----------
    values : tuple of tuple of int
        For each coordinate its allowed weights, strictly increasing.
    norm_budget : int or None
        If given, only hypotheses with ``sum(w_j ** 2) <= norm_budget`` belong to the grid.
    alternatives : tuple of tuple of tuple of int
        Groups of sets of coordinates: of each group at most one set has weights other than 0 in a
        hypothesis of the grid. All of these coordinates may be 0, and none is named twice.

    Raises
    ------
    InvalidProblem
        If a coordinate has no value, values are not increasing, alternatives break these rules, or
        no hypothesis is left.

    Examples
    --------
    >>> WeightGrid.box(2, 1).n_hypotheses
    9
    >>> WeightGrid.box(2, 1, norm_budget=1).n_hypotheses
    5
    >>> WeightGrid(values=((-1, 0, 1),) * 3, alternatives=(((1,), (2,)),)).n_hypotheses
    15
    """

    values: tuple[tuple[int, ...], ...]
    norm_budget: int | None = None
    alternatives: Alternatives = ()

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
        object.__setattr__(self, "alternatives", _checked(self.alternatives, values))
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
    def is_box(self) -> bool:
        """Whether every assignment is a hypothesis: no norm budget and no alternatives."""
        return self.norm_budget is None and not self.alternatives

    @property
    def n_assignments(self) -> int:
        """Size of the box, norm budget and alternatives ignored (an exact Python integer)."""
        sizes = Counter(map(len, self.values))  # thousands of equal factors: powers are quicker
        return math.prod(size**count for size, count in sizes.items())

    def norm_counts(self) -> dict[int, int]:
        """Return how many hypotheses have each squared norm that one of them has."""

        def added(one: dict[int, int], other: dict[int, int]) -> dict[int, int]:
            sums: dict[int, int] = {}
            for norm, count in one.items():
                for more, factor in other.items():
                    total = norm + more
                    if self.norm_budget is None or total <= self.norm_budget:
                        sums[total] = sums.get(total, 0) + count * factor
            return sums

        def of(coordinates: Iterable[int]) -> dict[int, int]:
            squares = (Counter(v * v for v in self.values[j]) for j in coordinates)
            return functools.reduce(added, squares, {0: 1})

        counts = of(self._free)
        for group in self.alternatives:
            either = {0: 1}
            for members in group:
                for norm, count in of(members).items():
                    if norm:  # that no member has points was counted already
                        either[norm] = either.get(norm, 0) + count
            counts = added(counts, either)
        return dict(sorted(counts.items()))

    @property
    def _free(self) -> tuple[int, ...]:
        named = coordinates_of(self.alternatives)
        return tuple(j for j in range(self.n_features) if j not in named)

    @property
    def n_hypotheses(self) -> int:
        """Number of hypotheses (an exact Python integer)."""
        if self.norm_budget is not None:
            return sum(self.norm_counts().values())
        if not self.alternatives:
            return self.n_assignments
        return _count_with(self.alternatives, self.shape)

    @property
    def largest_norm(self) -> int:
        """Largest reachable squared norm."""
        if self.alternatives and self.norm_budget is not None:
            return max(self.norm_counts())
        largest = [max(v * v for v in allowed) for allowed in self.values]
        free = sum(largest[j] for j in self._free)
        free += sum(max(sum(largest[j] for j in s) for s in group) for group in self.alternatives)
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
        within = self.norm_budget is None or norm <= self.norm_budget
        return within and _allows(self.alternatives, hypothesis)

    def indices(self, hypothesis: Sequence[int]) -> tuple[int, ...]:
        """Return the position of each weight among its coordinate's values."""
        if not self.contains(hypothesis):
            raise InvalidProblem("a hypothesis must belong to the grid, got one outside it.")
        return tuple(
            allowed.index(int(w)) for w, allowed in zip(hypothesis, self.values, strict=True)
        )


def _checked(raw: Alternatives, values: Sequence[Sequence[int]]) -> Alternatives:
    """Return groups as plain integers.

    Raises
    ------
    InvalidProblem
        If a group has fewer than two sets, a set is empty, or a coordinate is none, is named twice
        or may not be 0.
    """
    groups = tuple(tuple(tuple(int(j) for j in one) for one in group) for group in raw)
    named = [j for group in groups for one in group for j in one]
    if any(len(group) < 2 or not all(group) for group in groups):
        raise InvalidProblem("alternatives must be groups of two sets of coordinates or more.")
    if len(set(named)) < len(named) or any(not 0 <= j < len(values) for j in named):
        raise InvalidProblem("alternatives must name coordinates of the grid, each at most once.")
    if any(0 not in values[j] for j in named):
        raise InvalidProblem("each coordinate of alternatives must have 0 among its values.")
    return groups


def coordinates_of(groups: Alternatives) -> frozenset[int]:
    """Return all coordinates that are named."""
    return frozenset(j for group in groups for one in group for j in one)


def _allows(groups: Alternatives, weights: Sequence[int]) -> bool:
    """Return whether at most one set of each group has weights other than 0."""
    return all(sum(any(weights[j] != 0 for j in one) for one in group) <= 1 for group in groups)


def _count_with(groups: Alternatives, sizes: Sequence[int]) -> int:
    """Return how many hypotheses of a box are left, of so many values of each coordinate."""
    named = coordinates_of(groups)
    free = math.prod(size for j, size in enumerate(sizes) if j not in named)
    # In each group: no set has points, or exactly one of them does.
    ways = (1 + sum(math.prod(sizes[j] for j in one) - 1 for one in group) for group in groups)
    return free * math.prod(ways)


def require_no_alternatives(grid: WeightGrid, what: str) -> None:
    """Refuse a grid of whose coordinates some are alternatives.

    Raises
    ------
    UnsupportedProblem
        If so; ``what`` begins the sentence.
    """
    if grid.alternatives:
        raise UnsupportedProblem(
            f"{what} takes no alternatives among the weights; list the hypotheses instead."
        )
