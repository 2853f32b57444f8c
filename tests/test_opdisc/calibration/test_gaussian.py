"""Gaussian accounting: against quadrature, against dp_accounting, and at the extremes."""

import math

import numpy as np
import pytest
from scipy import stats

from opdisc.calibration.gaussian import (
    SampledSteps,
    gaussian_delta,
    gaussian_multiplier,
    replace_one_profile,
    sampled_delta,
    sampled_multiplier,
)
from opdisc.errors import CalibrationError
from opdisc.privacy.params import NeighboringRelation, PrivacyParams

REPLACE, ADD = NeighboringRelation.REPLACE_ONE, NeighboringRelation.ADD_OR_REMOVE_ONE


def _hockey_stick(p, q, epsilon, grid):
    step = grid[1] - grid[0]
    return float(np.maximum(p(grid) - math.exp(epsilon) * q(grid), 0).sum() * step)


@pytest.mark.parametrize("multiplier", [0.4, 1.0, 5.0])
@pytest.mark.parametrize("epsilon", [-1.0, 0.0, 0.3, 2.0])
def test_analytic_gaussian_against_quadrature(multiplier, epsilon):
    grid = np.linspace(-12 * multiplier, 1 + 12 * multiplier, 400_001)
    expected = _hockey_stick(
        stats.norm(1, multiplier).pdf, stats.norm(0, multiplier).pdf, epsilon, grid
    )
    assert gaussian_delta(multiplier, epsilon) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("epsilon", [1e-4, 0.05, 1.0, 20.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.1])
def test_multipliers_meet_the_target_and_are_not_wasteful(epsilon, delta):
    params = PrivacyParams(epsilon=epsilon, delta=delta)
    found = gaussian_multiplier(params)
    assert gaussian_delta(found, epsilon) <= delta
    assert gaussian_delta(found * (1 - 1e-6), epsilon) > delta
    assert gaussian_multiplier(params, steps=9) == pytest.approx(3 * found, rel=1e-6)


@pytest.mark.parametrize("relation", [REPLACE, ADD])
def test_sampling_at_rate_one_is_the_plain_composition(relation):
    plan = (SampledSteps(steps=20, rate=1.0),)
    delta = sampled_delta(10.0, plan, relation, 1.0)
    exact = gaussian_delta(10.0 / math.sqrt(20), 1.0)
    assert exact <= delta <= exact * 1.02 + 1e-12


@pytest.mark.parametrize("epsilon", [-0.5, -0.05, 0.0, 0.05, 0.8])
def test_the_replace_one_curve_covers_the_worst_pairs_of_a_step(epsilon):
    """With chance q the drawn row's Gaussian moves by up to 1, between two other positions."""
    sigma, rate = 0.7, 0.2
    grid = np.linspace(-9, 10, 200_001)

    def mixture(base, moved):
        return lambda x: (
            (1 - rate) * stats.norm(base, sigma).pdf(x) + rate * stats.norm(moved, sigma).pdf(x)
        )

    claimed = float(replace_one_profile(sigma, rate, np.array([epsilon]))[0])
    attained = 0.0
    for base in (0.0, 0.5, 1.0):
        found = _hockey_stick(mixture(base, 0.0), mixture(base, 1.0), epsilon, grid)
        assert found <= claimed + 1e-8
        attained = max(attained, found)
    if epsilon >= 0:
        assert attained >= 0.95 * claimed


def test_sampled_multipliers_meet_the_target_and_halving_is_caught():
    params = PrivacyParams(epsilon=0.5, delta=1e-6)
    plan = (SampledSteps(steps=200, rate=0.02),)
    for relation in (REPLACE, ADD):
        found = sampled_multiplier(params, plan, relation)
        assert sampled_delta(found, plan, relation, 0.5) <= 1e-6
        assert sampled_delta(found / 2, plan, relation, 0.5) > 1e-6
    doubled = (SampledSteps(steps=200, rate=0.02, sensitivity=2.0),)
    assert sampled_multiplier(params, doubled, REPLACE) == pytest.approx(2 * found, rel=0.2)


def test_add_remove_agrees_with_a_composition_by_hand():
    """Two steps: the hockey stick of the product, by quadrature in the plane."""
    sigma, rate, epsilon = 1.0, 0.3, 0.2
    grid = np.linspace(-7, 8, 1501)
    p0 = stats.norm(0, sigma).pdf(grid)
    p1 = (1 - rate) * p0 + rate * stats.norm(1, sigma).pdf(grid)
    area = (grid[1] - grid[0]) ** 2
    both = [
        float(np.maximum(np.outer(a, a) - math.exp(epsilon) * np.outer(b, b), 0).sum() * area)
        for a, b in ((p1, p0), (p0, p1))
    ]
    plan = (SampledSteps(steps=2, rate=rate),)
    assert max(both) <= sampled_delta(sigma, plan, ADD, epsilon) + 1e-9
    assert sampled_delta(sigma, plan, ADD, epsilon) <= max(both) * 1.01


def test_bad_requests_are_refused():
    pure = PrivacyParams(epsilon=1.0, delta=0.0)
    with pytest.raises(CalibrationError, match="Gaussian noise needs delta > 0, got delta=0.0"):
        gaussian_multiplier(pure)
    with pytest.raises(CalibrationError, match="sampling rate must be in"):
        SampledSteps(steps=1, rate=0.0)
    with pytest.raises(CalibrationError, match="steps must be an integer of at least 1"):
        SampledSteps(steps=0, rate=0.5)
