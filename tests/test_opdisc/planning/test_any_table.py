"""Whatever the table, planning names a mechanism whose work is bounded, and the fit ends."""

import time

import numpy as np
import pandas as pd
import pytest
from any_table import predicted, random_case, random_table as random_rows
from hypothesis import given, settings, strategies as st

from opdisc import PrivateScorecardClassifier
from opdisc.data import COLUMNS_UNSEEN, LABELS_PUBLIC, Schema, column_structure, with_error_costs
from opdisc.errors import CalibrationError
from opdisc.mechanisms.permute_and_flip import (
    AStarPermuteAndFlipMechanism,
    PermuteAndFlipMechanism,
)
from opdisc.mechanisms.stages import plan_stages
from opdisc.planning.choice import MECHANISMS, MechanismSettings, build_mechanism
from opdisc.planning.first_draws import compile_kernels
from opdisc.planning.request import CardRequest
from opdisc.planning.weight_rule import is_short, settle_fit
from opdisc.planning.work import ends_soon, predict_draw, predict_work
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from opdisc.privacy.public import PublicInputs
from opdisc.tuned import DRAW_SECONDS, FIT_SECONDS as WHOLE
from oracles.problem.grid import WeightGrid
from oracles.sampling.staged_work import sparse_memory, sparse_work

LEEWAY = 5.0


def settled(n_columns, n_rows, epsilon, bound=None, relation=NeighboringRelation.REPLACE_ONE):
    request = CardRequest(schema=Schema.equal_width(n_columns), bound=bound)
    return settle_fit(request, facts(epsilon, n_rows, relation))


def facts(epsilon, n_rows, relation=NeighboringRelation.REPLACE_ONE):
    return PublicInputs(
        params=PrivacyParams(epsilon=epsilon, delta=0.0),
        relation=relation,
        n_rows=n_rows if relation is NeighboringRelation.REPLACE_ONE else None,
    )


def settle_schema(schema, n_rows, epsilon, patience=WHOLE):
    settings = MechanismSettings(structure=column_structure(schema), patience=patience)
    return settle_fit(CardRequest(schema=schema, settings=settings), facts(epsilon, n_rows))


def seconds_at_most(fit):
    spec = fit.mechanism.calibrate(fit.public)
    if spec.is_stump:
        return 0.0
    stages = spec.stages
    rows = fit.public.n_rows or 100_000
    low, high = stages.first.starts[0]
    used = sum(1 for signs in stages.first.signs if signs)
    return sparse_work(used, stages.first.most, high - low + 1, rows) if used > 1 else 0.0


@settings(max_examples=120, deadline=None)
@given(
    n_columns=st.integers(1, 200),
    n_rows=st.integers(10, 100_000),
    log_epsilon=st.floats(-3, 3),
    bound=st.sampled_from([None, None, 1, 2, 5]),
    relation=st.sampled_from(NeighboringRelation),
)
def test_planning_always_names_a_mechanism_that_ends(
    n_columns, n_rows, log_epsilon, bound, relation
):
    fit = settled(n_columns, n_rows, 10.0**log_epsilon, bound, relation)
    assert fit.mechanism.name in MECHANISMS and fit.reason
    assert is_short(fit)
    if fit.mechanism.name == "staged":
        assert seconds_at_most(fit) <= DRAW_SECONDS
        assert fit.mechanism.condition is None


@pytest.mark.parametrize(
    ("n_columns", "n_rows", "epsilon"),
    [(20, 300, 0.1), (30, 118, 1.0), (63, 500, 0.05), (18, 7214, 1.0), (1000, 100_000, 1.0)],
)
def test_what_was_refused_or_never_ended_is_staged(n_columns, n_rows, epsilon):
    fit = settled(n_columns, n_rows, epsilon)
    assert fit.mechanism.name == "staged" and seconds_at_most(fit) <= DRAW_SECONDS


@pytest.mark.parametrize(("n_columns", "bound"), [(12, 1), (13, 1), (8, 2), (9, 2), (7, 3)])
def test_a_long_list_is_searched_instead(n_columns, bound):
    fit = settled(n_columns, 82, 1.0, bound)
    assert isinstance(fit.mechanism, AStarPermuteAndFlipMechanism)
    assert fit.mechanism.condition is None and is_short(fit)


def test_a_short_list_and_what_the_search_does_not_take_are_listed():
    assert isinstance(settled(11, 82, 1.0, 1).mechanism, PermuteAndFlipMechanism)
    hidden = NeighboringRelation.ADD_OR_REMOVE_ONE
    assert isinstance(settled(13, 82, 1e-8, 1, hidden).mechanism, PermuteAndFlipMechanism)
    grid = WeightGrid.box(14, 1)
    chosen = {
        name: build_mechanism(name, grid, settings=MechanismSettings(minimise=True))[0]
        for name in ("auto", "permute_and_flip")
    }
    for mechanism in chosen.values():  # an oracle was named, and shall be asked
        assert isinstance(mechanism, PermuteAndFlipMechanism)


def test_limits_on_the_search_make_no_listed_grid_conditional():
    settings = MechanismSettings(max_rounds=5, time_limit=1.0)
    chosen = build_mechanism("permute_and_flip", WeightGrid.box(14, 1), settings=settings)[0]
    assert isinstance(chosen, AStarPermuteAndFlipMechanism) and chosen.condition is None


def random_table(seed, n_columns, n_rows):
    rng = np.random.default_rng(seed)
    X = (rng.random((n_rows, n_columns)) < rng.uniform(0.05, 0.95, n_columns)).astype(int)
    y = (X @ rng.normal(size=n_columns) + rng.normal(size=n_rows) > 0).astype(int)
    y[:2] = 0, 1
    return X, y


@pytest.mark.parametrize(
    ("n_columns", "n_rows", "epsilon"),
    [(20, 300, 0.1), (30, 118, 1e-3), (18, 2000, 1.0), (60, 40, 1e3), (1, 10, 1.0)],
)
def test_a_fit_by_default_ends_and_holds(n_columns, n_rows, epsilon):
    X, y = random_table(0, n_columns, n_rows)
    model = PrivateScorecardClassifier(epsilon=epsilon).fit(X, y)
    assert model.receipt_.conditions == (LABELS_PUBLIC, COLUMNS_UNSEEN)  # else it holds
    assert model.predict(X).shape == y.shape


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), patience=st.sampled_from([1e-3, 1.0, WHOLE, 1e4]))
def test_schemas_of_every_kind_have_a_plan_and_a_prediction_within_the_patience(seed, patience):
    schema, n_rows, epsilon = random_case(seed)
    settled_fit = settle_schema(schema, n_rows, epsilon, patience)
    structure = column_structure(schema)
    draw = predict_draw(settled_fit.mechanism, settled_fit.public, structure)
    whole = predict_work(settled_fit.mechanism, settled_fit.public, structure)
    constant = settled_fit.mechanism.name == "staged" and patience == 1e-3
    assert ends_soon(draw, patience) or constant
    assert draw.seconds < whole.seconds < draw.seconds + 2 and whole.memory < 2e9


@pytest.mark.parametrize("seed", [22, 150, 413])
def test_what_an_exact_sample_did_not_end_on_is_drawn_from_few_points(seed):
    schema, n_rows, epsilon = random_case(seed)
    for spent in (epsilon, 100 / n_rows):
        assert settle_schema(schema, n_rows, spent).mechanism.name == "staged"


@pytest.mark.slow
@pytest.mark.timing
@pytest.mark.long
@pytest.mark.parametrize("share", range(8))
def test_fits_of_random_schemas_end_within_ten_times_the_prediction(share):
    # Processor time of all threads; as many of three schemas as a minute has room for.
    compile_kernels()
    late, fits, started = [], 0, time.process_time()
    for seed in range(share, 24, 8):
        schema, n_rows, epsilon = random_case(seed)
        table = random_rows(np.random.default_rng((seed, 1)), schema, n_rows)
        work = predicted(schema, n_rows, epsilon)[1]
        begun = time.process_time()
        PrivateScorecardClassifier(epsilon=epsilon, schema=schema).fit(table, table["label"])
        took = time.process_time() - begun
        if took > min(60, 10 * work.seconds + LEEWAY):
            late.append((seed, work.seconds, took))
        fits += 1
        if time.process_time() - started > 60:
            break
    assert late == [] and fits >= 2


def test_patience_decides_and_stands_on_the_receipt():
    X, y = random_table(0, 11, 300)
    default = PrivateScorecardClassifier(epsilon=1.0, classes=(0, 1)).fit(X, y)
    hurried = PrivateScorecardClassifier(epsilon=1.0, classes=(0, 1), patience=0.01).fit(X, y)
    assert default.receipt_.mechanism == "permute_and_flip"
    assert "planned for" not in default.receipt_.choice_detail
    assert hurried.receipt_.mechanism == "staged"
    assert "planned for at most 0.01 s" in hurried.receipt_.choice_detail


@pytest.mark.parametrize("patience", [0.0, -1.0, np.inf, np.nan])
def test_an_impossible_patience_is_refused_whatever_would_be_chosen(patience):
    X, y = random_table(0, 3, 300)
    with pytest.raises(CalibrationError, match="patience must be finite and > 0 seconds"):
        PrivateScorecardClassifier(classes=(0, 1), patience=patience).fit(X, y)


def test_without_time_for_more_a_constant_card_is_drawn():
    fit = settle_schema(random_case(4)[0], 50_000, 1.0, 1e-6)
    stages = fit.mechanism.calibrate(fit.public).stages
    assert stages.first.most == 0
    X, y = random_table(0, 20, 300)
    model = PrivateScorecardClassifier(epsilon=1.0, classes=(0, 1), patience=1e-9).fit(X, y)
    assert not np.any(model.coef_)


@pytest.mark.slow
def test_ten_thousand_categories_are_no_reason_to_refuse():
    rng = np.random.default_rng(0)
    categories = [f"v{k}" for k in range(10_000)]
    features = [{"column": "code", "categories": categories}]
    target = {"column": "label", "positive": 1, "negative": 0}
    schema = Schema.from_dict({"name": "codes", "target": target, "feature": features})
    table = pd.DataFrame({"code": rng.choice(categories, 200), "label": [0, 1] * 100})
    assert settle_schema(schema, 200, 1.0).mechanism.name == "staged"
    hurried = PrivateScorecardClassifier(schema=schema, patience=1.0)
    assert hurried.fit(table, table["label"]).receipt_.mechanism == "staged"


def test_rows_that_cost_more_than_stages_can_count_are_drawn_otherwise():
    costs = {"false_negative": 1000, "false_positive": 1}
    target = {"column": "label", "positive": 1, "negative": 0}
    features = [{"column": f"c{k}", "binary": True} for k in range(40)]
    schema = Schema.from_dict({"name": "costly", "target": target, "feature": features})
    fit = settle_schema(with_error_costs(schema, costs), 100_000, 1.0)
    assert fit.mechanism.name == "exponential" and fit.public.grid.norm_budget == 3


def test_memory_of_sums_over_pairs_of_columns_bounds_the_first_card():
    grid = WeightGrid.box(8001, 1)
    stages = plan_stages(grid, 100.0, 10, patience=1e9)
    assert stages.first.most == 1 and sparse_memory(8000, 2) > 5e8
    assert sparse_memory(8000, 1) == 0
