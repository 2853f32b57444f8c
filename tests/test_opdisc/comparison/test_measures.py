"""What a comparison measures of scores: areas under ROC curves, and the curves."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import integrate
from sklearn.metrics import roc_auc_score

from opdisc.comparison.measures import calibration_points, measured, roc_curve_points
from opdisc.comparison.methods.method import Fitted
from opdisc.comparison.plan import Plan, parse_method, runs_of
from opdisc.comparison.runs import execute, setting_of
from opdisc.comparison.source import make_source
from opdisc.data.schema import Schema

RATES = np.linspace(0, 1, 101)


def schema_of(positive, negative):
    return Schema.from_dict(
        {
            "name": "ward",
            "target": {"column": "state", "positive": positive, "negative": negative},
            "feature": [{"column": name, "binary": True} for name in ("fever", "cough")],
        }
    )


def table_of(states, fever, cough=None):
    cough = fever if cough is None else cough
    return pd.DataFrame({"fever": fever, "cough": cough, "state": states})


def scored(scores):
    """A fitted method that predicts "positive" above 0, and scores rows by their place."""
    values = None if scores is None else np.asarray(scores, dtype=np.float64)

    def predict(table):
        return np.zeros(len(table), dtype=bool) if values is None else values > 0

    return Fitted(predict=predict, scores=None if values is None else lambda table: values)


def naive_curve(truth, scores, rate):
    """Return the highest true positive rate at a false positive rate, ties cut in proportion."""
    false, true = [0.0], [0.0]
    for cut in sorted(set(scores), reverse=True):
        chosen = scores >= cut
        false.append(chosen[~truth].mean())
        true.append(chosen[truth].mean())
    best = 0.0
    for (a, b), (c, d) in zip(
        zip(false, true, strict=True),
        zip(false[1:], true[1:], strict=True),
        strict=False,
    ):
        if a <= rate <= c:
            best = max(best, d if a == c else b + (rate - a) / (c - a) * (d - b))
    return best


@pytest.mark.parametrize("levels", [2, 3, 1000])
def test_a_stored_curve_is_that_of_a_walk_over_the_thresholds(levels):
    rng = np.random.default_rng(levels)
    truth = rng.random(200) < 0.3
    scores = np.floor(levels * np.clip(rng.normal(0.4 + 0.2 * truth, 0.2), 0, 0.999))
    found = roc_curve_points(truth, scores)
    assert found == pytest.approx([naive_curve(truth, scores, r) for r in RATES], abs=1e-5)
    area = integrate.trapezoid(found, RATES)
    assert area == pytest.approx(roc_auc_score(truth, scores), abs=0.02)


def test_equal_scores_are_worth_a_half():
    states = ["ill", "ill", "well", "well", "well"]
    found = measured(scored([0] * 5), table_of(states, [0] * 5), schema_of("ill", "well"), "test")
    assert found["test_auc"] == 0.5
    assert found["roc"] == pytest.approx(list(RATES))


@pytest.mark.parametrize(
    ("states", "scores"),
    [
        (["well"] * 4, [1, 2, 3, 4]),
        (["ill"] * 4, [1, 2, 3, 4]),
        (["ill", "well", "ill", "well"], None),
        (["ill", "well", "ill", "well"], [1, np.nan, 2, 3]),
        (["ill", "well", "ill", "well"], [1, -np.inf, 2, 3]),
    ],
    ids=["all-well", "all-ill", "no-scores", "nan", "infinite"],
)
def test_where_no_area_is_defined_there_is_none_and_no_warning(states, scores):
    table = table_of(states, [0, 1, 0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = measured(scored(scores), table, schema_of("ill", "well"), "test")
    assert found["test_auc"] is None and "roc" not in found
    assert 0 <= found["test_accuracy"] <= 1


def rows_of(table, schema, *methods, **settings):
    source = make_source("ward", table, schema)
    plan = Plan(methods=methods, epsilons=(50.0,), repeats=1, **settings)
    setting = setting_of(plan, source)
    return [execute(run, setting, source) for run in runs_of(plan)]


SCORED = (
    "auto", "opdisc", "rspm", "robust-vote", "opsamp", "logistic-objective",
    "logistic-gradient-descent", "svm-objective", "naive-bayes-attributes", "optimum", "logistic",
)  # fmt: skip


@pytest.mark.parametrize(("positive", "negative"), [("well", "ill"), (0, 1)])
def test_a_higher_score_speaks_for_the_positive_label_wherever_it_sorts(positive, negative):
    """A fever tells the positive class in 90% of 400 rows; at epsilon 50 nobody misses that."""
    fever = np.arange(400) % 2
    odd = np.arange(400) % 10 == 0
    states = np.where((fever == 1) != odd, positive, negative)
    table = table_of(states, fever, np.arange(400) // 2 % 2)
    rows = rows_of(table, schema_of(positive, negative), *SCORED, "majority", "private-majority")
    assert [row["error"] for row in rows] == [None] * len(rows)
    found = {row["method"]: row["test_auc"] for row in rows}
    assert {name for name, area in found.items() if area < 0.8} == {
        "majority",
        "private-majority",
    }
    assert found["majority"] == found["private-majority"] == 0.5


def test_every_method_listed_here_is_known():
    assert all(parse_method(name)[0].name == name for name in SCORED)


def test_a_row_has_the_curve_of_the_rows_that_it_is_evaluated_on():
    fever = np.arange(60) % 2
    states = np.where((fever == 1) != (np.arange(60) % 7 == 0), "ill", "well")
    table = table_of(states, fever, np.arange(60) // 2 % 2)
    schema = schema_of("ill", "well")
    for fraction, part in ((0.3, "test"), (0.0, "train")):
        (row,) = rows_of(table, schema, "logistic", test_fraction=fraction)
        area = integrate.trapezoid(row["roc"], RATES)
        assert area == pytest.approx(row[f"{part}_auc"], abs=0.02)


def test_a_held_out_part_of_one_class_has_no_area():
    """Two of 40 rows are ill, and each split holds out one row in ten, rounded per class."""
    states = np.where(np.arange(40) < 2, "ill", "well")
    table = table_of(states, np.arange(40) % 2, np.arange(40) // 2 % 2)
    rows = rows_of(table, schema_of("ill", "well"), "logistic", test_fraction=0.1)
    assert [row["status"] for row in rows] == ["ok"]
    assert rows[0]["test_auc"] is None and rows[0]["roc"] is None
    assert rows[0]["train_auc"] is not None


def test_stated_chances_have_a_brier_score_and_answers_have_none():
    schema = schema_of("ill", "well")
    table = table_of(["ill", "well", "well", "ill"], [1, 0, 1, 0])
    stated = np.array([0.9, 0.2, 0.5, 0.4])
    answers = scored([1, -1, -1, -1])
    found = measured(replace(answers, chances=lambda table: stated), table, schema, "test")
    assert found["test_brier"] == pytest.approx((0.1**2 + 0.2**2 + 0.5**2 + 0.6**2) / 4)
    assert found["calibration"] == [[0.2, 0], [0.4, 1], [0.5, 0], [0.9, 1]]
    assert not {"test_brier", "calibration"} & set(measured(answers, table, schema, "test"))


def test_groups_by_chance_are_of_equal_size_and_add_up():
    rng = np.random.default_rng(0)
    chances = rng.random(1003).round(2)
    truth = rng.random(1003) < chances
    points = np.array(calibration_points(truth, chances))
    assert len(points) == 10 and (np.diff(points[:, 0]) > 0).all()
    sizes = [101, 101, 101, *[100] * 7]
    assert np.average(points[:, 1], weights=sizes) == pytest.approx(truth.mean(), abs=1e-5)
    # Ten groups of 100 whose shares have a standard error of at most .05: five of them.
    assert np.abs(points[:, 0] - points[:, 1]).max() < 0.25


def test_methods_with_chances_record_their_brier_score():
    rng = np.random.default_rng(3)
    fever, cough = rng.integers(0, 2, (2, 300))
    states = np.where(fever, "ill", "well")
    source = make_source("ward", table_of(states, fever, cough), schema_of("ill", "well"))
    plan = Plan(
        methods=("logistic-scorecard", "logistic-hull", "logistic", "majority"),
        epsilons=(20.0,),
        repeats=1,
    )
    setting = setting_of(plan, source)
    rows = {run.method: execute(run, setting, source) for run in runs_of(plan)}
    assert rows["majority"]["test_brier"] is None
    for name in ("logistic-scorecard", "logistic-hull", "logistic"):
        assert rows[name]["status"] == "ok" and 0 <= rows[name]["test_brier"] < 0.1
        assert len(rows[name]["calibration"]) == 10
    assert rows["majority"]["calibration"] is None
