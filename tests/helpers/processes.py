"""Processes and events for tests: who runs, and waits that end with an event and not with a time.

A process is known by its number and when it began: numbers are given again.
"""

import time
from pathlib import Path
from typing import NamedTuple

import pytest

PATIENCE = 120.0
"""Seconds after which a wait is given up: so many that only a fault takes them."""

needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks in /proc")


class Process(NamedTuple):
    """One process: its number, and when it began in ticks since the machine did."""

    pid: int
    began: int


def wait_until(condition, event, seconds=PATIENCE):
    """Ask until the condition is true, and return it; fail with the event that never came."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"in {seconds:g} s this did not happen: {event}"
        time.sleep(0.01)
    return found


def fields_of(pid):
    """Return what /proc says after the name of a process (state first), or None if it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() or None
    except OSError:  # also where it goes while it is read
        return None


def all_running():
    """Yield number and fields of every process that runs; one that nobody waits for does not."""
    for entry in Path("/proc").glob("[0-9]*"):
        fields = fields_of(entry.name)
        if fields is not None and fields[0] not in "ZX":
            yield int(entry.name), fields


def process_of(pid):
    """Return the process that has this number now, which must run."""
    fields = fields_of(pid)
    assert fields is not None and fields[0] not in "ZX", f"process {pid} does not run"
    return Process(pid, int(fields[19]))


def runs(process):
    """Whether a process runs still."""
    fields = fields_of(process.pid)
    return fields is not None and fields[0] not in "ZX" and int(fields[19]) == process.began


def wait_until_gone(*processes):
    """Wait until none of the processes runs."""
    wait_until(lambda: not any(map(runs, processes)), f"the end of {processes}")


def group_members(group):
    """Return the processes of a group that run."""
    return [
        Process(pid, int(fields[19])) for pid, fields in all_running() if int(fields[2]) == group
    ]


def children(pid):
    """Return the children of a process that run."""
    return [
        Process(child, int(fields[19])) for child, fields in all_running() if int(fields[1]) == pid
    ]


def descendants(pid):
    """Return the children of a process that run, theirs, and so on."""
    found = children(pid)
    for process in found:
        found += children(process.pid)
    return found


def is_running_code(process, word):
    """Whether the command line of a process holds a word."""
    try:
        return word in Path(f"/proc/{process.pid}/cmdline").read_text()
    except OSError:
        return False


def processor_ticks(processes):
    """Return the processor time that those of the processes that run have taken."""
    found = [fields_of(process.pid) for process in processes]
    return sum(int(fields[11]) + int(fields[12]) for fields in found if fields is not None)
