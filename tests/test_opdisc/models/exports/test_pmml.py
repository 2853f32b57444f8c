"""A card as PMML: an evaluator of the document alone gives the card's totals and answers."""

import random

import numpy as np
import pandas as pd
import pytest
from helpers.opdisc.cards import HIDDEN, any_cards, released
from helpers.opdisc.exported import held_row, read_columns, shown_model, told
from helpers.opdisc.pmml import Invalid, Scorecard
from hypothesis import given, settings, strategies as st

from opdisc import PrivateScorecardClassifier
from opdisc.errors import ModelFileError
from opdisc.models import card_pmml

TARGET = {"column": "ill", "positive": "yes", "negative": "no"}


def by_document(scorecard, row):
    try:
        found = scorecard(row)
    except Invalid:
        return None
    return found["total"], found["prediction"]


@given(st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_the_document_scores_as_the_model_does(seed):
    rng = random.Random(seed)
    model = shown_model(rng)
    scorecard, read = Scorecard(card_pmml(model)), read_columns(model)
    for _ in range(12):
        row = held_row(rng, model.schema)
        row = {name: cell if name in read else None for name, cell in row.items()}
        assert by_document(scorecard, row) == told(model, row)


def test_a_logistic_card_gives_its_chances_and_an_odds_scale_its_totals():
    schema = {
        "name": "ward",
        "target": TARGET,
        "feature": [
            {"column": "age", "thresholds": [40, 65], "range": [0, 120]},
            {"column": "smoker", "binary": True},
        ],
    }
    rows = pd.DataFrame({"age": [30, 50, 70, 90] * 50, "smoker": [0, 1] * 100})
    ill = np.where(rows["age"] > 60, "yes", "no")
    for scale in (None, {"points0": 600, "odds0": 50, "pdo": 20, "high": "no"}):
        fitted = PrivateScorecardClassifier(
            epsilon=5, schema=schema, mechanism="logistic", odds_scale=scale
        ).fit(rows, ill)
        model = fitted.to_model()
        scorecard = Scorecard(card_pmml(model))
        chances = model.predict_proba(rows)
        towards = list(model.schema.classes).index(model.scorecard.classes[1])
        for at in range(4):
            found = scorecard(rows.iloc[at].to_dict())
            assert found["prediction"] == model.predict(rows)[at]
            assert found["probability"] == pytest.approx(chances[at, towards], abs=1e-12)


def test_reasons_are_the_columns_that_lost_most_of_their_points():
    schema = {
        "name": "ward",
        "target": TARGET,
        "feature": [
            {"column": "age", "thresholds": [40, 65], "range": [0, 120]},
            {"column": "ward", "categories": ["a", "b"]},
            {"column": "smoker", "binary": True},
        ],
    }
    model = released(schema, [1, 2, -1, 4, -2])
    scorecard = Scorecard(card_pmml(model))
    found = scorecard({"age": 50.0, "ward": "a", "smoker": "1"})
    assert found["total"] == 1 - 1 - 2 and found["prediction"] == "no"
    assert [found[f"reason_{k}"] for k in (1, 2, 3)] == [
        ("ward", 5),
        ("age", 2),
        ("smoker", 2),
    ]
    best = scorecard({"age": 70.0, "ward": "b", "smoker": "0"})
    assert {best[f"reason_{k}"][1] for k in (1, 2, 3)} == {0}


def test_names_of_the_outputs_give_way_to_columns_that_have_no_points_too():
    names = ("total", "Prediction", "reason_1")
    features = [{"column": name, "binary": True} for name in names]
    model = released({"name": "w", "target": TARGET, "feature": features}, [2, 0, 0])
    found = Scorecard(card_pmml(model))({"total": "1"})
    assert found == {"total_": 2, "prediction_": "yes", "reason_1_": ("total", 0)}


def test_what_the_document_cannot_say_is_refused():
    rng = random.Random(1)
    with pytest.raises(ModelFileError, match="holds one scorecard"):
        card_pmml(any_cards(rng, "tree"))
    hidden = {"name": "b", "values": [HIDDEN[0]]}
    feature = {"column": "x", "categories": ["a", hidden]}
    with pytest.raises(ModelFileError, match="XML cannot hold"):
        card_pmml(released({"name": "w", "target": TARGET, "feature": [feature]}, [1, 2]))
    both = [{"column": "x", "thresholds": [3]}, {"column": "x", "categories": ["never"]}]
    with pytest.raises(ModelFileError, match="a value that is no number"):
        card_pmml(released({"name": "w", "target": TARGET, "feature": both}, [1, 2]))
    with pytest.raises(ModelFileError, match=r"below 2\^53"):
        card_pmml(
            released(
                {"name": "w", "target": TARGET, "feature": [{"column": "x", "binary": True}]},
                [2**53],
            )
        )


def test_a_broken_document_would_be_noticed():
    schema = {"name": "w", "target": TARGET, "feature": [{"column": "x", "thresholds": [3, 5]}]}
    model = released(schema, [1, 2])
    text = card_pmml(model)
    for before, after in (
        ("greaterOrEqual", "greaterThan"),
        ('partialScore="3"', 'partialScore="2"'),
    ):
        assert before in text
        broken = text.replace(before, after)
        try:
            totals = [Scorecard(broken)({"x": x})["total"] for x in (2.0, 3.0, 4.0, 5.0)]
        except KeyError:
            continue
        assert totals != [0, 1, 1, 3]
    assert [Scorecard(text)({"x": x})["total"] for x in (2.0, 3.0, 4.0, 5.0)] == [0, 1, 1, 3]
