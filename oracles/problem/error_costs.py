"""What a mistake costs: whole numbers, one for each class that a row may have been."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from numbers import Integral
from typing import TYPE_CHECKING

from oracles.errors import InvalidProblem

if TYPE_CHECKING:
    from oracles.problem.zero_one import ZeroOneProblem

LARGEST_COST = 1_000
"""Beyond this, one mistake outweighs what tables of usual sizes can say about the others."""

_LARGEST_TOTAL = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorCosts:
    """What one row costs that is predicted wrongly, by its true class.

    Parameters
    ----------
    false_negative : int
        Cost of a "+" row that is predicted "-", >= 1.
    false_positive : int
        Cost of a "-" row that is predicted "+", >= 1.

    Raises
    ------
    InvalidProblem
        If a cost is not a whole number from 1, or above 1,000 in lowest terms.

    Notes
    -----
    Only the ratio matters, so costs are kept in lowest terms: 10 and 2 are 5 and 1, and equal
    costs are 1 and 1.

    Examples
    --------
    >>> ErrorCosts(false_negative=10, false_positive=2)
    ErrorCosts(false_negative=5, false_positive=1)
    >>> ErrorCosts(false_negative=3, false_positive=3) == ErrorCosts()
    True
    """

    false_negative: int = 1
    false_positive: int = 1

    def __post_init__(self) -> None:
        """Refuse what is not a cost; keep lowest terms."""
        for name in ("false_negative", "false_positive"):
            cost = getattr(self, name)
            if isinstance(cost, bool) or not isinstance(cost, Integral) or cost < 1:
                raise InvalidProblem(f"{name} must be a whole number of at least 1.")
        common = math.gcd(int(self.false_negative), int(self.false_positive))
        for name in ("false_negative", "false_positive"):
            object.__setattr__(self, name, int(getattr(self, name)) // common)
        if self.largest > LARGEST_COST:
            raise InvalidProblem(
                f"error costs must be at most {LARGEST_COST:,} in lowest terms; round their ratio."
            )

    @classmethod
    def balanced(cls, positive_share: Fraction) -> ErrorCosts:
        """Return the costs under which both classes weigh the same in all.

        Parameters
        ----------
        positive_share : Fraction
            Share of "+" rows, in (0, 1).
        """
        negative_share = 1 - positive_share
        common = math.lcm(positive_share.denominator, negative_share.denominator)
        return cls(
            false_negative=int(negative_share * common),
            false_positive=int(positive_share * common),
        )

    def __str__(self) -> str:
        """Return both costs in words."""
        return (
            f"a false negative costs {self.false_negative}, a false positive {self.false_positive}"
        )

    @property
    def are_equal(self) -> bool:
        """Whether every mistake costs the same."""
        return self.false_negative == self.false_positive

    @property
    def largest(self) -> int:
        """The cost of the worse mistake: what one row adds to a loss at most."""
        return max(self.false_negative, self.false_positive)

    @property
    def typical(self) -> Fraction:
        """Twice what the better constant prediction costs a row at most; 1 where costs are equal.

        With a share s of "+" rows it costs ``min(s * false_negative, (1 - s) * false_positive)``,
        at most half the harmonic mean of the two costs.
        """
        total = self.false_negative + self.false_positive
        return Fraction(2 * self.false_negative * self.false_positive, total)

    def total(self, false_negatives: int, false_positives: int) -> int:
        """Return what so many mistakes of each kind cost together."""
        return self.false_negative * false_negatives + self.false_positive * false_positives

    def weigh(self, problem: ZeroOneProblem) -> ZeroOneProblem:
        """Return a problem of counted rows with its loss in units of cost.

        Equal costs return the problem itself.

        Raises
        ------
        InvalidProblem
            If its exact sums could leave 64-bit integers.
        """
        if self.are_equal:
            return problem
        counted = sum(
            float(abs(counts.astype(float)).sum())
            for counts in (problem.positives, problem.negatives)
        )
        if counted * self.largest >= _LARGEST_TOTAL:
            raise InvalidProblem("counts times costs must keep every sum below 2**62.")
        return replace(
            problem,
            positives=problem.positives * self.false_negative,
            negatives=problem.negatives * self.false_positive,
        )
