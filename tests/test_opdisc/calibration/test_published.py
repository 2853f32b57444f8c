"""The published Gaussian deviations, as printed, and the proven one beside them."""

import math

import pytest

from opdisc.calibration.margins import published_gaussian_stddev
from opdisc.calibration.separators import published_separator_stddev, separator_gaussian_stddev


@pytest.mark.parametrize("radius_squared", [1, 4, 9])
@pytest.mark.parametrize("constant", [3.5, 7.0])
def test_the_deviation_is_the_printed_formula(radius_squared, constant):
    found = published_gaussian_stddev(radius_squared, 0.5, 1e-5, constant=constant)
    assert found == pytest.approx(constant * radius_squared * math.sqrt(math.log(1e5)) / 0.5)


@pytest.mark.parametrize("n_separators", [1, 16])
def test_the_separators_deviation_is_the_printed_formula(n_separators):
    found = published_separator_stddev(n_separators, 0.5, 1e-5)
    assert found == pytest.approx(3.5 * math.sqrt(n_separators * math.log(1e5)) / 0.5)


@pytest.mark.parametrize("shift", [0.5, 2.0, 7.0])
@pytest.mark.parametrize("kappa", [0.0, 3.0])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
def test_the_separators_proven_deviation_costs_epsilon_and_hardly_less(shift, kappa, epsilon):
    stddev = separator_gaussian_stddev(shift, kappa, epsilon)
    cost = (2 * shift * stddev * kappa + shift**2) / (2 * stddev**2)
    assert epsilon * (1 - 1e-8) < cost <= epsilon
