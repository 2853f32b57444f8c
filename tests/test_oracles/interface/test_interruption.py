"""Stopped at any moment, a search leaves no process and no file, and says what stopped it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import oracles

SEARCH = """
import sys
import numpy as np
from oracles import Perturbation, SolveOptions, WeightGrid, ZeroOneProblem, get_oracle, solve

def problem(d, n, bound):
    rng = np.random.default_rng(0)
    points = rng.integers(0, 2, (n, d))
    tables = np.rint(rng.exponential(2048, (d, 2 * bound + 1))).astype(np.int64)
    return ZeroOneProblem(
        points=points, positives=rng.integers(0, 9, n), negatives=rng.integers(0, 9, n),
        grid=WeightGrid.box(d, bound),
        perturbation=Perturbation.separable(list(tables), unit=2.0**-10),
    )

if sys.argv[1] == "block bound":
    oracle = get_oracle("branch-and-bound", block_bound="always")
else:
    oracle = get_oracle(sys.argv[1])
solve(problem(2, 3, 1), oracle)
hard = problem(28, 400, 5)
print("searching", flush=True)
options = SolveOptions(time_limit=float(sys.argv[2]) if len(sys.argv) > 2 else None)
certificate = solve(hard, oracle, options).certificate
print(certificate.proves_optimal, certificate.termination.name, flush=True)
"""

NAMES = [
    name
    for name in ("branch-and-bound", "cp-sat", "highs", "pulp:HiGHS", "pulp:CBC")
    if name in oracles.available_oracles()
] + ["block bound"]
SECONDS = 120

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="looks for processes in /proc"
)


def processes(session):
    """Processes of a session that are not yet gone, zombies included."""
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


def wait_until_gone(session):
    """Wait for the last process of a session; return those that stay."""
    deadline = time.monotonic() + SECONDS
    while processes(session) and time.monotonic() < deadline:
        time.sleep(0.1)
    return processes(session)


@pytest.fixture
def searching(tmp_path):
    """Start a search in a session and a folder of its own; return it once it searches."""
    started = []

    def start(name, *arguments):
        environment = os.environ | {
            "TMPDIR": str(tmp_path),
            "PYTHONPATH": str(Path(oracles.__file__).parents[2]),
        }
        process = subprocess.Popen(
            [sys.executable, "-c", SEARCH, name, *arguments],
            cwd=tmp_path,
            env=environment,
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout.readline() == "searching\n"
        return process

    yield start
    for process in started:
        for left in processes(process.pid):
            os.kill(left, signal.SIGKILL)
        process.communicate()


def test_ctrl_c_stops_branch_and_bound_in_mid_search(searching, tmp_path):
    process = searching("branch-and-bound")
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=SECONDS)
    assert process.returncode != 0
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_ctrl_c_leaves_nothing(searching, tmp_path, name):
    process = searching(name)
    time.sleep(2)
    # A terminal sends Ctrl-C to the whole group.
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=SECONDS)
    assert process.returncode != 0
    assert "KeyboardInterrupt" in errors
    assert wait_until_gone(process.pid) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_kill_leaves_no_process(searching, tmp_path, name):
    process = searching(name)
    time.sleep(2)
    process.kill()
    process.communicate(timeout=SECONDS)
    assert wait_until_gone(process.pid) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_time_limit_is_said(searching, tmp_path, name):
    process = searching(name, "2")
    output, errors = process.communicate(timeout=SECONDS)
    assert output == "False FEASIBLE\n" or "NoHypothesis" in errors
    assert wait_until_gone(process.pid) == []
    assert list(tmp_path.iterdir()) == []
