"""Exact draws where a norm budget leaves few hypotheses of a box that cannot be listed.

At weights -1..1 the squared norm is the number of weights other than 0, so this is how sparse
scorecards over many columns are drawn. Hypotheses of equal loss are equally likely: one walk over
all of them counts the loss levels, a second one stops at the drawn member of the drawn level.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from oracles.arithmetic import EntropySource, IntArray, RandomBits
from oracles.errors import InconsistentSolution, UnsupportedProblem
from oracles.problem import (
    ENUMERATION_LIMIT,
    Hypothesis,
    LogWeights,
    WeightGrid,
    ZeroOneProblem,
    checked_weights,
)
from oracles.sampling.listed import checked_beta, draw_level, draw_listed

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LARGEST_COUNTED = 50_000_000

_LARGEST_TOTAL = 2**53


def is_sparse(grid: WeightGrid) -> bool:
    """Return whether a norm budget leaves few enough hypotheses, 0 being allowed everywhere."""
    return (
        grid.norm_budget is not None
        and not grid.alternatives
        and all(0 in allowed for allowed in grid.values)
        and grid.n_hypotheses <= ENUMERATION_LIMIT
    )


def check_sparse_table(problem: ZeroOneProblem) -> int:
    """Refuse problems that cannot be sampled by walking over them; return the sum of all counts.

    Raises
    ------
    UnsupportedProblem
        If there are too many hypotheses, a perturbation, negative counts, or more than ``2**53``
        in all, up to which losses are exact as doubles.
    """
    if problem.perturbation is not None or not is_sparse(problem.grid):
        raise UnsupportedProblem(
            "sampling sparse hypotheses takes problems without a perturbation and grids of at "
            f"most {ENUMERATION_LIMIT:,} hypotheses within their norm budget; lower the budget."
        )
    total = int(problem.positives.sum() + problem.negatives.sum())
    negative = min(problem.positives.min(initial=0), problem.negatives.min(initial=0)) < 0
    if negative or total > _LARGEST_TOTAL:
        raise UnsupportedProblem(
            "sampling sparse hypotheses takes counts from 0 to 2**53 in total."
        )
    return total


def sample_sparse(
    problem: ZeroOneProblem,
    beta: Fraction | float,
    entropy: EntropySource,
    log_weights: LogWeights | None = None,
) -> tuple[Hypothesis, float]:
    """Draw ``w`` of the grid with probability proportional to ``exp(-beta * L(w))``.

    Parameters
    ----------
    problem : ZeroOneProblem
        Without a perturbation, its grid as :func:`is_sparse` wants it.
    beta : Fraction or float
        Inverse temperature, nats per row of loss, >= 0.
    entropy : EntropySource
        Where the random words come from.
    log_weights : LogWeights or None
        If given, the probability is multiplied by the exponential of a hypothesis's log-weight.

    Returns
    -------
    (Hypothesis, float)
        The draw, and its law's distance from the target: 0.0, every decision is made in integers.

    Raises
    ------
    UnsupportedProblem
        As :func:`check_sparse_table` says.
    """
    exact = checked_beta(beta)
    total = check_sparse_table(problem)
    bits = RandomBits(entropy)
    weights = checked_weights(log_weights, problem.grid)
    if weights is not None:
        return _weighted(problem, exact, weights, bits), 0.0
    walk = _Walk(problem)
    levels, counts = walk.levels(total)
    place = draw_level(levels, counts, exact, bits)
    level, members = int(levels[place]), int(counts[place])
    hypothesis = walk.run(level, bits.below(members), np.zeros(0, dtype=np.int64))
    if problem.loss(hypothesis) != level:
        raise InconsistentSolution("the drawn hypothesis must have the drawn loss.")
    return hypothesis, 0.0


def _weighted(
    problem: ZeroOneProblem, beta: Fraction, log_weights: LogWeights, bits: RandomBits
) -> Hypothesis:
    """Draw with probability proportional to ``exp(log-weight - beta * loss)``."""
    walk = _Walk(problem, log_weights)
    zero = log_weights.penalty(problem.grid, (0,) * problem.n_features)
    exponents = walk.listed(float(beta), problem.grid.n_hypotheses)

    def candidate(place: int) -> tuple[Hypothesis, Fraction]:
        hypothesis = walk.run(-3, place, np.zeros(0, dtype=np.int64))
        penalty = log_weights.penalty(problem.grid, hypothesis) - zero
        return hypothesis, beta * problem.loss(hypothesis) + penalty

    return draw_listed(exponents, candidate, bits)


class SparseListing:
    """Every hypothesis within a norm budget, in the order of the walk."""

    def __init__(self, problem: ZeroOneProblem) -> None:
        self._walk, self._count = _Walk(problem), problem.grid.n_hypotheses
        points = LogWeights(
            tables=tuple(
                tuple(Fraction(-1 if j and value else 0) for value in allowed)
                for j, allowed in enumerate(problem.grid.values)
            )
        )
        self._sizes = _Walk(problem, points)

    def losses(self) -> IntArray:
        """Return all losses."""
        return self._walk.listed(1.0, self._count).astype(np.int64)

    def sizes(self) -> IntArray:
        """Return how many weights are not 0, the constant column's left out."""
        return self._sizes.listed(0.0, self._count).astype(np.int64)

    def at(self, place: int) -> Hypothesis:
        """Return the hypothesis at a position."""
        return self._walk.run(-3, place, np.zeros(0, dtype=np.int64))


class _Walk:
    """The arrays that the compiled walk runs on, full columns first: those change least often.

    Their shapes, dtypes and units are those of
    :func:`oracles.sampling.sparse_kernels.walk_budget`;
    ``_order``, shape (d,) int64, has the problem's column at each place of the walk's order.

    Parameters
    ----------
    problem : ZeroOneProblem
        What is walked over.
    log_weights : LogWeights or None
        What hypotheses are weighed by; None: all weigh the same.
    """

    def __init__(self, problem: ZeroOneProblem, log_weights: LogWeights | None = None) -> None:
        points, where = np.unique(problem.points, axis=0, return_inverse=True)
        costs = np.zeros(len(points), dtype=np.int64)
        np.add.at(costs, where.ravel(), problem.negatives - problem.positives)
        points, costs = points[costs != 0], costs[costs != 0]
        self._order = np.argsort(-np.count_nonzero(points, axis=0), kind="stable")
        columns: NDArray[np.int64] = points[:, self._order]
        coords, rows = np.nonzero(columns.T)
        self._rows = rows.astype(np.int64)
        self._entries = columns[rows, coords].astype(np.int64)
        sizes = np.bincount(coords, minlength=problem.n_features)
        self._starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        nonzero = [[v for v in problem.grid.values[j] if v != 0] for j in self._order]
        self._n_choices = np.array([len(values) for values in nonzero], dtype=np.int64)
        width = max(1, int(self._n_choices.max(initial=1)))
        self._choices = np.array(
            [values + [0] * (width - len(values)) for values in nonzero], dtype=np.int64
        )
        self._penalties = np.zeros(self._choices.shape)
        if log_weights is not None:  # relative to that of a weight of 0
            for i, j in enumerate(self._order):
                allowed, table = problem.grid.values[j], log_weights.penalties[j]
                zero = table[allowed.index(0)]
                kept = [float(p - zero) for v, p in zip(allowed, table, strict=True) if v != 0]
                self._penalties[i, : len(kept)] = kept
        self._costs = costs
        self._n_hypotheses = problem.grid.n_hypotheses
        self._base = int(problem.positives.sum())
        self._budget = int(problem.grid.norm_budget or 0)

    def levels(self, total: int) -> tuple[IntArray, IntArray]:
        """Return every loss that occurs, increasing, and how many hypotheses have it."""
        if total <= _LARGEST_COUNTED:
            counts = np.zeros(total + 1, dtype=np.int64)
            self.run(-1, 0, counts)
            found = np.flatnonzero(counts)
            return found, counts[found]
        # A count for each possible loss would fill the memory; there are fewer hypotheses.
        losses = self.listed(1.0, self._n_hypotheses).astype(np.int64)
        return np.unique(losses, return_counts=True)

    def listed(self, beta: float, count: int) -> NDArray[np.float64]:
        """Return ``beta * loss`` plus the penalty of every hypothesis, in the walk's order."""
        exponents = np.full(count, np.nan)
        self.run(-2, 0, np.zeros(0, dtype=np.int64), beta, exponents)
        if np.isnan(exponents).any():
            raise InconsistentSolution("the walk must meet as many hypotheses as there are.")
        return exponents

    def run(
        self,
        target: int,
        rank: int,
        counts: IntArray,
        beta: float = 0.0,
        exponents: NDArray[np.float64] | None = None,
    ) -> Hypothesis:
        """Count all by loss (target -1), list all (-2), or return one (-3) or one of a loss."""
        from oracles.sampling.sparse_kernels import walk_budget  # compiled code, slow to import

        found = np.zeros(len(self._order), dtype=np.int64)
        reached = walk_budget(
            self._starts,
            self._rows,
            self._entries,
            self._costs,
            self._choices,
            self._n_choices,
            self._budget,
            self._base,
            target,
            rank,
            counts,
            found,
            beta,
            self._penalties,
            np.zeros(0) if exponents is None else exponents,
        )
        if reached != (target not in (-1, -2)):
            raise InconsistentSolution("a loss level must have as many members as were counted.")
        weights = np.zeros_like(found)
        weights[self._order] = found
        return tuple(weights.tolist())
