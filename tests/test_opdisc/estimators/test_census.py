"""The balanced census table, end to end. Needs adult.csv (OPDISC_DATA); skipped without it."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from opdisc import PrivateScorecardClassifier, load_dataset
from opdisc.cli.app import cli
from opdisc.cli.console import run_command_line

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (Path(os.environ.get("OPDISC_DATA", "data")) / "adult.csv").is_file(),
        reason="adult.csv is not here; see docs/reference/known-tables.md",
    ),
]


def test_the_default_fit_reaches_its_accuracy_over_twenty_runs():
    table = load_dataset("adult-balanced")
    labels = table["income-per-year"]
    accuracies = [
        PrivateScorecardClassifier(epsilon=0.1, schema="adult-small")
        .fit(table, labels)
        .score(table, labels)
        for _ in range(20)
    ]
    assert len(table) == 15_682 and np.mean(accuracies) >= 0.775


def test_the_command_line_writes_the_table_learns_and_shows(tmp_path, capsys):
    balanced, model = str(tmp_path / "balanced.csv"), str(tmp_path / "m.json")
    assert run_command_line(cli, ["datasets", "adult-balanced", "--out", balanced]) == 0
    fit = ["fit", balanced, "--schema", "adult-small", "--epsilon", "0.1", "--out", model]
    assert run_command_line(cli, fit) == 0
    capsys.readouterr()
    assert run_command_line(cli, ["show", model, "--json"]) == 0
    receipt = json.loads(capsys.readouterr().out)["receipt"]
    assert (receipt["guarantee"], receipt["epsilon"]) == ("HOLDS", 0.1)
    assert receipt["n_rows"] == 15_682
