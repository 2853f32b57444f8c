"""A guarded program does not outlive an interruption, however soon that comes."""

import os
import signal
import subprocess
from pathlib import Path

import pytest
from helpers.child_events import processes_of, wait_until

from oracles.milp.guarded_program import guarded_program

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="looks for processes in /proc"
)


@pytest.mark.timing
def test_an_interruption_at_the_programs_very_start_ends_it(tmp_path):
    script = guarded_program("sleep", str(tmp_path))
    # The script hears the signal in the midst of its first lines: now here, now there.
    for _ in range(20):
        guarded = subprocess.Popen(
            [script, "600"], start_new_session=True, stderr=subprocess.DEVNULL
        )
        session = guarded.pid
        try:
            wait_until(lambda session=session: len(processes_of(session)) > 1, "the program")
            os.killpg(session, signal.SIGINT)
            guarded.wait()
            # The guard would end the program only with this process, which goes on.
            # It leaves orphans, whose zombies are the machine's affair.
            wait_until(
                lambda session=session: not processes_of(session, zombies=False),
                "the program to end",
            )
        finally:
            for left in processes_of(session):
                os.kill(left, signal.SIGKILL)
            guarded.wait()
