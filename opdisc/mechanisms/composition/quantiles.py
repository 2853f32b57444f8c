"""Private quantiles: thresholds drawn by rank, the middle one first, then within each part.

A threshold t of a part of the rows is scored by how far the number of rows below it is from its
share of the part, and drawn by the exponential mechanism over public candidates. A row lies in one
part at a time, so it is paid for once on each level, not once for each threshold (docs/theory.md,
entry "private-thresholds").
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from opdisc.privacy import NeighboringRelation
from oracles.arithmetic import IntArray, RandomBits
from oracles.sampling import draw_level


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """One draw: the middle of the thresholds from ``first`` to ``last``, counted from 1.

    Parameters
    ----------
    first, middle, last : int
        Which thresholds the part is for; the middle one is drawn.
    rate : Fraction
        The candidate t has probability proportional to ``exp(-rate * loss(t))``, the loss being
        ``|above * (rows below t) - below * (rows from t on)|`` within the part.
    """

    first: int
    middle: int
    last: int
    rate: Fraction

    @property
    def below(self) -> int:
        """Parts that end up below the middle threshold, itself the upper end of one."""
        return self.middle - self.first + 1

    @property
    def above(self) -> int:
        """Parts that end up above it."""
        return self.last - self.middle + 1

    @property
    def rows_per_nat(self) -> Fraction:
        """Rows by which a rank may be off for each nat of probability."""
        return 1 / (self.rate * (self.below + self.above))


def levels(quantiles: int) -> int:
    """Return how many draws a row takes part in: log2(quantiles + 1), rounded up."""
    return quantiles.bit_length()


def plan_cuts(
    quantiles: int, epsilon: Fraction, relation: NeighboringRelation, rows_per_unit: int
) -> tuple[Cut, ...]:
    """Return the draws of some quantiles, each with its inverse temperature, parents first.

    Parameters
    ----------
    quantiles : int
        How many thresholds, at least 1.
    epsilon : Fraction
        What all of them cost together.
    relation : NeighboringRelation
        Which tables are neighbours.
    rows_per_unit : int
        Public maximum of rows of one privacy unit.

    Notes
    -----
    **Guarantee.** Pure epsilon-DP for any table and any adaptive choice of the parts
    (docs/theory.md, private-thresholds). On every path through the parts the shares add up to
    epsilon.
    """
    replaces = relation is NeighboringRelation.REPLACE_ONE
    cuts = []
    waiting = [(1, quantiles, epsilon, True)]
    while waiting:
        first, last, left, whole = waiting.pop()
        if first > last:
            continue
        size = last - first + 1
        middle = first + (size - 1) // 2
        share = left / levels(size)
        larger = max(middle - first + 1, last - middle + 1)
        moves = 2 * larger  # what one row more or less does to a difference of two losses
        if replaces:
            # A replaced row stays in the part that holds all rows; below, it may change parts.
            moves = 2 * (size + 1) if whole else 2 * moves
        rate = share / (moves * rows_per_unit)
        cuts.append(Cut(first=first, middle=middle, last=last, rate=rate))
        waiting += [
            (middle + 1, last, left - share, False),
            (first, middle - 1, left - share, False),
        ]
    return tuple(cuts)


def draw_cuts(cuts: tuple[Cut, ...], ranks: IntArray, bits: RandomBits) -> tuple[int, ...]:
    """Draw the thresholds as increasing positions among the candidates.

    Parameters
    ----------
    cuts : tuple of Cut
        From :func:`plan_cuts`.
    ranks : int64 array, shape (n_candidates + 1,)
        Rows below each candidate, then all rows.
    bits : RandomBits
        Where decisions come from; the draws are exact.

    Notes
    -----
    A part leaves room on both sides for the thresholds that come later, so that all are distinct
    and their number is public.
    """
    size = len(cuts)
    ends = {0: -1, size + 1: len(ranks) - 1}
    for cut in cuts:
        low, high = ends[cut.first - 1], ends[cut.last + 1]
        base = 0 if low < 0 else int(ranks[low])
        top = int(ranks[high])
        places = np.arange(low + cut.below, high - cut.above + 1)
        losses = np.abs(cut.above * (ranks[places] - base) - cut.below * (top - ranks[places]))
        kinds, counts = np.unique(losses, return_counts=True)
        level = kinds[draw_level(kinds, counts, cut.rate, bits)]
        members = places[losses == level]
        ends[cut.middle] = int(members[bits.below(len(members))])
    return tuple(ends[k] for k in range(1, size + 1))


def rank_errors(cuts: tuple[Cut, ...], n_candidates: int, chance: float) -> float:
    """Return by how many rows a rank is off at most, except with a small chance.

    Parameters
    ----------
    cuts : tuple of Cut
        All draws of one feature.
    n_candidates : int
        Where its thresholds may lie.
    chance : float
        That any of them is off by more.

    Returns
    -------
    float
        Rows, beyond what rows that share a candidate make unavoidable; the largest over the
        thresholds of the sum over the draws that they depend on.
    """
    nats = math.log(n_candidates * len(cuts) / chance)
    reached = {cut.middle: float(cut.rows_per_nat) * nats for cut in cuts}
    paths = []
    for target in reached:
        paths.append(sum(reached[c.middle] for c in cuts if c.first <= target <= c.last))
    return max(paths)
