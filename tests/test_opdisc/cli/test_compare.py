"""``opdisc compare`` on the command line: its lists, its refusals, its output."""

import json

import pytest

from opdisc.cli.app import cli
from opdisc.cli.compare import compare
from opdisc.cli.console import run_command_line

BASE = ["compare", "--dataset", "breast-cancer"]


def parsed(*arguments):
    """Return what click makes of arguments, without running anything."""
    return compare.make_context("compare", list(arguments)).params


@pytest.mark.parametrize(
    "arguments",
    [
        ["--epsilons", "0.01", "0.5", "1"],
        ["--epsilons", "0.01", "--epsilons", "0.5", "--epsilons", "1"],
        ["--epsilons", "0.01", "0.5", "--repeats", "3", "--epsilons", "1"],
    ],
)
def test_lists_may_be_separated_by_spaces_or_repeated(arguments):
    assert parsed("--dataset", "d", *arguments)["epsilons"] == ("0.01", "0.5", "1")


def test_a_list_ends_where_the_table_or_an_option_begins():
    found = parsed("--epsilons", "0.1", "1e-1", "table.csv", "--schema", "s.toml")
    assert (found["epsilons"], str(found["data"])) == (("0.1", "1e-1"), "table.csv")
    found = parsed("--methods", "auto", "auto@2", "my.module:forest", "dir/table.csv")
    assert found["methods"] == ("auto", "auto@2", "my.module:forest")
    assert str(found["data"]) == "dir/table.csv"
    found = parsed("--oracles", "cp-sat then branch-and-bound", "pulp:CBC", "--json")
    assert found["oracles"] == ("cp-sat then branch-and-bound", "pulp:CBC")
    assert found["as_json"]


def run(capsys, *arguments):
    status = run_command_line(cli, list(arguments))
    told = capsys.readouterr()
    return status, told.out, told.err


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["compare"], 2, "give either DATA with --schema, or --dataset"),
        ([*BASE, "table.csv", "--schema", "s"], 2, "give either DATA with --schema"),
        (["compare", "table.csv"], 2, "DATA needs --schema"),
        (["compare", "nosuch.csv", "--schema", "adult-small"], 2, "nosuch.csv"),
        (["compare", "--dataset", "nosuch"], 2, "a dataset must be one of adult, "),
        ([*BASE, "--epsilons"], 2, "requires an argument"),
        ([*BASE, "--epsilons", "0.1,x"], 2, "--epsilons must be numbers, got 'x'"),
        ([*BASE, "--epsilons", "0"], 2, "epsilon must be finite and > 0"),
        ([*BASE, "--epsilons", "-1"], 2, "epsilon must be finite and > 0"),
        ([*BASE, "--epsilons", "1", "1.0"], 2, "epsilons must be distinct"),
        ([*BASE, "--methods", "nosuch"], 2, "a method must be one of auto, "),
        ([*BASE, "--oracles", "nosuch"], 2, "nosuch"),
        ([*BASE, "--backend", "threads"], 2, "backend must be one of loky, dask, ray"),
        ([*BASE, "--cluster", "tcp://x"], 2, "leave out --cluster"),
        ([*BASE, "--repeats", "0"], 2, "repeats must be an integer of at least 1"),
        ([*BASE, "--jobs", "0"], 2, "--jobs"),
        ([*BASE, "--time-limit", "-1"], 2, "time-limit must be finite and > 0"),
        ([*BASE, "--test-fraction", "1"], 2, "test-fraction must be in [0, 1)"),
        ([*BASE, "--out", "file"], 2, "out must be a directory, but file is a file"),
        ([*BASE, "--out", "file/sub"], 2, "out must be a writable directory"),
        ([*BASE, "--out", "full"], 1, "continue it with --resume"),
        (["compare", "--resume"], 2, "--resume needs --out DIR"),
        (["compare", "--resume", "--out", "full"], 2, "full must hold a comparison's settings"),
    ],
)
def test_every_refusal_is_one_sentence_and_leaves_nothing(
    arguments, status, words, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    found, out, err = run(capsys, *arguments)
    assert found == status, err
    assert out == ""
    assert err.startswith("error: ") and err.count("\n") == 1
    assert words in err
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["file", "full", "mine.txt"]


def test_methods_are_listed(capsys):
    status, out, _ = run(capsys, "compare", "--list-methods")
    assert status == 0
    assert "* auto " in out and "  opsamp " in out and "NAME@2" in out
    status, out, _ = run(capsys, "compare", "--list-methods", "--json")
    records = {record["name"]: record for record in json.loads(out)}
    assert records["optimum"]["private"] is False
    assert records["auto"]["default"] and not records["svm-svrg"]["default"]


@pytest.mark.slow
def test_a_small_comparison_from_a_csv_file(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{20 + i % 50},{'yes' if i % 50 > 20 else 'no'}" for i in range(200)]
    (tmp_path / "ages.csv").write_text("\n".join(["age,ill", *rows, "44,"]) + "\n")
    (tmp_path / "ages.toml").write_text(
        'name = "ages"\ntarget = { column = "ill", positive = "yes", negative = "no" }\n'
        '[[feature]]\ncolumn = "age"\nthresholds = [30, 41, 50]\n'
    )
    settings = ["--epsilons", "1", "10", "--methods", "auto", "majority", "--jobs", "1"]
    arguments = ["compare", "ages.csv", "--schema", "ages.toml", *settings, "--repeats", "2"]
    status, out, err = run(capsys, *arguments, "--json")
    assert (status, err.replace("warning: the runs are safe", "")[:6]) == (0, ""), err
    outcome = json.loads(out)
    assert (outcome["runs"], outcome["finished"], outcome["failed"]) == (10, 10, 0)
    assert "private" in outcome["verdict"] and "majority class" in outcome["verdict"]
    assert outcome["out"] == "compare-ages"
    written = [json.loads(line) for line in open("compare-ages/runs.jsonl")]
    assert {row["n_rows"] for row in written} == {200}
    assert max(row["test_accuracy"] for row in written if row["epsilon"] == 10.0) == 1.0
    status, _, err = run(capsys, *arguments)
    assert status == 1 and "continue it with --resume" in err
    status, out, _ = run(capsys, *arguments, "--resume")
    assert status == 0 and "10 runs; results in compare-ages" in out
    assert "majority class" in out.splitlines()[0] and "balanced accuracy" in out
    assert [json.loads(line) for line in open("compare-ages/runs.jsonl")] == written
