"""``opdisc budget``: what a ledger recorded and what is left."""

import json

import pytest

from opdisc.cli.app import cli
from opdisc.cli.console import run_command_line
from opdisc.estimators.scorecards.named import PermuteAndFlipClassifier
from opdisc.privacy.ledger.ledger import Ledger


@pytest.fixture
def book(tmp_path):
    ledger = Ledger(tmp_path / "book", epsilon_limit=2.0)
    for epsilon in (0.5, 0.25):
        PermuteAndFlipClassifier(epsilon=epsilon, ledger=ledger).fit(
            [[0.1], [0.9], [0.8], [0.2]], [0, 1, 1, 0]
        )
    return ledger


def test_budget_adds_up_and_says_what_is_left(book, capsys):
    assert run_command_line(cli, ["budget", str(book.path)]) == 0
    shown = capsys.readouterr().out
    assert "Spent: epsilon 0.75" in shown and "Left of epsilon 2: 1.25" in shown
    assert shown.count("permute_and_flip") == 2


def test_budget_as_json(book, capsys):
    assert run_command_line(cli, ["budget", str(book.path), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["total"]["epsilon"] == 0.75
    assert record["limits"] == {"epsilon": 2.0, "delta": None}
    assert [s["epsilon"] for s in record["spendings"]] == [0.5, 0.25]


def test_a_missing_or_damaged_ledger_is_refused_and_not_created(tmp_path, capsys):
    missing = tmp_path / "none"
    assert run_command_line(cli, ["budget", str(missing)]) == 2
    assert "does not" in capsys.readouterr().err
    assert not missing.exists()
    damaged = tmp_path / "damaged"
    damaged.write_text("not a ledger\n")
    assert run_command_line(cli, ["budget", str(damaged)]) == 1
    assert "damaged" in capsys.readouterr().err
