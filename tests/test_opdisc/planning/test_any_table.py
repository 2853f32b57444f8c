"""Whatever the table, planning names a mechanism whose work is bounded, and the fit ends."""

import time

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from opdisc import PrivateScorecardClassifier
from opdisc.data import COLUMNS_UNSEEN, LABELS_PUBLIC
from opdisc.mechanisms.permute_and_flip import (
    AStarPermuteAndFlipMechanism,
    PermuteAndFlipMechanism,
)
from opdisc.mechanisms.staged.stages import PATIENCE
from opdisc.planning.choice import MECHANISMS, MechanismSettings, build_mechanism
from opdisc.planning.weight_rule import is_short, settle_fit
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from opdisc.privacy.public import GridPublic
from oracles.problem.grid import WeightGrid
from oracles.sampling.staged.work import joint_work, sparse_work


def settled(n_columns, n_rows, epsilon, bound=None, relation=NeighboringRelation.REPLACE_ONE):
    def public(b):
        return GridPublic(
            params=PrivacyParams(epsilon=epsilon, delta=0.0),
            relation=relation,
            grid=WeightGrid.box(1 + n_columns, b),
            n_rows=n_rows if relation is NeighboringRelation.REPLACE_ONE else None,
        )

    return settle_fit(
        bound, public, lambda inputs: build_mechanism("auto", inputs.grid, public=inputs)
    )


def seconds_at_most(fit):
    stages = fit.mechanism.calibrate(fit.public).stages
    rows = fit.public.n_rows or 100_000
    low, high = stages.cards.starts[0]
    used = sum(1 for signs in stages.cards.signs if signs)
    first = sparse_work(used, stages.cards.most, high - low + 1, rows) if used > 1 else 0.0
    return first + stages.later * joint_work(stages.directions, stages.together, 7, rows)[0]


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
        assert seconds_at_most(fit) <= PATIENCE
        assert fit.mechanism.condition is None


@pytest.mark.parametrize(
    ("n_columns", "n_rows", "epsilon"),
    [(20, 300, 0.1), (30, 118, 1.0), (63, 500, 0.05), (18, 7214, 1.0), (1000, 100_000, 1.0)],
)
def test_what_was_refused_or_never_ended_is_staged(n_columns, n_rows, epsilon):
    fit = settled(n_columns, n_rows, epsilon)
    assert fit.mechanism.name == "staged" and seconds_at_most(fit) <= PATIENCE


@pytest.mark.parametrize(("n_columns", "bound"), [(12, 1), (13, 1), (8, 2), (9, 2), (7, 3)])
def test_a_long_list_is_searched_instead(n_columns, bound):
    fit = settled(n_columns, 82, 1.0, bound)
    assert isinstance(fit.mechanism, AStarPermuteAndFlipMechanism)
    assert fit.mechanism.condition is None and is_short(fit)


def test_a_short_list_and_what_the_search_does_not_take_are_listed():
    assert isinstance(settled(11, 82, 1.0, 1).mechanism, PermuteAndFlipMechanism)
    assert isinstance(settled(13, 82, 1e-8, 1).mechanism, PermuteAndFlipMechanism)
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


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_fits_of_random_tables_end_within_ten_times_the_plan(seed):
    # Processor time, at most 60 s, as promised; one core.
    rng = np.random.default_rng(seed)
    n_columns = int(rng.integers(1, 201))
    n_rows = int(10 ** rng.uniform(1, 5))
    epsilon = float(10 ** rng.uniform(-3, 3))
    X, y = random_table(seed, n_columns, n_rows)
    started = time.process_time()
    model = PrivateScorecardClassifier(epsilon=epsilon).fit(X, y)
    assert time.process_time() - started < 60
    assert model.receipt_.conditions == (LABELS_PUBLIC, COLUMNS_UNSEEN)  # else it holds
