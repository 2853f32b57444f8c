"""Exact draws of the first head: coins are flipped in random order, each candidate's once.

A candidate's coin shows heads with probability ``exp(-beta * (loss - least loss))``, and the first
head wins. Put the coins at uniform places of [0, 1] and let time ``t`` be ``-ln(1 - place)``. As
long as there was no head, a candidate with chance q of heads wins at the rate
``q e^-t / (1 - q + q e^-t)``, which is at most q. So proposals that come at the rate q of each
candidate, as in drawing with replacement, are kept with probability ``e^-t / (1 - q + q e^-t)``.
Every decision is made by enclosures that are refined until they decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import MAX_EMAX, MIN_EMIN, Decimal, localcontext
from fractions import Fraction

from oracles.arithmetic import IntArray, RandomBits, exponential_enclosure
from oracles.sampling.listed import draw_level, total_weight

_FIRST_BITS = 64

_SPARE_DIGITS = 60
"""Decimal digits beyond one per bit: what is computed with them errs by far less than the slack.

Numbers of so many bits are exact, and each of the few operations, the exponential of a time
below 10^9 included, is off by a relative 10^-(precision + 48) at most.
"""


class CoinOrder:
    """Proposals, one after the other in time, until one is kept.

    Parameters
    ----------
    levels : sequence of int
        Losses, strictly increasing; the first one is the least of all candidates.
    counts : sequence of int
        Number of candidates of each loss. They may be counted below their loss as long as a
        proposal says which loss it has.
    beta : Fraction
        Weight of one row of loss, >= 0.
    bits : RandomBits
        Where decisions come from.
    """

    def __init__(
        self,
        levels: Sequence[int] | IntArray,
        counts: Sequence[int] | IntArray,
        beta: Fraction,
        bits: RandomBits,
    ) -> None:
        self._levels, self._counts, self._beta, self._bits = levels, counts, beta, bits
        self._least = int(levels[0])
        self._gaps: list[int] = []  # uniform numbers; each gap in time is -ln(u) / total rate
        self._precision = _FIRST_BITS

    def propose(self) -> int:
        """Return the position of the next proposal's level; its member is uniform."""
        self._gaps.append(self._bits.integer(self._precision))
        return draw_level(self._levels, self._counts, self._beta, self._bits)

    def keeps(self, counted: int, loss: int) -> bool:
        """Return whether the proposal wins.

        Parameters
        ----------
        counted : int
            The level at which it was counted.
        loss : int
            Its loss, at least that.
        """
        if loss > counted and not self._bits.exponential_trial(self._beta * (loss - counted)):
            return False
        if loss == self._least:
            return True
        exponent = self._beta * (loss - self._least)
        precision, drawn = _FIRST_BITS, self._bits.integer(_FIRST_BITS)
        while True:
            low, high = self._chance(exponent, precision)
            # Fractions compare exactly, whatever their digits are.
            if Fraction(drawn + 1, 1 << precision) <= low:
                return True
            if Fraction(drawn, 1 << precision) >= high:
                return False
            drawn = (drawn << precision) | self._bits.integer(precision)
            precision *= 2

    def _chance(self, exponent: Fraction, precision: int) -> tuple[Fraction, Fraction]:
        """Enclose ``s / (1 - q + q s)`` with ``s = exp(-time)`` and ``q = exp(-exponent)``."""
        while self._precision < precision:
            more = self._precision
            self._gaps = [(gap << more) | self._bits.integer(more) for gap in self._gaps]
            self._precision *= 2
        heads = exponential_enclosure(exponent, precision)
        rates = total_weight(self._levels, self._counts, self._beta, precision)
        unit, shift = Decimal(2) ** precision, self._precision - precision
        ends = []
        # It rises with s and with q, and s with every gap and with the rate.
        with localcontext(prec=precision + _SPARE_DIGITS, Emin=MIN_EMIN, Emax=MAX_EMAX):
            slack = Decimal(10) ** -precision
            for side in (0, 1):
                gaps = [(gap >> shift) + side for gap in self._gaps]
                if min(gaps) == 0:
                    ends.append(Fraction(0))
                    continue
                time = -sum((Decimal(gap) / unit).ln() for gap in gaps) / (rates[side] / unit)
                left, q = (-time).exp(), heads[side] / unit
                chance = left / (1 - q + q * left)
                ends.append(Fraction(chance + (slack if side else -slack)))
        return ends[0], ends[1]
