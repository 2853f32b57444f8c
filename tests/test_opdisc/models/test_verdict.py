"""The verdict on a released card: constant or not, and what its noise may have cost."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from opdisc import PrivateScorecardClassifier, load_dataset, load_model, save_model
from opdisc.data.schema import Schema
from opdisc.models import NoBound
from opdisc.models.scorecard import Scorecard
from opdisc.models.verdict import judge_card
from opdisc.planning import MECHANISMS, plan_fit

SCHEMA = Schema.from_dict(
    {
        "name": "s",
        "target": {"column": "y", "positive": "yes", "negative": "no"},
        "feature": [{"column": "a", "binary": True}, {"column": "b", "categories": ["u", "v"]}],
    }
)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 2, 400), "b": rng.choice(["u", "v"], 400)})
    return frame.assign(y=np.where(frame["a"] == 1, "yes", "no"))


def fitted(table, **settings):
    model = PrivateScorecardClassifier(schema=SCHEMA, **{"weight_bound": 1, **settings})
    return model.fit(table, table["y"])


@pytest.fixture(scope="module")
def noise(table):
    """Return what the noise of a fit to read may cost."""
    return fitted(table, epsilon=5.0).to_model().noise


def card(start, *points):
    return Scorecard(
        target="y",
        classes=("no", "yes"),
        columns=SCHEMA.column_names,
        points=points,
        start=start,
    )


@pytest.mark.parametrize(
    ("released", "answer"),
    [
        (card(0, 0, 0, 0), "no"),
        (card(-1, 0, 1, 1), "no"),  # u and v exclude each other: at most 0 points
        (card(-1, 1, 1, 0), None),
        (card(1, 0, 1, 0), "yes"),
        (card(1, 0, -1, 0), None),
        (card(0, -1, -1, -1), "no"),
    ],
)
def test_a_card_that_answers_the_same_to_everyone_is_recognised(noise, released, answer):
    verdict = judge_card(released, SCHEMA, noise)
    assert verdict.answer == answer and verdict.is_constant == (answer is not None)
    if answer is not None:
        assert verdict.sentences()[0] == f"This card answers '{answer}' to everyone."
    else:
        assert "to everyone" not in str(verdict)


def test_a_label_that_is_false_or_zero_is_an_answer_too():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (40, 2))
    for classes in ((0, 1), (1, 0)):
        model = PrivateScorecardClassifier(epsilon=1.0, classes=classes).fit(X, X[:, 0])
        start = Scorecard(
            target=model.scorecard_.target,
            classes=model.scorecard_.classes,
            columns=model.scorecard_.columns,
            points=(0, 0),
            start=0,
        )
        verdict = judge_card(start, model.schema_, model.to_model().noise)
        assert verdict.is_constant and f"'{classes[0]}' to everyone" in str(verdict)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_estimator_and_file_give_the_same_verdict(mechanism, table, tmp_path):
    model = fitted(table, epsilon=2.0, mechanism=mechanism)
    save_model(model.to_model(), tmp_path / "m.json")
    loaded = load_model(tmp_path / "m.json")
    assert loaded.verdict_ == model.verdict_
    assert model.verdict_.noise.rows == 400 and model.verdict_.noise.epsilon == 2.0


def test_a_card_that_was_searched_for_has_the_verdict_that_the_readme_shows():
    table = load_dataset("breast-cancer")
    model = PrivateScorecardClassifier(epsilon=1.0, schema="breast-cancer")
    model.fit(table.drop(columns="diagnosis"), table["diagnosis"])
    assert "where the search goes" in model.receipt_.noise_law and model.receipt_.allowance > 0
    readme = Path(__file__).parents[3] / "README.md"
    assert f"\n{model.verdict_.noise}\n" in readme.read_text(encoding="utf-8")


@pytest.mark.parametrize("patience", [0.2, 30.0])
def test_staged_draws_are_judged_by_the_time_that_they_were_planned_for(patience):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (1000, 30))
    model = PrivateScorecardClassifier(epsilon=1.0, patience=patience).fit(X, X[:, 0])
    assert model.receipt_.mechanism == "staged" and model.verdict_.noise.rows == 1000
    planned = plan_fit(model.schema_, epsilon=1.0, n_rows=1000, patience=patience)
    assert model.verdict_.noise == planned[0].verdict


@pytest.mark.parametrize("kind", ["listed", "thresholds", "many"])
@pytest.mark.parametrize("settings", [{}, {"risk_budget": 0.2}, {"patience": 5.0}])
def test_a_stump_says_that_it_needs_what_the_plan_says(kind, settings):
    # What it would take is asked of the default, whose other cards have larger points.
    columns = {
        "listed": [{"column": f"c{j}", "binary": True} for j in range(5)],
        "thresholds": [{"column": f"c{j}", "thresholds": [1, 2, 3]} for j in range(5)],
        "many": [{"column": f"c{j}", "binary": True} for j in range(20)]
        + [{"column": f"d{j}", "binary": True, "sign": "positive"} for j in range(5)],
    }[kind]
    schema = Schema.from_dict(
        {
            "name": "s",
            "target": {"column": "y", "positive": 1, "negative": 0},
            "feature": columns,
        }
    )
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({one["column"]: rng.integers(0, 2, 400) for one in columns})
    model = PrivateScorecardClassifier(schema=schema, epsilon=0.02, **settings)
    drawn = model.fit(rows, rng.integers(0, 2, 400))
    assert "decision stump" in drawn.receipt_.noise_law
    planned = plan_fit(schema, epsilon=0.02, n_rows=400, compare_others=False, **settings)
    assert drawn.verdict_.noise == planned[0].verdict
    assert drawn.verdict_.noise.rows_needed > 400


def test_the_verdict_uses_the_promise_of_the_receipt(table):
    drowned = fitted(table, epsilon=0.001).verdict_.noise
    assert drowned.dominates and drowned.rows_needed > 400 and drowned.epsilon_needed > 0.001
    hidden = fitted(table, epsilon=0.001, relation="add_or_remove_one").verdict_.noise
    assert hidden.rows is None and not hidden.dominates and hidden.rows_needed > 1


def test_without_a_bound_or_of_an_earlier_version_nothing_is_said_of_the_noise(table):
    model = fitted(table, epsilon=2.0).to_model()
    none = replace(model, noise=NoBound())
    assert none.verdict_.noise is None and not none.verdict_.sentences()
    older = replace(model, noise=None)
    assert older.verdict_.noise is None and older.verdict_.answer == model.verdict_.answer
    assert older.verdict_.sentences() == (older.verdict_.unsaid,)
    assert "version that saved this card did not store it" in older.verdict_.unsaid


def test_an_unfitted_estimator_has_no_verdict():
    assert not hasattr(PrivateScorecardClassifier(), "verdict_")
