"""The verdict on the command line: said before the points, and before anything is spent."""

import json

import pytest

from opdisc.cli.app import cli
from opdisc.cli.console import run_command_line
from opdisc.models.loading import load_model
from opdisc.planning import PLANNED_EPSILONS

SCHEMA = """
name = "illness"
target = { column = "ill", positive = "yes", negative = "no" }
[[feature]]
column = "smoker"
binary = true
"""


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(SCHEMA)
    lines = [f"{i % 2},{'yes' if i == 7 else 'no'}" for i in range(60)]
    (tmp_path / "t.csv").write_text("smoker,ill\n" + "\n".join(lines) + "\n")

    def run(command, *options):
        status = run_command_line(cli, [command, *map(str, options)])
        out, err = capsys.readouterr()
        assert status == 0, err
        return out

    return run


def test_a_card_that_answers_no_to_everyone_is_called_that_first(run):
    # 59 of 60 say no. At epsilon 100 the noise is below a row, so a card that errs once is drawn
    # (a worse one has probability below e^-50); of points -1..1 none singles out row 7.
    fitted = run("fit", "t.csv", "--schema", "./s.toml", "--epsilon", 100, "--out", "m.json")
    assert fitted.splitlines()[0] == "This card answers 'no' to everyone."
    assert fitted.index("to everyone") < fitted.index("Predict ill") < fitted.index("Receipt")
    assert run("show", "m.json") == fitted
    assert load_model("m.json").verdict_.answer == "no"


def test_a_machine_reads_the_file_as_it_is(run):
    run("fit", "t.csv", "--schema", "./s.toml", "--epsilon", 1, "--out", "m.json")
    assert json.loads(run("show", "m.json", "--json")) == json.loads(open("m.json").read())


def test_a_plan_without_epsilon_is_a_table_over_several(run):
    out = run("plan", "t.csv", "--schema", "./s.toml")
    first, *rows = out.splitlines()
    assert first.startswith("Noise dominates up to epsilon") and "needs at least" in first
    found = [row.split()[0] for row in rows if "noise " in row]
    assert found == [f"{epsilon:g}" for epsilon in PLANNED_EPSILONS]
    records = json.loads(run("plan", "t.csv", "--schema", "./s.toml", "--json"))
    assert [record["epsilon"] for record in records] == list(PLANNED_EPSILONS)
    assert records[0]["verdict"]["rows_needed"] > 60


def test_a_plan_without_public_rows_names_the_rows_needed(run):
    out = run("plan", "t.csv", "--schema", "./s.toml", "--relation", "add_or_remove_one")
    assert "not public" in out.splitlines()[0] and "rows needed" in out
