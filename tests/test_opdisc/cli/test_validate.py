"""A released card watched on the command line, from the budget to the shift."""

import json
import re
from pathlib import Path

import pytest
from helpers.opdisc.cards import released_cards
from helpers.opdisc.command_lines import assert_one_plain_sentence, told
from helpers.opdisc.validated import SCHEMA, made_card, write_rows

from opdisc import save_model
from opdisc.models import load_report
from opdisc.privacy.ledger import Ledger


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_model(made_card(), "card.json")
    write_rows("may.csv", 2_000, 1)
    write_rows("june.csv", 2_000, 2)
    write_rows("july.csv", 2_000, 3, fever=0.8)
    Ledger.create("budget", epsilon_limit=3.0)
    return tmp_path


def validate(*arguments):
    return told("validate", *arguments)


def test_a_card_is_watched_from_month_to_month(folder):
    status, out, err = validate(
        *("card.json", "may.csv", "--epsilon", 1, "--ledger", "budget", "--out", "may.json")
    )
    assert status == 0 and "Left of epsilon 3: 2." in err
    assert re.search(r"^accuracy +\d+\.\d%  \(\d+\.\d% to \d+\.\d%\)$", out, re.M)
    assert re.search(r"^  yes, answered no +\d+ rows  \([\d,]+ to [\d,]+\)$", out, re.M)
    assert re.search(r"^  total -2 +\d+%  \(\d+% to \d+%\)$", out, re.M)
    assert re.search(r"^guarantee: +HOLDS$", out, re.M) and "Since the earlier" not in out
    (charge,) = Ledger("budget").spendings()
    report = load_report("may.json")
    assert (charge.epsilon, charge.purpose) == (1.0, "validate to may.json")
    assert charge.model == report.to_dict()["sha256"]

    since = ("--epsilon", 1, "--since", "may.json")
    status, out, err = validate("card.json", "june.csv", *since)
    assert status == 0 and "without --ledger" in err
    assert "No shift is shown" in out and "population stability index" in out
    status, out, _ = validate("card.json", "july.csv", *since, "--json")
    record = json.loads(out)
    assert record["shift"]["moved"] and record["shift"]["difference"]["low"] > 0.1
    assert record["report"]["receipt"]["guarantee"] == "HOLDS"
    assert set(record["counts"]) == {
        f"{a}_{b}" for a in ("true", "false") for b in ("positives", "negatives")
    }


def test_the_whole_receipt_is_printed_on_request(folder):
    _, out, _ = validate("card.json", "may.csv", "--epsilon", 1, "--explain")
    assert "sensitivity:        2 rows in all 14 counts together" in out
    assert "docs/theory.md, validation" in out


def test_a_hidden_number_of_rows_takes_a_guess(folder):
    options = ("--epsilon", 1, "--relation", "add_or_remove_one", "--public-row-guess", 2000)
    status, out, _ = validate("card.json", "may.csv", *options)
    assert status == 0 and re.search(r"^rows: +not public$", out, re.M)


@pytest.mark.parametrize(
    "arguments",
    [
        ("card.json", "may.csv", "--epsilon", 0),
        ("card.json", "may.csv", "--epsilon", 4, "--ledger", "budget"),
        ("card.json", "may.csv", "--epsilon", 1, "--since", "june.csv", "--ledger", "budget"),
        ("card.json", "may.csv", "--epsilon", 1, "--since", "card.json", "--ledger", "budget"),
        ("card.json", "none.csv", "--epsilon", 1, "--ledger", "budget"),
        ("may.csv", "may.csv", "--epsilon", 1, "--ledger", "budget"),
        ("card.json", "may.csv", "--epsilon", 1, "--ledger", "budget", "--out", "may.csv"),
        ("card.json", "may.csv", "--epsilon", 1, "--ledger", "budget", "--out", "june.csv"),
        ("card.json", "may.csv", "--epsilon", 1, "--table", "may"),
        ("cards.json", "may.csv", "--epsilon", 1, "--ledger", "budget"),
    ],
)
def test_a_mistake_is_one_sentence_and_costs_nothing(folder, arguments):
    target = {"column": "ill", "classes": ["no", "yes", "maybe"]}
    several = released_cards(SCHEMA | {"target": target}, [(0, 1, 1, 0, 0), (0, 0, 1, 0, 1)])
    save_model(several, "cards.json")
    before = {path: path.read_bytes() for path in Path().iterdir()}
    assert_one_plain_sentence(*validate(*arguments))
    assert not Ledger("budget").spendings()
    after = {path: path.read_bytes() for path in Path().iterdir()}
    assert {p: b for p, b in after.items() if not p.name.startswith("budget")} == {
        p: b for p, b in before.items() if not p.name.startswith("budget")
    }
