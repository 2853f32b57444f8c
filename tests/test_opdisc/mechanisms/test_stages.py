"""What staged draws draw from: functions of public numbers, with bounded work."""

import itertools
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from opdisc.errors import CalibrationError
from opdisc.mechanisms.stages import plan_stages, stump_columns
from oracles import WeightGrid
from oracles.sampling.sparse_cards import SparseCards
from oracles.sampling.staged_work import sparse_work
from oracles.sampling.stumps import Stumps, stump_card


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
    cards = plan_stages(grid, n_rows * epsilon, n_rows, patience=patience, stump=False).first
    if cards.most > 1:
        low, high = cards.starts[0]
        assert sparse_work(n_columns, cards.most, high - low + 1, n_rows) <= patience
    for low, high in cards.starts:
        assert -bound <= low <= 0 <= high <= bound


def test_signs_and_budgets_are_kept():
    grid = WeightGrid(values=((-3, -2, -1, 0, 1, 2, 3), (0, 1), (-1, 0), (0,)))
    stages = plan_stages(grid, 10.0, 100)
    assert stages.first.signs == ((1,), (-1,), ())
    assert stages.first.most == 2
    budget = plan_stages(WeightGrid.box(9, 1, norm_budget=3), 1e9, 100)
    assert budget.first.starts == ((-1, 1), (-1, 1), (-1, 1), (0, 0))


@pytest.mark.parametrize(("n_columns", "starts"), [(18, (-1, 2)), (19, (-2, 3)), (60, (-2, 3))])
@pytest.mark.parametrize("weight", [100.0, 5000.0, None])
def test_the_answers_the_other_way_round_are_candidates_too(n_columns, starts, weight):
    # The start of the opposite card is 1 less this card's: predictions are "+" from a score of 1.
    stages = plan_stages(WeightGrid.box(1 + n_columns, 36), weight, 700)
    assert {1 - low for low, _ in stages.first.starts} == {high for _, high in stages.first.starts}
    assert stages.first.starts[0] == starts


@settings(max_examples=40, deadline=None)
@given(n_columns=st.integers(1, 60), bound=st.integers(1, 9), n_rows=st.integers(1, 5000))
def test_every_card_of_a_stump_belongs_to_the_grid(n_columns, bound, n_rows):
    grid = WeightGrid.box(1 + n_columns, bound)
    stages = plan_stages(grid, 14.9, n_rows)
    assert isinstance(stages.first, Stumps) and stages.needed_bound == 1
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


@pytest.mark.parametrize(
    ("n_columns", "weight", "growth", "said"),
    [
        (18, 100.0, 2, "weighs twice the one before"),
        (19, 100.0, 1, "weighs the same"),
        (19, 199.0, 1, "weighs the same"),
        (19, 200.0, 2, "weighs twice the one before"),
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


def test_a_draw_of_constant_cards_alone_names_no_masses():
    grid = WeightGrid.box(20, 1, norm_budget=0)
    assert "weighs" not in plan_stages(grid, 100.0, 4000).describe()


def test_the_receipt_says_what_is_drawn_from():
    grid = WeightGrid.box(37, 18)
    text = plan_stages(grid, 11_000.0, 11_000).describe()
    assert "1. scorecards of at most" in text and "weighs twice the one before" in text
    plain = plan_stages(grid, 11_000.0, 11_000, by_levels=False).describe()
    assert "weighs" not in plain and plain.endswith("1 of epsilon")
