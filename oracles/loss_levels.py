"""Exact draws from ``P[w] proportional to exp(-beta * L(w))`` where all of ``w`` can be listed.

Hypotheses of equal loss are equally likely, so the draw has two steps: a loss level, by inverting
its distribution function in integer arithmetic, then a uniform hypothesis of that level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from oracles.entropy import EntropySource, RandomBits, exponential_enclosure
from oracles.enumeration import all_losses, hypothesis_at, squared_norms
from oracles.errors import InvalidOption, UnsupportedProblem
from oracles.problem import Hypothesis, IntArray, ZeroOneProblem
from oracles.registry import ENUMERATION_LIMIT

_FIRST_BITS = 128


def checked_beta(beta: Fraction | float) -> Fraction:
    """Return a weight as an exact fraction, or refuse it."""
    try:
        exact = Fraction(beta)
    except (ValueError, OverflowError, TypeError):
        raise InvalidOption("beta must be a finite number.") from None
    if exact < 0:
        raise InvalidOption(f"beta must be >= 0, got beta={float(beta)}.")
    return exact


def sample_by_enumeration(
    problem: ZeroOneProblem, beta: Fraction | float, entropy: EntropySource
) -> tuple[Hypothesis, float]:
    """Draw ``w`` of the grid with probability proportional to ``exp(-beta * L(w))``.

    Parameters
    ----------
    problem : ZeroOneProblem
        Without a perturbation; a box of at most 10,000,000 assignments, norm budgets included.
    beta : Fraction or float
        Weight of one row of loss, >= 0; a float stands for the binary fraction it is.
    entropy : EntropySource
        Where the random words come from.

    Returns
    -------
    (Hypothesis, float)
        The draw, and a bound on the total-variation distance of its law from the target given
        uniform words: 0.0, for every decision is made in integers and none is truncated.

    Raises
    ------
    UnsupportedProblem
        If the box is too large or the problem has a perturbation.
    InvalidOption
        If beta is negative or not finite.
    """
    exact = checked_beta(beta)
    if problem.perturbation is not None:
        raise UnsupportedProblem("sampling takes problems without a perturbation.")
    if problem.grid.n_assignments > ENUMERATION_LIMIT:
        raise UnsupportedProblem(
            f"enumeration takes grids of at most {ENUMERATION_LIMIT:,} weight combinations, "
            f"got {problem.grid.n_assignments:,}; use fewer columns or smaller weights."
        )
    losses = all_losses(problem)
    positions = _members(problem)
    kept = losses if positions is None else losses[positions]
    levels, counts = np.unique(kept, return_counts=True)
    bits = RandomBits(entropy)
    level = draw_level(levels, counts, exact, bits)
    members = np.flatnonzero(kept == levels[level])
    place = int(members[bits.below(len(members))])
    place = place if positions is None else int(positions[place])
    return hypothesis_at(problem.grid, place), 0.0


def _members(problem: ZeroOneProblem) -> IntArray | None:
    """Return the positions within the norm budget, or None if there is no budget."""
    if problem.grid.norm_budget is None:
        return None
    return np.flatnonzero(squared_norms(problem.grid) <= problem.grid.norm_budget)


@dataclass(frozen=True, slots=True)
class _Table:
    """Cumulated weights of the levels, enclosed: integers in units of ``2**-bits``.

    The levels from ``len(low)`` on were too light to be told apart at this precision.
    """

    low: list[int]
    high: list[int]
    total_low: int
    total_high: int


def draw_level(
    levels: Sequence[int] | IntArray,
    counts: Sequence[int] | IntArray,
    beta: Fraction,
    bits: RandomBits,
) -> int:
    """Return index ``i`` with probability proportional to ``counts[i] * exp(-beta * levels[i])``.

    Parameters
    ----------
    levels : sequence of int
        Strictly increasing.
    counts : sequence of int
        Positive multiplicities, arbitrarily large.
    beta : Fraction
        At least 0.
    bits : RandomBits
        More bits are drawn until the answer is decided, so the law is exact.
    """
    precision, drawn = _FIRST_BITS, bits.integer(_FIRST_BITS)
    while True:
        table = _cumulated(levels, counts, beta, precision)
        answer = _located(table, drawn, precision)
        if answer is not None:
            return answer
        drawn = (drawn << precision) | bits.integer(precision)
        precision *= 2


def _cumulated(
    levels: Sequence[int] | IntArray,
    counts: Sequence[int] | IntArray,
    beta: Fraction,
    precision: int,
) -> _Table:
    """Enclose the cumulated weights, relative to the lowest level's."""
    factors: dict[int, tuple[int, int]] = {}
    below = above = 1 << precision
    cumulated: tuple[list[int], list[int]] = ([], [])
    low = high = tail = 0
    previous = int(levels[0])
    for i in range(len(levels)):
        gap = int(levels[i]) - previous
        if gap:
            if gap not in factors:
                factors[gap] = exponential_enclosure(beta * gap, precision)
            below = (below * factors[gap][0]) >> precision
            above = -((-above * factors[gap][1]) >> precision)
        if above <= 1:
            tail = sum(int(count) for count in counts[i:])
            break
        previous = int(levels[i])
        low, high = low + int(counts[i]) * below, high + int(counts[i]) * above
        cumulated[0].append(low)
        cumulated[1].append(high)
    return _Table(cumulated[0], cumulated[1], low, high + tail)


def _located(table: _Table, drawn: int, precision: int) -> int | None:
    """Return the level in which the drawn fraction of the total falls, or None if undecided."""
    smallest = (drawn * table.total_low) >> precision
    largest = -((-(drawn + 1) * table.total_high) >> precision)
    first, last = 0, len(table.low)
    while first < last:  # the first level whose cumulated weight certainly exceeds the draw
        middle = (first + last) // 2
        if table.low[middle] >= largest:
            last = middle
        else:
            first = middle + 1
    if first == len(table.low) or (first > 0 and table.high[first - 1] > smallest):
        return None
    return first
