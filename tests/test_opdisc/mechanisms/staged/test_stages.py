"""The stages of a release: functions of public numbers, with bounded work and room to add up."""

import itertools
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from opdisc.errors import CalibrationError
from opdisc.mechanisms.staged.stages import (
    LARGEST_START,
    MOST_LATER,
    automatic_bound,
    later_draws,
    plan_stages,
    stump_columns,
)
from oracles import WeightGrid
from oracles.sampling.staged.sparse_cards import SparseCards
from oracles.sampling.staged.stumps import Stumps, stump_card
from oracles.sampling.staged.work import LARGEST_TABLES, joint_work, sparse_work


def test_more_rows_or_budget_buy_more_draws_up_to_six():
    counts = [later_draws(x) for x in (None, 10, 3529, 3530, 8000, 23_000, 1e9)]
    assert counts == [0, 0, 0, 1, 2, MOST_LATER, MOST_LATER]
    assert automatic_bound(None) == automatic_bound(10) == LARGEST_START
    assert automatic_bound(1e9) == 6 * MOST_LATER


@settings(max_examples=60, deadline=None)
@given(
    n_columns=st.integers(0, 1000),
    bound=st.integers(1, 40),
    n_rows=st.integers(1, 100_000),
    epsilon=st.floats(1e-3, 1e3),
    patience=st.floats(1.0, 60.0),
)
def test_any_table_gets_stages_within_the_work(n_columns, bound, n_rows, epsilon, patience):
    grid = WeightGrid.box(1 + n_columns, bound)
    stages = plan_stages(grid, n_rows * epsilon, n_rows, patience=patience, stump=False)
    assert 0 < stages.first_share <= 1 and (stages.later == 0) == (stages.first_share == 1)
    cards = stages.first
    if cards.most > 1:
        low, high = cards.starts[0]
        assert sparse_work(n_columns, cards.most, high - low + 1, n_rows) <= patience
    if stages.directions > 1:
        seconds, entries = joint_work(stages.directions, stages.together, 3, n_rows)
        assert stages.later * seconds <= patience and entries <= LARGEST_TABLES
    # The largest first card, scaled, keeps to the ranges, and the largest sum to the grid.
    for low, high in stages.ranges:
        assert low <= 0 <= high
    start = stages.ranges[0]
    for low, high in cards.starts:
        assert start[0] <= stages.scale * low <= stages.scale * high <= start[1]
    for j, (low, high) in enumerate(stages.ranges):
        lost = stages.summed // 2 if j == 0 else 0
        assert stages.summed * high <= bound and stages.summed * low - lost >= -bound


def test_signs_and_budgets_are_kept():
    grid = WeightGrid(values=((-3, -2, -1, 0, 1, 2, 3), (0, 1), (-1, 0), (0,)))
    stages = plan_stages(grid, 10.0, 100)
    assert stages.first.signs == ((1,), (-1,), ())
    assert stages.first.most == 2
    budget = plan_stages(WeightGrid.box(9, 1, norm_budget=3), 1e9, 100)
    assert budget.later == 0
    assert budget.first.starts == ((-1, 1), (-1, 1), (-1, 1), (0, 0))


@pytest.mark.parametrize(("n_columns", "starts"), [(18, (-1, 2)), (19, (-2, 3)), (60, (-2, 3))])
@pytest.mark.parametrize("weight", [100.0, 5000.0, None])
def test_the_answers_the_other_way_round_are_candidates_too(n_columns, starts, weight):
    # The start of the opposite card is 1 less this card's: predictions are "+" from a score of 1.
    stages = plan_stages(WeightGrid.box(1 + n_columns, 36), weight, 700)
    starts = (-2, 3) if stages.later else starts
    assert {1 - low for low, _ in stages.first.starts} == {high for _, high in stages.first.starts}
    assert stages.first.starts[0] == starts


@settings(max_examples=40, deadline=None)
@given(n_columns=st.integers(1, 60), bound=st.integers(1, 9), n_rows=st.integers(1, 5000))
def test_every_card_of_a_stump_belongs_to_the_grid(n_columns, bound, n_rows):
    grid = WeightGrid.box(1 + n_columns, bound)
    stages = plan_stages(grid, 14.9, n_rows)
    assert isinstance(stages.first, Stumps) and stages.later == 0 and stages.summed == 1
    assert stages.first.columns == tuple(range(n_columns))
    for answers in itertools.product((False, True), repeat=2):
        assert grid.contains(stump_card(n_columns, n_columns - 1, answers))
    assert isinstance(plan_stages(grid, 15.0, n_rows).first, SparseCards)


def test_no_stump_where_its_cards_are_missing():
    one_sided = WeightGrid(values=((-3, -2, -1, 0, 1, 2, 3), (0, 1), (-1, 0, 1), (0,)))
    assert stump_columns(one_sided) == (1,)
    never_positive = WeightGrid(values=((-2, -1, 0), (-1, 0, 1)))
    one_point = WeightGrid.box(9, 1, norm_budget=1)
    for grid in (never_positive, one_point, WeightGrid.box(1, 3)):
        assert isinstance(plan_stages(grid, 1.0, 100).first, SparseCards)
    assert isinstance(plan_stages(WeightGrid.box(9, 1, norm_budget=2), 1.0, 9).first, Stumps)


def test_a_grid_without_zero_or_with_gaps_is_refused():
    for values in (((1,), (-1, 1)), ((0, 1), (-1, 1)), ((0, 1), (1, 2))):
        with pytest.raises(CalibrationError, match="intervals of integers with 0 among them"):
            plan_stages(WeightGrid(values=values), 10.0, 100)


def test_single_columns_where_three_draws_reach_all_of_them():
    # adult_binary's 36 columns and 22,792 rows at epsilon .25, .5 and 1; twice as many columns.
    found = [plan_stages(WeightGrid.box(37, 36), 22_792 * e, 22_792) for e in (0.25, 0.5, 1.0)]
    assert [(s.later, s.together) for s in found] == [(1, 1), (3, 1), (6, 1)]
    assert all(12 <= s.directions <= 18 for s in found)
    assert plan_stages(WeightGrid.box(73, 36), 22_792.0, 22_792).together > 1


@pytest.mark.parametrize(
    ("n_columns", "weight", "growth", "said"),
    [
        (18, 100.0, 2, "weighs twice the one before"),
        (19, 100.0, 1, "weighs the same"),
        (19, 199.0, 1, "weighs the same"),
        (19, 200.0, 2, "weighs twice the one before"),
        (19, 4000.0, 2, "weighs twice the one before"),  # other draws follow
    ],
)
def test_numbers_of_points_weigh_the_same_where_columns_are_many_and_rows_few(
    n_columns, weight, growth, said
):
    stages = plan_stages(WeightGrid.box(1 + n_columns, 6), weight, 4000)
    shares = tuple(growth**size for size in range(stages.first.most + 1))
    assert stages.first.shares == shares and said in stages.describe() and len(shares) > 4
    # Whatever the shares, one card of each size weighs its size's share over their number.
    for share, count, factor in zip(
        shares, stages.first.counts, stages.first.factors, strict=True
    ):
        assert Fraction(factor * count, stages.first.factors[0] * stages.first.counts[0]) == share
    uniform = plan_stages(WeightGrid.box(1 + n_columns, 6), weight, 4000, by_levels=False)
    assert uniform.first.shares is None and "weighs" not in uniform.describe()


def test_a_first_draw_of_constant_cards_alone_names_no_masses():
    grid = WeightGrid.box(20, 1, norm_budget=0)
    assert "weighs" not in plan_stages(grid, 100.0, 4000).describe()


def test_the_receipt_lists_every_stage():
    grid = WeightGrid.box(37, 18)
    text = plan_stages(grid, 11_000.0, 11_000).describe()
    assert "1. scorecards of at most" in text and "weighs twice the one before" in text
    assert "2. to 4. each joint steps" in text and "released: the sum of the last 3" in text
    assert "columns, all in turn in random order, and of the start by -1..1" in text
    many = plan_stages(WeightGrid.box(101, 18), 11_000.0, 11_000).describe()
    assert "random directions of at most 3 columns" in many
    one = plan_stages(grid, 100.0, 11_000, by_levels=False).describe()
    assert "; 2." not in one and "equal weight" not in one and one.endswith("1 of epsilon")
    fixed = plan_stages(grid, None, None, later=1, first_share=Fraction(1, 4))
    assert fixed.first_share == Fraction(1, 4) and "0.75 of epsilon" in fixed.describe()
