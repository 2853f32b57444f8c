"""OPSampClassifier and OPSampRegressor as scikit-learn estimators, and on the census task."""

import os
import time

import highspy
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from opdisc import Schema, read_table
from opdisc.comparison.methods.method import FitTask
from opdisc.comparison.methods.scorecards import METHODS
from opdisc.data import LABELS_PUBLIC, encode_features
from opdisc.data.reading import COLUMNS_UNSEEN, DTYPES_DECLARED
from opdisc.errors import CalibrationError
from opdisc.estimators.linear import PrivateLinearSVC
from opdisc.estimators.opsamp import OPSampClassifier
from opdisc.estimators.opsamp_regressor import OPSampRegressor, private_median
from opdisc.privacy import Ledger, NeighboringRelation
from oracles.convex import linear_program
from oracles.convex.polytopes import Box
from oracles.errors import OracleUnavailable

QUICK = {"most_draws": 30, "epsilon": 20.0, "delta": 1e-2}


def separable(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 1, (n, 2)).round(1)
    return X, (X[:, 0] > X[:, 1]).astype(int)


@pytest.mark.parametrize(
    "most_draws", [150, pytest.param(10_000, marks=[pytest.mark.slow, pytest.mark.long])]
)
@pytest.mark.parametrize("loss", ["hinge", "logistic", "huberised hinge"])
@pytest.mark.parametrize("domain", ["l1", "box", "l2"])
def test_classifiers_learn_with_a_generous_budget(loss, domain, most_draws):
    X, y = separable()
    model = OPSampClassifier(
        feature_range=(0, 1),
        loss=loss,
        domain=domain,
        radius=4.0,
        epsilon=1e4,
        most_draws=most_draws,
        random_state=0,
    )
    assert model.fit(X, y).score(X, y) > 0.8
    assert model.receipt_.loss == loss


def test_the_ramp_learns_in_two_dimensions():
    X, y = separable(300)
    model = OPSampClassifier(
        feature_range=(0, 1),
        loss="ramp",
        fit_intercept=False,
        epsilon=300.0,
        domain="box",
        radius=1.0,
        random_state=1,
    )
    assert model.fit(X, y).score(X, y) > 0.8
    assert model.receipt_.oracle == "global"


def test_the_regressor_follows_a_line_and_the_median_ignores_outliers():
    x = np.linspace(0, 10, 1000)
    X, y = x[:, None], 3 * x + 2
    model = OPSampRegressor(
        feature_range=(0, 10), target_range=(0, 40), epsilon=1e3, most_draws=300, random_state=0
    ).fit(X, y)
    assert np.abs(model.predict(X) - y).mean() < 4.0
    inside = model.coef_[0] * 5.0 + model.intercept_
    assert model.predict([[5.0]])[0] == pytest.approx(inside)
    values = np.concatenate([np.full(500, 7.0), np.full(225, 100.0)])
    median, receipt = private_median(values, (0.0, 100.0), epsilon=20.0, random_state=0)
    assert abs(median - 7.0) < 8.0
    assert receipt.loss == "absolute"


def test_public_bounds_are_required_and_named():
    X, y = separable(50)
    with pytest.raises(CalibrationError, match="feature_range must be declared"):
        OPSampClassifier().fit(X, y)
    with pytest.raises(CalibrationError, match="target_range must be declared"):
        OPSampRegressor(feature_range=(0, 1)).fit(X, y)
    with pytest.raises(CalibrationError, match="lowest < highest"):
        OPSampClassifier(feature_range=(1, 0)).fit(X, y)
    with pytest.raises(CalibrationError, match="one per column"):
        OPSampClassifier(feature_range=(np.zeros(3), np.ones(3))).fit(X, y)
    with pytest.raises(CalibrationError, match="loss must be one for classification"):
        OPSampClassifier(feature_range=(0, 1), loss="absolute").fit(X, y)
    with pytest.raises(CalibrationError, match="public_row_guess must be given"):
        OPSampClassifier(feature_range=(0, 1), relation="add_or_remove_one").fit(X, y)
    with pytest.raises(CalibrationError, match="must have 3 coordinates"):
        OPSampClassifier(feature_range=(0, 1), domain=Box.cube(2, 1.0)).fit(X, y)
    with pytest.raises(CalibrationError, match="domain must be"):
        OPSampClassifier(feature_range=(0, 1), domain="sphere").fit(X, y)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (OPSampClassifier(feature_range=(0, 1), loss="cubic"), "loss must be one of logistic"),
        (OPSampClassifier(feature_range=(0, 1), radius=0.0), "radius must be finite and > 0"),
        (PrivateLinearSVC(data_norm=1.0, width=0.0), "width of a loss must be finite and > 0"),
    ],
)
def test_impossible_losses_and_domains_are_refused_as_calibration_errors(model, message):
    X = np.zeros((20, 2))
    with pytest.raises(CalibrationError, match=message):
        model.fit(X, np.arange(20) % 2)


def test_under_add_or_remove_the_number_of_rows_stays_off_the_receipt():
    X, y = separable(100)
    model = OPSampClassifier(
        feature_range=(0, 1), relation="add_or_remove_one", public_row_guess=80, most_draws=40
    )
    receipt = model.fit(X, y).receipt_
    assert receipt.n_rows is None
    assert receipt.delta == 1 / 80**2


def test_rows_outside_the_range_count_as_clipped():
    X, y = separable(200)
    wild = np.where(X > 0.5, 1e9, X)
    tame = np.clip(wild, 0, 1)
    models = [
        OPSampClassifier(feature_range=(0, 1), random_state=3, most_draws=40).fit(rows, y)
        for rows in (wild, tame)
    ]
    np.testing.assert_array_equal(models[0].parameters_, models[1].parameters_)
    np.testing.assert_array_equal(models[0].predict(wild), models[1].predict(tame))
    assert models[0].receipt_.guarantee == "VOID"


def test_labels_taken_from_the_table_are_a_condition():
    X, y = separable(100)
    model = OPSampClassifier(feature_range=(0, 1), most_draws=40)
    named = model.fit(X, np.where(y == 1, "yes", "no"))
    assert any("label values" in condition for condition in named.receipt_.conditions)
    assert set(named.predict(X)) <= {"yes", "no"}


def test_a_refused_fit_leaves_nothing_behind():
    X, y = separable(100)
    model = OPSampClassifier(feature_range=(0, 1), most_draws=40).fit(X, y)
    with pytest.raises(ValueError, match="both classes"):
        model.fit(X, np.zeros(100, dtype=int))
    assert not hasattr(model, "parameters_")


def test_pipelines_frames_clones_and_cross_validation():
    X, y = separable(200)
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = clone(OPSampClassifier(feature_range=(0, 1), most_draws=40))
    assert list(model.fit(frame, y).feature_names_in_) == ["a", "b"]
    pipeline = make_pipeline(FunctionTransformer(), model)
    assert len(cross_val_score(pipeline, X, y, cv=3)) == 3


# --- with a schema -------------------------------------------------------------------------------


def declared(**facts):
    return Schema.from_dict(
        {
            "name": "illness",
            "target": {"column": "ill", "positive": "yes", "negative": "no"},
            "feature": [
                {"column": "age", "thresholds": [30, 50], "range": [0, 100]},
                {"column": "smoker", "categories": ["daily", "never"]},
            ],
            **facts,
        }
    )


def patients(n=400):
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, n)
    rows = pd.DataFrame({"age": age, "smoker": rng.choice(["daily", "never", "formerly"], n)})
    return rows, pd.Series(age >= 50).map({True: "yes", False: "no"})


SCHEMA_QUICK = {"most_draws": 30, "epsilon": 1e3, "delta": 1e-2, "random_state": 0}


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_schema_gives_what_its_encoded_columns_give(fit_intercept):
    rows, ill = patients()
    schema = declared()
    shared = {**SCHEMA_QUICK, "fit_intercept": fit_intercept}
    of_schema = OPSampClassifier(schema=schema, **shared).fit(rows, ill)
    encoded = encode_features(rows, schema)[:, 1:].astype(float)
    of_numbers = OPSampClassifier(feature_range=(0, 1), classes=("no", "yes"), **shared)
    of_numbers.fit(encoded, ill)
    np.testing.assert_array_equal(of_schema.parameters_, of_numbers.parameters_)
    np.testing.assert_array_equal(of_schema.coef_, of_numbers.coef_)
    np.testing.assert_array_equal(of_schema.predict(rows), of_numbers.predict(encoded))
    assert of_schema.to_model().columns == schema.column_names
    assert of_schema.receipt_.schema_digest == schema.digest()


def test_a_row_without_a_label_counts_for_no_weights():
    rows, ill = patients()
    more = pd.concat([rows, rows], ignore_index=True)
    labels = pd.concat([ill, ill.map(lambda label: "?")], ignore_index=True)
    model = OPSampClassifier(
        schema=declared(missing_values=["?"]),
        relation="add_or_remove_one",
        public_row_guess=400,
        **SCHEMA_QUICK,
    )
    few, all_rows = model.fit(rows, ill).parameters_, model.fit(more, labels).parameters_
    np.testing.assert_allclose(few, all_rows, atol=1e-3)  # each minimiser is approximate


def test_what_the_receipt_cannot_check_it_names(tmp_path):
    rows, ill = patients()
    model = OPSampClassifier(schema=declared(), epsilon=5.0, most_draws=30)
    assert DTYPES_DECLARED in model.fit(rows, ill).receipt_.conditions
    rows.assign(ill=ill).to_csv(tmp_path / "rows.csv", index=False)
    table = read_table(tmp_path / "rows.csv")
    conditions = model.fit(table, table["ill"]).receipt_.conditions
    assert not {DTYPES_DECLARED, COLUMNS_UNSEEN, LABELS_PUBLIC} & set(conditions)


def test_units_of_several_rows_change_the_noise_of_estimator_and_comparison():
    rows, ill = patients()
    costs = [
        OPSampClassifier(schema=declared(**facts), **SCHEMA_QUICK).fit(rows, ill).receipt_
        for facts in ({}, {"rows_per_unit": 3, "unit": "one patient"})
    ]
    assert costs[1].sensitivity == 3 * costs[0].sensitivity
    table = rows.assign(ill=ill)
    task = FitTask(
        table=table,
        test=table[:0],
        schema=declared(rows_per_unit=3, unit="one patient"),
        epsilon=1e3,
        delta=1e-2,
        relation=NeighboringRelation.REPLACE_ONE,
        weight_bound=5,
        oracle="auto",
        time_limit=None,
        seed=0,
        noise_seed=0,
    )
    method = next(each for each in METHODS if each.name == "opsamp")
    fitted = method.fit(task)
    assert fitted.receipt.sensitivity == costs[1].sensitivity
    assert fitted.scores(table).shape == (len(table),)


def test_a_schema_and_a_range_are_one_too_many_and_limits_are_not_kept():
    rows, ill = patients()
    with pytest.raises(CalibrationError, match="leave out feature_range"):
        OPSampClassifier(schema=declared(), feature_range=(0, 1)).fit(rows, ill)
    limited = {
        "column": "age", "thresholds": [30], "range": [0, 100], "points": {"at_most": 2}
    }  # fmt: skip
    with pytest.raises(CalibrationError, match="limits of points need a scorecard"):
        OPSampClassifier(schema=declared(feature=[limited])).fit(rows, ill)
    with pytest.raises(CalibrationError, match="alternatives need a draw"):
        OPSampClassifier(schema=declared(alternatives=[["age", "smoker"]])).fit(rows, ill)


@pytest.mark.slow
@pytest.mark.skipif("OPDISC_DATA" not in os.environ, reason="needs the census table")
def test_the_census_task_runs_at_epsilon_1():
    from opdisc.data.datasets.loading import load_dataset
    from opdisc.data.datasets.schemas import load_schema
    from opdisc.data.label_encoding import encode_label_values

    table, schema = load_dataset("adult-balanced"), load_schema("adult-small")
    X = encode_features(table, schema)[:, 1:].astype(float)
    y = encode_label_values(table[schema.target.column], schema)
    started = time.perf_counter()
    model = OPSampClassifier(feature_range=(0, 1), epsilon=1.0).fit(X, y)
    print(f"{model.score(X, y):.4f} in {time.perf_counter() - started:.1f} s")
    assert model.receipt_.epsilon == 1.0
    assert len(model.parameters_) == 8


@pytest.mark.parametrize("epsilon", [1.0, 20.0, 500.0])
@pytest.mark.parametrize("model", [OPSampClassifier, OPSampRegressor])
def test_a_solver_that_leaves_zeros_costs_nothing(model, epsilon, monkeypatch, tmp_path):
    """HiGHS does so, without an error, where the process has other threads than it asks for."""
    monkeypatch.setattr(linear_program._SilentHighs, "run", lambda self: highspy.HighsStatus.kOk)
    fitted = model(
        epsilon=epsilon,
        delta=0.01,
        feature_range=(-1, 1),
        most_draws=30,
        ledger=Ledger(tmp_path / "book"),
        **({"target_range": (-1, 1)} if model is OPSampRegressor else {}),
    )
    X = np.linspace(-1, 1, 40)[:, None]
    with pytest.raises(OracleUnavailable, match="before anything is spent"):
        fitted.fit(X, (X[:, 0] > 0).astype(int))
    assert not fitted.ledger.path.exists()


def test_a_range_of_the_largest_numbers_is_no_overflow():
    X, _ = separable(60)
    model = OPSampRegressor(
        feature_range=(0, 1), target_range=(1e308, 1.7e308), random_state=0, **QUICK
    ).fit(X, np.full(60, 1.5e308))
    assert np.isfinite(model.predict(X)).all()
