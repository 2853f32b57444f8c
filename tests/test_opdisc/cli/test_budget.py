"""``opdisc budget``: what a ledger recorded and what is left."""

import json

import pytest

from opdisc import OPDiscClassifier
from opdisc.cli.app import cli
from opdisc.cli.console import run_command_line
from opdisc.estimators.scorecards.named import PermuteAndFlipClassifier
from opdisc.privacy import WeakPromise
from opdisc.privacy.ledger import Ledger


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


ROWS = [[0.1], [0.9], [0.8], [0.2]] * 25, [0, 1, 1, 0] * 25


def learn(ledger, **settings):
    settings = {"classes": (0, 1), "noise": "gaussian", **settings}
    return OPDiscClassifier(ledger=ledger, **settings).fit(*ROWS).receipt_


def about_delta(receipt):
    return [text for text in receipt.conditions if "delta" in text]


def test_deltas_are_compared_with_the_rows_in_sum(tmp_path, capsys):
    path = tmp_path / "book"
    assert about_delta(learn(path, delta=6e-4)) == []
    run_command_line(cli, ["budget", str(path)])
    assert "expose" not in capsys.readouterr().out
    with pytest.warns(WeakPromise, match="the sum with all in the ledger"):
        second = learn(path, delta=5e-4)
    (condition,) = about_delta(second)
    assert condition.startswith(
        "it is accepted that delta 0.0011, the sum with all in the ledger, may expose"
    )
    assert "may expose 0.11 of the 100 rows" in condition
    # A fit without delta leaves the sum as it is; one that is too large by itself says so.
    assert about_delta(learn(path, noise="l2-laplace", delta=0.0)) == []
    with pytest.warns(WeakPromise):
        (condition,) = about_delta(learn(path, delta=0.01))
    assert condition.startswith("it is accepted that delta 0.01 may expose")
    run_command_line(cli, ["budget", str(path)])
    said = "Note: in sum it is accepted that delta 0.0111 may expose 1.1 of the 100 rows"
    assert said in capsys.readouterr().out
    run_command_line(cli, ["budget", str(path), "--json"])
    assert json.loads(capsys.readouterr().out)["notes"][0].startswith("in sum it is accepted")
