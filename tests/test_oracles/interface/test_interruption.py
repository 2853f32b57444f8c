"""Stopped at any moment, a search leaves no process and no file, and says what stopped it."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.child_events import processes_of, wait_for_line
from helpers.processes import (
    PATIENCE,
    descendants,
    processor_ticks,
    wait_until,
    wait_until_gone,
)

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
said = []
def say_once(*_):
    if not said:
        said.append(print("searching", flush=True))

solve(problem(2, 3, 1), oracle)
hard = problem(28, 400, 5)
options = SolveOptions(progress=say_once)
if len(sys.argv) > 2:
    options = SolveOptions(time_limit=float(sys.argv[2]))
elif sys.argv[1].startswith("pulp:"):
    options = SolveOptions()  # PuLP reports at the end only
certificate = solve(hard, oracle, options).certificate
print(certificate.proves_optimal, certificate.termination.name, flush=True)
"""

NAMES = [
    name
    for name in ("branch-and-bound", "cp-sat", "highs", "pulp:HiGHS", "pulp:CBC")
    if name in oracles.available_oracles()
] + ["block bound"]

PULP_TICKS = 3 * os.sysconf("SC_CLK_TCK")

pytestmark = [
    pytest.mark.timing,
    pytest.mark.skipif(
        not Path("/proc/self/stat").exists(), reason="looks for processes in /proc"
    ),
]


def wait_until_all_gone(session, workers):
    wait_until(lambda: not processes_of(session), "the last process of a session to go")
    wait_until_gone(*workers)


def wait_until_it_searches(process, name):
    """Wait for a solver's first sign of life from inside its search; return all its processes."""
    if name.startswith("pulp:"):
        # Loading a solver and solving a small problem take less.
        wait_until(
            lambda: (
                processor_ticks(descendants(process.pid)) > PULP_TICKS
                or process.poll() is not None
            ),
            "PuLP's solver to work",
        )
        assert process.poll() is None
    else:
        wait_for_line(process, "searching")
    return descendants(process.pid)


@pytest.fixture
def started(tmp_path):
    """Start a search in a session and a folder of its own."""
    children = []

    def start(name, *arguments):
        environment = os.environ | {
            "TMPDIR": str(tmp_path),
            "PYTHONPATH": str(Path(oracles.__file__).parents[1]),
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
        children.append(process)
        return process

    yield start
    for process in children:
        for left in processes_of(process.pid):
            with contextlib.suppress(ProcessLookupError):  # one may end the other
                os.kill(left, signal.SIGKILL)
        process.communicate()


def test_ctrl_c_stops_branch_and_bound_in_mid_search(started, tmp_path):
    process = started("branch-and-bound")
    wait_until_it_searches(process, "branch-and-bound")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode != 0
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", NAMES)
def test_ctrl_c_leaves_nothing(started, tmp_path, name):
    process = started(name)
    workers = wait_until_it_searches(process, name)
    # A terminal sends Ctrl-C to the whole group.
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode != 0
    assert "KeyboardInterrupt" in errors
    wait_until_all_gone(process.pid, workers)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", NAMES)
def test_kill_leaves_no_process(started, tmp_path, name):
    process = started(name)
    workers = wait_until_it_searches(process, name)
    process.kill()
    process.communicate(timeout=PATIENCE)
    # A guard outlives the solver's caller to clear its folder.
    wait_until_all_gone(process.pid, workers)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_time_limit_is_said(started, tmp_path, name):
    process = started(name, "1")
    output, errors = process.communicate(timeout=PATIENCE)
    assert output == "False FEASIBLE\n" or "NoHypothesis" in errors
    wait_until_all_gone(process.pid, ())
    assert list(tmp_path.iterdir()) == []
