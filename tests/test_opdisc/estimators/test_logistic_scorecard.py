"""Logistic scorecards: hull noise, whole points, and every form of them in agreement."""

import sqlite3
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from opdisc import (
    Ledger,
    PrivateLogisticRegression,
    PrivateScorecardClassifier,
    Schema,
    count_rows,
    load_model,
    read_table,
    save_model,
)
from opdisc.errors import CalibrationError, ModelFileError, OPDiscError
from opdisc.models import (
    SavedModel,
    card_markdown,
    card_page,
    card_picture,
    card_python,
    card_sql,
    points_of,
)
from opdisc.models.card.content import card_content
from opdisc.models.card.picture import _lines

SCHEMA = Schema.from_dict(
    {
        "name": "clinic",
        "target": {"column": "ill", "positive": "yes", "negative": "no"},
        "feature": [
            {"column": "age", "thresholds": [40, 65], "range": [18, 110]},
            {"column": "ward", "categories": ["a", "b"]},
            {"column": "smoker", "binary": True},
        ],
    }
)
CREDIT = {"points0": 600, "odds0": 50, "pdo": 20, "high": "no"}


def patients(n=600, seed=0):
    rng = np.random.default_rng(seed)
    age, ward, smoker = rng.integers(18, 110, n), rng.choice(list("abc"), n), rng.integers(0, 2, n)
    chance = 1 / (1 + np.exp(-(-1.5 + 1.2 * (age >= 40) + 1.5 * (age >= 65) + smoker)))
    ill = np.where(rng.random(n) < chance, "yes", "no")
    return pd.DataFrame({"age": age, "ward": ward, "smoker": smoker, "ill": ill}).astype(str)


TABLE = patients()
TYPED = TABLE.astype({"age": int})


def logistic(**settings):
    return PrivateScorecardClassifier(mechanism="logistic", schema=SCHEMA, **settings)


def fitted(**settings):
    return logistic(**settings).fit(TABLE, TABLE["ill"])


@pytest.fixture(params=[{}, {"odds_scale": CREDIT}], ids=["small points", "credit score"])
def card(request):
    return fitted(epsilon=4.0, random_state=0, **request.param)


def test_the_points_are_the_rounded_weights_of_hull_noise():
    card = fitted(epsilon=4.0, random_state=7)
    weights = PrivateLogisticRegression(
        epsilon=4.0, schema=SCHEMA, mechanism="hull", random_state=7
    ).fit(TABLE, TABLE["ill"])
    expected, odds = points_of([weights.intercept_[0], *weights.coef_[0]], SCHEMA)
    assert (card.scorecard_, card.odds_) == (expected, odds)
    assert card.receipt_ == weights.receipt_
    assert card.coef_.tolist() == [list(expected.points)]
    assert card.intercept_.tolist() == [expected.start]


def test_a_file_has_a_receipt_that_holds_and_is_charged_once(tmp_path):
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    book = Ledger.create(tmp_path / "book", epsilon_limit=3, table="clinic")
    rows = read_table(tmp_path / "t.csv")
    card = logistic(epsilon=2.0, ledger=book).fit(rows, rows["ill"])
    assert (card.receipt_.guarantee, card.receipt_.delta) == ("HOLDS", 0.0)
    assert card.receipt_.mechanism == "hull"
    assert book.total()[0] == 2.0
    with pytest.raises(OPDiscError):
        logistic(epsilon=2.0, ledger=book).fit(rows, rows["ill"])
    assert book.total()[0] == 2.0


def test_counts_give_the_card_of_the_rows(tmp_path):
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    counted = logistic(epsilon=4.0, random_state=3).fit_counts(
        count_rows(tmp_path / "t.csv", SCHEMA)
    )
    rows = read_table(tmp_path / "t.csv")
    assert (
        counted.scorecard_
        == logistic(epsilon=4.0, random_state=3).fit(rows, rows["ill"]).scorecard_
    )


def test_error_costs_move_the_threshold_and_nothing_else():
    costs = {"false_negative": 9, "false_positive": 1}
    plain, costly = fitted(random_state=1), fitted(random_state=1, error_costs=costs)
    assert costly.scorecard_.points == plain.scorecard_.points
    assert costly.scorecard_.threshold < plain.scorecard_.threshold == 1
    assert costly.receipt_.noise_scales == plain.receipt_.noise_scales
    np.testing.assert_array_equal(costly.predict_proba(TABLE), plain.predict_proba(TABLE))
    later = plain.to_model().at_costs(costs)
    assert later.scorecard == costly.scorecard_
    np.testing.assert_array_equal(later.predict(TABLE), costly.predict(TABLE))
    assert (costly.predict(TABLE) == "yes").sum() > (plain.predict(TABLE) == "yes").sum()


@pytest.mark.extras("duckdb")
def test_duckdb_gives_the_answers_and_chances_of_the_card(card):
    import duckdb

    with duckdb.connect(config={"threads": 1}) as database:
        database.register("your_table", TYPED)
        scored = database.sql(card_sql(card.to_model())).df()
    assert scored["prediction"].tolist() == card.predict(TABLE).tolist()
    high = list(card.classes_).index(card.scorecard_.classes[1])
    chances = card.predict_proba(TABLE)[:, high]
    np.testing.assert_allclose(scored["probability"], chances, rtol=0, atol=1e-15)


def test_every_form_says_the_same_of_every_row(card, tmp_path):
    model = card.to_model()
    save_model(card, tmp_path / "card.json")
    loaded = load_model(tmp_path / "card.json")
    assert isinstance(loaded, SavedModel) and loaded == model
    answers, chances = card.predict(TABLE), card.predict_proba(TABLE)
    assert card.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(loaded.predict(TABLE), answers)
    np.testing.assert_array_equal(loaded.predict_proba(TABLE), chances)
    np.testing.assert_array_equal((card.decision_function(TABLE) > 0), answers == "yes")
    with sqlite3.connect(":memory:") as database:
        TYPED.to_sql("your_table", database, index=False)
        scored = pd.read_sql_query(card_sql(model), database)
    assert scored["prediction"].tolist() == answers.tolist()
    high = list(card.classes_).index(model.scorecard.classes[1])
    np.testing.assert_allclose(scored["probability"], chances[:, high], rtol=0, atol=1e-15)
    code: dict = {}
    exec(card_python(model), code)
    rows = TABLE.drop(columns="ill").to_dict("records")
    assert [code["predict"](row) for row in rows] == answers.tolist()
    np.testing.assert_allclose([code["chance"](row) for row in rows], chances[:, high], atol=1e-15)
    why = card.explain(TABLE.iloc[[0]])
    assert (why.answer, why.chance) == (answers[0], pytest.approx(chances[0, high]))
    assert f"The chance of {why.positive} is {why.chance:.1%}." in str(why)


def test_every_form_writes_the_odds_out(card):
    model = card.to_model()
    high = model.scorecard.classes[1]
    plain, quoted = model.odds.text(high), model.odds.text(f"“{high}”")
    assert plain in model.summary and quoted in card_page(model) and quoted in card_markdown(model)
    assert f"Chance of “{high}”" in card_page(model)
    assert "Share" not in card_page(model)
    assert card_picture(model).startswith(b"\x89PNG")
    shown = " ".join(left for left, _, _ in _lines(card_content(model)))
    assert quoted in shown


def test_a_card_that_answers_the_same_to_everyone_still_has_its_points():
    rare = TABLE.assign(ill=np.where(np.arange(len(TABLE)) % 30, "no", "yes"))
    model = logistic(epsilon=50.0).fit(rare, rare["ill"]).to_model()
    assert model.verdict_.answer == "no" and not model.is_only_constant
    assert "at_costs" in model.verdict_.remedy and "start with" in model.summary


def test_a_table_without_rows_is_one_like_any_other(tmp_path):
    empty = TABLE.head(0)
    card = logistic(relation="add_or_remove_one", public_row_guess=500).fit(empty, empty["ill"])
    assert card.receipt_.n_rows is None and card.predict(TABLE).shape == (len(TABLE),)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("norm_budget", 3),
        ("max_nonzero", 3),
        ("base_measure", "sparse"),
        ("oracle", "enumeration"),
        ("time_limit", 5),
        ("max_rounds", 10),
        ("risk_budget", 0.2),
    ],
)
def test_what_other_mechanisms_take_is_refused_before_the_spend(option, value, tmp_path):
    book = Ledger.create(tmp_path / "book", epsilon_limit=3, table="clinic")
    with pytest.raises(CalibrationError, match=option):
        fitted(**{option: value}, ledger=book)
    assert book.total()[0] == 0


def test_a_scale_needs_a_logistic_card_and_no_other_bound():
    with pytest.raises(CalibrationError, match="odds_scale needs mechanism='logistic'"):
        PrivateScorecardClassifier(schema=SCHEMA, odds_scale=CREDIT).fit(TABLE, TABLE["ill"])
    with pytest.raises(CalibrationError, match="weight_bound"):
        fitted(odds_scale=CREDIT, weight_bound=5)
    assert max(map(abs, fitted(weight_bound=5).scorecard_.points)) <= 5


def test_thresholds_that_are_to_be_found_are_refused():
    declared = SCHEMA.to_dict()
    declared["feature"][0] = {
        "column": "age",
        "thresholds": {"quantiles": 4, "range": [18, 110]},
    }
    private = Schema.from_dict(declared)
    with pytest.raises(CalibrationError, match="thresholds that are written down"):
        clone(logistic()).set_params(schema=private).fit(TABLE, TABLE["ill"])


def test_parts_that_do_not_belong_together_are_refused(card):
    model = card.to_model()
    with pytest.raises(ModelFileError, match="logistic one|classes of its schema"):
        replace(model, odds=None)
    drawn = PrivateScorecardClassifier(schema=SCHEMA, epsilon=4.0).fit(TABLE, TABLE["ill"])
    with pytest.raises(ModelFileError, match="only a logistic card"):
        replace(drawn.to_model(), odds=model.odds)
    with pytest.raises(OPDiscError, match="fit this one again"):
        drawn.to_model().at_costs({"false_negative": 2, "false_positive": 1})
    with pytest.raises(OPDiscError, match="probabilities need"):
        drawn.to_model().predict_proba(TABLE)


def test_without_a_schema_columns_are_numbers_between_0_and_1():
    X = np.array([[0, 1], [1, 1], [1, 0], [0, 0]] * 100)
    card = PrivateScorecardClassifier(epsilon=5.0, classes=(0, 1), mechanism="logistic").fit(
        X, X[:, 0]
    )
    assert card.predict(X).tolist() == X[:, 0].tolist()
    assert card.predict_proba(X).shape == (400, 2)
