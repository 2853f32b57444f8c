"""Exact draws of decision stumps: one column by coins, then an answer on each of its two sides."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from oracles.arithmetic import RandomBits
from oracles.problem import Hypothesis
from oracles.sampling.staged_points import BinaryPoints


@dataclass(frozen=True, slots=True, kw_only=True)
class Stumps:
    """Scorecards of one column.

    Parameters
    ----------
    columns : tuple of int
        Columns that one is taken from, each as often, counted without the constant one.

    Raises
    ------
    ValueError
        If there is no column.
    """

    columns: tuple[int, ...]

    def __post_init__(self) -> None:
        """Refuse a draw from nothing."""
        if not self.columns:
            raise ValueError("a draw of stumps needs a column.")


def stump_card(n_columns: int, column: int, answers: tuple[bool, bool]) -> Hypothesis:
    """Return the scorecard that predicts "+" by one column.

    Parameters
    ----------
    n_columns : int
        Number of columns without the constant one.
    column : int
        The column, counted without the constant one.
    answers : tuple of (bool, bool)
        Whether "+" is predicted where the column is 0, and where it is 1.
    """
    without, with_it = answers
    weights = [0] * (1 + n_columns)
    weights[0] = int(without)
    weights[1 + column] = int(with_it) - int(without)
    return tuple(weights)


def draw_stump(
    points: BinaryPoints, stumps: Stumps, beta: Fraction, bits: RandomBits
) -> Hypothesis:
    """Draw a column by coins, then each of its sides' answer by permute-and-flip.

    Parameters
    ----------
    points : BinaryPoints
        The problem.
    stumps : Stumps
        What is drawn from.
    beta : Fraction
        Weight of one row of loss, >= 0. On each side the answer that costs more has probability
        ``exp(-beta * difference) / 2``; the two sides are independent.
    bits : RandomBits
        Where decisions come from; every one is exact.
    """
    column = stumps.columns[bits.below(len(stumps.columns))]
    ones = points.columns[column] == 1
    without, with_it = (int(points.costs[side].sum()) for side in (~ones, ones))
    answers = (_says_plus(without, beta, bits), _says_plus(with_it, beta, bits))
    return stump_card(points.n_columns, column, answers)


def _says_plus(cost: int, beta: Fraction, bits: RandomBits) -> bool:
    """Flip two coins in random order; ``cost`` is what "+" costs more than "-"."""
    plus_first = bits.below(2) == 1
    excess = cost if plus_first else -cost
    first_is_taken = excess <= 0 or bits.exponential_trial(beta * excess)
    return plus_first if first_is_taken else not plus_first
