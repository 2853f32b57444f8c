"""From a raw file of loans to a card: draft, fill in, check, plan, fit, predict."""

import csv
import json
import re
import shlex
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from helpers.opdisc.command_lines import assert_one_plain_sentence, told

from opdisc import Ledger, load_model

HEADER = ["checking status", "duration", "credit amount", 'purpose "use"', "age", "class"]
N_ROWS = 1000


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A table like German credit: categories with spaces, numbers, a rare outcome."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    months = rng.choice([6, 9, 12, 18, 24, 36, 48, 60], N_ROWS)
    amount = rng.integers(250, 18_000, N_ROWS)
    age = rng.integers(19, 75, N_ROWS)
    status = rng.choice(["no account", "below 0 DM", "0 to 200 DM", "200 DM or more"], N_ROWS)
    use = rng.choice(["new car", "radio, television", "education"], N_ROWS)
    bad = (months > 30) & (status == "below 0 DM") | (rng.random(N_ROWS) < 0.15)
    with open("loans.csv", "w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(HEADER)
        rows.writerows(
            zip(status, months, amount, use, age, np.where(bad, "bad", "good"), strict=True)
        )


FACTS = {
    "checking status": 'categories = ["below 0 DM", "0 to 200 DM", "200 DM or more"]',
    "duration": "thresholds = { quantiles = 3, range = [0, 72] }",
    "credit amount": "thresholds = { quantiles = 3, range = [0, 20000] }",
    r"purpose \"use\"": 'categories = ["new car", "radio, television"]',
    "age": "thresholds = [25, 40]\nrange = [18, 100]",
}


def filled_in():
    assert told("schema", "new", "loans.csv", "-o", "loans.toml", "--label", "class")[0] == 0
    text = Path("loans.toml").read_text()
    for column, facts in FACTS.items():
        blank = f'column = "{column}"\nthresholds = "<fill in>"  # or categories, or binary'
        assert blank in text
        text = text.replace(blank, f'column = "{column}"\n{facts}')
    text = text.replace('positive = "<fill in>"', 'positive = "bad"')
    text = text.replace('negative = "<fill in>"', 'negative = "good"')
    assert "= <fill in>" not in text
    Path("loans.toml").write_text(text)


def test_a_raw_file_becomes_a_card():
    filled_in()
    assert told("schema", "check", "loans.csv", "--schema", "loans.toml") == (
        0,
        "every declared column is in the header\n",
        "",
    )
    status, out, _ = told("plan", "loans.csv", "--schema", "loans.toml", "--epsilon", "2")
    assert status == 0
    assert "; private thresholds take 0.2 of epsilon 2\n" in out and out.count("\n") == 5
    _, out, _ = told("plan", "loans.csv", "--schema", "loans.toml", "--epsilon", "2", "--explain")
    assert "\nprivate thresholds take epsilon 0.2 of 2, which leaves 1.8 for the" in out
    Ledger.create("book", epsilon_limit=2.0, table="loans")
    arguments = ("fit", "loans.csv", "--schema", "loans.toml", "--epsilon", "2")
    budget = ("--ledger", "book", "--out", "card.json", "--threshold-budget", "0.25")
    status, out, err = told(*arguments, *budget)
    assert status == 0, err
    assert "  for thresholds:   epsilon 0.5: exact draws by rank" in out
    assert Ledger("book").total()[0] == 2.0
    model = load_model("card.json")
    assert sum(Fraction(stage.epsilon) for stage in model.receipt.stages) == 2
    durations = model.schema.features[1].thresholds
    assert len(durations) == 3 and 0 < durations[0] < durations[2] <= 72
    assert all(f"{amount:g}".endswith("00") for amount in model.schema.features[2].thresholds)
    assert told("show", "card.json")[0] == 0
    status, out, _ = told("predict", "card.json", "loans.csv")
    assert status == 0 and len(out.splitlines()) == N_ROWS + 1
    status, out, err = told(*arguments, "--ledger", "book")
    assert_one_plain_sentence(status, out, err)
    assert "limit" in err or "cap" in err


def test_the_plan_says_the_split_in_json_too():
    filled_in()
    arguments = ("plan", "loans.csv", "--schema", "loans.toml", "--epsilon", "1", "--json")
    status, out, _ = told(*arguments)
    planned = json.loads(out)
    assert status == 0 and len({item["thresholds"] for item in planned}) == 1
    assert "duration, 3 thresholds, scale of their ranks" in planned[0]["thresholds"]
    assert "above the 250 rows" not in planned[0]["thresholds"]
    more = json.loads(told(*arguments, "--threshold-budget", "0.5")[1])
    assert more[0]["prediction"]["mean"] > planned[0]["prediction"]["mean"]
    little = json.loads(told(*arguments, "--threshold-budget", "0.01")[1])
    assert "a scale above the 250 rows from one to the next: declare" in little[0]["thresholds"]
    assert "too little for '" in little[0]["thresholds_brief"]


@pytest.mark.parametrize("command", ["fit", "plan"])
@pytest.mark.parametrize(
    ("schema", "options", "words"),
    [
        ("loans.toml", ["--threshold-budget", "1"], "must be a share of epsilon in (0, 1)"),
        ("loans.toml", ["--threshold-budget", "nan"], "must be a share of epsilon in (0, 1)"),
        ("loans.toml", ["--threshold-budget", "much"], "not a valid float"),
        ("listed.toml", ["--threshold-budget", "0.1"], "this one declares none"),
        ("step.toml", [], "choose another step"),
        ("blank.toml", [], "must be filled in"),
    ],
)
def test_bad_inputs_end_in_one_sentence(command, schema, options, words):
    filled_in()
    text = Path("loans.toml").read_text()
    Path("listed.toml").write_text(
        text.replace(FACTS["duration"], "thresholds = [12]").replace(
            FACTS["credit amount"], "thresholds = [5000]"
        )
    )
    Path("step.toml").write_text(text.replace("range = [0, 72]", "range = [0, 72], step = 1e-9"))
    told("schema", "new", "loans.csv", "-o", "blank.toml")
    status, out, err = told(command, "loans.csv", "--schema", schema, "--epsilon", "1", *options)
    assert_one_plain_sentence(status, out, err)
    assert words in err


PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "thresholds.md"


def test_the_commands_of_the_page_run():
    text = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```bash\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    commands = [shlex.split(line)[1:] for block in blocks for line in block.splitlines()]
    # That of public rows writes the schema in another way: test_pilot.py runs it.
    commands = [command for command in commands if "--pilot" not in command]
    assert [command[0] for command in commands] == ["schema", "schema", "plan", "fit", "show"]
    feature = re.search(r"^    \[\[feature\]\]\n(?:    .*\n)+", text, re.MULTILINE).group(0)
    raw = Path("loans.csv").read_text().replace("class\n", "outcome\n", 1)
    Path("loans.csv").write_text(raw)
    for command in commands:
        status, _, err = told(*command)
        assert status == 0, (command, err)
        if command[1] == "new":
            head = Path("loans.toml").read_text().split("[[feature]]", 1)[0]
            head = head.replace('positive = "<fill in>"', 'positive = "bad"')
            head = head.replace('negative = "<fill in>"', 'negative = "good"')
            Path("loans.toml").write_text(head + feature.replace("\n    ", "\n").strip() + "\n")
    assert load_model("card.json").receipt.stages[0].cost == 1 - Fraction(1 - 0.2)
