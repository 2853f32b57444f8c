"""What a promise rests on is checked, or on the receipt: counts, tables, solvers, numbers."""

import math
import sys

import numpy as np
import pytest
from helpers.extras import oracle_params

from opdisc import PrivateLogisticRegression
from opdisc.errors import CalibrationError
from opdisc.mechanisms import (
    BlockOneHotMechanism,
    ExponentialMechanism,
    one_hot_mechanism,
    prepare_mechanism,
    run_mechanism,
    run_on_table,
    run_with_argmin,
)
from opdisc.mechanisms.base import BOUNDED_ROWS
from opdisc.mechanisms.receipts import third_party
from opdisc.privacy.entropy import SystemEntropy
from opdisc.privacy.guarantee import LARGEST_NUMERICAL, numerical_delta, numerical_reasons
from opdisc.privacy.params import SMALLEST_EPSILON, NeighboringRelation, PrivacyParams
from opdisc.privacy.public import GridPublic
from oracles import (
    TabularProblem,
    WeightGrid,
    ZeroOneProblem,
    available_oracles,
    get_oracle,
    solve,
)
from oracles.branch_and_bound.reduction import total_cost
from oracles.interface.handover import HandoverOracle
from oracles.milp.cp_sat import _integer_bound

GRID = WeightGrid.box(3, 1)


def public(epsilon=1.0, delta=0.0, grid=GRID, **changes):
    return GridPublic(
        params=PrivacyParams(epsilon=epsilon, delta=delta),
        relation=NeighboringRelation.REPLACE_ONE,
        grid=grid,
        **changes,
    )


def problem(positives=(3, 4), negatives=(2, 1)):
    return ZeroOneProblem(
        points=[[1, 0, 1], [1, 1, 0]], positives=positives, negatives=negatives, grid=GRID
    )


def receipt(mechanism=None, made=None, oracle="auto", counts_rows=True, **changes):
    changes = {"n_rows": 10} | changes
    return run_mechanism(
        mechanism or one_hot_mechanism(3),
        made or problem(),
        public(**changes),
        entropy=SystemEntropy(),
        oracle=oracle,
        counts_rows=counts_rows,
    ).receipt


# --- what one row adds ---------------------------------------------------------------------------


def test_weighted_counts_are_refused_where_the_number_of_rows_is_public():
    # Ten rows, of which one counts for a hundred.
    with pytest.raises(CalibrationError, match="public number of rows"):
        receipt(made=problem(positives=(100, 4)), counts_rows=False)
    for counts in ({"positives": (-1, 4)}, {"negatives": (4, -1)}):
        with pytest.raises(CalibrationError, match=">= 0"):
            receipt(made=problem(**counts), counts_rows=False)


@pytest.mark.parametrize("n_rows", [None, 10])
def test_counts_that_the_library_did_not_make_are_a_condition(n_rows):
    # Of these ten rows one may count for four, and three for nothing: no sum can tell.
    found = receipt(n_rows=n_rows, counts_rows=False)
    assert (found.guarantee, found.conditions) == ("CONDITIONAL", (BOUNDED_ROWS,))
    assert receipt(n_rows=n_rows, counts_rows=True).guarantee == "HOLDS"
    facts = public(n_rows=n_rows)
    one = prepare_mechanism(one_hot_mechanism(3), problem(), facts, entropy=SystemEntropy())
    assert one.charge().receipt.conditions == (BOUNDED_ROWS,), "who says nothing is not believed"


def test_a_hand_built_table_of_losses_is_a_condition():
    grid = WeightGrid(values=((0, 1, 2),))
    inputs = public(grid=grid, spacing=1.0)
    # One row may have added 1,000 to the second entry.
    by_hand = TabularProblem(losses=[0, 1000, 3], grid=grid)
    rows = TabularProblem.from_rows([[0, 1, 0.5], [1, 0, 0]], grid, unit=1.0)
    for mechanism in (one_hot_mechanism(1), ExponentialMechanism()):
        found = run_on_table(mechanism, by_hand, inputs).receipt
        assert (found.guarantee, found.conditions) == ("CONDITIONAL", (BOUNDED_ROWS,))
        assert run_on_table(mechanism, rows, inputs).receipt.guarantee == "HOLDS"


def test_a_loss_of_the_callers_own_is_a_condition():
    found = run_with_argmin(
        one_hot_mechanism(3), lambda noise: (0, 0, 0), lambda w: 0, public()
    ).receipt
    assert found.guarantee == "CONDITIONAL" and BOUNDED_ROWS in found.conditions


# --- other people's solvers ----------------------------------------------------------------------


@pytest.mark.parametrize("name", oracle_params(["highs", "cp-sat", "pulp:CBC"]))
def test_a_third_party_solver_is_a_named_condition(name):
    named = f"the compiled third-party solver '{name}' proves what it says"
    found = receipt(oracle=name)
    assert found.guarantee == "CONDITIONAL" and named in found.conditions
    both = HandoverOracle(get_oracle(name), get_oracle("branch-and-bound"))
    assert third_party(both) == (name,)
    assert named in receipt(oracle=both).conditions
    assert third_party(get_oracle("branch-and-bound")) == ()


@pytest.mark.parametrize("exact", [2**53 + 1, 2**60 + 3, -(2**53) - 1, -(2**60) - 3, 2**62 - 1])
def test_a_cp_sat_bound_beyond_doubles_is_never_rounded_up(exact):
    # The nearest double of most of these integers is above them.
    assert _integer_bound(float(exact)) <= exact
    assert _integer_bound(float(7)) == 7 and _integer_bound(-math.inf) == -math.inf


def test_negative_counts_do_not_hide_how_large_an_objective_is():
    # These cancelled: the sum of the two was 0, and the limit of 2**53 steps was not seen.
    large = ZeroOneProblem(
        points=[[1, 0, 1], [1, 1, 0]],
        positives=[-(2**60), -5],
        negatives=[0, 0],
        grid=GRID,
    )
    assert total_cost(large) >= 2**60
    if "cp-sat" in available_oracles():
        with pytest.raises(ValueError, match="steps of the unit"):
            solve(large, "cp-sat")


# --- extreme numbers -----------------------------------------------------------------------------


def test_a_numerical_delta_that_leaves_no_promise_is_void():
    found = receipt(epsilon=1e6)
    assert found.delta_numerical == 1.0
    assert found.guarantee == "VOID" and "numerical delta" in found.conditions[0]
    # The same law without a numerical delta keeps its promise, however weak.
    assert receipt(ExponentialMechanism(), epsilon=1e6).guarantee == "HOLDS"


def test_exponential_sampling_says_that_its_doubles_are_not_covered():
    X = np.random.default_rng(0).random((50, 2))
    clf = PrivateLogisticRegression(mechanism="exponential_sampling", data_norm=2.0).fit(
        X, X[:, 0] > 0.5
    )
    assert clf.receipt_.delta_numerical == 0 and clf.receipt_.guarantee != "HOLDS"
    assert "(+ 0.0e+00 for cut tails; rounding of doubles not covered)" in str(clf.receipt_)
    assert "(+ 0.0e+00 numerical)" in str(receipt(ExponentialMechanism()))


def test_the_rule_for_numerical_deltas():
    assert numerical_reasons(0.0, LARGEST_NUMERICAL) == ()
    assert numerical_reasons(1e-5, 1e-5) == ()
    assert numerical_reasons(0.0, 2 * LARGEST_NUMERICAL)
    assert numerical_reasons(1e-5, 2e-5)
    assert numerical_reasons(1 - 1e-9, 1e-9) and numerical_reasons(1 - 1e-9, 0.0) == ()
    assert numerical_delta(0.0, sys.float_info.max) == 0.0
    assert numerical_delta(5e-324, 1e9) == pytest.approx(5e-324 * math.exp(700.0), rel=1e-3)


@pytest.mark.parametrize("epsilon", [5e-324, 1e-308, 0.99 * SMALLEST_EPSILON])
def test_an_epsilon_that_doubles_cannot_calibrate_is_refused(epsilon):
    with pytest.raises(CalibrationError, match="from 1e-100"):
        PrivacyParams(epsilon=epsilon, delta=0.0)


@pytest.mark.parametrize("epsilon", [SMALLEST_EPSILON, 1e-20, 1.0, 1e3, 1e9, 1e300])
@pytest.mark.parametrize("delta", [0.0, 1e-300, 0.999999, 1 - 2**-53])
@pytest.mark.parametrize("spacing", [1.0, 2.0**-28])
@pytest.mark.parametrize(
    "mechanism",
    [
        one_hot_mechanism(3),
        BlockOneHotMechanism(blocks=((0, 1), (2,))),
        ExponentialMechanism(),
    ],
    ids=["one_hot", "block", "exponential"],
)
def test_extreme_numbers_give_a_receipt_or_a_refusal(mechanism, epsilon, delta, spacing):
    try:
        found = receipt(mechanism, epsilon=epsilon, delta=delta, spacing=spacing)
    except CalibrationError as refusal:
        assert "epsilon" in str(refusal)
        return
    assert np.isfinite(found.noise_scales).all() and min(found.noise_scales) > 0
    enough = found.delta_numerical <= max(delta, LARGEST_NUMERICAL)
    meaningful = enough and delta + found.delta_numerical < 1
    kept = "CONDITIONAL" if delta * 10 > 0.1 else "HOLDS"  # of ten rows, nearly all exposed
    assert found.guarantee == (kept if meaningful else "VOID")
