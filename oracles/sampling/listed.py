"""Exact draws from ``P[w] proportional to exp(-beta * L(w))`` where all of ``w`` can be listed.

Hypotheses of equal loss are equally likely, so the draw has two steps: a loss level, by inverting
its distribution function in integer arithmetic, then a uniform hypothesis of that level.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from oracles.arithmetic import (
    EntropySource,
    FloatArray,
    IntArray,
    RandomBits,
    exponential_enclosure,
)
from oracles.enumeration import all_losses
from oracles.errors import InconsistentSolution, InvalidOption, UnsupportedProblem
from oracles.problem import (
    ENUMERATION_LIMIT,
    Hypothesis,
    LogWeights,
    WeightGrid,
    ZeroOneProblem,
    checked_weights,
    hypothesis_at,
    members,
)

_FIRST_BITS = 128

_STEPS_PER_NAT = 8

_MARGIN = 2.0**-20


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
    problem: ZeroOneProblem,
    beta: Fraction | float,
    entropy: EntropySource,
    log_weights: LogWeights | None = None,
) -> tuple[Hypothesis, float]:
    """Draw ``w`` of the grid with probability proportional to ``exp(-beta * L(w))``.

    Parameters
    ----------
    problem : ZeroOneProblem
        Without a perturbation; a box of at most 10,000,000 assignments, of which a norm budget and
        alternatives may leave some.
    beta : Fraction or float
        Inverse temperature, nats per row of loss, >= 0; a float stands for the binary fraction
        it is.
    entropy : EntropySource
        Where the random words come from.
    log_weights : LogWeights or None
        If given, the probability is multiplied by the exponential of a hypothesis's log-weight.

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
            f"got 2^{math.log2(problem.grid.n_assignments):.1f}; use fewer columns or smaller "
            "weights."
        )
    losses = all_losses(problem)
    inside = members(problem.grid)
    positions = None if inside is None else np.flatnonzero(inside)
    kept = losses if positions is None else losses[positions]
    bits = RandomBits(entropy)
    weights = checked_weights(log_weights, problem.grid)
    if weights is not None:
        return draw_weighted(problem.grid, kept, exact, weights, bits, positions), 0.0
    levels, counts = np.unique(kept, return_counts=True)
    level = draw_level(levels, counts, exact, bits)
    alike = np.flatnonzero(kept == levels[level])
    place = int(alike[bits.below(len(alike))])
    place = place if positions is None else int(positions[place])
    return hypothesis_at(problem.grid, place), 0.0


def draw_weighted(
    grid: WeightGrid,
    losses: IntArray,
    beta: Fraction,
    log_weights: LogWeights,
    bits: RandomBits,
    positions: IntArray | None = None,
) -> Hypothesis:
    """Draw with probability proportional to ``exp(log-weight - beta * loss)``, exactly.

    Parameters
    ----------
    grid : WeightGrid
        The hypotheses.
    losses : ndarray of shape (N,), int64
        Loss of every candidate.
    beta : Fraction
        Weight of one unit of loss.
    log_weights : LogWeights
        For the grid.
    bits : RandomBits
        Where decisions come from.
    positions : ndarray of shape (N,), int64, or None
        Where the candidates are in enumeration order; None: they are the whole box.
    """
    least = int(losses.min())
    penalties = log_weights.all_penalties()
    penalties = penalties if positions is None else penalties[positions]
    exponents = float(beta) * (losses - least) + penalties

    def candidate(place: int) -> tuple[Hypothesis, Fraction]:
        hypothesis = hypothesis_at(grid, place if positions is None else int(positions[place]))
        penalty = log_weights.penalty(grid, hypothesis)
        return hypothesis, beta * (int(losses[place]) - least) + penalty

    return draw_listed(exponents, candidate, bits)


def draw_listed(
    exponents: FloatArray,
    candidate: Callable[[int], tuple[Hypothesis, Fraction]],
    bits: RandomBits,
) -> Hypothesis:
    """Draw entry ``i`` with probability proportional to ``exp(-e_i)``, exactly.

    Parameters
    ----------
    exponents : ndarray of shape (N,), float64
        Every ``e_i`` to within ``2**-20`` plus ``2**-46`` of the largest magnitude.
    candidate : callable
        The entry at a position and its ``e_i``, exact.
    bits : RandomBits
        Where decisions come from.

    Raises
    ------
    InconsistentSolution
        If an exponent was less precise than promised.

    Notes
    -----
    **Guarantee.** Entries are put on levels of an eighth of a nat, a level is drawn exactly, then
    one of its members, which is kept with probability ``exp(level / 8 - e_i)``, exactly. The law
    does not depend on the levels as long as no member lies below its own.
    """
    magnitude = max(float(exponents.max()), -float(exponents.min()))
    margin = _MARGIN + 2.0**-46 * magnitude
    levels = np.floor((exponents - margin) * _STEPS_PER_NAT).astype(np.int64)
    kinds, counts = np.unique(levels, return_counts=True)
    while True:
        level = int(kinds[draw_level(kinds, counts, Fraction(1, _STEPS_PER_NAT), bits)])
        alike = np.flatnonzero(levels == level)
        entry, exponent = candidate(int(alike[bits.below(len(alike))]))
        excess = exponent - Fraction(level, _STEPS_PER_NAT)
        if not 0 <= excess <= Fraction(1, _STEPS_PER_NAT) + Fraction(4 * margin):
            raise InconsistentSolution("a listed exponent must be as precise as promised.")
        if bits.exponential_trial(excess):
            return entry


@dataclass(frozen=True, slots=True)
class _Table:
    """Cumulated weights of the levels, enclosed: integers in units of ``2**-bits``.

    The unit is relative to the weight of one hypothesis of the lowest level. The levels from
    ``len(low)`` on were too light to be told apart at this precision.

    Parameters
    ----------
    low, high : list of int
        Lower and upper end of the summed weights of the levels up to each.
    total_low, total_high : int
        The same for all levels.
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


def total_weight(
    levels: Sequence[int] | IntArray,
    counts: Sequence[int] | IntArray,
    beta: Fraction,
    bits: int,
) -> tuple[int, int]:
    """Enclose the sum of ``counts * exp(-beta * (levels - levels[0]))``, units of ``2**-bits``."""
    table = _cumulated(levels, counts, beta, bits)
    return table.total_low, table.total_high


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
