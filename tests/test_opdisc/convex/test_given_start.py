"""Where a fit starts: released models, given points and public rows as weights."""

import json
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from opdisc import (
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivateScorecardClassifier,
    Schema,
    load_model,
)
from opdisc.convex import CONSTANT, MADE_WITHOUT_ROWS, PublicStart, start_from, whole_points
from opdisc.data import count_rows, encode_features
from opdisc.errors import CalibrationError, ModelFileError, SchemaError, TableError
from opdisc.models import save_model

SCHEMA = Schema.from_dict(
    {
        "name": "ward",
        "target": {"column": "ill", "positive": "yes", "negative": "no"},
        "feature": [
            {"column": "age", "thresholds": [40, 65], "range": [0, 120]},
            {"column": "ward", "categories": ["a", "b", "c"]},
            {"column": "smoker", "binary": True},
        ],
    }
)
NAMES = SCHEMA.column_names


def rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    age, ward = rng.integers(18, 110, n), rng.choice(list("abcd"), n)
    ill = np.where((age >= 65) ^ (rng.random(n) < 0.2), "yes", "no")
    columns = {"age": age, "ward": ward, "smoker": rng.integers(0, 2, n), "ill": ill}
    return pd.DataFrame(columns).astype(str)


def card(mechanism="logistic", **settings):
    model = PrivateScorecardClassifier(epsilon=5, schema=SCHEMA, mechanism=mechanism, **settings)
    table = rows()
    return model.fit(table, table["ill"]).to_model()


def scores(start, table):
    return encode_features(table, SCHEMA) @ np.array(list(map(float, start.weights)))


def test_a_pilot_is_plain_logistic_regression_with_a_small_ridge():
    pilot = rows(80)
    start = start_from(None, pilot, SCHEMA)
    X, y = encode_features(pilot, SCHEMA).astype(float), (pilot["ill"] == "yes").to_numpy()
    centred = np.array([0.5, 0.5, 1 / 3, 1 / 3, 1 / 3, 0.5])

    def loss(weights):
        z = X @ weights
        constant = weights[0] + centred @ weights[1:]
        length = constant**2 + weights[1:] @ weights[1:]
        return np.logaddexp(0, z).sum() - z[y].sum() + 1.5 * length

    best = minimize(loss, np.zeros(7), method="BFGS", options={"gtol": 1e-9}).x
    np.testing.assert_allclose(np.array(list(map(float, start.weights))), best, atol=1e-5)
    assert start.conditions == (MADE_WITHOUT_ROWS,)
    assert start.source.startswith("logistic regression on 80 public rows, sha256 ")


def test_a_pilot_in_any_form_and_order_is_the_same_start(tmp_path):
    pilot = rows(80)
    pilot.to_csv(tmp_path / "v.csv", index=False)
    other = pilot.sample(frac=1, random_state=1)[["ill", "ward", "smoker", "age"]]
    found = {
        start_from(None, each, SCHEMA)
        for each in (pilot, other, tmp_path / "v.csv", count_rows(pilot, SCHEMA))
    }
    assert len(found) == 1
    assert start_from(None, rows(80, seed=1), SCHEMA) not in found


def test_a_logistic_card_starts_with_its_own_odds():
    model = card(odds_scale={"points0": 600, "odds0": 50, "pdo": 20, "high": "no"})
    start, table = start_from(model, None, SCHEMA), rows(seed=3)
    chances = model.predict_proba(table)[:, 1]
    np.testing.assert_allclose(1 / (1 + np.exp(-scores(start, table))), chances, atol=1e-5)
    assert start.source == f"a released model, sha256 {model.to_dict()['sha256'][:12]}"
    assert start.conditions == (
        "what the start cost, epsilon 5, is added to this where it was learned from the same rows",
    )
    counted = start_from(model, None, SCHEMA, counted=[model.to_dict()["sha256"]])
    assert counted.conditions == () and counted.source.endswith("which the ledger has")


def test_a_start_that_promises_nothing_is_one_that_must_not_know_the_rows():
    model = card(random_state=1)
    assert model.receipt.guarantee == "VOID"
    digest = model.to_dict()["sha256"]
    for counted in ((), (digest,)):
        assert start_from(model, None, SCHEMA, counted=counted).conditions == (MADE_WITHOUT_ROWS,)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"mechanism": "auto", "risk_budget": 0.5},
        {"odds_scale": {"points0": 600, "odds0": 50, "pdo": 20}},
    ],
)
def test_a_model_has_one_digest_in_memory_and_in_its_file(settings, tmp_path):
    model = card(**settings)  # epsilon is a whole number
    save_model(model, tmp_path / "card.json")
    assert load_model(tmp_path / "card.json").to_dict() == model.to_dict()
    assert json.loads((tmp_path / "card.json").read_text())["sha256"] == model.to_dict()["sha256"]
    again = load_model(tmp_path / "card.json").to_dict()["sha256"]
    assert again == model.to_dict()["sha256"]


@pytest.mark.parametrize("mechanism", ["auto", "one_hot"])
def test_a_plain_card_starts_with_its_own_answers(mechanism, tmp_path):
    model = card(mechanism, weight_bound=2)
    save_model(model, tmp_path / "card.json")
    start, table = start_from(tmp_path / "card.json", None, SCHEMA), rows(seed=3)
    assert ((scores(start, table) > 0) == model.predicts_positive(table)).all()


def test_a_score_without_odds_has_a_standard_deviation_of_1_over_all_rows():
    start = start_from({"age >= 65": 3, "ward = b": -2, "smoker": 1, CONSTANT: -1}, None, SCHEMA)
    ages, wards = [(0, 0), (1, 0), (1, 1)], [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    every = np.array([(1, *a, *w, s) for a in ages for w in wards for s in (0, 1)])
    found = every @ np.array(list(map(float, start.weights)))
    assert np.std(found) == pytest.approx(1, abs=1e-5)
    points = every @ np.array([-1, 0, 3, 0, -2, 0, 1])
    assert ((found > 0) == (points >= 1)).all()


def whole(prior, schema=SCHEMA, **settings):
    return whole_points(start_from(prior, None, schema), schema, **settings)


def answers(points, table):
    return encode_features(table, SCHEMA) @ np.array(points) >= 1


def test_given_points_stay_as_long_as_they_are_small():
    given = {"age >= 65": 4, "ward = b": -10, CONSTANT: -2}
    assert whole(given) == (-2, 0, 4, 0, -10, 0, 0)
    assert whole(given, bound=5) == (-1, 0, 2, 0, -5, 0, 0)
    larger = whole({**given, "ward = b": -20})
    assert max(map(abs, larger[1:])) == 5 and all(type(point) is int for point in larger)
    assert max(map(abs, whole({"smoker": 0.5, "age >= 65": 1.25})[1:])) == 5
    # The constant is no more than decides every answer.
    assert whole({"smoker": 1, CONSTANT: 10**9}) == (2, 0, 0, 0, 0, 0, 1)


@pytest.mark.parametrize("value", [10**10, 10**400, 1e200, -math.inf, math.nan, True, "2"])
def test_points_beyond_reason_are_refused(value):
    with pytest.raises(CalibrationError, match="numbers of at most 1,000,000,000 in size, but"):
        start_from({"smoker": value}, None, SCHEMA)


@pytest.mark.parametrize("mechanism", ["auto", "logistic"])
def test_a_card_of_ours_stays_in_whole_points(mechanism):
    model, table = card(mechanism, weight_bound=4), rows(seed=3)
    assert (answers(whole(model), table) == model.predicts_positive(table)).all()
    later = Schema.from_dict(
        SCHEMA.to_dict() | {"target": {"column": "ill", "positive": "no", "negative": "yes"}}
    )
    turned = answers(whole(model, later), table)
    assert (turned == ~answers(whole(model), table)).all()


def test_points_against_a_declared_sign_are_none():
    signed = SCHEMA.to_dict()
    signed["feature"][2]["sign"] = "negative"
    assert whole({"smoker": 2, "age >= 65": 1}, Schema.from_dict(signed))[-1] == 0


def test_a_linear_model_starts_with_its_weights():
    table = rows()
    model = PrivateLogisticRegression(epsilon=5, schema=SCHEMA).fit(table, table["ill"]).to_model()
    start = start_from(model, None, SCHEMA)
    np.testing.assert_allclose(scores(start, table), model.scores(table), atol=1e-4)
    margin = PrivateLinearSVC(epsilon=5, schema=SCHEMA).fit(table, table["ill"]).to_model()
    found = scores(start_from(margin, None, SCHEMA), table)
    assert ((found > 0) == (margin.scores(table) > 0)).mean() > 0.99


def test_other_statements_and_reversed_labels_of_a_prior():
    later = Schema.from_dict(
        SCHEMA.to_dict() | {"target": {"column": "ill", "positive": "no", "negative": "yes"}}
    )
    model = card()
    one, other = start_from(model, None, SCHEMA), start_from(model, None, later)
    assert other.weights == tuple(-weight for weight in one.weights)
    more = SCHEMA.to_dict()
    more["feature"].append({"column": "fever", "binary": True})
    wider = start_from(model, None, Schema.from_dict(more))
    assert wider.weights == (*one.weights, Fraction(0))


def points_in(folder, text):
    (folder / "points.json").write_text(text)
    return folder / "points.json"


def test_a_file_of_points_is_a_published_score(tmp_path):
    given = {"age >= 65": 2, "smoker": 1}
    path = points_in(tmp_path, json.dumps(given))
    assert start_from(path, None, SCHEMA) == start_from(given, None, SCHEMA)


POINTED = """name = "ward"
"start with" = -1
[target]
column = "ill"
positive = "yes"
negative = "no"
[[feature]]
column = "age"
thresholds = [40, 65]
points = [0, 2]
[[feature]]
column = "ward"
categories = ["a", "b", "c"]
[[feature]]
column = "smoker"
binary = true
points = 1
"""


def test_a_schema_with_points_is_a_published_score(tmp_path):
    path = tmp_path / "score.toml"
    path.write_text(POINTED)
    given = {CONSTANT: -1, "age >= 40": 0, "age >= 65": 2, "smoker": 1}
    assert start_from(path, None, SCHEMA) == start_from(given, None, SCHEMA)
    for old, new, words in (
        ("points = [0, 2]", "points = [2]", "one number for each of its 2 statements"),
        ("points = 1", 'points = "1"', "'smoker' has none"),
        ("binary", "binry", "binry"),
    ):
        path.write_text(POINTED.replace(old, new))
        with pytest.raises((SchemaError, CalibrationError), match=words):
            start_from(path, None, SCHEMA)
    path.write_text("\n".join(line for line in POINTED.split("\n") if "points" not in line))
    with pytest.raises(SchemaError, match="has none"):
        start_from(path, None, SCHEMA)


@pytest.mark.parametrize(
    ("prior", "error", "words"),
    [
        ({"age >= 70": 2}, CalibrationError, "'age >= 70' is none; declare it"),
        ({"smoker": "2"}, CalibrationError, "'smoker' has none"),
        ({"smoker": float("nan")}, CalibrationError, "'smoker' has none"),
        ({"smoker": True}, CalibrationError, "'smoker' has none"),
        ({"smoker": 0}, CalibrationError, "must have points for a statement"),
        ({}, CalibrationError, "must have points for a statement"),
        (3, CalibrationError, "got int"),
        ("none.json", ModelFileError, "No such file"),
    ],
)
def test_a_prior_that_is_none_is_one_sentence(prior, error, words):
    with pytest.raises(error, match=words):
        start_from(prior, None, SCHEMA)


def test_what_cannot_be_a_start_is_refused():
    pilot = rows(40)
    with pytest.raises(CalibrationError, match="leave one out"):
        start_from({"smoker": 1}, pilot, SCHEMA)
    with pytest.raises(TableError, match="rows of both labels"):
        start_from(None, pilot[pilot["ill"] == "no"], SCHEMA)
    other = Schema.from_dict(
        SCHEMA.to_dict() | {"target": {"column": "ill", "positive": "x", "negative": "no"}}
    )
    with pytest.raises(CalibrationError, match="'no' and 'x'"):
        start_from(card(), None, other)
    with pytest.raises(CalibrationError, match="between -1024 and 1024"):
        PublicStart(weights=(Fraction(2000),), source="x")
    with pytest.raises(CalibrationError, match="multiples of its unit"):
        PublicStart(weights=(Fraction(1, 3),), source="x")
    assert start_from(None, None, SCHEMA) is None
