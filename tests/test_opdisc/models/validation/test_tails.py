"""The reach of a sum of noisy counts, against sums that are listed or convolved one by one."""

import itertools
import math

import numpy as np
import pytest

from opdisc.models.validation.tails import laplace_tail, reach


def one_cell(rate, ends):
    """Return the law of one cell by its definition, on -ends .. ends."""
    weights = np.exp(-rate * np.abs(np.arange(-ends, ends + 1)))
    return weights / weights.sum()


def tail_by_hand(law, cells, t):
    """Return P(|sum| > t), each convolution a double sum."""
    whole = law
    for _ in range(cells - 1):
        whole = np.convolve(whole, law)
    middle = len(whole) // 2
    return 1 - whole[middle - t : middle + t + 1].sum()


@pytest.mark.parametrize("rate", [0.05, 0.3, 1.0, 4.0])
@pytest.mark.parametrize("cells", [1, 2, 3, 5])
@pytest.mark.parametrize("missed", [0.05, 0.025, 0.001])
def test_the_reach_is_the_least_that_keeps_its_level(rate, cells, missed):
    law = one_cell(rate, int(45 / rate) + 2)
    t = reach(cells, rate, missed)
    assert tail_by_hand(law, cells, t) <= missed
    assert t == 0 or tail_by_hand(law, cells, t - 1) > missed


def test_the_smallest_sums_are_listed_outcome_by_outcome():
    rate, ends = 1.5, 14
    law = dict(zip(range(-ends, ends + 1), one_cell(rate, ends), strict=True))
    t = reach(2, rate, 0.05)
    beyond = [
        sum(law[a] * law[b] for a, b in itertools.product(law, law) if abs(a + b) > most)
        for most in (t, t - 1)
    ]
    assert beyond[0] <= 0.05 < beyond[1]


@pytest.mark.parametrize("cells", [1, 2, 7, 60])
def test_wide_noise_is_bounded_from_above_by_a_few_rows(cells):
    """Beyond scale 1,000 the reach is that of real noise and one row for each cell more."""
    rate = 1 / 1_000.5
    wide = reach(cells, rate, 0.05)
    near = reach(cells, 1 / 999.5, 0.05)
    # The exact reach grows with the scale, by less than 0.2%.
    assert near < wide <= 1.002 * near + 2 * cells + 2


@pytest.mark.parametrize("cells", [1, 2, 3, 8])
def test_the_tail_of_real_noise_is_that_of_a_fine_lattice(cells):
    rate = 0.01
    law = one_cell(rate, 4_000)
    for t in (30, 150, 400):
        assert laplace_tail(cells, rate * t) == pytest.approx(
            tail_by_hand(law, cells, t), abs=0.01
        )
    assert laplace_tail(cells, 0.0) == pytest.approx(1.0)


def test_no_cell_has_no_noise_and_extreme_noise_has_a_reach():
    assert reach(0, 1.0, 0.05) == 0
    assert reach(60, 1e6, 0.0001) == 0
    assert reach(1, 1e-12, 0.05) == pytest.approx(math.log(20) * 1e12, rel=1e-6)


def test_a_normal_approximation_would_be_caught():
    """A single cell: the normal quantile of the same variance misses more than it states."""
    rate, missed = 0.05, 0.001
    stddev = math.sqrt(2 * math.exp(-rate)) / (1 - math.exp(-rate))
    assert tail_by_hand(one_cell(rate, 900), 1, int(3.29 * stddev)) > 3 * missed
