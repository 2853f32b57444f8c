"""RSPM's scales, against the formulas written once more at high precision."""

import math

import mpmath
import pytest
from scipy import stats

from opdisc.calibration.separators import (
    published_separator_stddev,
    require_gaussian_delta,
    separator_gaussian_stddev,
    separator_quantile,
    thermometer_shift_size,
    thermometer_size,
)
from opdisc.errors import CalibrationError
from oracles.problem.grid import WeightGrid

ROUNDED = 1 + 1e-9


def concentration(m, size, delta):
    mean = min(math.sqrt(m), math.sqrt(2 * math.log(size)))
    return mean + math.sqrt(2 * math.log(1 / delta))


def union(size, delta):
    """The normal quantile at delta / |W|, by a solver of another make."""
    with mpmath.workdps(40):
        target = mpmath.mpf(delta) / size
        low, high = mpmath.mpf(-40), mpmath.mpf(200)
        while high - low > mpmath.mpf(10) ** -20:
            middle = (low + high) / 2
            tail = mpmath.erfc(middle / mpmath.sqrt(2)) / 2
            low, high = (low, middle) if tail <= target else (middle, high)
        return float(high)


def test_a_grid_has_a_separator_for_every_value_but_the_smallest():
    grid = WeightGrid(values=((-1, 0, 1, 2), (0, 3), (5,)))
    assert thermometer_size(grid) == 3 + 1 + 0
    assert thermometer_shift_size(grid) == 2 + 1 + 0


# Where each of the three bounds is the smallest: the union bound, the chi quantile, and the
# concentration, which needs many separators, more hypotheses and a small delta.
QUANTILES = [
    (*(50, 3, 1e-6), "union"),
    (*(50, 1, 0.6), "union"),
    (*(4, 10**9, 1e-6), "chi"),
    (*(1, 2**40, 0.3), "chi"),
    (*(1000, 10**30, 1e-2), "union"),
    (*(1000, 10**30, 1e-6), "union"),
    (*(8, 2**900, 1e-3), "chi"),
]


@pytest.mark.parametrize(("m", "size", "delta", "smallest"), QUANTILES)
def test_the_quantile_is_the_smallest_of_three_bounds_rounded_up(m, size, delta, smallest):
    bounds = {
        "concentration": concentration(m, size, delta),
        "chi": float(stats.chi.isf(delta, m)),
        "union": max(0.0, union(size, delta)),
    }
    assert min(bounds, key=bounds.get) == smallest
    found = separator_quantile(m, size, delta)
    assert found == pytest.approx(bounds[smallest] * ROUNDED, rel=1e-11, abs=1e-20)
    assert found > bounds[smallest] or smallest == "union" and bounds["union"] == 0


def test_the_concentration_bound_counts_where_it_is_smallest(monkeypatch):
    """No ordinary numbers make it so: the two others are taken away."""
    monkeypatch.setattr(stats.chi, "isf", lambda delta, m: math.inf)
    monkeypatch.setattr(stats.norm, "logsf", lambda x: math.inf)
    # The union bound's search then ends where it began, at sqrt(2 ln(|W| / delta)).
    for m, size, delta in [(2, 10**30, 1e-3), (1, 10**9, 0.5), (100, 10**40, 1e-9)]:
        expected = min(concentration(m, size, delta), math.sqrt(2 * math.log(size / delta)))
        assert separator_quantile(m, size, delta) == pytest.approx(expected * ROUNDED, rel=1e-12)
    assert concentration(2, 10**30, 1e-3) < math.sqrt(2 * math.log(10**30 / 1e-3))


@pytest.mark.parametrize("shift", [0.5, 3.0])
@pytest.mark.parametrize("kappa", [0.0, 1.5, 20.0])
@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 50.0])
def test_the_deviation_is_the_root_of_its_promise_rounded_up(shift, kappa, epsilon):
    found = separator_gaussian_stddev(shift, kappa, epsilon)

    def loss(stddev):
        return (2 * shift * stddev * kappa + shift**2) / (2 * stddev**2)

    assert loss(found) <= epsilon < loss(found / (1 + 5e-9))
    with mpmath.workdps(30):
        root = shift * (kappa + mpmath.sqrt(mpmath.mpf(kappa) ** 2 + 2 * epsilon)) / (2 * epsilon)
    assert found == pytest.approx(float(root) * ROUNDED, rel=1e-13)


def test_a_root_that_rounding_put_too_low_is_raised_until_it_keeps_its_promise(monkeypatch):
    sound = math.sqrt
    monkeypatch.setattr(math, "sqrt", lambda x: sound(x) * (1 - 1e-6))
    shift, kappa, epsilon = 2.0, 3.0, 1.0
    found = separator_gaussian_stddev(shift, kappa, epsilon)
    assert (2 * shift * found * kappa + shift**2) / (2 * found**2) <= epsilon
    assert found == pytest.approx(shift * (kappa + sound(11.0)) / 2, rel=1e-8)


def test_the_published_deviation_has_no_dimension_but_the_root_of_m():
    assert published_separator_stddev(9, 0.5, math.exp(-4)) == pytest.approx(3.5 * 6 / 0.5)


@pytest.mark.parametrize("delta", [0.0, -0.5, math.nan])
def test_gaussian_noise_without_a_delta_is_refused(delta):
    with pytest.raises(CalibrationError, match="needs delta > 0"):
        require_gaussian_delta(delta)
    require_gaussian_delta(5e-324)
