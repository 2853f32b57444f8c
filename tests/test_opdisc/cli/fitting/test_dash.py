"""``-`` is standard input and standard output, in every command."""

import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from helpers.opdisc.cards import released
from helpers.opdisc.command_lines import told

from opdisc.models import load_model, load_report, save_model

SCHEMA = """\
name = "visits"
target = { column = "ill", positive = "yes", negative = "no" }
[[feature]]
column = "age"
thresholds = [40]
"""
TABLE = "age,ill\n" + "".join(f"{20 + k},{'yes' if k > 25 else 'no'}\n" for k in range(50))
SCHEMA_RECORD = {
    "name": "visits",
    "target": {"column": "ill", "positive": "yes", "negative": "no"},
    "feature": [{"column": "age", "thresholds": [40]}],
}
FIT = ("--schema", "./schema.toml", "--epsilon", "50")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("schema.toml").write_text(SCHEMA)
    Path("table.csv").write_text(TABLE)


@pytest.fixture
def piped():
    """Run a command that finds a text at its standard input, a pipe."""
    kept = os.dup(0)

    def run(text, *arguments):
        source, sink = os.pipe()
        os.dup2(source, 0)
        os.close(source)
        writer = threading.Thread(target=lambda: fill(sink, text), daemon=True)
        writer.start()
        return told(*arguments)

    yield run
    os.dup2(kept, 0)
    os.close(kept)


def fill(sink, text):
    with open(sink, "w", encoding="utf-8") as file:
        file.write(text)


def test_fit_reads_and_prints(piped):
    status, out, err = piped(TABLE, "fit", "-", *FIT, "--out", "-")
    assert status == 0, err
    Path("card.json").write_text(out)
    assert load_model("card.json").receipt.n_rows == 50
    status, out, _ = piped(
        SCHEMA, "fit", "table.csv", "--schema", "-", "--epsilon", "50", "--json"
    )
    assert status == 0 and json.loads(out)["scorecard"]["target"] == "ill"
    assert sorted(os.listdir()) == ["card.json", "schema.toml", "table.csv"]


def test_a_fit_that_is_printed_is_in_the_ledger(piped):
    assert told("budget", "--create", "book", "--epsilon-limit", "50", "--table", "visits")[0] == 0
    given = (*FIT, "--ledger", "book", "--table", "visits", "--out", "-")
    status, out, err = piped(TABLE, "fit", "-", *given)
    assert status == 0, err
    assert json.loads(out)["sha256"][:8] in Path("book").read_text()
    assert piped(TABLE, "fit", "-", *given)[:2] == (1, "")


def test_plan_reads(piped):
    status, out, err = piped(TABLE, "plan", "-", *FIT)
    assert status == 0 and out == told("plan", "table.csv", *FIT)[1], err


def test_predict_reads_and_prints(piped):
    save_model(released(SCHEMA_RECORD, (1,)), "card.json")
    expected = told("predict", "card.json", "table.csv")[1]
    assert piped(TABLE, "predict", "card.json", "-", "--out", "-") == (0, expected, "")
    model = Path("card.json").read_text()
    assert piped(model, "predict", "-", "table.csv")[1] == expected
    assert "-" not in os.listdir()


@pytest.mark.slow
def test_a_socket_is_read_too():
    """Some programs give their children sockets, which have no name that can be opened."""
    save_model(released(SCHEMA_RECORD, (1,)), "card.json")
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(TABLE.encode())
        ours.shutdown(socket.SHUT_WR)
        command = [sys.executable, "-m", "opdisc", "predict", "card.json", "-"]
        found = subprocess.run(command, stdin=theirs, capture_output=True, timeout=120)
    assert found.stdout.decode() == told("predict", "card.json", "table.csv")[1], found.stderr


@pytest.mark.slow
def test_a_closed_input_is_refused_and_not_waited_for():
    """A file opened later gets its number: the command would read a pipe of its own, for ever."""
    save_model(released(SCHEMA_RECORD, (1,)), "card.json")
    command = ["sh", "-c", '"$0" -m opdisc predict card.json - <&-', sys.executable]
    found = subprocess.run(command, capture_output=True, timeout=120)
    assert (found.returncode, found.stdout) == (2, b"")
    assert b"standard input must be open" in found.stderr


def test_validate_reads_and_prints(piped):
    save_model(released(SCHEMA_RECORD, (1,)), "card.json")
    given = ("--epsilon", "5", "--out", "-")
    status, out, err = piped(TABLE, "validate", "card.json", "-", *given)
    assert status == 0, err
    Path("report.json").write_text(out)
    assert load_report("report.json").receipt.epsilon == 5
    model = Path("card.json").read_text()
    assert piped(model, "validate", "-", "table.csv", *given)[0] == 0
    status, out, err = told("validate", "card.json", "table.csv", *given, "--json")
    assert (status, out) == (2, "") and "one form" in err


def test_show_reads_and_prints(piped):
    save_model(released(SCHEMA_RECORD, (1,)), "card.json")
    model = Path("card.json").read_text()
    assert piped(model, "show", "-")[1] == told("show", "card.json")[1]
    assert piped(model, "show", "-", "--sql", "-")[1] == told("show", "card.json", "--sql", "-")[1]


def test_schema_reads_and_prints(piped):
    status, out, err = piped(TABLE, "schema", "new", "-", "--label", "ill", "-o", "-")
    assert status == 0 and 'column = "age"' in out, err
    assert "schema.toml" in os.listdir() and "-" not in os.listdir()
    assert piped(TABLE, "schema", "check", "-", "--schema", "./schema.toml")[0] == 0
    assert piped(SCHEMA, "schema", "check", "table.csv", "--schema", "-")[0] == 0


@pytest.mark.slow
def test_compare_reads_and_writes_a_folder(piped):
    quick = ("--epsilons", "1", "--repeats", "1", "--methods", "majority", "--jobs", "1")
    status, out, err = told("compare", "table.csv", "--schema", "./schema.toml", "--out", "-")
    assert (status, out) == (2, "") and "several files" in err
    given = ("compare", "-", "--schema", "./schema.toml", *quick, "--out", "found")
    status, _, err = piped(TABLE, *given)
    assert status == 0, err
    assert Path("found/runs.csv").exists()


def test_datasets_prints():
    assert told("datasets", "breast-cancer", "--out", "-")[1].count("\n") == 570
    assert "-" not in os.listdir()


def test_two_files_are_refused():
    status, out, err = told("fit", "-", "--schema", "-", "--epsilon", "1")
    assert (status, out) == (2, "") and "standard input is one file" in err
