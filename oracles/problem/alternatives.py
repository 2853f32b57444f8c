"""Alternatives: sets of coordinates of which at most one has weights other than 0."""

from __future__ import annotations

import math
from collections.abc import Sequence

from oracles.errors import InvalidProblem

Alternatives = tuple[tuple[tuple[int, ...], ...], ...]
"""Groups of sets of coordinates."""


def check_alternatives(raw: Alternatives, values: Sequence[Sequence[int]]) -> Alternatives:
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


def allows(groups: Alternatives, weights: Sequence[int]) -> bool:
    """Return whether at most one set of each group has weights other than 0."""
    return all(sum(any(weights[j] != 0 for j in one) for one in group) <= 1 for group in groups)


def count_with(groups: Alternatives, sizes: Sequence[int]) -> int:
    """Return how many hypotheses of a box are left, of so many values of each coordinate."""
    named = coordinates_of(groups)
    free = math.prod(size for j, size in enumerate(sizes) if j not in named)
    # In each group: no set has points, or exactly one of them does.
    ways = (1 + sum(math.prod(sizes[j] for j in one) - 1 for one in group) for group in groups)
    return free * math.prod(ways)


def count_by_size(groups: Alternatives, ways: Sequence[int], most: int) -> tuple[int, ...]:
    """Return how many choices of the named coordinates have each number of weights other than 0.

    Parameters
    ----------
    groups : tuple of tuple of tuple of int
        As above.
    ways : sequence of int
        For each coordinate, how many values it has besides 0.
    most : int
        Largest number that is counted.

    Returns
    -------
    tuple of int of length most + 1
        Exact Python integers.
    """
    counts = [1] + [0] * most
    for group in groups:
        either = [1] + [0] * most
        for one in group:
            own = [1] + [0] * most
            for j in one:
                own = [own[k] + (own[k - 1] * ways[j] if k else 0) for k in range(most + 1)]
            either = [a + b for a, b in zip(either, [0, *own[1:]], strict=True)]
        counts = [
            sum(counts[k] * either[size - k] for k in range(size + 1)) for size in range(most + 1)
        ]
    return tuple(counts)
