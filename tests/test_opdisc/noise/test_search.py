"""The smallest noise that meets a target: from above, rounded up, and evaluated once more."""

import math

import pytest

from opdisc.errors import CalibrationError
from opdisc.noise.search import smallest_noise


@pytest.mark.parametrize("threshold", [1e-6, 0.3, 0.999, 1.0, 1.7, 2.0, 512.5])
@pytest.mark.parametrize("tolerance", [1e-3, 1e-9])
@pytest.mark.parametrize("start", [1.0, 0.01])
def test_the_level_is_just_above_the_threshold(threshold, tolerance, start):
    asked = []

    def delta(level):
        asked.append(level)
        return 1e-9 if level >= threshold else 1e-7

    found = smallest_noise(delta, 1e-8, tolerance=tolerance, start=start)
    assert threshold <= found <= threshold * (1 + tolerance) * (1 + 2e-9)
    # The last question is about what is returned, one billionth above the bisection's end.
    accepted = [level for level in asked if level >= threshold]
    assert found == asked[-1]
    assert math.isclose(found, min(accepted) * (1 + 1e-9), rel_tol=1e-12)


def test_a_delta_that_rises_again_is_not_trusted():
    levels = []

    def delta(level):
        levels.append(level)
        bisected = [one for one in levels if one >= 1.5]
        return 0.0 if level >= 1.5 and level == min(bisected) else 1.0

    found = smallest_noise(delta, 0.5, tolerance=1e-6, start=2.0)
    assert found == min(one for one in levels if one >= 1.5)


def test_the_search_gives_up_relative_to_its_start():
    # The first power of two times the start below a billionth of it is not looked at again.
    assert smallest_noise(lambda level: 0.0, 0.5, tolerance=0.1, start=8.0) == 8 * 2.0**-29
    assert smallest_noise(lambda level: 0.0, 0.5, tolerance=0.1, start=0.5) == 2.0**-30
    with pytest.raises(CalibrationError):
        smallest_noise(lambda level: float(level < 2**31), 0.5, tolerance=0.1, start=1.0)
    assert (
        smallest_noise(lambda level: float(level < 2**31), 0.5, tolerance=0.1, start=4.0) > 2**30
    )


def test_a_tolerance_is_given_by_name():
    with pytest.raises(TypeError):
        smallest_noise(lambda level: 0.0, 0.5, 0.1)


def test_ends_of_the_search():
    assert smallest_noise(lambda level: 0.0, 0.5, tolerance=0.1, start=8.0) < 8e-9 * 2
    with pytest.raises(CalibrationError, match="no finite noise"):
        smallest_noise(lambda level: 1.0, 0.5, tolerance=0.1)
    assert smallest_noise(lambda level: 0.5, 0.5, tolerance=0.1) < 1e-8
    assert smallest_noise(lambda level: float(level < 5e8), 0.5, tolerance=0.1) >= 5e8
