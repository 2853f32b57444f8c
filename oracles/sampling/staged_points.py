"""Distinct points of a problem whose first column is constant, ready for counting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oracles.arithmetic import IntArray
from oracles.errors import UnsupportedProblem
from oracles.problem import ZeroOneProblem

MOST_LEVELS = 50_000_000
"""Most rows for which every loss has a level of its own.

Beyond, only :data:`LEVELS_BEYOND` losses from the least one upwards are told apart, and all others
are one level. How many there are decides time and memory only: a draw from the last level is kept
with the probability that makes up for it.
"""

LEVELS_BEYOND = 2_000_000

_LARGEST_TOTAL = 2**53

_LARGEST_SMALL = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class BinaryPoints:
    """What predicting "+" costs at each distinct point.

    Parameters
    ----------
    columns : ndarray of shape (d, m), int8
        Column by column, 0 or 1, without the constant one.
    costs : ndarray of shape (m,), int64
        Negatives less positives, never 0.
    base : int
        Loss of predicting "-" everywhere.
    total : int
        Rows: the largest loss.
    """

    columns: NDArray[np.int8]
    costs: IntArray
    base: int
    total: int

    @classmethod
    def of(cls, problem: ZeroOneProblem) -> BinaryPoints:
        """Return the points of a problem.

        Raises
        ------
        UnsupportedProblem
            If there is a perturbation, the first column is not constant 1, an entry is neither 0
            nor 1, or a count is negative or too large.
        """
        points = problem.points
        total = int(problem.positives.sum() + problem.negatives.sum())
        negative = min(problem.positives.min(initial=0), problem.negatives.min(initial=0)) < 0
        bounded = points.min(initial=0) >= 0 and points.max(initial=0) <= 1
        binary = bool((points[:, 0] == 1).all()) and bounded
        if problem.perturbation is not None or not binary or negative or total > _LARGEST_TOTAL:
            raise UnsupportedProblem(
                "staged draws take 0/1 points whose first column is 1, without a perturbation, "
                "and counts from 0 to 2**53 in total."
            )
        costs = problem.negatives - problem.positives
        kept = points[:, 1:].astype(np.int8)
        packed = np.packbits(kept.astype(np.bool_), axis=1)
        if packed.shape[1]:
            kinds = np.ascontiguousarray(packed).view(f"V{packed.shape[1]}").ravel()
            _, first, where = np.unique(kinds, return_index=True, return_inverse=True)
        else:
            first = np.zeros(min(1, len(kept)), dtype=np.int64)
            where = np.zeros(len(kept), dtype=np.int64)
        merged = np.zeros(len(first), dtype=np.int64)
        np.add.at(merged, where.ravel(), costs)
        first, merged = first[merged != 0], merged[merged != 0]
        return cls(
            columns=np.ascontiguousarray(kept[first].T),
            costs=merged,
            base=int(problem.positives.sum()),
            total=total,
        )

    @property
    def last_level(self) -> int:
        """Position of the last level: the largest loss, or where levels end before it."""
        return self.total if self.is_told_apart else LEVELS_BEYOND

    @property
    def is_told_apart(self) -> bool:
        """Whether every loss has a level of its own, its own position."""
        return self.total <= MOST_LEVELS

    @property
    def fits_32_bits(self) -> bool:
        """Whether sums of costs do."""
        return self.total <= _LARGEST_SMALL

    @property
    def n_columns(self) -> int:
        """Number of columns without the constant one."""
        return len(self.columns)

    def scores(self, weights: Sequence[int]) -> IntArray:
        """Return the score of every point, the weight of the constant column first."""
        total = np.full(len(self.costs), int(weights[0]), dtype=np.int64)
        for column, weight in zip(self.columns, weights[1:], strict=True):
            if weight:
                total += int(weight) * column
        return total

    def loss(self, weights: Sequence[int]) -> int:
        """Return the loss of a hypothesis."""
        return self.base + int(self.costs[self.scores(weights) >= 1].sum())
