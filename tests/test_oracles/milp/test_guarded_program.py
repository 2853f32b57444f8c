"""A guarded program does not outlive an interruption, whenever that comes."""

import contextlib
import os
import signal
import subprocess
from pathlib import Path

import pytest
from helpers.child_events import processes_of
from helpers.processes import PATIENCE, wait_until

from oracles.milp.guarded_program import guarded_program

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="looks for processes in /proc"
)


def is_running(session):
    """Whether the program runs, which is not the script, nor a zombie."""
    for process in processes_of(session):
        try:
            words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
        except OSError:  # gone meanwhile
            continue
        if words[0].endswith(b"sleep") and words[1:2] == [b"600"]:
            return True
    return False


@pytest.mark.timing
def test_an_interruption_at_any_line_of_the_script_ends_the_program(tmp_path):
    script = Path(guarded_program("sleep", str(tmp_path)))
    lines = script.read_text().splitlines(keepends=True)
    assert lines[-1].startswith("wait")
    # The lines in parentheses are the guard's: the script does not wait for them.
    start, end = lines.index("(\n"), lines.index(") &\n")
    for place in [*range(1, start + 1), *range(end + 1, len(lines))]:
        script.write_text("".join([*lines[:place], "kill -INT $$\n", *lines[place:]]))
        guarded = subprocess.Popen(
            [script, "600"], start_new_session=True, stderr=subprocess.DEVNULL
        )
        session = guarded.pid
        try:
            guarded.wait(PATIENCE)
            # The guard would end the program only with this process, which goes on.
            wait_until(
                lambda session=session: not is_running(session),
                f"the program to end after a signal before {lines[place]!r}",
                seconds=20,
            )
        finally:
            for left in processes_of(session):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(left, signal.SIGKILL)
            guarded.wait()
