"""The counts of a risk table: their law, their sensitivity, their groups, what is made of them.

Statistical tests compare a p-value with ``ALARM``, so each p-value fails a right sampler with that
probability at most; the seeds are fixed.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from opdisc.errors import CalibrationError
from opdisc.mechanisms.composition.risks import calibrate_risks, charge_with_risks, noisy_counts
from opdisc.mechanisms.permute_and_flip import PermuteAndFlipMechanism
from opdisc.mechanisms.run import prepare_mechanism
from opdisc.models.risk_table import fitted_risks
from opdisc.models.totals import bin_totals, count_by_bin, possible_totals
from opdisc.privacy.entropy import SeededEntropy
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from opdisc.privacy.public import GridPublic, PublicInputs
from opdisc.tuned import MOST_BINS
from oracles.problem import ColumnGroup, WeightGrid, ZeroOneProblem

ALARM = 1e-7
REPLACE, ADD = NeighboringRelation.REPLACE_ONE, NeighboringRelation.ADD_OR_REMOVE_ONE


def inputs(epsilon=1.0, relation=REPLACE, **facts):
    return PublicInputs(
        params=PrivacyParams(epsilon=epsilon, delta=0.0), relation=relation, **facts
    )


# --- the law -------------------------------------------------------------------------------------


def released_counts(positives, negatives, draws, *, epsilon=2.0, share=0.5, relation=REPLACE):
    """Return released counts of a table of two totals, whichever of two cards is drawn."""
    grid = WeightGrid(values=((0,), (1, 2)))
    problem = ZeroOneProblem(
        points=np.array([[1, 0], [1, 1]]),
        positives=np.array(positives),
        negatives=np.array(negatives),
        grid=grid,
    )
    facts = {"relation": relation, "n_rows": 40 if relation is REPLACE else None}
    spec = calibrate_risks(inputs(epsilon, **facts), share)
    public = GridPublic(
        params=PrivacyParams(epsilon=spec.card_epsilon, delta=0.0), grid=grid, **facts
    )
    entropy = SeededEntropy(7)
    prepared = prepare_mechanism(
        PermuteAndFlipMechanism(), problem, public, entropy=entropy, counts_rows=True
    )
    found = [
        charge_with_risks(prepared, problem, spec, (group(1),)).run(None) for _ in range(draws)
    ]
    assert {release.bins for release in found} == {((0, 0), (1, 1)), ((0, 0), (2, 2))}
    return spec, np.array([release.counts.ravel() for release in found])


def group(*columns, kind="free"):
    return ColumnGroup(columns=columns, kind=kind)


def p_value(values, centre, rate):
    """Chi-square p-value of counts against ``P[k] ~ exp(-rate |k - centre|)``."""
    q = math.exp(-rate)
    support = np.arange(-12, 13)
    mass = (1 - q) / (1 + q) * q ** np.abs(support)
    mass[0] = mass[-1] = q**12 / (1 + q)  # the tails
    observed = np.bincount(np.clip(values - centre, -12, 12) + 12, minlength=25)
    kept = mass * len(values) >= 20
    observed = np.append(observed[kept], observed[~kept].sum())
    expected = np.append(mass[kept], mass[~kept].sum()) * len(values)
    return stats.chisquare(observed, expected * len(values) / expected.sum()).pvalue


@pytest.mark.statistical
@pytest.mark.parametrize("relation", [REPLACE, ADD])
def test_released_counts_follow_the_law_that_their_epsilon_pays_for(relation):
    """Twice 4 p-values: a right sampler fails with probability at most 8e-7."""
    spec, counts = released_counts([3, 9], [20, 8], 1_200, relation=relation)
    # Negatives first. Replace-one moves two counts by 1 each, so its noise is twice as wide.
    assert spec.rate == Fraction(1, 2 if relation is REPLACE else 1)
    for cell, exact in enumerate((20, 8, 3, 9)):
        assert p_value(counts[:, cell], exact, float(spec.rate)) > ALARM
        # The detector tells noise for another relation apart.
        assert p_value(counts[:, cell], exact, 2 * float(spec.rate)) < ALARM
        assert p_value(counts[:, cell], exact + 1, float(spec.rate)) < ALARM


def test_the_worst_replaced_row_costs_the_epsilon_of_the_counts_and_no_more():
    """Exactly, from the law: the log ratio of every outcome on all neighbours of a small table."""
    spec = calibrate_risks(inputs(1.0, n_rows=3), 0.2)
    cells = list(itertools.product((0, 1), range(3)))  # label, group

    def histogram(rows):
        return np.array([[rows.count((label, k)) for k in range(3)] for label in (0, 1)])

    worst = 0
    for rows in itertools.combinations_with_replacement(cells, 3):
        for replaced, row in itertools.product(range(3), cells):
            other = [*rows[:replaced], row, *rows[replaced + 1 :]]
            distance = int(np.abs(histogram(list(rows)) - histogram(other)).sum())
            worst = max(worst, distance)
    # sup over outcomes of |log P - log P'| is rate times the distance in the sum of differences.
    assert worst == spec.sensitivity == 2
    assert spec.rate * worst == Fraction(spec.epsilon)


@pytest.mark.parametrize(("relation", "moved"), [(REPLACE, 2), (ADD, 1)])
@pytest.mark.parametrize("rows_per_unit", [1, 4])
def test_the_noise_grows_with_the_unit(relation, moved, rows_per_unit):
    spec = calibrate_risks(inputs(relation=relation, rows_per_unit=rows_per_unit), 0.25)
    assert spec.rate == Fraction(1, 4) / (moved * rows_per_unit)
    assert spec.scale == pytest.approx(4 * moved * rows_per_unit)
    assert spec.total_variation < 1e-30


def test_noise_without_room_is_refused():
    with pytest.raises(CalibrationError):
        calibrate_risks(inputs(epsilon=1e-14), 1e-3)


def test_the_card_must_leave_the_share():
    grid = WeightGrid(values=((0, 1),))
    problem = ZeroOneProblem(points=[[1]], positives=[1], negatives=[0], grid=grid)
    params = PrivacyParams(epsilon=1.0, delta=0.0)
    prepared = prepare_mechanism(
        PermuteAndFlipMechanism(),
        problem,
        GridPublic(params=params, relation=ADD, grid=grid),
        entropy=SeededEntropy(0),
    )
    with pytest.raises(CalibrationError, match="leave them their share"):
        charge_with_risks(prepared, problem, calibrate_risks(inputs(relation=ADD), 0.2), ())


# --- the groups ----------------------------------------------------------------------------------

points = st.integers(-4, 4)
kinds = st.sampled_from(["free", "nested", "exclusive"])
structures = st.lists(st.tuples(kinds, st.lists(points, min_size=1, max_size=3)), max_size=3)


def rows_of(kind, size):
    """Return all encoded rows that a group of columns allows."""
    every = itertools.product((0, 1), repeat=size)
    if kind == "exclusive":
        return [row for row in every if sum(row) <= 1]
    if kind == "nested":
        return [row for row in every if list(row) == sorted(row, reverse=True)]
    return list(every)


@given(start=points, groups=structures)
@settings(deadline=None, max_examples=60)
def test_possible_totals_are_those_of_some_row(start, groups):
    card, structure = [start], []
    for kind, values in groups:
        columns = tuple(range(len(card), len(card) + len(values)))
        structure.append(ColumnGroup(columns=columns, kind=kind))
        card += values
    rows = itertools.product(*(rows_of(kind, len(values)) for kind, values in groups))
    expected = {
        start + sum(p * cell for (_, values), part in zip(groups, row, strict=True)
                    for p, cell in zip(values, part, strict=True))
        for row in rows
    }  # fmt: skip
    assert possible_totals(tuple(card), structure) == sorted(expected)


@given(totals=st.sets(st.integers(-60, 60), min_size=1), most=st.integers(2, MOST_BINS))
def test_groups_hold_each_total_once_and_never_both_predictions(totals, most):
    totals = sorted(totals)
    bins = bin_totals(totals, most)
    assert 1 <= len(bins) <= most
    held = [[t for t in totals if low <= t <= high] for low, high in bins]
    assert list(itertools.chain(*held)) == totals and all(held)
    assert not any(low < 1 <= high for low, high in bins)
    if len(totals) <= most:
        assert bins == tuple((t, t) for t in totals)


def test_rows_are_counted_in_their_group():
    bins = ((-3, -1), (0, 0), (2, 5))
    totals = np.array([-3, -1, 0, 2, 3, 5])
    counts = count_by_bin(totals, np.array([1, 2, 3, 4, 5, 6]), np.array([10] * 6), bins)
    assert counts.tolist() == [[20, 10, 30], [3, 3, 15]]


# --- what is made of the counts ------------------------------------------------------------------

count = st.integers(-50, 500)
noisy = st.lists(st.tuples(count, count), min_size=1, max_size=12)


@given(pairs=noisy, scale=st.sampled_from([1e-6, 0.3, 10.0, 1e5]))
def test_any_counts_make_rates_that_never_fall(pairs, scale):
    bins = tuple((k, k) for k in range(len(pairs)))
    table = fitted_risks(bins, np.array(pairs).T, scale)
    rates = table.rates(np.arange(len(pairs)))
    assert np.all(np.diff(rates) >= 0) and np.all((rates >= 0) & (rates <= 1))
    assert (table.rows[0].lowest, table.rows[-1].highest) == (0, len(pairs) - 1)
    assert all(row.low <= row.rate <= row.high for row in table.rows)


def test_pooling_by_hand():
    # Nearly no noise: one row of the overall rate, 0.5 here, is mixed in.
    table = fitted_risks(((-1, -1), (0, 0), (1, 1)), np.array([[1, 19, 20], [19, 1, 20]]), 1e-9)
    # The rates of the first two, 19.5/21 and 1.5/21, fall: together 21/42, as the third.
    assert [(row.lowest, row.highest) for row in table.rows] == [(-1, 1)]
    assert table.rates([-5, 7]).tolist() == pytest.approx([0.5, 0.5])
    table = fitted_risks(((-1, -1), (0, 0), (1, 1)), np.array([[19, 30, 0], [1, 0, 20]]), 1e-9)
    # Overall 22/72; the first two are 1.31/21 and 0.31/31, together 1.61/52; the last 20.31/21.
    overall = 22 / 72
    assert [row.rate for row in table.rows] == pytest.approx(
        [(1 + 2 * overall) / 52, (20 + overall) / 21]
    )


def test_an_interval_holds_the_share_as_often_as_it_says():
    """4,000 draws: fewer than 94% happen with probability below 1e-2 if 95% hold; seeded."""
    exact, rate = np.array([[300], [100]]), Fraction(1, 10)
    spec = calibrate_risks(inputs(1.0), 0.2)
    assert spec.rate == pytest.approx(rate)
    seen = noisy_counts(np.repeat(exact, 4_000, axis=1), spec.rate, SeededEntropy(5))
    rows = [
        fitted_risks(((0, 0),), seen[:, [k]], spec.scale).rows[0] for k in range(seen.shape[1])
    ]
    assert np.mean([row.low <= 0.25 <= row.high for row in rows]) > 0.94
    assert np.mean([row.high - row.low for row in rows]) < 0.25
