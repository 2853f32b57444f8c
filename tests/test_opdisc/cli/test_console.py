"""Outcomes become exit statuses and one sentence; progress is silent when piped."""

import io
import signal
import subprocess
import sys
import textwrap

import click
import pytest
from helpers.child_events import wait_for_line
from helpers.processes import PATIENCE

from opdisc.cli.console import (
    DEBUG_VARIABLE,
    CommandGroup,
    print_json,
    print_text,
    run_command_line,
)
from opdisc.cli.progress import progress_steps
from opdisc.comparison import ComparisonError, ComparisonMistake
from opdisc.errors import (
    AuditFailure,
    CalibrationError,
    FileMistake,
    LedgerError,
    LedgerMistake,
    ModelFileError,
    SchemaError,
    TableError,
    UncertifiedRelease,
)
from oracles import NoHypothesis
from oracles.errors import InvalidOption, OracleUnavailable, UnsupportedProblem


def group_raising(error):
    group = CommandGroup("opdisc")

    @group.command()
    def act():
        raise error

    return group


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (TableError("a rule\n  broken"), 1, "error: a rule broken."),
        (NoHypothesis("no answer!"), 1, "error: no answer!"),
        (UncertifiedRelease("nothing is released."), 1, "error: nothing is released."),
        (AuditFailure("it lost more."), 1, "error: it lost more."),
        (LedgerError("the cap is met."), 1, "error: the cap is met."),
        (LedgerMistake("there is none."), 2, "error: there is none."),
        (FileMistake("there is none."), 2, "error: there is none."),
        (SchemaError("no such key"), 2, "error: no such key."),
        (CalibrationError("epsilon must be > 0."), 2, "error: epsilon must be > 0."),
        (ModelFileError("not a model."), 2, "error: not a model."),
        (ComparisonError("the workers were lost."), 1, "error: the workers were lost."),
        (ComparisonMistake("no such method."), 2, "error: no such method."),
        (OracleUnavailable("no such oracle."), 2, "error: no such oracle."),
        (InvalidOption("threads must be > 0."), 2, "error: threads must be > 0."),
        (UnsupportedProblem("too large."), 2, "error: too large."),
        (click.UsageError("bad option"), 2, "error: bad option. Try 'opdisc"),
        (KeyboardInterrupt(), 130, "error: interrupted"),
        (click.Abort(), 130, "error: interrupted"),
        (OSError(28, "No space left on device"), 1, "No space left on device"),
        (BrokenPipeError(32, "Broken pipe"), 1, ""),
        (MemoryError("secret"), 1, "unexpected MemoryError"),
        (ValueError("secret"), 1, "unexpected ValueError"),
        (RecursionError("secret"), 1, "unexpected RecursionError"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_every_outcome_has_a_status_and_at_most_one_line(error, status, words, capsys):
    assert run_command_line(group_raising(error), ["act"]) == status
    captured = capsys.readouterr()
    assert captured.out == "" and words in captured.err and "secret" not in captured.err
    assert captured.err.count("\n") == (1 if words else 0)


def test_the_trace_is_shown_only_on_request(capsys, monkeypatch):
    monkeypatch.setenv(DEBUG_VARIABLE, "1")
    assert run_command_line(group_raising(ValueError("secret")), ["act"]) == 1
    assert "secret" in capsys.readouterr().err


def test_progress_is_silent_when_piped_and_shown_on_a_terminal(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")

    def steps():
        with progress_steps(2) as step:
            step("one")
            step("two")
        return capsys.readouterr()

    assert steps() == ("", "")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    shown = steps()
    assert shown.out == "" and "two" in shown.err


class ShortWrites(io.RawIOBase):
    """A raw stream that takes seven bytes at a time, as an unbuffered pipe may."""

    def __init__(self):
        self.taken = b""

    def writable(self):
        return True

    def write(self, data):
        self.taken += bytes(data[:7])
        return min(7, len(data))


def test_text_is_printed_to_the_last_byte_in_any_locale(monkeypatch):
    raw = ShortWrites()
    stdout = io.TextIOWrapper(raw, encoding="ascii", write_through=True)
    monkeypatch.setattr(sys, "stdout", stdout)
    print_text("a,b\n" * 10 + "é\r\n")
    assert raw.taken == ("a,b\n" * 10 + "é\r\n").encode()


def test_json_has_no_constants_of_its_own(capsys):
    print_json({"a": "é"})
    assert capsys.readouterr().out == '{\n  "a": "\\u00e9"\n}\n'
    with pytest.raises(ValueError):
        print_json({"a": float("nan")})


@pytest.mark.timing
def test_control_c_ends_compiled_code_that_does_not_return():
    # Key stretching stands for a solver: minutes of compiled code that never asks for signals.
    program = """
        import contextlib, hashlib
        from opdisc.cli.console import prompt_interruption
        with prompt_interruption():
            with contextlib.suppress(KeyboardInterrupt):  # it may arrive before the long call
                print("ready", flush=True)
                hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)
            hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        wait_for_line(process, "ready")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 130
    assert err == "error: interrupted; whatever the ledger recorded stays spent.\n"
