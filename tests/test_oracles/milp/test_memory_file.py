"""A solver's files hold rows; a kill at any time leaves none of them on a disk."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.extras import oracle_params

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="looks for files in memory in /proc"
)

SOLVE = """
import os, signal, subprocess, tempfile, time
import numpy as np
from oracles import SolveOptions, WeightGrid, ZeroOneProblem, get_oracle
from oracles.milp.formulation import formulate
from oracles.milp.workers.messages import Request
from oracles.milp.workers.pulp_solver import answer

def end():
    os.killpg(0, signal.SIGKILL)

class Popen(subprocess.Popen):
    def __init__(self, *arguments, **settings):
        if {before}:
            end()
        super().__init__(*arguments, **settings)
        if {during}:
            time.sleep(0.3)
            end()
        self.wait()
        end()

rng = np.random.default_rng(0)
problem = ZeroOneProblem(
    points=np.column_stack([np.ones(9, dtype=int), rng.integers(0, 2, (9, 3))]),
    positives=rng.integers(0, 9, 9), negatives=rng.integers(0, 9, 9),
    grid=WeightGrid.box(4, 1),
)
oracle = get_oracle({name!r})
request = Request(
    solver=oracle._class,
    program=formulate(problem, oracle.formulation, tolerance=1e-6),
    scale=1,
    settings=oracle._profile.arguments(problem, SolveOptions()),
    deadline=None,
    wants_reports=False,
    folder=tempfile.mkdtemp(),
)
subprocess.Popen = Popen
answer(request, print)
"""


@pytest.mark.parametrize("when", ["before", "during", "after"])
@pytest.mark.parametrize("name", oracle_params(["pulp:CBC"]))
def test_a_kill_leaves_no_file_with_rows(name, when, tmp_path):
    code = SOLVE.format(before=when == "before", during=when == "during", name=name)
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        start_new_session=True,
        stdin=subprocess.DEVNULL,  # CBC asks for commands where its file is gone
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == -9, ended.stderr.decode()[-2000:]
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path.name for path in left if path.name != "guarded.sh"] == []
