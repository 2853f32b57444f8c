"""The figures that calibrations pay: exact, and never below what they bound."""

import math
from fractions import Fraction

import pytest

from opdisc.errors import CalibrationError
from opdisc.noise.lattice import (
    check_noise_fits,
    geometric_total_variation,
    largest_geometric,
    sphere_total_variation,
)

RATES = [Fraction(1, 3**20), Fraction(1, 1000), Fraction(1), Fraction(190), Fraction(10**9)]


def test_noise_fits_up_to_two_to_the_54_steps():
    check_noise_fits(2.0**54)
    check_noise_fits(0.0)
    for steps in (math.nextafter(2.0**54, math.inf), math.inf, math.nan):
        with pytest.raises(CalibrationError, match=r"below 2\*\*54 lattice steps"):
            check_noise_fits(steps)


@pytest.mark.parametrize("rate", RATES, ids=float)
@pytest.mark.parametrize("count", [1, 6])
def test_two_units_of_the_last_bit_a_digit_are_paid(rate, count):
    digits = (largest_geometric(rate) + 1).bit_length() - 1
    paid = geometric_total_variation(rate, count)
    assert paid == 2 * digits * count * 2.0**-136
    # What is needed: a unit a digit, and the cut.
    cut = math.exp(-float(rate) * 2.0**digits)
    assert count * (digits * 2.0**-136 + cut) <= paid


@pytest.mark.parametrize("rate", RATES, ids=float)
def test_digits_are_as_few_as_the_cut_allows(rate):
    largest = largest_geometric(rate)
    assert (largest + 1).bit_count() == 1
    reached = float(rate) * (largest + 1)
    assert 2 * 136 * math.log(2) <= reached <= max(4.01 * 136 * math.log(2), 2 * float(rate))


def test_noise_of_more_than_60_digits_is_refused():
    needed = Fraction(136 * math.log(2) * 1.001) / 2**59
    assert largest_geometric(needed * Fraction(1001, 1000)) == 2**60 - 1
    with pytest.raises(CalibrationError, match="fit in 60 bits, but it needs 61"):
        largest_geometric(needed * Fraction(999, 1000))
    with pytest.raises(CalibrationError, match="fit in 60 bits"):
        largest_geometric(Fraction(1, 2**2000))
    for rate in (Fraction(0), Fraction(-1)):
        with pytest.raises(CalibrationError, match="must be > 0"):
            largest_geometric(rate)


def test_a_sphere_draw_pays_three_failures_a_coordinate_and_four():
    assert sphere_total_variation(1) == 7 * 2.0**-128
    assert sphere_total_variation(10) == 34 * 2.0**-128
