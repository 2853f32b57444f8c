"""Hull noise for other losses than the logistic one: its promise, its law, what it releases."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from helpers.opdisc.hull import all_rows, gauge, groups
from scipy import stats
from scipy.optimize import minimize

from opdisc import PrivateLinearSVC, Schema, load_model, save_model
from opdisc.convex import ConvexPublic
from opdisc.convex.hull.release import transform_of
from opdisc.convex.hull.shape import HullShape
from opdisc.convex.hull.smooth import (
    centred_draw,
    centred_features,
    plan_smooth_hull,
    smooth_hull_perturbation,
)
from opdisc.convex.hull.table import mapped_into
from opdisc.data import aggregate
from opdisc.errors import CalibrationError
from opdisc.privacy import NeighboringRelation, PrivacyParams, SeededEntropy
from oracles.convex import HuberisedHingeLoss, RowBounds, with_costs
from oracles.problem import ErrorCosts

FALSE_ALARM = 1e-6
SHAPE = HullShape.of_groups(groups(("free", 2), ("exclusive", 3), ("nested", 2)))
ONE = HullShape.of_groups(groups(("free", 1)))
LOSS = HuberisedHingeLoss(0.5)


def public(shape=SHAPE, epsilon=1.0, loss=LOSS, **facts):
    facts = {"n_rows": 100, "relation": NeighboringRelation.REPLACE_ONE} | facts
    return ConvexPublic(
        params=PrivacyParams(epsilon=epsilon, delta=0.0),
        loss=loss,
        bounds=RowBounds(l2=math.sqrt(shape.squared_radius), linf=1.0),
        dimension=shape.n_columns + 1,
        **facts,
    )


def test_the_gauge_of_a_draw_is_a_gamma_variable():
    entropy = SeededEntropy(0)
    draws = np.array([centred_draw(SHAPE, entropy) for _ in range(2000)])
    plain = draws @ transform_of(SHAPE)  # back to plain coordinates
    law = stats.gamma(SHAPE.n_columns + 1)
    assert stats.kstest(gauge(SHAPE, plain), law.cdf).pvalue > FALSE_ALARM
    assert stats.kstest(gauge(SHAPE, plain / 2), law.cdf).pvalue < FALSE_ALARM


@pytest.mark.parametrize("relation", list(NeighboringRelation))
@pytest.mark.parametrize(("units", "costs"), [(1, (1, 1)), (3, (1, 1)), (1, (5, 2))])
@pytest.mark.parametrize("ridge", [None, 50.0])
def test_slopes_and_curvatures_together_cost_no_more_than_epsilon(relation, units, costs, ridge):
    loss = with_costs(LOSS, ErrorCosts(false_negative=costs[0], false_positive=costs[1]))
    facts = public(
        loss=loss, relation=relation, rows_per_unit=units, public_row_guess=100, n_rows=None
    )
    plan = plan_smooth_hull(SHAPE, facts, ridge=ridge)
    rows = relation.loss_sensitivity * units
    curvature = max(costs) / (2 * 0.5) * float(SHAPE.squared_radius)
    spent = rows * max(costs) / plan.scales[0]
    spent += units * math.log1p(curvature / plan.setting("ridge"))
    assert 0.98 < spent <= 0.99
    reach = 2 * plan.setting("accuracy") / plan.scales[1]
    assert 0.009 < reach <= 0.01


def log_density(theta, rows, labels, scale, ridge):
    """Return the log density of the exact minimiser at points, up to a constant, one column."""
    transform = transform_of(ONE)
    quadratic = ridge * transform.T @ transform
    tilt = -theta @ quadratic
    curvature = np.broadcast_to(quadratic, (len(theta), *quadratic.shape)).copy()
    for row, label in zip(rows, labels, strict=True):
        scores = theta @ row
        y = np.full(len(theta), float(label))
        tilt -= LOSS.slopes(scores, y)[:, None] * row
        bent = np.abs(1 - y * scores) < LOSS.width
        curvature += np.where(bent, 1 / (2 * LOSS.width), 0.0)[:, None, None] * np.outer(row, row)
    return np.linalg.slogdet(curvature)[1] - gauge(ONE, tilt / scale)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_neighbours_differ_by_epsilon_at_most(epsilon):
    plan = plan_smooth_hull(ONE, public(ONE, epsilon))
    axis = np.linspace(-6, 6, 161)
    points = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)
    corners = all_rows(ONE)

    def worst(scale, ridge):
        logs = [
            log_density(points, np.vstack([[1, 1], corner]), [1, label], scale, ridge)
            for corner in corners
            for label in (-1, 1)
        ]
        return max(np.abs(one - other).max() for one in logs for other in logs)

    ridge = plan.setting("ridge")
    assert 0.6 * epsilon < worst(plan.scales[0], ridge) <= 0.99 * epsilon * (1 + 1e-9)
    assert worst(plan.scales[0] / 2, ridge) > epsilon  # half the noise is found


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, 2, (n, SHAPE.n_columns + 1)).astype(np.int8)
    cells[:, 0] = 1
    signs = np.where(cells[:, 1] > 0, 1, -1).astype(np.int8)
    return aggregate(cells, signs)


def test_what_is_released_is_the_minimiser_of_the_tilted_sum():
    facts, rows = public(epsilon=4.0, n_rows=300), table()
    weights, release = smooth_hull_perturbation(rows, SHAPE, facts, entropy=SeededEntropy(7))
    plan = plan_smooth_hull(SHAPE, facts)
    tilt = plan.scales[0] * centred_draw(SHAPE, SeededEntropy(7))
    mapped = replace(rows, points=mapped_into(rows.points, SHAPE))
    centred = centred_features(SHAPE).merged_rows(mapped)

    def value(theta):
        losses = LOSS.of_scores(centred.X @ theta, centred.y) @ centred.counts
        return losses + tilt @ theta + plan.setting("ridge") / 2 * theta @ theta

    best = minimize(value, np.zeros(len(tilt)), method="BFGS", options={"gtol": 1e-8}).x
    noise = 30 * plan.scales[1]  # the output noise is longer once in 10^5 draws at most
    assert np.linalg.norm(release.parameters - best) < noise < 2e-3
    np.testing.assert_allclose(weights[1:], release.parameters[1:])
    shift = np.array([float(at) for at in SHAPE.centre]) @ weights[1:]
    assert weights[0] == pytest.approx(release.parameters[0] - shift)


SCHEMA = Schema.from_dict(
    {
        "name": "ward",
        "target": {"column": "ill", "positive": "yes", "negative": "no"},
        "feature": [
            {"column": "age", "thresholds": [40, 65], "range": [0, 120]},
            {"column": "ward", "categories": ["a", "b"]},
            {"column": "smoker", "binary": True},
        ],
    }
)


def people(n=600, seed=0):
    rng = np.random.default_rng(seed)
    age, ward = rng.integers(18, 110, n), rng.choice(list("abc"), n)
    ill = np.where((age >= 65) ^ (rng.random(n) < 0.05), "yes", "no")
    columns = {"age": age, "ward": ward, "smoker": rng.integers(0, 2, n), "ill": ill}
    return pd.DataFrame(columns).astype(str)


def test_a_support_vector_classifier_by_a_schema_takes_it(tmp_path):
    rows = people()
    model = PrivateLinearSVC(epsilon=2.0, schema=SCHEMA).fit(rows, rows["ill"])
    assert model.receipt_.mechanism == "hull" and model.receipt_.loss == "huberised hinge"
    assert model.receipt_.delta == 0 and "cut tails" in dict(model.receipt_.lines())["delta"]
    assert any("floating point" in condition for condition in model.receipt_.conditions)
    later = people(seed=1)
    assert (model.predict(later) == later["ill"]).mean() > 0.85
    save_model(model, tmp_path / "model.json")
    assert (load_model(tmp_path / "model.json").predict(later) == model.predict(later)).all()


def test_with_delta_the_default_is_as_before_and_the_name_is_taken():
    rows = people()
    usual = PrivateLinearSVC(epsilon=2.0, delta=1e-6, schema=SCHEMA).fit(rows, rows["ill"])
    assert usual.receipt_.mechanism == "objective_perturbation"
    named = PrivateLinearSVC(epsilon=2.0, delta=1e-6, schema=SCHEMA, mechanism="hull")
    receipt = named.fit(rows, rows["ill"]).receipt_
    assert receipt.mechanism == "hull" and receipt.delta == 0


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"ridge": 1e-9}, "must exceed beta"),
        ({"ridge": -1.0}, "finite and > 0"),
        ({"ridge": float("nan")}, "finite and > 0"),
    ],
)
def test_a_ridge_that_is_none_is_refused_before_the_spend(settings, words, tmp_path):
    rows = people()
    model = PrivateLinearSVC(schema=SCHEMA, ledger=tmp_path / "book", **settings)
    with pytest.raises(CalibrationError, match=words):
        model.fit(rows, rows["ill"])
    assert not (tmp_path / "book").exists()


def test_the_radius_is_that_of_the_centred_rows():
    centred = all_rows(SHAPE).astype(float)
    centred[:, 1:] -= [float(at) for at in SHAPE.centre]
    assert (centred**2).sum(axis=1).max() == pytest.approx(float(SHAPE.squared_radius))
    assert SHAPE.squared_radius == Fraction(1) + Fraction(2, 4) + Fraction(2, 3) + Fraction(2, 4)
