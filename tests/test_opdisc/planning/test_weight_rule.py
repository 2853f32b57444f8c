"""Automatic bounds and fall-backs: functions of public numbers, said on the receipt."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from opdisc import OPDiscClassifier, PrivateScorecardClassifier, RSPMClassifier
from opdisc.calibration.margins import harmonic_number
from opdisc.data import COLUMNS_UNSEEN, LABELS_PUBLIC, Schema
from opdisc.errors import CalibrationError
from opdisc.mechanisms.base_measure import BaseMeasure
from opdisc.mechanisms.exponential import ExponentialMechanism
from opdisc.mechanisms.objective_perturbation import BlockOneHotMechanism
from opdisc.mechanisms.permute_and_flip import PermuteAndFlipMechanism
from opdisc.planning.blocks import searchable_blocks
from opdisc.planning.choice import (
    BeyondReach,
    MechanismSettings,
    _takes_few_points,
    choose_mechanism,
)
from opdisc.planning.plan import plan_fit
from opdisc.planning.request import CardRequest
from opdisc.planning.utility import predict_error
from opdisc.planning.weight_rule import settle_fit
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from opdisc.privacy.public import GridPublic, PublicInputs
from opdisc.tuned import AFFORDABLE_GROWTH, LARGEST_SEARCHED_BLOCK
from oracles import WeightGrid
from oracles.problem import ENUMERATION_LIMIT
from oracles.sampling import MOST_LEVELS


def public(grid, epsilon=1.0, n_rows=1000, delta=0.0) -> GridPublic:
    return GridPublic(
        params=PrivacyParams(epsilon=epsilon, delta=delta),
        relation=NeighboringRelation.REPLACE_ONE,
        grid=grid,
        n_rows=n_rows,
    )


def facts(epsilon=1.0, n_rows=1000):
    hidden = n_rows is None
    return PublicInputs(
        params=PrivacyParams(epsilon=epsilon, delta=0.0),
        relation=NeighboringRelation[f"{'ADD_OR_REMOVE' if hidden else 'REPLACE'}_ONE"],
        n_rows=n_rows,
    )


def settled(d, epsilon=1.0, n_rows=1000, bound=None, name="auto", settings=None):
    request = CardRequest(
        schema=Schema.equal_width(d - 1),
        mechanism=name,
        bound=bound,
        settings=settings or MechanismSettings(),
    )
    return settle_fit(request, facts(epsilon, n_rows))


@pytest.mark.parametrize(
    "mechanism", [PermuteAndFlipMechanism(), BlockOneHotMechanism(blocks=((0, 1), (2,), (3,)))]
)
def test_the_closed_form_of_the_mean_is_that_of_the_simulation(mechanism):
    inputs = public(WeightGrid.box(4, 1), n_rows=None)
    found = mechanism.calibrate(inputs).expected_excess(inputs.grid)
    assert found == pytest.approx(
        predict_error(mechanism, inputs, simulations=100_000).mean, rel=0.03
    )
    exact = math.fsum(1 / k for k in range(1, 20_001))
    assert 0 <= harmonic_number(20_000) - exact < 1e-9
    assert harmonic_number(1000) == pytest.approx(
        math.fsum(1 / k for k in range(1, 1001)), abs=1e-8
    )


def test_a_budget_counts_the_hypotheses_that_remain():
    inputs = public(WeightGrid.box(6, 1, norm_budget=1), n_rows=None)
    beta = 0.5
    spec = ExponentialMechanism().calibrate(inputs)
    assert spec.expected_excess(inputs.grid) == pytest.approx(math.log(13) / beta)
    permuted = PermuteAndFlipMechanism().calibrate(inputs).expected_excess(inputs.grid)
    assert permuted == pytest.approx(2 * (1 + 2.0**-11) * (harmonic_number(13) - 1), abs=0.01)


def test_the_bound_grows_with_the_rows_and_stops_where_the_errors_would_grow():
    # Permute-and-flip over 3^8 and 5^8: the predicted mean grows by 16 ln(5/3) / eps = 8.2 rows.
    assert settled(8, 1.0, 400).bound == 1  # 2% are 8 rows
    assert settled(8, 1.0, 420).bound == 2
    assert settled(8, 1.0, 100_000).bound == 5
    assert settled(8, 0.1, 420).bound == 1
    reason = str(settled(8, 1.0, 420).reason)
    assert "weights -2..2" in reason and "at most 2% of the rows (by 1.9%)" in reason


@pytest.mark.parametrize(("n_rows", "epsilon"), [(500, 0.3), (5000, 0.1), (900, 2.0)])
def test_the_chosen_bound_is_the_largest_that_keeps_the_rule(n_rows, epsilon):
    chosen = settled(7, epsilon, n_rows)
    means = {}
    for bound in range(1, 6):
        fit = settled(7, epsilon, n_rows, bound)
        means[bound] = fit.mechanism.calibrate(fit.public).expected_excess(fit.public.grid)
    kept = [b for b in means if means[b] - means[1] <= AFFORDABLE_GROWTH * n_rows]
    assert chosen.bound == max(kept)


def test_without_a_public_number_of_rows_points_stay_small():
    fit = settled(3, n_rows=None)
    assert fit.bound == 1 and "public number of rows" in str(fit.reason)


@pytest.mark.parametrize("name", ["exponential", "permute_and_flip"])
def test_the_rule_applies_to_a_named_draw_too(name):
    assert settled(4, 0.01, 100, name=name).bound == 1
    assert settled(4, 10.0, 1_000_000, name=name).bound == 5


@pytest.mark.parametrize("name", ["one_hot", "opdisc", "rspm", "block_one_hot"])
def test_where_an_oracle_searches_points_stay_small(name):
    fit = settled(4, 10.0, 1_000_000, name=name)
    assert fit.bound == 1 and "make the exact search harder" in str(fit.reason)


def test_larger_points_only_where_the_time_hardly_depends_on_the_rows():
    assert settled(8, 10.0, 1_000_000).bound == 5  # 11^8: by lazy noise
    assert settled(8, 10.0, 1_000_000).mechanism.name == "permute_and_flip"
    assert settled(8, 10.0, 1_000_000, name="exponential").bound == 3  # 7^8 can be listed
    assert settled(11, 10.0, 1_000_000).bound == 2  # 7^11 is too many
    assert settled(14, 10.0, 1_000_000).bound == 1


@pytest.mark.parametrize(("d", "epsilon", "bound"), [(4, 0.1, 1), (4, 10.0, 5), (8, 0.5, 2)])
def test_listed_cards_have_their_opposites_in_the_grid(d, epsilon, bound):
    fit = settled(d, epsilon, 1000)
    assert fit.bound == bound and fit.mechanism.name == "permute_and_flip"
    starts, *points = fit.public.grid.values
    assert starts == tuple(range(-bound, bound + 2))
    assert set(points) == {tuple(range(-bound, bound + 1))}
    assert "which answer is called positive" in str(fit.reason)
    # By brute force: every row gets the other answer from a score of 1 - s.
    rows = np.array(list(itertools.product((0, 1), repeat=d - 1)))
    card = np.array([1 - bound, *[1, -1, 0, bound, -1, 1, 1][: d - 1]])
    contrary = np.array([1 - card[0], *-card[1:]])
    assert fit.public.grid.contains(card) and fit.public.grid.contains(contrary)
    says = [w[0] + rows @ w[1:] >= 1 for w in (card, contrary)]
    assert (says[0] != says[1]).all()


def test_named_bounds_and_grids_too_large_for_more_starts_stay_as_they_are():
    assert settled(4, 0.1, 1000, 1).public.grid == WeightGrid.box(4, 1)
    assert settled(8, 10.0, 1_000_000).public.grid == WeightGrid.box(8, 5)
    assert settled(4, 10.0, 1000, name="one_hot").public.grid == WeightGrid.box(4, 1)


# --- the frontier --------------------------------------------------------------------------------


def test_beyond_the_frontier_a_base_measure_is_refused_and_the_frontier_named():
    wide = public(WeightGrid.box(60, 1))
    sparse = BaseMeasure(penalty=1.0)
    said = r"combinations at epsilon 1, of which up to 10,000,000 are listed.*max_nonzero"
    with pytest.raises(BeyondReach, match=said):
        choose_mechanism(wide.grid, (), wide, base_measure=sparse)
    with pytest.raises(BeyondReach, match="combinations, of which"):  # no budget is known
        choose_mechanism(wide.grid, (), base_measure=sparse)


def test_beyond_the_frontier_a_base_measure_takes_sparse_scorecards_and_says_so():
    settings = MechanismSettings(base_measure=BaseMeasure(penalty=1.0))
    fit = settled(60, bound=1, settings=settings)
    assert fit.mechanism.name == "exponential" and fit.public.grid.norm_budget == 4
    assert "at most 4 weights other than 0" in str(fit.reason)
    # One more would not be listed.
    assert WeightGrid.box(60, 1, norm_budget=5).n_hypotheses > 10_000_000


@pytest.mark.parametrize("n_rows", [1000, 4000, 50_000])
def test_beyond_the_frontier_cards_of_few_points_are_drawn_and_have_room(n_rows):
    fit = settled(60, 1.0, n_rows)
    assert fit.mechanism.name == "staged" and fit.bound == 3
    assert "always ends" in str(fit.reason) and "has use for" in str(fit.reason)
    assert settled(60, 1.0, n_rows, 2).public.grid == WeightGrid.box(60, 2)


@pytest.mark.parametrize(
    ("values", "n_rows", "taken"),
    [
        ((-1, 0, 1), None, True),
        ((-1, 0, 1), MOST_LEVELS, True),
        ((-1, 0, 1), MOST_LEVELS + 1, False),  # a loss would have no level of its own
        ((0, 2), 1000, False),
        ((1, 2), 1000, False),
    ],
)
def test_few_points_are_drawn_from_intervals_with_0_and_from_losses_that_are_told_apart(
    values, n_rows, taken
):
    facts = public(WeightGrid(values=(values,) * 3), n_rows=n_rows)
    assert _takes_few_points(facts, BaseMeasure()) is taken


def test_where_nothing_would_end_sooner_time_is_no_reason_to_take_something_else():
    gaps = WeightGrid(values=((0, 2),) * 3)  # few points know intervals only
    assert choose_mechanism(gaps, (), public(gaps), patience=1e-9)[0] == "permute_and_flip"
    whole = WeightGrid.box(3, 1)
    assert choose_mechanism(whole, (), public(whole), patience=1e-9)[0] == "staged"


def test_as_many_cards_as_are_listed_are_not_beyond_the_frontier():
    largest = WeightGrid(values=(tuple(range(10)),) * 7)  # 10^7
    assert largest.n_assignments == ENUMERATION_LIMIT
    assert choose_mechanism(largest, base_measure=BaseMeasure(penalty=1.0))[0] == "exponential"


@pytest.mark.slow
def test_a_fit_beyond_the_frontier_ends_and_holds():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.integers(0, 2, (20, 45)), 20, axis=0)
    model = PrivateScorecardClassifier(epsilon=5.0).fit(X, X[:, 7])
    assert model.receipt_.conditions == (LABELS_PUBLIC, COLUMNS_UNSEEN)
    assert model.receipt_.mechanism == "staged"
    assert np.mean(model.predict(X) == X[:, 7]) > 0.9
    assert "staged exact draws" in model.receipt_.noise_law


def test_large_named_blocks_where_the_search_takes_them():
    # Small grids: the largest blocks. Large ones: as few blocks as keep the noise above a tenth of
    # the rows, lambda = 2 K / epsilon.
    assert len(searchable_blocks(public(WeightGrid.box(19, 1)))) == 2
    few = searchable_blocks(public(WeightGrid.box(28, 1), epsilon=0.01))
    assert len(few) == 3 and 3 ** max(map(len, few)) <= LARGEST_SEARCHED_BLOCK
    assert len(searchable_blocks(public(WeightGrid.box(28, 1), epsilon=0.25))) == 14
    assert len(searchable_blocks(public(WeightGrid.box(28, 1), epsilon=1.0))) == 28
    hidden = replace(public(WeightGrid.box(28, 1), n_rows=None))
    assert {len(block) for block in searchable_blocks(hidden)} <= {4, 5}


# --- estimators and plan -------------------------------------------------------------------------


def small_table(n=3000):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, (n, 4))
    return X, X[:, 0] & X[:, 1]


@pytest.mark.parametrize("build", [PrivateScorecardClassifier, OPDiscClassifier, RSPMClassifier])
def test_estimators_accept_an_automatic_bound(build):
    receipt = build(epsilon=1.0, weight_bound="auto").fit(*small_table()).receipt_
    assert "weights -" in receipt.choice_detail and receipt.weights[0][-1] >= 1
    assert receipt.conditions == (LABELS_PUBLIC, COLUMNS_UNSEEN)  # the mechanism has none


@pytest.mark.parametrize("bound", ["Auto", "3", "", None, 2.0, True])
def test_other_bounds_are_refused(bound):
    with pytest.raises(CalibrationError, match="weight_bound must be an integer"):
        PrivateScorecardClassifier(weight_bound=bound).fit(*small_table())


def test_a_pure_mechanism_spends_no_delta_and_says_so(tmp_path):
    ledger = tmp_path / "ledger"
    model = PrivateScorecardClassifier(delta=1e-6, ledger=ledger).fit(*small_table())
    assert model.receipt_.delta == 0.0
    assert "delta 1e-06 is not used and not spent" in str(model.receipt_)
    gaussian = OPDiscClassifier(delta=1e-6, noise="gaussian").fit(*small_table())
    assert (
        gaussian.receipt_.delta == 1e-6
        and "delta" not in gaussian.receipt_.choice + gaussian.receipt_.choice_detail
    )


def test_a_plan_with_an_automatic_bound_compares_at_that_bound():
    planned = plan_fit("adult-small", epsilon=0.1, n_rows=15_682, weight_bound="auto")
    assert planned[0].automatic and "2% of the rows" in str(planned[0].reason)
    of_grids = [item for item in planned if item.mechanism != "logistic"]
    assert {item.weight_bound for item in of_grids} == {planned[0].weight_bound}
    assert planned[0].weight_bound >= 3


def test_a_plan_beyond_the_frontier_predicts_beside_few_points_and_says_so():
    (first, *_) = plan_fit("adult_binary", epsilon=0.1, n_rows=32_561)
    assert first.mechanism == "staged" and first.weight_bound == 3
    assert "beside the best scorecard of at most 5 points" in str(first.prediction)
    # ln(63 / 32 * C(36, 5) * 2^5 * 7 starts) = 18.9 nats, 2 / epsilon rows a nat.
    assert first.prediction.mean == pytest.approx(18.9 * 2 / 0.1, rel=0.02)
