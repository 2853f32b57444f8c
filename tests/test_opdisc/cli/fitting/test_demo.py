"""The demonstration: no file, no network, everything it promises to print."""

import json
import re
import socket

import pytest

from opdisc.cli.app import cli
from opdisc.cli.console import run_command_line
from opdisc.cli.fitting import run_demo


@pytest.fixture
def isolated(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("the demonstration must not use the network")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    yield
    assert list(tmp_path.iterdir()) == []


def test_the_demonstration_prints_scorecard_receipt_and_comparison(isolated, capsys):
    assert run_command_line(cli, ["demo", "--explain"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    for words in (
        "Predict diagnosis",
        "Total of 1 or more: malignant. Total of 0 or less: benign.",
        "guarantee:          HOLDS",
        "epsilon:            1\n",
        "theorem:",
        "non-private logistic regression, same columns",
        "opdisc show card.json --html card.html",
    ):
        assert words in out
    rows = re.findall(
        r"^  (private|non-private) .*?  +(0\.\d{3}|1\.000)  +(0\.\d{3}|1\.000)$", out, re.M
    )
    assert [row[0] for row in rows] == ["private", "non-private", "non-private"]


def test_the_demonstration_is_short_unless_asked(isolated, capsys):
    assert run_command_line(cli, ["demo"]) == 0
    out, err = capsys.readouterr()
    assert err == "" and "guarantee:          HOLDS" in out and "epsilon:            1\n" in out
    assert "theorem:" not in out and "--explain" in out


def test_the_demonstration_as_json(isolated, capsys):
    assert run_command_line(cli, ["demo", "--json", "--epsilon", "3"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["receipt"]["epsilon"] == 3
    assert [a["private"] for a in record["accuracies"]] == [True, False, False]
    # Accuracies are not for publication: nothing may take this document for a saved model.
    assert "format" not in record


def test_accuracies_are_those_of_the_classifier():
    shown = run_demo(50.0, 1)
    assert shown.n_training + shown.n_held_out == 569
    private, same_columns, all_columns = shown.accuracies
    assert private.private and private.training > 0.9
    assert not same_columns.private and not all_columns.private
