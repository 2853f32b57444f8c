"""Intervals of a validation: their coverage over all noise that counts, and their formulas."""

import itertools
import math

import msgspec
import numpy as np
import pytest
from helpers.opdisc.validated import made_card, made_rows

from opdisc.mechanisms import validate_card
from opdisc.models.validation.figures import NoisySum, share
from opdisc.models.validation.shift import FLOOR, shift_between

RATE = 1.0
NOISE = range(-14, 15)
LAW = {k: math.exp(-RATE * abs(k)) for k in NOISE}
WHOLE = sum(LAW.values())


def chance(*noise):
    return math.prod(LAW[k] / WHOLE for k in noise)


def in_figure(value, figure):
    return figure.low - 1e-12 <= value <= figure.high + 1e-12


def noisy(value, cells=1, most=None):
    return NoisySum(value=value, cells=cells, rate=RATE, most=most)


@pytest.mark.parametrize("rows", [0, 1, 7])
@pytest.mark.parametrize("most", [None, 7])
def test_a_count_of_two_cells_is_covered_over_all_noise(rows, most):
    """Enumerated: 29 x 29 outcomes of the noise; what lies beyond has mass below 1e-5."""
    covered = sum(
        chance(a, b)
        for a, b in itertools.product(NOISE, NOISE)
        if in_figure(rows, noisy(rows + a + b, 2, most).figure())
    )
    assert covered >= 0.95 - 1e-5


@pytest.mark.parametrize(("part", "rest"), [(0, 0), (0, 3), (4, 1), (30, 90), (5, 0)])
def test_a_share_is_covered_over_all_noise(part, rest):
    true = part / (part + rest) if part + rest else 0.5
    covered = sum(
        chance(a, b)
        for a, b in itertools.product(NOISE, NOISE)
        if in_figure(true, share(noisy(part + a), noisy(rest + b)))
    )
    assert covered >= 0.95 - 1e-5


def test_half_the_reach_would_be_caught():
    """The same enumeration refutes an interval that is half as wide."""
    covered = 0.0
    for a, b in itertools.product(NOISE, NOISE):
        figure = share(noisy(30 + a), noisy(90 + b))
        middle, half = figure.estimate, (figure.high - figure.low) / 4
        covered += chance(a, b) * (abs(0.25 - middle) <= half)
    assert covered < 0.95


def test_an_estimate_lies_in_its_interval_and_an_empty_one_knows_nothing():
    for a, b in itertools.product(range(-5, 6), repeat=2):
        figure = share(noisy(a), noisy(b))
        assert 0 <= figure.low <= figure.estimate <= figure.high <= 1
    assert share(noisy(-9), noisy(-9)).high == 1.0


def test_the_shift_holds_every_pair_of_tables_that_the_counts_allow():
    """Brute force: gap and index of random tables within the bounds stay in their intervals."""
    card = made_card()
    first = validate_card(card, made_rows(300, 1), epsilon=3.0, random_state=1)
    second = validate_card(card, made_rows(300, 2), epsilon=3.0, since=first, random_state=2)
    shift = shift_between(first, second)
    rng = np.random.default_rng(0)
    for _ in range(300):
        # Each cell moved by at most one row: far inside of all bounds.
        tables = [
            np.maximum([g.negatives + g.positives + rng.integers(-1, 2) for g in report.groups], 0)
            for report in (first, second)
        ]
        p, q = (table / table.sum() for table in tables)
        assert in_figure(np.abs(np.cumsum(p) - np.cumsum(q)).max(), shift.difference)
        p, q = np.maximum(p, FLOOR), np.maximum(q, FLOOR)
        assert in_figure(((p - q) * np.log(p / q)).sum(), shift.index)


def test_a_table_beside_itself_has_not_moved():
    report = validate_card(made_card(), made_rows(300, 1), epsilon=3.0, random_state=1)
    shift = shift_between(report, report)
    assert not shift.moved and shift.difference.low == shift.difference.estimate == 0
    assert shift.index.low == shift.index.estimate == 0 and shift.index.high < math.inf


def test_one_group_cannot_move():
    report = validate_card(made_card(), made_rows(300, 1), epsilon=3.0, random_state=1)
    group = msgspec.structs.replace(report.groups[0], highest=report.groups[-1].highest)
    receipt = msgspec.structs.replace(report.receipt, counts=2)
    one = msgspec.structs.replace(report, groups=(group,), receipt=receipt)
    shift = shift_between(one, one)
    assert not shift.moved and shift.difference.high == 0 and shift.index.high == 0
