"""What a staged release draws from, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass

from opdisc.mechanisms.equal_steps import EqualSteps
from opdisc.tuned import LARGEST_START
from oracles.sampling import SparseCards, Stumps, sparse_memory, sparse_work

WHY_NO_MORE = "all that the draw has use for"

_BYTES_PER_MOVE = 60.0


@dataclass(frozen=True, slots=True)
class Stages:
    """What is drawn.

    Parameters
    ----------
    first : SparseCards, EqualSteps or Stumps
        The candidates.
    """

    first: SparseCards | EqualSteps | Stumps

    @property
    def needed_bound(self) -> int:
        """Largest weight that the draw has use for, where nobody set a bound."""
        if isinstance(self.first, Stumps):
            return 1
        return self.first.wanted if isinstance(self.first, EqualSteps) else LARGEST_START

    @property
    def why_no_more(self) -> str:
        """Why no larger weight is of use."""
        if isinstance(self.first, Stumps):
            return "all that one statement needs"
        return WHY_NO_MORE

    @property
    def constant_share(self) -> float | None:
        """Mass of cards without points that answer "+", or "-" if that is smaller.

        None where no base measure by numbers of points is drawn from.
        """
        cards = self.first
        if not isinstance(cards, SparseCards) or cards.shares is None or cards.centre is not None:
            return None
        low, high = cards.starts[0]
        answers = min(high, 1 - low)  # starts from 1 on say "+", the others "-"
        used = sum(mass for mass, n in zip(cards.shares, cards.counts, strict=True) if n)
        share = cards.shares[0] * answers / ((high - low + 1) * used)
        return share if 0 < share < 1 else None

    @property
    def n_candidates(self) -> int:
        """Number of cards that can be drawn, where losses choose among them all."""
        assert not isinstance(self.first, Stumps)
        if isinstance(self.first, EqualSteps):
            return self.first.candidates.count
        return sum(self.first.counts)

    def work(self, rows: int) -> tuple[float, float]:
        """Return seconds and bytes that the draw takes at most, on so many rows."""
        if isinstance(self.first, Stumps):
            return 0.0, 0.0  # two sums
        if isinstance(self.first, EqualSteps):
            seconds, entries = self.first.work(rows)
            return seconds, 4.0 * entries + _BYTES_PER_MOVE * len(self.first.directions) * rows
        cards = self.first
        used, n_scores = sum(1 for signs in cards.signs if signs), len(cards.scores)
        n_starts = max(high - low + 1 for low, high in cards.starts)
        seconds = sparse_work(used, cards.most, n_starts, rows, n_scores)
        return seconds, sparse_memory(used, cards.most, n_scores)

    @property
    def yardstick(self) -> str:
        """What the draw's errors are counted from."""
        if isinstance(self.first, Stumps):
            return "the best card of the drawn column alone, constant ones included"
        if isinstance(self.first, EqualSteps):
            return "the best scorecard of one point of -1..1 for all thresholds of an attribute"
        if self.first.centre is not None:
            return f"the best card that changes at most {self.first.most} points of the start by 1"
        of = f"the best scorecard of at most {self.first.most} points of -1..1"
        return f"{of} within the alternatives" if self.first.alternatives else of

    def describe(self) -> str:
        """Return the draw in words, for a receipt."""
        if isinstance(self.first, Stumps):
            return (
                f"a decision stump: one of {len(self.first.columns)} columns by coins that look "
                "at no row, then the answer where it is 1 and the answer where it is 0, each by "
                "permute-and-flip with all of epsilon, since no row is on both sides"
            )
        # The words of earlier versions, so that a verdict finds the law of their cards too.
        return (
            "staged exact draws, each permute-and-flip over counted candidates: "
            f"{self.candidates()}, 1 of epsilon"
        )

    def candidates(self) -> str:
        """Return what is drawn from in words."""
        assert not isinstance(self.first, Stumps)
        if isinstance(self.first, EqualSteps):
            return self.first.describe()
        if self.first.centre is not None:
            return (
                f"cards that change at most {self.first.most} points of the start by 1, each "
                "number of changes weighs half the one before"
            )
        low, high = self.first.starts[0]
        return (
            f"1. scorecards of at most {self.first.most} points of -1..1, "
            f"{'within the alternatives, ' if self.first.alternatives else ''}start "
            f"{low}..{high}{self._weighed()}"
        )

    def _weighed(self) -> str:
        """Return in words how much each number of points weighs."""
        assert isinstance(self.first, SparseCards)
        shares = self.first.shares
        if shares is None or len(shares) == 1:
            return ""
        if len(set(shares)) == 1:
            return ", each number of points weighs the same"
        return ", each number of points weighs twice the one before"
