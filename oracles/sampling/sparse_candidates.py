"""Which sparse cards there are, and how many."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oracles.arithmetic import IntArray
from oracles.errors import UnsupportedProblem
from oracles.problem import Alternatives, coordinates_of


@dataclass(frozen=True, slots=True, kw_only=True)
class SparseCards:
    """The candidates of one draw: the centre, and what differs from it in few weights by 1.

    Parameters
    ----------
    signs : tuple of tuple of int
        For each column that is not constant, by which of 1 and -1 its weight may differ; 0 always.
    starts : tuple of (int, int)
        For each number of weights that differ, from none to the most allowed, by how much the
        weight of the constant column differs at least and at most.
    shares : tuple of int or None
        For each number of weights, how much all cards of that size weigh together; None: every
        card weighs the same.
    centre : tuple of int or None
        The weights that cards differ from, the constant column's first; None: 0.
    alternatives : tuple of tuple of tuple of int
        Groups of sets of columns, the first one that is not constant being 0: of each group at
        most one set has weights that differ from 0. Without a centre only.
    """

    signs: tuple[tuple[int, ...], ...]
    starts: tuple[tuple[int, int], ...]
    shares: tuple[int, ...] | None = None
    centre: tuple[int, ...] | None = None
    alternatives: Alternatives = ()

    def __post_init__(self) -> None:
        """Refuse alternatives beside a centre: what differs is not what has weights."""
        if self.alternatives and self.centre is not None:
            raise UnsupportedProblem("sparse cards have a centre or alternatives, not both.")

    @property
    def scores(self) -> range:
        """Scores of the centre that cards may tell apart; lower ones never reach 1, higher do."""
        if self.centre is None:
            return range(1)
        low, high = min(low for low, _ in self.starts), max(high for _, high in self.starts)
        return range(-high - self.most, 2 - low + self.most)

    @property
    def most(self) -> int:
        """Largest number of weights other than 0."""
        return len(self.starts) - 1

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of cards of each size."""
        options, named = [len(signs) for signs in self.signs], coordinates_of(self.alternatives)
        free = [n for j, n in enumerate(options) if j not in named]
        one, both = free.count(1), free.count(2)
        ways = [
            sum(math.comb(one, size - k) * math.comb(both, k) * 2**k for k in range(size + 1))
            for size in range(self.most + 1)
        ]
        if named:
            some = _count_by_size(self.alternatives, options, self.most)
            ways = [
                sum(ways[k] * some[size - k] for k in range(size + 1))
                for size in range(self.most + 1)
            ]
        return tuple(
            way * (high - low + 1) for way, (low, high) in zip(ways, self.starts, strict=True)
        )

    @property
    def factors(self) -> tuple[int, ...]:
        """How much one card of each size weighs: integers."""
        counts = self.counts
        if self.shares is None:
            return (1,) * len(counts)
        common = math.lcm(*(count for count in counts if count))
        return tuple(
            share * common // count if count else 0
            for share, count in zip(self.shares, counts, strict=True)
        )

    def places(self, used: Sequence[int]) -> tuple[IntArray, IntArray]:
        """Return of which group and of which set of it each used column is; -1 of none."""
        group: dict[int, int] = {}
        place: dict[int, int] = {}
        for k, sets in enumerate(self.alternatives):
            for s, columns in enumerate(sets):
                group |= dict.fromkeys(columns, k)
                place |= dict.fromkeys(columns, s)
        groups, places = ([by.get(j, -1) for j in used] for by in (group, place))
        return np.array(groups, dtype=np.int64), np.array(places, dtype=np.int64)


def _count_by_size(groups: Alternatives, ways: Sequence[int], most: int) -> tuple[int, ...]:
    """Return how many choices of the named columns have each number of weights other than 0.

    Parameters
    ----------
    groups : tuple of tuple of tuple of int
        As :class:`SparseCards` has them.
    ways : sequence of int
        For each column, how many values it has besides 0.
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
