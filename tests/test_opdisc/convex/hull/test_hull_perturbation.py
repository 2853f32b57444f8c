"""Hull perturbation behind the estimator: what it promises, refuses and releases."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from helpers.opdisc.hull import all_rows

from opdisc import (
    Ledger,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    load_model,
    read_table,
    save_model,
)
from opdisc.convex.hull import mechanism
from opdisc.convex.hull.shape import HullShape
from opdisc.data import Schema
from opdisc.errors import CalibrationError, UncertifiedRelease

SCHEMA = {
    "name": "clinic",
    "target": {"column": "ill", "positive": "yes", "negative": "no"},
    "feature": [
        {"column": "age", "thresholds": [40, 65], "range": [18, 110]},
        {"column": "ward", "categories": ["a", "b"]},
        {"column": "smoker", "binary": True},
    ],
}


def table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    age, ward, smoker = rng.integers(18, 110, n), rng.choice(list("abc"), n), rng.integers(0, 2, n)
    ill = np.where((age >= 65) ^ (rng.random(n) < 0.05), "yes", "no")
    return pd.DataFrame({"age": age, "ward": ward, "smoker": smoker, "ill": ill}).astype(str)


TABLE = table()


def hull(schema=SCHEMA, **settings):
    return PrivateLogisticRegression(mechanism="hull", schema=schema, **settings)


def fitted(schema=SCHEMA, rows=TABLE, **settings):
    return hull(schema, **settings).fit(rows, rows["ill"])


def test_a_file_with_a_schema_has_a_receipt_that_holds(tmp_path):
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    rows = read_table(tmp_path / "t.csv")
    model = fitted(rows=rows, epsilon=2.0, ledger=tmp_path / "book")
    receipt = model.receipt_
    assert (receipt.guarantee, receipt.conditions) == ("HOLDS", ())
    assert (receipt.epsilon, receipt.delta, receipt.delta_numerical) == (2.0, 0.0, 0.0)
    assert receipt.noise_scales == (1.0,) and dict(receipt.lines())["delta"] == "0"
    assert receipt.versions["python-flint"]
    assert [s.epsilon for s in Ledger(tmp_path / "book").spendings()] == [2.0]
    save_model(model, tmp_path / "m.json")
    loaded = load_model(tmp_path / "m.json")
    assert loaded.receipt == receipt
    assert (loaded.predict(rows) == model.predict(rows)).all()


def test_only_whole_multiples_leave_and_the_probabilities_are_theirs():
    model = fitted(epsilon=5.0, relation="add_or_remove_one")
    weights = np.append(model.coef_[0], model.intercept_) * mechanism.RESOLUTION
    assert (weights == np.round(weights)).all()
    assert (
        model.score(TABLE, TABLE["ill"]) > 0.85
    )  # fails by chance below e^-30: 5 of 6 rows clear
    assert model.receipt_.n_rows is None
    chances = model.predict_proba(TABLE)
    assert ((chances[:, 1] > 0.5) == (model.predict(TABLE) == "yes")).all()


@pytest.mark.parametrize(
    ("settings", "changed"),
    [
        ({}, 2),
        ({"relation": "add_or_remove_one"}, 1),
        ({"error_costs": {"false_negative": 5, "false_positive": 1}}, 10),
        ({"schema": SCHEMA | {"rows_per_unit": 3}}, 6),
    ],
    ids=["replaced", "added", "costs", "three rows"],
)
@pytest.mark.parametrize("epsilon", [0.1, 0.3, 1.0, 7.25])
def test_noise_and_ridge_meet_the_theorem(settings, changed, epsilon):
    """Changed rows times cost over the scale s are at most epsilon; the ridge is from s R^2 on."""
    schema = Schema.from_dict(settings.get("schema", SCHEMA))
    model = fitted(**{"schema": schema, **settings}, epsilon=epsilon)
    scale = Fraction(changed) / min(Fraction(epsilon), Fraction(repr(epsilon)))
    assert model.receipt_.noise_scales == pytest.approx((float(scale),), rel=1e-15)
    rows = all_rows(HullShape.of_schema(schema))
    centre = np.array([0, *map(float, HullShape.of_schema(schema).centre)])
    radius = ((rows - centre) ** 2).sum(axis=1).max()
    assert model.receipt_.settings["ridge"] >= float(scale) * radius * (1 - 1e-12)


def test_the_ridge_and_the_noise_do_not_look_at_the_rows():
    other = TABLE.assign(ill=["yes"] + ["no"] * 399, age="18", smoker="")
    assert fitted(rows=TABLE).receipt_ == fitted(rows=other).receipt_


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: PrivateLogisticRegression(mechanism="hull", data_norm=1.0), "declare one"),
        (lambda: PrivateLinearSVC(mechanism="hull", data_norm=1.0), "declare one"),
        (lambda: hull(ridge=1.0), "at least"),
        (lambda: hull(ridge=float("nan")), "at least"),
        (lambda: hull(ridge="big"), "at least"),
        (lambda: hull(epsilon=0.0), "epsilon"),
        (lambda: hull(epsilon=1e7), "epsilon of at most 1,000,000"),
    ],
    ids=[
        "no schema",
        "no schema either",
        "small ridge",
        "no number",
        "text",
        "epsilon",
        "huge",
    ],
)
def test_what_cannot_be_promised_is_refused_before_the_spend(build, words, tmp_path):
    model = build().set_params(ledger=tmp_path / "book")
    with pytest.raises(CalibrationError, match=words):
        model.fit(TABLE[["age", "smoker"]].astype(float) if model.schema is None else TABLE,
                  TABLE["ill"])  # fmt: skip
    assert not (tmp_path / "book").exists()


def test_a_failure_after_the_spend_says_nothing(monkeypatch, tmp_path):
    calls = []

    def fails(*arguments):
        calls.append(arguments)
        if len(calls) > 1:  # the first is the rehearsal on two public rows
            raise ValueError("a cell: 42")
        return [0] * 6

    monkeypatch.setattr(mechanism, "released_weights", fails)
    with pytest.raises(UncertifiedRelease) as caught:
        fitted(ledger=tmp_path / "book")
    assert "42" not in str(caught.value) and caught.value.__cause__ is None
    assert len(Ledger(tmp_path / "book").spendings()) == 1


def numbers(n=3000, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] - X[:, 1] + rng.logistic(size=n) / 2 > 0).astype(int)


def test_yes_and_no_as_numbers_are_the_columns_of_a_schema():
    cells = np.random.default_rng(1).integers(0, 2, (300, 3))
    names = ["a", "b", "c"]
    schema = {
        "name": "t",
        "target": {"column": "y", "positive": 1, "negative": 0},
        "feature": [{"column": name, "binary": True} for name in names],
    }
    y = cells[:, 0]
    for seed in range(5):
        one = PrivateLogisticRegression(epsilon=1.0, feature_range=(0, 1), random_state=seed)
        other = PrivateLogisticRegression(epsilon=1.0, schema=schema, random_state=seed)
        one.fit(cells, y), other.fit(pd.DataFrame(cells, columns=names), y)
        np.testing.assert_array_equal(one.coef_, other.coef_)
        assert one.intercept_ == other.intercept_


def test_numbers_on_a_range_are_learned_and_kept(tmp_path):
    X, y = numbers()
    model = PrivateLogisticRegression(
        epsilon=2.0, feature_range=(-3, 3), classes=(0, 1), ledger=tmp_path / "book"
    ).fit(X, y)
    assert model.score(*numbers(seed=1)) > 0.8
    receipt = model.receipt_
    assert receipt.mechanism == "hull" and receipt.settings["steps of a range"] == 256
    assert receipt.conditions == ("columns were made without looking at the rows",)
    assert receipt.delta == receipt.delta_numerical == 0 and receipt.noise_scales == (1.0,)
    unit = np.append(model.intercept_ + model.coef_[0] @ np.full(4, -3), model.coef_[0] * 6) * 256
    np.testing.assert_allclose(unit, np.rint(unit), atol=1e-9)  # whole multiples leave
    save_model(model, tmp_path / "model.json")
    kept = load_model(tmp_path / "model.json")
    wide = 5 * X
    np.testing.assert_allclose(kept.scores(wide), model.decision_function(wide), atol=1e-9)
    np.testing.assert_allclose(
        model.decision_function(wide), model.decision_function(np.clip(wide, -3, 3)), atol=1e-9
    )
    np.testing.assert_allclose(kept.predict_proba(X), model.predict_proba(X), atol=1e-12)


def test_each_column_may_have_a_range_of_its_own():
    X, y = numbers()
    scale, shift = np.array([1, 100, 0.01, 1]), np.array([0, 5, 0, -7])
    one = PrivateLogisticRegression(epsilon=5.0, feature_range=(-3, 3), random_state=1).fit(X, y)
    ends = (-3 * scale + shift, 3 * scale + shift)
    other = PrivateLogisticRegression(epsilon=5.0, feature_range=ends, random_state=1)
    other.fit(X * scale + shift, y)
    np.testing.assert_allclose(
        other.decision_function(X * scale + shift), one.decision_function(X), atol=0.05
    )


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"feature_range": (0, 1), "data_norm": 1.0}, "one only"),
        ({"feature_range": (0, 1), "mechanism": "noisy_sgd"}, "feature_range needs hull noise"),
        ({"feature_range": (0, 1), "epsilon": float("inf")}, "a finite epsilon"),
        ({"feature_range": (1, 0)}, "lowest < highest"),
        ({"feature_range": (0, [1, 2])}, "numbers or one per column"),
        ({"feature_range": (-1e308, 1e308)}, "must be finite"),
        ({"feature_range": (0, 1), "ridge": 0.1}, "at least"),
    ],
)
def test_a_range_that_is_none_is_refused_before_the_spend(settings, words, tmp_path):
    X, y = numbers(100)
    with pytest.raises(CalibrationError, match=words):
        PrivateLogisticRegression(ledger=tmp_path / "book", **settings).fit(X, y)
    assert not (tmp_path / "book").exists()


def test_without_privacy_it_is_plain_logistic_regression():
    model = fitted(epsilon=float("inf"), ridge=1e-3)
    assert model.receipt_.guarantee == "VOID" and model.score(TABLE, TABLE["ill"]) > 0.9


@pytest.mark.parametrize("rows", [TABLE.iloc[:1], TABLE[TABLE["ill"] == "no"]], ids=["one", "no"])
def test_a_table_of_one_class_is_learned_from(rows):
    """A neighbour may have it: nothing may depend on whether both labels occur."""
    assert fitted(rows=rows, relation="add_or_remove_one").coef_.shape == (1, 5)


def test_rows_without_a_label_weigh_nothing():
    rows = TABLE.assign(ill=[""] * 200 + list(TABLE["ill"][200:]))
    first = fitted(rows=rows, random_state=1).coef_
    half = TABLE.iloc[200:]
    second = fitted(rows=half, random_state=1, ridge=fitted(rows=rows).receipt_.settings["ridge"])
    assert (first == second.coef_).all()
