"""Risks and several classes from one end of the command line to the other."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

from opdisc.cli.app import cli
from opdisc.cli.console import run_command_line
from opdisc.privacy.ledger import Ledger

FEATURES = """
[[feature]]
column = "age"
thresholds = [30, 70]
[[feature]]
column = "smoker"
categories = ["daily"]
"""
TWO = 'name = "ill"\ntarget = { column = "ill", positive = "yes", negative = "no" }\n' + FEATURES
THREE = (
    'name = "grade"\ntarget = { column = "grade", classes = ["low", "mid", "high"] }\n' + FEATURES
)
GRADES = ("low", "mid", "high")


def write(path, header, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    age, smoker = rng.integers(0, 100, 600), rng.choice(["daily", "never"], 600)
    grade = [GRADES[k] for k in np.searchsorted([30, 70], age, side="right")]
    ill = np.where(rng.random(600) < 0.1 + 0.6 * (age >= 70), "yes", "no")
    write(
        "table.csv", ["age", "smoker", "grade", "ill"], zip(age, smoker, grade, ill, strict=True)
    )
    Path("two.toml").write_text(TWO)
    Path("three.toml").write_text(THREE)
    Ledger.create("budget")
    return tmp_path


@pytest.fixture
def run(folder, capsys):
    def run(command):
        status = run_command_line(cli, command.split())
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


FIT = "fit table.csv --epsilon 30 --ledger budget --out card.json --schema"


def test_a_card_with_risks(run):
    status, out, _ = run(f"{FIT} ./two.toml --risk-budget 0.2")
    assert status == 0
    assert "Share of rows that are yes (in brackets: what the noise leaves open, about 95%)" in out
    risks = re.findall(r"^  total (-?\d+)(?: to -?\d+)? +(\d+)%  \(\d+% to \d+%\)$", out, re.M)
    assert len(risks) >= 2 and int(risks[0][1]) < int(risks[-1][1])
    assert re.search(r"^epsilon: +30$", out, re.M)
    assert re.search(r"^  for the card: +epsilon 24: ", out, re.M)
    assert re.search(r"^  for the risks: +epsilon 6: exact discrete Laplace noise", out, re.M)
    assert run("show card.json")[1] == out
    (charge,) = Ledger("budget").spendings()
    assert charge.epsilon == 30
    record = json.loads(run("show card.json --json")[1])
    assert record["receipt"]["risks"]["epsilon"] == 6.0
    assert {*record["risk_table"]} == {"rows", "noise_scale"}


@pytest.mark.parametrize("share", ["0", "1", "-0.5", "nan", "2"])
def test_an_impossible_share_is_one_sentence_and_costs_nothing(run, share):
    status, out, err = run(f"{FIT} ./two.toml --risk-budget {share}")
    assert status == 2 and out == "" and re.fullmatch(r"error: risk_budget must be [^\n]+\n", err)
    assert not Ledger("budget").spendings() and not Path("card.json").exists()


def test_three_classes_from_the_table_to_predictions(run):
    status, out, err = run(f"{FIT} ./three.toml")
    assert status == 0 and "epsilon 30" in err
    assert "Card 1: Predict grade" in out and "Card 2: Predict grade" in out
    assert "Total of 1 or more: mid or high. Total of 0 or less: low." in out
    assert "Total of 1 or more: high. Total of 0 or less: mid." in out
    assert re.search(r"^cards: +2, tree$", out, re.M)
    assert re.search(r"^card 2: +epsilon 7.5 for a row; ", out, re.M)
    assert run("show card.json")[1] == out
    (charge,) = Ledger("budget").spendings()
    assert charge.epsilon == 30 and charge.model
    assert run("predict card.json table.csv --out scored.csv")[0] == 0
    with open("scored.csv", newline="") as file:
        scored = list(csv.DictReader(file))
    assert len(scored) == 600
    assert np.mean([row["prediction"] == row["grade"] for row in scored]) > 0.95
    assert json.loads(run("show card.json --json")[1])["receipt"]["n_classes"] == 3


def test_three_classes_with_risks(run):
    status, out, _ = run(f"{FIT} ./three.toml --risk-budget 0.2")
    assert status == 0
    assert out.count("Share of rows that are ") == 2
    split = r"^card \d: +epsilon 7.5 for a row, 6 for the card and 1.5 for its risks; "
    assert len(re.findall(split, out, re.M)) == 2
    explained = run("show card.json --explain")[1]
    noise = r"^  for the risks: +epsilon 1.5: exact discrete Laplace noise"
    assert len(re.findall(noise, explained, re.M)) == 2
    assert run("show card.json")[1] == out
    (charge,) = Ledger("budget").spendings()
    assert charge.epsilon == 30
    record = json.loads(run("show card.json --json")[1])
    assert len(record["risk_tables"]) == len(record["scorecards"]) == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--delta 1e-6", "delta needs a target of two classes"),
        ("--risk-budget 2", "risk_budget must be a share of epsilon"),
        ("--mechanism opdisc --noise gaussian", "noise must be 'l2-laplace'"),
        ("--false-negative-cost 5", "error costs weigh the mistakes between two classes"),
    ],
)
def test_what_several_classes_do_not_take(run, options, words):
    status, out, err = run(f"{FIT} ./three.toml {options}")
    assert status == 2 and out == "" and words in err and err.count("\n") == 1
    assert not Ledger("budget").spendings()


def test_a_plan_of_three_classes_tells_the_cards_and_their_sum(run):
    plan = "plan table.csv --schema ./three.toml --epsilon 30"
    status, short, _ = run(plan)
    assert status == 0
    first, choice, time, receipt, more = short.splitlines()
    assert first.startswith("Noise is small: with probability 95% at most ")
    assert choice.startswith("choice: 2 cards, tree: ") and time.startswith("time: about ")
    assert receipt == "receipt: HOLDS for one row" and more.startswith("more: ")
    _, out, _ = run(f"{plan} --explain")
    assert out.startswith(short)
    cards = [line for line in out.splitlines() if line.startswith("card ")]
    assert [line.partition(" (")[0] for line in cards] == [
        "card 1, tells mid or high from low",
        "card 2, tells high from mid",
    ]
    assert all("epsilon 7.5 for a row" in line and "rows of its classes" in line for line in cards)
    (total, *each) = json.loads(run("plan table.csv --schema ./three.toml --epsilon 30 --json")[1])
    assert total["card"] == "" and [item["epsilon"] for item in each] == [7.5, 7.5]


def test_a_plan_of_three_classes_without_an_epsilon_is_a_table(run):
    status, out, _ = run("plan table.csv --schema ./three.toml")
    assert status == 0 and len(re.findall(r"2 cards, tree$", out, re.M)) == 6
    assert "beyond the fewest errors of each card, added up" in out
    assert "beyond the best card of the drawn column alone" in out  # at the smallest budgets
    assert "with every card: --explain" in out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--delta 1e-6", "delta needs a target of two classes"),
        ("--risk-budget 1.2", "risk_budget must be a share of epsilon"),
        ("--threshold-budget 0.2", "threshold_budget needs a target of two classes"),
        ("--false-negative-cost 5", "error costs weigh the mistakes between two classes"),
        ("--epsilon 0", "epsilon must be finite and > 0"),
        ("--weight-bound 0", "weight_bound must be"),
    ],
)
def test_what_a_plan_of_several_classes_does_not_take(run, options, words):
    status, out, err = run(f"plan table.csv --schema ./three.toml --epsilon 1 {options}")
    assert status == 2 and out == "" and words in err and err.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--methods rspm", "method 'rspm' needs a target of two classes, the schema declares 3"),
        ("--methods auto --false-negative-cost 5", "weigh the mistakes between two classes"),
    ],
)
def test_what_a_comparison_of_several_classes_does_not_take(run, options, words):
    command = "compare table.csv --schema ./three.toml --epsilons 1 --repeats 1 --out results"
    status, out, err = run(f"{command} {options}")
    assert status == 2 and out == "" and words in err and err.count("\n") == 1
    assert not Path("results").exists()
