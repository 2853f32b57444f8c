"""How many binary digits a geometric variable has: enough, and not one too many."""

from fractions import Fraction

import mpmath
import pytest

from opdisc.errors import CalibrationError
from opdisc.noise.lattice import THRESHOLD_BITS, _digits, geometric_total_variation

RATES = [Fraction(n, d) for n in (1, 2, 3, 5, 7, 11, 13) for d in (1, 8, 90, 1 << 20, 10**9)]


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_the_cut_is_far_enough_and_no_farther(rate: Fraction) -> None:
    needed = mpmath.mpf(THRESHOLD_BITS) * mpmath.log(2)
    reach = mpmath.mpf(rate.numerator) / rate.denominator * 2 ** _digits(rate)
    assert needed < reach
    if _digits(rate) > 1:
        assert reach / 4 <= needed * mpmath.mpf("1.0011")


def test_rates_without_a_law_are_refused() -> None:
    for rate in (Fraction(0), Fraction(-1, 2)):
        with pytest.raises(CalibrationError, match="decay rate must be > 0"):
            _digits(rate)
    # 60 digits fit, 61 do not.
    edge = Fraction(float(THRESHOLD_BITS * mpmath.log(2) * 1.001)) / 2**59
    assert _digits(edge * Fraction(1001, 1000)) == 60
    with pytest.raises(CalibrationError, match="must fit in 60 bits, but it needs 61"):
        _digits(edge * Fraction(999, 1000))


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_the_stated_distance_is_the_formula(rate: Fraction) -> None:
    digits = _digits(rate)
    one = geometric_total_variation(rate, 1)
    assert one == pytest.approx(2 * digits * 2.0**-136, rel=0.2)
    assert one >= 2 * digits * 2.0**-136
    assert geometric_total_variation(rate, 7) == pytest.approx(7 * one)
