"""Error costs on the command line and in comparisons."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from helpers.opdisc.command_lines import assert_one_plain_sentence, told

from opdisc.comparison.methods import FitTask, find_method
from opdisc.comparison.plan import Plan, runs_of
from opdisc.comparison.runs import execute, setting_of
from opdisc.comparison.source import make_source
from opdisc.comparison.store import read_rows
from opdisc.data import Schema, encode_labels, read_table
from opdisc.privacy import NeighboringRelation

SCHEMA = """
name = "illness"
target = { column = "ill", positive = "yes", negative = "no" }
[[feature]]
column = "fever"
binary = true
[[feature]]
column = "cough"
binary = true
"""
COSTLY = SCHEMA.replace(
    "[[feature]]", "error_costs = { false_negative = 9, false_positive = 1 }\n[[feature]]", 1
)
COST_LINE = "error costs:        a false negative costs 9, a false positive 1"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    with open("table.csv", "w", newline="") as file:
        write = csv.writer(file, lineterminator="\n")
        write.writerow(["fever", "cough", "ill"])
        for fever, cough in rng.integers(0, 2, (600, 2)).tolist():
            ill = rng.random() < (0.25 if fever else 0.02)
            write.writerow([fever, cough, "yes" if ill else "no"])
    Path("plain.toml").write_text(SCHEMA)
    Path("costly.toml").write_text(COSTLY)
    return tmp_path


FIT = ("fit", "table.csv", "--epsilon", "300", "--schema")


@pytest.mark.parametrize(
    "options",
    [
        ("costly.toml",),
        ("plain.toml", "--false-negative-cost", "9"),
        ("plain.toml", "--false-negative-cost", "18", "--false-positive-cost", "2"),
        ("costly.toml", "--false-negative-cost", "9", "--false-positive-cost", "1"),
    ],
)
def test_fit_keeps_and_show_prints_the_costs(folder, options):
    status, out, _ = told(*FIT, *options, "--out", "card.json")
    assert status == 0 and COST_LINE in out
    assert COST_LINE in told("show", "card.json")[1]
    assert "18 units of cost" in told("show", "card.json", "--explain")[1]
    saved = json.loads(Path("card.json").read_text())
    costs = {"false_negative": 9, "false_positive": 1}
    assert saved["schema"]["error_costs"] == saved["receipt"]["error_costs"] == costs
    fevers = [row["fever"] == "1" for row in csv.DictReader(open("table.csv"))]
    answers = json.loads(told("predict", "card.json", "table.csv", "--json")[1])["predictions"]
    assert answers == ["yes" if fever else "no" for fever in fevers]


def test_equal_costs_are_not_mentioned(folder):
    for options in ((), ("--false-negative-cost", "4", "--false-positive-cost", "4")):
        status, out, _ = told(*FIT, "plain.toml", *options)
        assert status == 0 and "units of" not in out and "costs 4" not in out


@pytest.mark.parametrize(
    "command", [FIT, ("plan", *FIT[1:]), ("compare", "table.csv", "--schema")]
)
@pytest.mark.parametrize(
    "options",
    [
        ("plain.toml", "--false-negative-cost", "0"),
        ("plain.toml", "--false-positive-cost", "-3"),
        ("plain.toml", "--false-negative-cost", "1.5"),
        ("plain.toml", "--false-negative-cost", "5000"),
        ("costly.toml", "--false-negative-cost", "5"),
    ],
)
def test_costs_that_are_none_are_refused_in_one_sentence(folder, command, options):
    status, out, err = told(*command, *options)
    assert_one_plain_sentence(status, out, err)
    assert status == 2 and "cost" in err


def test_plan_predicts_cost(folder):
    plan = ("plan", "table.csv", "--epsilon", "1", "--explain", "--schema")
    plain = told(*plan, "plain.toml")[1]
    status, out, _ = told(*plan, "costly.toml")
    assert status == 0
    assert "units of extra cost on 600 rows (a false negative costs 9, a false positive 1)" in out
    assert "extra errors of 600" in plain and "extra cost" not in plain
    as_options = ("--false-negative-cost", "9", "--false-positive-cost", "1")
    assert told(*plan, "plain.toml", *as_options)[1] == out
    options = ("--epsilon", "1", "--weight-bound", "1", "--json", "--schema")
    found = [
        json.loads(told("plan", "table.csv", *options, name)[1])
        for name in ("plain.toml", "costly.toml")
    ]
    bounds = [
        {item["mechanism"]: item["prediction"]["mean"] for item in part if item["prediction"]}
        for part in found
    ]
    for name, mean in bounds[0].items():
        if mean < 600 / 9:  # not capped by the rows
            assert bounds[1][name] == pytest.approx(9 * mean, rel=0.02), name


def rows_of(source, *methods, **settings):
    plan = Plan(methods=methods, **({"epsilons": (200.0,), "repeats": 1} | settings))
    return [execute(run, setting_of(plan, source), source) for run in runs_of(plan)]


def source_of(name):
    return make_source("illness", read_table(Path("table.csv")), Schema.from_toml(name))


def test_a_comparison_records_what_mistakes_cost(folder):
    methods = ("auto", "exponential", "optimum", "logistic", "logistic-objective", "majority")
    costly = {row["method"]: row for row in rows_of(source_of("costly.toml"), *methods)}
    plain = {row["method"]: row for row in rows_of(source_of("plain.toml"), *methods)}
    assert all(row["status"] == "ok" for row in [*costly.values(), *plain.values()])
    for name, row in plain.items():
        assert "train_cost" not in row and "test_cost" not in row
        assert row["train_errors"] == round((1 - row["train_accuracy"]) * row["n_train"])
        assert costly[name]["train_cost"] == pytest.approx(
            costly[name]["train_errors"] / costly[name]["n_train"]
        )
    # The optimum costs least; logistic regression decides at the costs' own threshold.
    best = costly["optimum"]["train_errors"]
    assert all(row["train_errors"] >= best for row in costly.values())
    assert costly["logistic"]["train_errors"] == best
    assert costly["logistic-objective"]["train_errors"] == best
    assert costly["auto"]["train_errors"] == best
    assert costly["majority"]["train_accuracy"] == plain["majority"]["train_accuracy"] or (
        costly["majority"]["train_cost"] <= 9 * (1 - plain["majority"]["train_accuracy"])
    )
    assert costly["auto"]["receipt"]["error_costs"]["false_negative"] == 9
    assert "error_costs" not in plain["auto"]["receipt"]


@pytest.mark.slow
def test_compare_reports_the_cost(folder):
    status, _, err = told(
        "compare", "table.csv", "--schema", "plain.toml", "--false-negative-cost", "9",
        "--methods", "auto", "majority", "--epsilons", "1", "--repeats", "2", "--jobs", "1",
        "--out", "out",
    )  # fmt: skip
    assert status == 0, err
    page = Path("out/report.html").read_text()
    assert "Least cost at each ε" in page and "the same answer for everyone" in page
    assert ">cost</button>" in page
    header = Path("out/summary.csv").read_text().splitlines()[0]
    assert "test_cost_mean" in header
    assert all(row["test_cost"] >= 0 for row in read_rows(Path("out")))
    # What was begun with costs is resumed with them, and not without.
    assert told("compare", "--resume", "--out", "out")[0] == 0
    status, _, err = told(
        "compare", "table.csv", "--schema", "plain.toml", "--methods", "auto", "majority",
        "--epsilons", "1", "--repeats", "2", "--resume", "--out", "out",
    )  # fmt: skip
    assert status == 2 and "schema" in err


@pytest.mark.slow
def test_compare_without_costs_mentions_none(folder):
    told("compare", "table.csv", "--schema", "plain.toml", "--methods", "auto", "--epsilons", "1",
         "--repeats", "1", "--jobs", "1", "--out", "out")  # fmt: skip
    assert "Least cost" not in Path("out/report.html").read_text()
    assert "_cost" not in Path("out/summary.csv").read_text()
    assert "cost" not in Path("out/runs.jsonl").read_text()


@pytest.mark.parametrize("name", ["logistic-objective", "svm-objective"])
def test_linear_baselines_predict_the_positive_label_where_it_sorts_first(folder, name):
    # The decision function is for the label that sorts last; a comparison asks for the positive.
    schema = Schema.from_dict(
        {
            **Schema.from_toml("plain.toml").to_dict(),
            "target": {"column": "ill", "positive": "a", "negative": "*"},
        }
    )
    table = read_table(Path("table.csv"))
    table["ill"] = np.where(table["fever"] == "1", "a", "b")
    task = FitTask(
        table=table, test=table[:0], schema=schema, epsilon=100.0, delta=1e-6,
        relation=NeighboringRelation.REPLACE_ONE, weight_bound=1, oracle="auto", time_limit=None,
        seed=0,
    )  # fmt: skip
    fitted = find_method(name).fit(task)
    truth = encode_labels(table, schema) == 1
    assert (fitted.predict(table) == truth).mean() > 0.9
    assert fitted.scores(table)[truth].min() > fitted.scores(table)[~truth].max()
