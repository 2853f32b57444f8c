"""Constraints, automatic bounds, caps and progress on the command line."""

import json

import numpy as np
import pytest

from opdisc.cli.app import cli
from opdisc.cli.console import run_command_line
from opdisc.cli.fitting import learn_model
from opdisc.data.reading import read_table
from opdisc.estimators.scorecards.progress import WARNING

SCHEMA = """
name = "t"
positive_share = 0.5
target = { column = "y", positive = "1", negative = "0" }
[[feature]]
column = "a"
binary = true
sign = "positive"
[[feature]]
column = "b"
binary = true
[[feature]]
column = "c"
binary = true
sign = "negative"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(0).integers(0, 2, (500, 3))
    text = "\n".join(f"{a},{b},{c},{a}" for a, b, c in rows)
    (tmp_path / "t.csv").write_text("a,b,c,y\n" + text + "\n")
    (tmp_path / "s.toml").write_text(SCHEMA)
    return tmp_path


def run(capsys, command, *options):
    call = [command, "t.csv", "--schema", "./s.toml", "--epsilon", "2", *options]
    status = run_command_line(cli, call)
    return status, *capsys.readouterr()


def test_constraints_reach_the_receipt(folder, capsys):
    status, out, err = run(capsys, "fit", "--max-nonzero", "2", "--json", "--out", "m.json")
    model = json.loads(out)
    assert status == 0 and err.startswith("note: without --ledger") and err.count("\n") == 1
    assert model["receipt"]["norm_budget"] == 2
    assert model["receipt"]["weights"] == [[-1, 0, 1], [0, 1], [-1, 0, 1], [-1, 0]]
    assert sum(map(abs, model["scorecard"]["points"])) <= 2
    status, out, _ = run(capsys, "fit", "--norm-budget", "3", "--mechanism", "opdisc", "--json")
    assert status == 0 and json.loads(out)["receipt"]["norm_budget"] == 3


def test_an_automatic_bound_is_explained_by_fit_and_by_plan(folder, capsys):
    status, out, _ = run(capsys, "fit", "--weight-bound", "auto", "--explain")
    assert status == 0 and "2% of the rows" in out
    status, planned, _ = run(capsys, "plan", "--weight-bound", "auto", "--explain")
    assert status == 0 and "2% of the rows" in planned


@pytest.mark.parametrize(
    ("options", "words", "expected"),
    [
        (("--weight-bound", "big"), "not a valid int", 2),
        (("--max-nonzero", "0"), "max_nonzero must be", 2),
        (("--max-nonzero", "2", "--weight-bound", "2"), "max_nonzero needs weight_bound=1", 2),
        (("--max-rounds", "9", "--mechanism", "one_hot"), "max_rounds applies to", 2),
        (("--max-rounds", "0"), "max_rounds must be an integer of at least 1", 2),
    ],
)
def test_contradictions_are_one_sentence_and_cost_nothing(
    folder, capsys, options, words, expected
):
    status, out, err = run(capsys, "fit", "--ledger", "budget", *options)
    assert (status, out, err.count("\n")) == (expected, "", 1) and words in err
    assert not (folder / "budget").exists()


def test_progress_is_silent_where_nobody_watches(folder, capsys):
    status, _, err = run(capsys, "fit", "--progress", "--mechanism", "one_hot")
    assert status == 0 and err.startswith("note: without --ledger") and err.count("\n") == 1


def test_every_line_of_progress_says_that_it_is_not_private(folder):
    lines = []
    table = read_table("t.csv")
    learn_model(
        table, "./s.toml", mechanism="one_hot", oracle="enumeration", progress=lines.append
    )
    assert lines and all(line.startswith(f"{WARNING}: gap ") for line in lines)


def test_a_cap_without_effect_is_no_condition(folder, capsys):
    # All weight combinations are listed, so there are no nodes to cap.
    for mechanism in ("auto", "permute_and_flip"):
        options = ("--mechanism", mechanism, "--max-rounds", "1", "--json")
        status, out, _ = run(capsys, "fit", *options)
        assert status == 0 and json.loads(out)["receipt"]["guarantee"] == "HOLDS"


def test_an_infinite_time_limit_is_none(folder, capsys):
    status, out, _ = run(capsys, "fit", "--time-limit", "inf", "--json")
    assert status == 0 and json.loads(out)["receipt"]["guarantee"] == "HOLDS"
