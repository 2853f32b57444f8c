"""Exact draws from listed hypotheses that weigh by their number of points.

``P[w]`` is proportional to ``factor[size of w] * exp(-beta * L(w))``. Factors are integers, so a
loss level weighs an integer times its exponential, and within a level everything is a choice
between integers.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from oracles.arithmetic import EntropySource, IntArray, RandomBits
from oracles.enumeration import all_losses
from oracles.errors import UnsupportedProblem
from oracles.problem import (
    ENUMERATION_LIMIT,
    Hypothesis,
    LevelWeights,
    ZeroOneProblem,
    all_sizes,
    hypothesis_at,
    require_no_alternatives,
    squared_norms,
)
from oracles.sampling.listed import checked_beta, draw_level
from oracles.sampling.sparse import SparseListing, is_sparse


def sample_by_levels(
    problem: ZeroOneProblem,
    beta: Fraction | float,
    entropy: EntropySource,
    weights: LevelWeights,
) -> tuple[Hypothesis, float]:
    """Draw ``w`` with probability proportional to its weight times ``exp(-beta * L(w))``.

    Parameters
    ----------
    problem : ZeroOneProblem
        Without a perturbation; at most 10,000,000 assignments, or hypotheses within the norm
        budget.
    beta : Fraction or float
        Weight of one row of loss, >= 0.
    entropy : EntropySource
        Where the random words come from.
    weights : LevelWeights
        What hypotheses weigh by their number of points.

    Returns
    -------
    (Hypothesis, float)
        The draw, and its law's distance from the target: 0.0, every decision is made in integers.

    Raises
    ------
    UnsupportedProblem
        If there are too many hypotheses or a perturbation.
    """
    require_no_alternatives(problem.grid, "sampling by levels")
    exact, grid, bits = checked_beta(beta), problem.grid, RandomBits(entropy)
    factors = weights.factors(grid)
    if problem.perturbation is not None:
        raise UnsupportedProblem("sampling takes problems without a perturbation.")
    if grid.n_assignments <= ENUMERATION_LIMIT:
        losses, sizes = all_losses(problem), all_sizes(grid)
        if grid.norm_budget is None:
            return hypothesis_at(grid, _place(losses, sizes, factors, exact, bits)), 0.0
        within = np.flatnonzero(squared_norms(grid) <= grid.norm_budget)
        place = _place(losses[within], sizes[within], factors, exact, bits)
        return hypothesis_at(grid, int(within[place])), 0.0
    if not is_sparse(grid):
        raise UnsupportedProblem(
            f"sampling by levels takes at most {ENUMERATION_LIMIT:,} weight combinations, or as "
            "many within a norm budget; use fewer columns, smaller weights or a lower budget."
        )
    listing = SparseListing(problem)
    place = _place(listing.losses(), listing.sizes(), factors, exact, bits)
    return listing.at(place), 0.0


def _place(
    losses: IntArray,
    sizes: IntArray,
    factors: tuple[int, ...],
    beta: Fraction,
    bits: RandomBits,
) -> int:
    """Return the position of a draw."""
    n = len(factors)
    least = int(losses.min())
    kinds, counts = np.unique((losses - least) * n + sizes, return_counts=True)
    weights: dict[int, int] = {}
    for kind, count in zip(kinds.tolist(), counts.tolist(), strict=True):
        weight = count * factors[kind % n]
        if weight:
            weights[kind // n] = weights.get(kind // n, 0) + weight
    levels = sorted(weights)
    level = levels[draw_level(levels, [weights[k] for k in levels], beta, bits)]
    rank = bits.below(weights[level])
    for size in range(n):
        members = np.flatnonzero((losses == least + level) & (sizes == size))
        if rank < len(members) * factors[size]:
            return int(members[rank // factors[size]])
        rank -= len(members) * factors[size]
    raise AssertionError("a level weighs what its members weigh.")
