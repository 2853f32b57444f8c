"""Fits from a public start: what they say, refuse, and how far they go from it."""

import numpy as np
import pandas as pd
import pytest

from opdisc import (
    PrivateLogisticRegression,
    PrivateMulticlassClassifier,
    PrivateScorecardClassifier,
    Schema,
    count_rows,
    load_model,
    read_table,
    save_model,
)
from opdisc.convex import start_from
from opdisc.convex.hull.mechanism import largest_score
from opdisc.data import encode_features
from opdisc.errors import CalibrationError, TableError
from opdisc.privacy import Ledger

SCHEMA = Schema.from_dict(
    {
        "name": "ward",
        "target": {"column": "ill", "positive": "yes", "negative": "no"},
        "feature": [{"column": f"c{j}", "binary": True} for j in range(8)],
    }
)


def rows(n, seed, noise=0.1):
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, 2, (n, 8))
    ill = (cells[:, :3].sum(axis=1) >= 2) ^ (rng.random(n) < noise)
    table = pd.DataFrame(cells, columns=[f"c{j}" for j in range(8)]).astype(str)
    return table.assign(ill=np.where(ill, "yes", "no"))


PILOT, TABLE, HELD = rows(60, 1), rows(500, 2), rows(2000, 3)


def card(**settings):
    return PrivateScorecardClassifier(schema=SCHEMA, **settings)


def score(model):
    return (model.predict(HELD) == HELD["ill"]).mean()


def test_little_data_and_much_noise_leave_the_start_as_it_is():
    weights = np.array(list(map(float, start_from(None, PILOT, SCHEMA).weights)))
    answers = encode_features(HELD, SCHEMA) @ weights > 0
    alone = (answers == (HELD["ill"] == "yes")).mean()
    # 500 rows at epsilon 0.001 say nothing.
    assert score(card(epsilon=1e-3, pilot=PILOT).fit(TABLE, TABLE["ill"])) > alone - 0.03
    none = card(epsilon=1e-3, mechanism="logistic")
    assert np.median([score(none.fit(TABLE, TABLE["ill"])) for _ in range(9)]) < alone - 0.05


def test_much_data_overcomes_a_wrong_start():
    wrong = PILOT.assign(ill=PILOT["ill"].map({"yes": "no", "no": "yes"}))
    assert score(card(epsilon=0.1, pilot=wrong).fit(TABLE, TABLE["ill"])) < 0.5
    assert score(card(epsilon=20.0, pilot=wrong).fit(TABLE, TABLE["ill"])) > 0.85


def test_the_guess_begins_at_0_and_ends_as_without_a_start():
    far = [largest_score(n, 1.0, is_started=True) for n in (0, 1, 2, 5, 11, 12, 1000)]
    assert far == sorted(far) and far[0] == far[1] == 0.4
    assert largest_score(1, 1e9, is_started=True) < 1e-8
    for n in (12, 1000):
        assert largest_score(n, 1.0, is_started=True) == largest_score(n, 1.0, is_started=False)
    assert largest_score(None, 50.0, is_started=True) == 0.4


def test_auto_takes_the_logistic_card_and_the_receipt_names_the_start(tmp_path):
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    table = read_table(tmp_path / "t.csv")
    model = card(epsilon=1, pilot=PILOT).fit(table, table["ill"])
    receipt = model.receipt_
    assert receipt.mechanism == "hull" and receipt.choice.startswith("a public start is given")
    assert receipt.guarantee == "CONDITIONAL"
    assert receipt.conditions == ("the start was made without the private rows",)
    assert receipt.start.startswith("logistic regression on 60 public rows")
    save_model(model, tmp_path / "card.json")
    assert load_model(tmp_path / "card.json").receipt == receipt
    assert ("start", receipt.start) in receipt.lines()
    counted = card(epsilon=1, pilot=PILOT).fit_counts(count_rows(tmp_path / "t.csv", SCHEMA))
    assert counted.receipt_ == receipt


def test_noise_does_not_depend_on_the_start():
    one = card(epsilon=1, pilot=PILOT).fit(TABLE, TABLE["ill"]).receipt_
    other = card(epsilon=1, prior={"c0": 3}).fit(TABLE, TABLE["ill"]).receipt_
    none = card(epsilon=1, mechanism="logistic").fit(TABLE, TABLE["ill"]).receipt_
    assert one.noise_scales == other.noise_scales == none.noise_scales
    assert one.settings == other.settings
    assert none.start == "" and "start" not in none.to_dict()


def test_the_ledger_adds_both_and_the_condition_goes(tmp_path):
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    counts = count_rows(tmp_path / "t.csv", SCHEMA)
    book = Ledger.create(tmp_path / "book")
    first = card(epsilon=1, mechanism="logistic", ledger=book).fit_counts(counts).to_model()
    book.name_model(first.to_dict()["sha256"])
    second = card(epsilon=0.5, prior=first, ledger=book).fit_counts(counts)
    assert (second.receipt_.guarantee, second.receipt_.conditions) == ("HOLDS", ())
    assert second.receipt_.start.endswith("which the ledger has")
    assert sum(spending.epsilon for spending in book.spendings()) == 1.5
    alone = card(epsilon=0.5, prior=first).fit_counts(counts)
    assert alone.receipt_.guarantee == "CONDITIONAL"
    assert "what the start cost, epsilon 1" in alone.receipt_.conditions[0]
    third = card(epsilon=0.25, prior=alone.to_model()).fit_counts(counts)
    costs = [text for text in third.receipt_.conditions if text.startswith("what the start cost")]
    assert [text.split(",")[1] for text in costs] == [" epsilon 0.5", " epsilon 1"]


DRAWS = ("staged", "permute_and_flip", "exponential")


@pytest.mark.parametrize("mechanism", DRAWS)
def test_exact_draws_change_few_points_of_a_start(mechanism, tmp_path):
    given = {"c0": 2, "c1": 1, "c7": -10, "start with": -1}
    model = card(epsilon=0.5, prior=given, mechanism=mechanism).fit(TABLE, TABLE["ill"])
    receipt, points = model.receipt_, (-1, 2, 1, 0, 0, 0, 0, 0, -10)
    assert receipt.start_points == points and receipt.start.startswith("given points, sha256 ")
    assert "the start was made without the private rows" in receipt.conditions
    drawn = (model.scorecard_.start, *model.scorecard_.points)
    assert abs(drawn[0] - points[0]) <= 2
    assert max(abs(a - b) for a, b in zip(drawn[1:], points[1:], strict=True)) <= 1
    save_model(model, tmp_path / "card.json")
    assert load_model(tmp_path / "card.json").receipt == receipt
    assert ("start", receipt.start) in receipt.lines()
    assert "points of the start" in str(model.verdict_)


def test_rounding_is_decided_by_the_bound_and_rows_win_in_the_end():
    settings = dict(prior={"c7": 1}, mechanism="staged")
    assert score(card(epsilon=50.0, **settings).fit(TABLE, TABLE["ill"])) > 0.8
    narrow = card(epsilon=50.0, prior={"c0": 4, "c1": 2}, mechanism="staged", weight_bound=2)
    receipt = narrow.fit(TABLE, TABLE["ill"]).receipt_
    assert receipt.start_points == (0, 2, 1, *[0] * 6) and receipt.weights[1] == (1, 2)


def test_risks_can_be_bought_for_a_card_near_a_start():
    model = card(epsilon=1.0, prior={"c0": 1}, mechanism="exponential", risk_budget=0.3)
    assert len(model.fit(TABLE, TABLE["ill"]).predict_proba(HELD)) == len(HELD)


def test_the_ledger_adds_the_start_of_an_exact_draw_too(tmp_path):
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    counts = count_rows(tmp_path / "t.csv", SCHEMA)
    book = Ledger.create(tmp_path / "book")
    first = card(epsilon=1, ledger=book).fit_counts(counts).to_model()
    book.name_model(first.to_dict()["sha256"])
    second = card(epsilon=0.5, prior=first, mechanism="staged", ledger=book).fit_counts(counts)
    assert (second.receipt_.guarantee, second.receipt_.conditions) == ("HOLDS", ())
    assert second.receipt_.start.endswith("which the ledger has")
    own = first.scorecard
    assert second.receipt_.start_points == (own.start, *own.points)
    assert sum(spending.epsilon for spending in book.spendings()) == 1.5


def test_thresholds_that_are_to_be_found_take_no_start(tmp_path):
    feature = {"column": "c0", "thresholds": {"quantiles": 2, "range": [0, 9]}}
    schema = Schema.from_dict(SCHEMA.to_dict() | {"feature": [feature]})
    model = PrivateScorecardClassifier(
        schema=schema, prior={"c0": 1}, mechanism="staged", ledger=tmp_path / "book"
    )
    with pytest.raises(CalibrationError, match="thresholds that are written down"):
        model.fit(TABLE, TABLE["ill"])
    assert not (tmp_path / "book").exists()


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
def test_under_both_relations_public_numbers_decide(relation):
    settings = dict(epsilon=1, pilot=PILOT, relation=relation, public_row_guess=400)
    one = card(**settings).fit(TABLE, TABLE["ill"]).receipt_
    other = card(**settings).fit(TABLE[:300], TABLE["ill"][:300]).receipt_
    same = one.settings == other.settings
    assert same == (relation == "add_or_remove_one")


def test_regression_weights_start_there_too():
    model = PrivateLogisticRegression(epsilon=1e-3, schema=SCHEMA, pilot=PILOT, delta=1e-6)
    model.fit(TABLE, TABLE["ill"])
    assert model.receipt_.mechanism == "hull" and model.receipt_.delta == 0
    assert score(model) > 0.7


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (card(pilot=PILOT, mechanism="one_hot"), "a start needs mechanism='logistic', 'staged'"),
        (card(pilot=PILOT, mechanism="staged", max_nonzero=3), "max_nonzero does not apply"),
        (
            card(pilot=PILOT, mechanism="exponential", oracle="enumeration"),
            "oracle does not",
        ),
        (card(pilot=PILOT, mechanism="staged", base_measure="levels"), "base_measure does not"),
        (card(pilot=PILOT, risk_budget=0.2), "risk_budget does not apply"),
        (card(pilot=PILOT, max_nonzero=3), "max_nonzero does not apply"),
        (card(pilot=PILOT, prior={"c0": 1}), "leave one out"),
        (card(prior={"c9": 1}), "'c9' is none"),
        (
            PrivateLogisticRegression(data_norm=3, pilot=PILOT),
            "a start needs hull noise, so a schema",
        ),
        (
            PrivateLogisticRegression(schema=SCHEMA, mechanism="output_perturbation", pilot=PILOT),
            "a start needs hull noise",
        ),
        (
            PrivateLogisticRegression(schema=SCHEMA, epsilon=float("inf"), pilot=PILOT),
            "a finite epsilon",
        ),
    ],
)
def test_a_start_that_has_no_place_is_refused_before_the_spend(model, words, tmp_path):
    model.set_params(ledger=tmp_path / "book")
    table = TABLE if model.schema is not None else TABLE.drop(columns="ill").astype(float)
    with pytest.raises(CalibrationError, match=words):
        model.fit(table, TABLE["ill"])
    assert not (tmp_path / "book").exists()


def test_a_pilot_that_cannot_be_read_is_refused_before_the_spend(tmp_path):
    for pilot in (PILOT.drop(columns="c3"), PILOT.assign(ill="maybe"), tmp_path / "none.csv"):
        with pytest.raises(TableError):
            card(pilot=pilot, ledger=tmp_path / "book").fit(TABLE, TABLE["ill"])
    assert not (tmp_path / "book").exists()


def test_the_private_rows_are_no_pilot(tmp_path):
    counts = count_rows(TABLE, SCHEMA)
    for fit in (
        lambda: card(pilot=TABLE, ledger=tmp_path / "book").fit(TABLE, TABLE["ill"]),
        lambda: card(pilot=counts, ledger=tmp_path / "book").fit_counts(counts),
        lambda: PrivateLogisticRegression(
            schema=SCHEMA, pilot=TABLE, ledger=tmp_path / "book"
        ).fit(TABLE, TABLE["ill"]),
    ):
        with pytest.raises(CalibrationError, match="it is the table that is fitted"):
            fit()
    assert not (tmp_path / "book").exists()


def test_several_classes_take_no_start():
    with pytest.raises(TypeError):
        PrivateMulticlassClassifier(schema=SCHEMA, pilot=PILOT)
