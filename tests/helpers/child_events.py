"""Waiting for what a child process does, not for a time in which it may have done it."""

import threading
from pathlib import Path

import pytest
from helpers.processes import PATIENCE


def wait_for_line(process, line, seconds=PATIENCE):
    """Wait for a child to print a line; fail if it prints another, ends, or stays silent."""
    printed = next_line(process, seconds)
    assert printed == line, f"the child must print {line!r}, but it printed {printed!r}"


def next_line(process, seconds=PATIENCE):
    """Return the next line that a child prints, without its end; fail if there is none."""
    is_late = threading.Event()

    def end():
        is_late.set()
        process.kill()

    # A pipe has no time limit of its own; who is killed closes it.
    timer = threading.Timer(seconds, end)
    timer.start()
    try:
        line = process.stdout.readline()
    finally:
        timer.cancel()
        timer.join()
    if is_late.is_set():
        pytest.fail(f"waited {seconds} s in vain for a line of a child process")
    if not line.endswith("\n"):
        # Whoever reads the rest would wait for a child that goes on.
        process.kill()
        errors = process.stderr.read() if process.stderr else ""
        pytest.fail(f"a child process ended before it printed a line: {errors}")
    return line.removesuffix("\n")


def processes_of(session):
    """Return the processes of a session that are not yet gone, zombies included."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                after_name = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(after_name[3]) == session:
                found.append(int(entry.name))
    return found
