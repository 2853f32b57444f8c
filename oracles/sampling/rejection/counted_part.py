"""Sparse cards that weigh more than the rest of a grid, beside its partition.

The target is a mixture: every hypothesis of the grid has a share, and counted cards of few points
have one more by their number of points. Shares are integers over a common denominator. The sum of
the counted part is known exactly, so it is one more cell whose draws are never rejected, or only
those of the last level where losses beyond it are counted as if they were at it. A round
draws from it with probability ``A / (A + B)``, ``A`` its sum and ``B`` the grid's integer share
times the partition's mass, decided by enclosures. So a round ends with ``w`` with probability
``weight(w) * exp(-beta * L(w)) / (A + B)``, whatever the cells are.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from oracles.arithmetic import RandomBits, exponential_enclosure
from oracles.errors import UnsupportedProblem
from oracles.problem import Hypothesis, ZeroOneProblem
from oracles.sampling.listed import draw_level, total_weight
from oracles.sampling.rejection.partition import MASS_BITS
from oracles.sampling.staged import BinaryPoints, CardLevels, CardWalk, SparseCards

_FIRST_BITS = 192

_WORD = 64


class CountedPart:
    """The counted part of a mixture: cards of each number of points have a mass, as has the grid.

    Parameters
    ----------
    problem : ZeroOneProblem
        Its first column is constant, the others are 0 or 1.
    beta : Fraction
        Inverse temperature, nats per row of loss, >= 0.
    cards : SparseCards
        What is counted, with its shares; members of the grid.
    whole : int
        Share of the whole grid in the same unit, at least 1.

    Raises
    ------
    UnsupportedProblem
        If there is no share, or the points are others.
    InconsistentSolution
        If cards were not counted once each.
    """

    def __init__(
        self, problem: ZeroOneProblem, beta: Fraction, cards: SparseCards, whole: int
    ) -> None:
        if whole < 1 or cards.shares is None or not any(cards.shares):
            raise UnsupportedProblem(
                "a mixture takes shares of counted cards and one of the grid of at least 1."
            )
        self._beta = beta
        self._points = BinaryPoints.of(problem)
        size_of_grid = problem.grid.n_hypotheses
        common = math.lcm(size_of_grid, *(count for count in cards.counts if count))
        factors = [
            share * common // count if count else 0
            for share, count in zip(cards.shares, cards.counts, strict=True)
        ]
        self._whole = whole * common // size_of_grid
        self._cards = CardLevels(CardWalk(self._points, cards), factors)
        self._levels, self._weights = self._cards.losses, self._cards.weights

    @property
    def log_sum(self) -> float:
        """Log of the part's sum, nats, where a hypothesis of the grid weighs 1: for planning."""
        total = total_weight(self._levels, self._weights, self._beta, _FIRST_BITS)[1]
        relative = math.log(total) - _FIRST_BITS * math.log(2.0) - math.log(self._whole)
        return relative - float(self._beta * self._levels[0])

    def first(self, count: int, reference: int, mass: int, bits: RandomBits) -> int | None:
        """Return which of so many rounds is the first to draw from the part; None if none does.

        Parameters
        ----------
        count : int
            Number of rounds.
        reference, mass : int
            What the masses of the cells are relative to, nats, and their sum, at least 1.
        bits : RandomBits
            Where decisions come from; every one is exact.
        """
        low, high = self._chance(reference, mass, _FIRST_BITS)
        surely, most = math.floor(low * 2**_WORD), math.ceil(high * 2**_WORD) - 1
        words = bits.words(count)
        # A word stands for U in [word, word + 1) / 2**64; few leave the decision open.
        for place in np.flatnonzero(words <= np.uint64(most)):
            word = int(words[place])
            if word < surely or self._decide(word, reference, mass, bits):
                return int(place)
        return None

    def _decide(self, drawn: int, reference: int, mass: int, bits: RandomBits) -> bool:
        """Decide ``U < A / (A + B)``, ``drawn`` being the first 64 bits of U."""
        n_bits, precision = _WORD, _FIRST_BITS
        while True:
            low, high = self._chance(reference, mass, precision)
            if Fraction(drawn + 1, 1 << n_bits) <= low:
                return True
            if Fraction(drawn, 1 << n_bits) >= high:
                return False
            drawn = (drawn << precision) | bits.integer(precision)
            n_bits += precision
            precision *= 2

    def _chance(self, reference: int, mass: int, precision: int) -> tuple[Fraction, Fraction]:
        """Enclose the probability ``A / (A + B)`` that a round draws from the part."""
        sums = total_weight(self._levels, self._weights, self._beta, precision)
        exponent = self._beta * self._levels[0] + reference
        powers = exponential_enclosure(abs(exponent), precision)
        ends = []
        for side in (0, 1):
            part, rest = sums[side] << MASS_BITS, self._whole * mass << precision
            # exp(-exponent) multiplies the part, or its inverse the rest.
            if exponent >= 0:
                part, rest = part * powers[side], rest << precision
            else:
                part, rest = part << precision, rest * powers[1 - side]
            ends.append(Fraction(part, part + rest))
        return ends[0], ends[1]

    def draw(self, bits: RandomBits) -> Hypothesis | None:
        """Return a card with probability proportional to its share times its exponential.

        None where the round fails: the card was counted at less than its loss, and not kept.
        """
        k = draw_level(self._levels, self._weights, self._beta, bits)
        card = self._cards.member(k, bits)
        if self._cards.is_exact(k):
            return card
        excess = self._points.loss(card) - self._levels[k]
        return card if bits.exponential_trial(self._beta * excess) else None
