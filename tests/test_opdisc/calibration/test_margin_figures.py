"""Figures of the calibrations that nothing random decides: sums, tails, edges."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from opdisc.calibration.gaussian import (
    SampledSteps,
    _loss_step,
    gaussian_delta,
    gaussian_multiplier,
    sampled_delta,
    sampled_multiplier,
)
from opdisc.calibration.margins import (
    block_decay_rates,
    continuous_margin,
    gaussian_failure,
    gaussian_stddev,
    harmonic_number,
    lattice_margin,
)
from opdisc.errors import CalibrationError
from opdisc.privacy.params import NeighboringRelation, PrivacyParams

REPLACE, ADD = NeighboringRelation.REPLACE_ONE, NeighboringRelation.ADD_OR_REMOVE_ONE


@pytest.mark.parametrize("size", [1, 2, 3, 10_000, 10_001, 30_000])
def test_a_harmonic_number_is_the_sum_or_a_billionth_above_it(size):
    exact = math.fsum(1.0 / k for k in range(1, size + 1))
    assert exact <= harmonic_number(size) + 1e-15 and harmonic_number(size) - exact < 1e-9


@pytest.mark.parametrize("size", [2**999, 2**1000, 2**1001, 2**5000])
def test_harmonic_numbers_reach_beyond_doubles(size):
    assert harmonic_number(size) == pytest.approx(math.log(size) + np.euler_gamma, rel=1e-14)


@pytest.mark.parametrize("allowance", [-1.0, math.inf, math.nan])
def test_an_allowance_is_finite_and_not_negative(allowance):
    for margin in (
        lambda: lattice_margin(1, allowance, Fraction(1, 4)),
        lambda: continuous_margin(1, allowance),
    ):
        with pytest.raises(CalibrationError, match="allowance must be finite and >= 0"):
            margin()


def test_the_shares_of_small_margins_are_checked_in_the_right_unit():
    rates = block_decay_rates([2, 3], Fraction(1, 2), Fraction(1, 4), 1.0)
    assert sum(rates) * 2 <= 1 < sum(rates) * Fraction(2_000_001, 1_000_000)


def test_noise_too_small_for_any_shift_fails_with_certainty():
    assert gaussian_failure(0.1, 10.0, 1.0, 3) == 1.0
    assert gaussian_failure(math.sqrt(0.5), 1.0, 1.0, 3) == 1.0


def test_a_deviation_that_rounding_put_too_low_is_raised_by_millionths(monkeypatch):
    sound = stats.chi.isf
    whole = gaussian_stddev(2.0, 1.0, 1e-5, 4)
    monkeypatch.setattr(stats.chi, "isf", lambda delta, d: sound(delta, d) * (1 - 1e-4))
    found = gaussian_stddev(2.0, 1.0, 1e-5, 4)
    assert gaussian_failure(found, 2.0, 1.0, 4) <= 1e-5
    assert found == pytest.approx(whole, rel=3e-6)


# --- Gaussian steps ------------------------------------------------------------------------------


@pytest.mark.parametrize("sensitivity", [0.0, -1.0, math.inf, math.nan])
def test_a_sensitivity_is_finite_and_positive(sensitivity):
    with pytest.raises(CalibrationError, match="a sensitivity must be finite and > 0"):
        SampledSteps(steps=1, rate=0.5, sensitivity=sensitivity)


@pytest.mark.parametrize("steps", [True, 2.5, 0, -1, "3"])
def test_steps_are_whole(steps):
    with pytest.raises(CalibrationError, match="steps must be an integer of at least 1"):
        SampledSteps(steps=steps, rate=0.5)
    assert SampledSteps(steps=np.int64(1), rate=1.0).steps == 1


def test_unsampled_steps_add_up_by_the_square_of_their_sensitivity():
    params = PrivacyParams(epsilon=1.0, delta=1e-5)
    plan = (SampledSteps(steps=4, rate=1.0, sensitivity=3.0), SampledSteps(steps=2, rate=1.0))
    assert sampled_multiplier(params, plan, REPLACE) == pytest.approx(
        gaussian_multiplier(params) * math.sqrt(4 * 9 + 2), rel=1e-8
    )


@pytest.mark.parametrize("relation", [REPLACE, ADD])
def test_tails_are_followed_far_below_any_delta_in_use(relation):
    plan = (SampledSteps(steps=1, rate=1.0),)
    exact = gaussian_delta(2.0, 4.0)
    assert exact < 1e-13
    # The accountant's own rounding is about 1e-15.
    assert exact <= sampled_delta(2.0, plan, relation, 4.0) <= exact + 1e-14


def test_the_grid_of_losses_is_fine_enough_for_every_step_and_never_too_long():
    def width(multiplier, *parts, epsilon=1e-9):
        plan = tuple(SampledSteps(steps=1, rate=q, sensitivity=s) for q, s in parts)
        return _loss_step(multiplier, plan, epsilon)

    # A twentieth of what a step moves the loss by, at most a thousandth, at least 1e-7.
    assert width(10.0, (0.1, 1.0)) == pytest.approx(0.1 * 0.1 / 20)
    assert width(10.0, (0.1, 1.0), (0.05, 0.5)) == pytest.approx(0.05 * 0.05 / 20)
    assert width(10.0, (0.5, 0.2)) == pytest.approx(0.5 * 0.02 / 20)
    assert width(2.0, (1.0, 1.0)) == 1e-3
    assert width(1e6, (1e-3, 1.0)) == 1e-7
    # A two-thousandth of epsilon is enough, whatever the steps.
    assert width(100.0, (1e-3, 1.0), epsilon=0.4) == pytest.approx(0.4 / 2000)
    # Six deviations and the mean, on either side, in 2^18 points.
    assert width(0.01, (1.0, 1.0)) == pytest.approx(2 * (6 + 100) * 100 / 2**18)
