"""What a wait, a limit or a slow solver may cost: shown on a terminal, said before the spend."""

import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from helpers.child_events import wait_for_line
from helpers.opdisc.terminals import open_terminal
from helpers.processes import PATIENCE, wait_until

from opdisc.cli.app import cli
from opdisc.cli.console import run_command_line
from opdisc.cli.fitting import limit_note
from opdisc.cli.progress import progress_steps
from opdisc.privacy.ledger import Ledger
from oracles.arithmetic import compiling, is_watched

SCHEMA = """
name = "illness"
target = { column = "ill", positive = "yes", negative = "no" }
[[feature]]
column = "smoker"
binary = true
"""
FIT = "fit t.csv --schema ./s.toml --epsilon 1 --ledger budget".split()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(SCHEMA)
    lines = [f"{i % 2},{'yes' if i % 3 else 'no'}" for i in range(60)]
    Path("t.csv").write_text("smoker,ill\n" + "\n".join(lines) + "\n")
    Ledger.create("budget")
    return tmp_path


@pytest.mark.parametrize(
    ("oracle", "limit", "rounds", "words"),
    [
        ("auto", None, None, ""),
        ("branch-and-bound", None, None, ""),
        ("cp-sat then branch-and-bound", 5.0, None, ""),
        ("cp-sat", None, None, "may take very long.*--oracle 'cp-sat then branch-and-bound'"),
        (
            "cp-sat",
            5.0,
            None,
            "no proof within 5 s, nothing is released.*stays spent.*then branch",
        ),
        ("auto", 5.0, None, "does not end within 5 s, nothing is released"),
        ("auto", None, 9, "more than 9 nodes, nothing is released.*stays spent"),
    ],
)
def test_what_a_limit_may_cost_is_known_beforehand(oracle, limit, rounds, words):
    note = limit_note(oracle, limit, rounds)
    if not words:
        assert note == ""
    else:
        assert re.search(words, note) and note.startswith("note: ") and "\n" not in note


def test_the_price_is_said_before_the_ledger_records_anything(folder, capsys, monkeypatch):
    said = []
    real = Ledger.spend

    def spend(self, receipt):
        said.append(capsys.readouterr().err)
        return real(self, receipt)

    monkeypatch.setattr(Ledger, "spend", spend)
    options = ["--mechanism", "one_hot", "--oracle", "highs", "--time-limit", "60"]
    assert run_command_line(cli, [*FIT, *options]) == 0
    assert len(said) == 1 and "nothing is released and the budget stays spent" in said[0]
    assert "'highs then branch-and-bound'" in said[0]


@pytest.mark.parametrize(
    "options", [["--oracle", "delphi"], ["--time-limit", "0"], ["--epsilon", "0"]]
)
def test_a_refused_fit_says_its_refusal_only(options, folder, capsys):
    arguments = [*FIT, "--mechanism", "one_hot", "--time-limit", "60", *options]
    assert run_command_line(cli, arguments) == 2
    assert capsys.readouterr().err.count("\n") == 1


def shown_while_silent(program, *arguments, enough):
    """Run a program whose standard error is a terminal; return its status and what that shows.

    The program prints "silent" and then waits for the end of its standard input, which comes once
    ``enough`` says so of what is shown from then on; that part is what is returned.
    """
    ours, theirs = open_terminal()
    parts = []

    def read():
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the other end is closed
                return
            if not part:
                return
            parts.append(part)

    environment = os.environ | {"TERM": "xterm", "COLUMNS": "120"}
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=environment,
        text=True,
    )
    os.close(theirs)
    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        wait_for_line(process, "silent")
        before = len(parts)
        wait_until(lambda: enough(b"".join(parts[before:]).decode(errors="replace")), "the bar")
        shown = b"".join(parts[before:]).decode(errors="replace")
        process.communicate(timeout=PATIENCE)  # ends its input
    finally:
        process.kill()
        process.communicate()
    # Reading ends with the last process that has the terminal open.
    reader.join(PATIENCE)
    assert not reader.is_alive()
    os.close(ours)
    return process.returncode, shown


SLOW = """
import os, sys
from oracles import register_oracle
from oracles.enumeration import EnumerationOracle
from opdisc.cli import main
class Slow(EnumerationOracle):
    name = "test:slow"
    def solve(self, problem, options):
        if problem.positives.sum() > 10:  # not the public toy
            os.write(1, b"silent\\n")  # what is printed goes above the bar
            sys.stdin.read()
        return EnumerationOracle.solve(self, problem, options)
register_oracle(Slow.name, Slow)
main(sys.argv[1:])
"""


@pytest.mark.timing
def test_a_wait_on_any_solver_shows_on_a_terminal_that_it_goes_on(folder):
    arguments = [*FIT, "--mechanism", "one_hot", "--oracle", "test:slow"]
    readings = r"learning the scorecard, asking test:slow[^\n]*?(\d:\d\d:\d\d)"

    def clock_goes_on(shown):
        return len(set(re.findall(readings, shown))) > 1

    status, shown = shown_while_silent(SLOW, *arguments, enough=clock_goes_on)
    assert status == 0 and clock_goes_on(shown)


def shown_soon(capsys, words):
    """Whether the bar, which is drawn ten times a second, says something before long."""
    shown, last = "", time.monotonic() + PATIENCE
    while words not in shown and time.monotonic() < last:
        time.sleep(0.1)
        shown += re.sub(r"\x1b\[[0-9;?]*\w", "", capsys.readouterr().err)
    return words in shown


@pytest.mark.timing
def test_compiling_is_shown_while_it_lasts(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert not is_watched()
    with progress_steps(1) as step:
        assert is_watched()
        step("learning")
        with compiling():
            assert shown_soon(capsys, "learning: compiling kernels (once per installation)")
        assert shown_soon(capsys, "learning ")
    assert not is_watched()
