"""What a staged release draws, one after the other, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from opdisc.mechanisms.staged.equal_steps import EqualSteps
from opdisc.mechanisms.staged.signs import SignedColumns
from oracles.sampling import SparseCards, Stumps

LARGEST_START = 3
"""Largest start of the first scorecard; the least is 1 less it, so that the scorecard with all
answers the other way round is as likely before the rows are looked at."""

LARGEST_SHIFT = 1
"""Largest change of the start by a later draw."""

SUMMAND_BOUND = 6
"""Largest points of one stage's scorecard; the sum of several has several times as large ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """What is drawn, one after the other.

    Parameters
    ----------
    first : SparseCards, EqualSteps, Stumps or SignedColumns
        Candidates of the first draw; equal steps and stumps are the only one.
    first_share : Fraction
        Share of the budget that the first draw takes, without its counts; the others share the
        rest evenly.
    later : int
        Number of joint draws.
    directions, together : int
        Directions of a joint draw, and most columns of one.
    scale : int
        What the first scorecard is multiplied by before it is refined.
    summed : int
        How many of the last scorecards the released one is the sum of.
    ranges : tuple of (int, int)
        What every stage's weights keep to, so that their sum belongs to the grid.
    """

    first: SparseCards | EqualSteps | Stumps | SignedColumns
    first_share: Fraction
    later: int
    directions: int
    together: int
    scale: int
    summed: int
    ranges: tuple[tuple[int, int], ...]

    @property
    def later_share(self) -> Fraction:
        """Share of the budget of each later draw; 0 where there is none."""
        counts = self.first.share if isinstance(self.first, SignedColumns) else Fraction(0)
        return (1 - counts - self.first_share) / self.later if self.later else Fraction(0)

    @property
    def needed_bound(self) -> int:
        """Largest weight that the stages have use for, where nobody set a bound."""
        if isinstance(self.first, Stumps):
            return 1
        if isinstance(self.first, EqualSteps):
            return self.first.wanted
        return SUMMAND_BOUND * self.later or LARGEST_START

    @property
    def yardstick(self) -> str:
        """What the first draw's errors are counted from."""
        if isinstance(self.first, SignedColumns):
            best = (
                f"the best scorecard that gives {self.first.columns} columns 0 or the sign of "
                "their count"
            )
        elif isinstance(self.first, Stumps):
            best = "the best card of the drawn column alone, constant ones included"
        elif isinstance(self.first, EqualSteps):
            best = "the best scorecard of one point of -1..1 for all thresholds of an attribute"
        else:
            best = f"the best scorecard of at most {self.first.most} points of -1..1"
        if not self.later:
            return best
        return f"{best} (the first draw; {self.later} more refine it, without a bound)"

    def describe(self) -> str:
        """Return the stages in words, for a receipt."""
        if isinstance(self.first, Stumps):
            return (
                f"a decision stump: one of {len(self.first.columns)} columns by coins that look "
                "at no row, then the answer where it is 1 and the answer where it is 0, each by "
                "permute-and-flip with all of epsilon, since no row is on both sides"
            )
        first = (
            f"staged exact draws, each permute-and-flip over counted candidates: {self._first()}"
        )
        if not self.later:
            return first
        each = float(self.later_share)
        more = f"2. to {1 + self.later}. each" if self.later > 1 else "2."
        along = f"{self.directions} random directions of at most {self.together} columns"
        if self.together == 1:
            along = f"{self.directions} columns, all in turn in random order,"
        doubled = f" (times {self.scale})" if self.scale > 1 else ""
        released = f"the sum of the last {self.summed}" if self.summed > 1 else "the last"
        return (
            f"{first}; {more} joint steps of -1..1 from the one before{doubled} along "
            f"{along} and of the "
            f"start by -{LARGEST_SHIFT}..{LARGEST_SHIFT}, {each:.3g} of epsilon; released: "
            f"{released}"
        )

    def _first(self) -> str:
        """Return the first draw in words."""
        share = f"{float(self.first_share):.3g} of epsilon"
        assert not isinstance(self.first, Stumps)
        if isinstance(self.first, SignedColumns):
            return f"{self.first.describe()}, {share}"
        if isinstance(self.first, EqualSteps):
            return f"{self.first.describe()}, {share}"
        low, high = self.first.starts[0]
        return (
            f"1. scorecards of at most {self.first.most} points of -1..1, start "
            f"{low}..{high}{self._weighed()}, {share}"
        )

    def _weighed(self) -> str:
        """Return in words how much each number of points weighs in the first draw."""
        assert isinstance(self.first, SparseCards)
        shares = self.first.shares
        if shares is None or len(shares) == 1:
            return ""
        if len(set(shares)) == 1:
            return ", each number of points weighs the same"
        return ", each number of points weighs twice the one before"
