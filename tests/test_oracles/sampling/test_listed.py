"""Draws by enumeration against the exact probability mass function."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from oracles.arithmetic.random_bits import RandomBits, SeededEntropy, exponential_enclosure
from oracles.enumeration.listing import all_losses
from oracles.errors import InvalidOption, UnsupportedProblem
from oracles.problem.grid import WeightGrid, hypothesis_at, squared_norms
from oracles.problem.perturbation import Perturbation
from oracles.problem.zero_one import ZeroOneProblem
from oracles.sampling.listed import draw_level, sample_by_enumeration


def _problem(seed: int, grid: WeightGrid, n_points: int = 6) -> ZeroOneProblem:
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 2, size=(n_points, grid.n_features))
    points[:, 0] = 1
    return ZeroOneProblem(
        points=points,
        positives=rng.integers(0, 5, size=n_points),
        negatives=rng.integers(0, 5, size=n_points),
        grid=grid,
    )


def _exact_law(problem: ZeroOneProblem, beta: float) -> dict[tuple[int, ...], float]:
    losses = all_losses(problem)
    weights = np.exp(-beta * (losses - losses.min()))
    if problem.grid.norm_budget is not None:
        weights[squared_norms(problem.grid) > problem.grid.norm_budget] = 0
    weights /= weights.sum()
    return {hypothesis_at(problem.grid, i): p for i, p in enumerate(weights) if p > 0}


@given(
    numerator=st.integers(0, 10**6),
    denominator=st.integers(1, 10**6),
    bits=st.sampled_from([8, 64, 200]),
)
@settings(max_examples=300, deadline=None)
def test_enclosures_contain_the_exponential(numerator: int, denominator: int, bits: int) -> None:
    import mpmath

    with mpmath.workprec(bits + 100):
        truth = mpmath.exp(-mpmath.mpf(numerator) / denominator) * 2**bits
        low, high = exponential_enclosure(Fraction(numerator, denominator), bits)
        assert low <= truth <= high
    assert high - low <= 2


def test_beta_zero_is_uniform_and_huge_beta_is_the_minimum() -> None:
    problem = _problem(1, WeightGrid.box(3, 1))
    losses = all_losses(problem)
    for seed in range(20):
        hypothesis, distance = sample_by_enumeration(problem, 10**6, SeededEntropy(seed))
        assert problem.loss(hypothesis) == losses.min() and distance == 0.0
    seen = {sample_by_enumeration(problem, 0, SeededEntropy(s))[0] for s in range(300)}
    assert len(seen) > 20


def test_the_norm_budget_is_respected() -> None:
    problem = _problem(2, WeightGrid.box(4, 2, norm_budget=3))
    for seed in range(50):
        hypothesis, _ = sample_by_enumeration(problem, Fraction(1, 10), SeededEntropy(seed))
        assert problem.grid.contains(hypothesis)


def test_levels_far_below_any_precision_are_still_levels() -> None:
    # Level 1 outweighs level 0 although exp(-beta) is far below the first precision.
    bits = RandomBits(SeededEntropy(3))
    drawn = [draw_level([0, 1], [1, 3 * 10**400], Fraction(400), bits) for _ in range(20)]
    assert set(drawn) == {1}


def test_a_draw_on_the_boundary_belongs_to_the_upper_level() -> None:
    class Half:
        """Words that make the draw exactly one half, then all ones."""

        first = True

        def words(self, count: int) -> np.ndarray:
            words = np.full(count, 2**64 - 1, dtype=np.uint64)
            if self.first:
                words[:2] = [0, 1 << 63]
                self.first = False
            return words

    assert draw_level([0, 1], [1, 1], Fraction(0), RandomBits(Half())) == 1


def test_refusals() -> None:
    problem = _problem(1, WeightGrid.box(3, 1))
    for beta in (-1, math.nan, math.inf):
        with pytest.raises(InvalidOption):
            sample_by_enumeration(problem, beta, SeededEntropy(0))
    with pytest.raises(UnsupportedProblem, match="at most 10,000,000"):
        sample_by_enumeration(_problem(1, WeightGrid.box(20, 1)), 1, SeededEntropy(0))
    perturbed = problem.with_perturbation(
        Perturbation.separable([np.zeros(3, dtype=np.int64)] * 3, unit=1.0)
    )
    with pytest.raises(UnsupportedProblem, match="without a perturbation"):
        sample_by_enumeration(perturbed, 1, SeededEntropy(0))


@pytest.mark.long
@pytest.mark.statistical
@pytest.mark.parametrize("budget", [None, 2])
@pytest.mark.parametrize("beta", [Fraction(0), Fraction(1, 7), Fraction(3, 2)])
def test_the_law_is_the_target(beta: Fraction, budget: int | None) -> None:
    """Chi-square against the exact law; false alarm at most 1e-6 per case."""
    problem = _problem(5, WeightGrid.box(3, 1, norm_budget=budget))
    law = _exact_law(problem, float(beta))
    n_draws = 4000
    source = SeededEntropy(17)
    counts = dict.fromkeys(law, 0)
    for _ in range(n_draws):
        counts[sample_by_enumeration(problem, beta, source)[0]] += 1
    observed, expected = np.array(list(counts.values())), n_draws * np.array(list(law.values()))
    rare = expected < 5
    if rare.any():
        observed = np.append(observed[~rare], observed[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    statistic = ((observed - expected) ** 2 / expected).sum()
    assert statistic < stats.chi2.isf(1e-6, len(expected) - 1)


@pytest.mark.statistical
def test_exponential_trials_have_their_probability() -> None:
    """Exact binomial test; false alarm at most 1e-6 per exponent."""
    bits = RandomBits(SeededEntropy(23))
    for exponent in (Fraction(1, 100), Fraction(1, 2), Fraction(3), Fraction(7)):
        wins = sum(bits.exponential_trial(exponent) for _ in range(20_000))
        assert stats.binomtest(wins, 20_000, math.exp(-exponent)).pvalue > 1e-6
