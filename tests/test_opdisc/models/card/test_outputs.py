"""What cards add to a table: names, probabilities, cards for several classes, no rows."""

import random

import numpy as np
import pandas as pd
import pytest
from helpers.opdisc.cards import any_cards, any_model, any_row, released, released_cards

from opdisc import PrivateScorecardClassifier
from opdisc.errors import ModelFileError, OPDiscError, TableError
from opdisc.estimators import PrivateLogisticRegression, PrivateMulticlassClassifier
from opdisc.models.card import output_names

SCHEMA = {
    "name": "w",
    "target": {"column": "ill", "positive": "yes", "negative": "no"},
    "feature": [{"column": "x", "binary": True}],
}
TABLE = pd.DataFrame({"x": ["0", "1"] * 20})


def fitted(**arguments):
    labels = ["no", "yes"] * 20
    settings = {"schema": SCHEMA, "epsilon": 5, "random_state": 1} | arguments
    return PrivateScorecardClassifier(**settings).fit(TABLE, labels).to_model()


def test_a_card_without_odds_or_rates_has_no_probability():
    assert list(released(SCHEMA, (1,)).scored(TABLE)) == ["prediction", "total"]


@pytest.mark.parametrize("arguments", [{"mechanism": "logistic"}, {"risk_budget": 0.5}])
def test_the_probability_is_that_of_the_label_from_the_threshold_on(arguments):
    model = fitted(**arguments)
    found = model.scored(TABLE)
    assert list(found) == ["prediction", "total", "probability"]
    assert np.array_equal(found["probability"], model.predict_proba(TABLE)[:, 1])
    if model.odds is not None:
        chances = [model.explain({"x": cell}).chance for cell in TABLE["x"]]
        assert found["probability"].tolist() == chances


def test_the_probability_is_that_of_the_other_label_if_it_scores_high():
    scale = {"points0": 600, "odds0": 50, "pdo": 20, "high": "no"}
    model = fitted(mechanism="logistic", odds_scale=scale)
    found = model.scored(TABLE)
    assert np.array_equal(found["probability"], model.predict_proba(TABLE)[:, 0])
    reaches = found["total"] >= model.scorecard.threshold
    assert np.array_equal(found["prediction"] == "no", reaches)


def test_own_names_are_none_of_the_schema():
    record = SCHEMA | {
        "target": SCHEMA["target"] | {"column": "Prediction"},
        "feature": [{"column": name, "binary": True} for name in ("TOTAL", "total_", "reason_1")],
    }
    model = released(record, (1, 1, 1))
    names = output_names(model, reasons=2)
    assert (names.prediction, names.totals) == ("prediction_", ("total__",))
    assert names.reasons == ("reason_1_", "reason_2")
    row = pd.DataFrame({"TOTAL": ["1"], "total_": ["0"], "reason_1": ["0"]})
    assert list(model.scored(row, reasons=2)) == [
        "prediction_", "total__", "reason_1_", "reason_2"
    ]  # fmt: skip


@pytest.mark.parametrize("strategy", ["tree", "one_versus_rest"])
def test_several_cards_have_a_total_each(strategy):
    rng = random.Random(4)
    for _ in range(10):
        model = any_cards(rng, strategy)
        row = any_row(rng, model.schema, unreadable=0)
        table = pd.DataFrame({name: [cell] for name, cell in row.items()}, dtype=object)
        found = model.scored(table, points=True)
        for k, card in enumerate(model.scorecards, start=1):
            own = [found[name][0] for name in found if name.startswith(f"points {k}: ")]
            assert found[f"total_{k}"].tolist() == [card.start + sum(own)]
        assert found["prediction"].tolist() == [str(model.explain(row).answer)]


def test_several_cards_have_no_reasons():
    record = SCHEMA | {"target": {"column": "ill", "classes": ["no", "little", "very"]}}
    model = released_cards(record, [(0, 1), (0, -1)])
    with pytest.raises(ModelFileError, match="reasons need one scorecard"):
        model.scored(TABLE, reasons=1)


def test_no_rows_are_no_error():
    rng = random.Random(8)
    for model in (released(SCHEMA, (1,)), any_model(rng), any_cards(rng, "tree")):
        empty = pd.DataFrame({name: [] for name in model.schema.columns})
        found = model.scored(empty, points=True)
        assert {len(column) for column in found.values()} == {0}
        with pytest.raises(TableError, match="missing"):
            model.scored(pd.DataFrame({"another": []}))


@pytest.mark.parametrize("reasons", [-1, 101, 1.5, True, "3"])
def test_reasons_are_a_number(reasons):
    with pytest.raises(OPDiscError, match="reasons must be an integer from 0 to 100"):
        released(SCHEMA, (1,)).scored(TABLE, reasons=reasons)


def test_a_cell_that_cannot_be_read_is_not_named():
    model = released(SCHEMA, (1,))
    with pytest.raises(TableError) as refused:
        model.scored(pd.DataFrame({"x": ["hidden-cell"]}), reasons=2, points=True)
    assert "hidden-cell" not in str(refused.value)


@pytest.mark.extras("polars")
def test_a_frame_of_another_library_is_read():
    model = released(SCHEMA, (1,))
    import polars as pl

    found = model.scored(pl.DataFrame({"x": ["0", "1"]}))
    assert found["total"].tolist() == [0, 1]


def test_labels_are_spelled_as_elsewhere():
    model = released(SCHEMA, (1,))
    found = model.scored(TABLE, pd.DataFrame({"ill": [" yes ", "no"]}))
    assert set(found["prediction"]) == {" yes ", "no"}


def test_rates_of_several_cards_have_the_name_of_their_label():
    rng = np.random.default_rng(3)
    record = SCHEMA | {"target": {"column": "ill", "classes": ["no", "little", "very"]}}
    table = pd.DataFrame({"x": rng.integers(0, 2, 600).astype(str)})
    labels = np.where(table["x"] == "1", "very", rng.choice(["no", "little"], 600))
    fit = PrivateMulticlassClassifier(
        schema=record, epsilon=30, strategy="tree", risk_budget=0.5, random_state=1
    ).fit(table, labels)
    found = fit.to_model().scored(table)
    rates = np.column_stack([found[f"probability: {label}"] for label in fit.classes_])
    assert np.allclose(rates, fit.predict_proba(table))
    assert len(np.unique(rates.round(6), axis=1).T) == 3, "no two labels have the same rates"


def test_a_feature_of_a_linear_model_keeps_the_name_prediction():
    record = SCHEMA | {"feature": [{"column": "prediction", "binary": True}]}
    table = TABLE.rename(columns={"x": "prediction"})
    fit = PrivateLogisticRegression(schema=record, epsilon=5.0, random_state=1)
    model = fit.fit(table, ["no", "yes"] * 20).to_model()
    assert list(model.scored(table)) == ["prediction_"]
