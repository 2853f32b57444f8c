"""CP-SAT: status table, limits, and a child process that never outlives its purpose."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.child_events import next_line, wait_for_line
from helpers.oracles import instances
from helpers.processes import PATIENCE, wait_until

import oracles
from oracles import InvalidOption, Limit, SolveOptions, Termination, UnsupportedProblem
from oracles.milp import cp_sat as cpsat
from oracles.milp.cp_sat import STATUS, CpSatOracle

pytestmark = pytest.mark.extras("ortools")


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    if not Path("/proc/self/stat").exists():
        return True
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):  # it went in this moment
        return False
    return status.rsplit(")", 1)[1].split()[0] != "Z"


def wait_until_gone(pid):
    wait_until(lambda: not alive(pid), "the child to end")


def test_every_status_is_mapped():
    # In a process of its own: importing OR-tools here could end the test run.
    code = (
        "from ortools.sat.python import cp_model as m; s = m.CpSolver(); "
        "print(*[s.status_name(x) for x in type(m.OPTIMAL).__members__.values()])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(run.stdout.split()) == set(STATUS) - {"DIED"}
    assert [s for s, (t, _) in STATUS.items() if t is Termination.OPTIMAL] == ["OPTIMAL"]


def test_solver_stays_out_of_this_process():
    problem, optimum = instances.exclusive_or()
    assert oracles.solve(problem, "cp-sat").certificate.primal_bound == optimum
    assert "ortools" not in sys.modules


def test_bounds_are_integers():
    problem, optimum = instances.pulled_by_table()
    claim = CpSatOracle().solve(problem, SolveOptions())
    assert isinstance(claim.dual_bound, int) and claim.dual_bound == optimum
    assert oracles.solve(problem, "cp-sat").certificate.integer_arithmetic


@pytest.mark.timing
def test_a_time_limit_never_reads_as_optimal():
    problem = instances.too_hard()
    claim = CpSatOracle().solve(problem, SolveOptions(time_limit=2.0))
    assert claim.termination is not Termination.OPTIMAL
    assert claim.limit is Limit.TIME


def test_tables_off_the_lattice_are_refused():
    problem, _ = instances.exclusive_or()
    table = oracles.Perturbation.separable([[0.1, 0.2, 0.3]], unit=None)
    with pytest.raises(UnsupportedProblem) as caught:
        oracles.solve(problem.with_perturbation(table), "cp-sat")
    assert str(caught.value) == (
        "oracle 'cp-sat' takes tables on a lattice only, because it computes with integers."
    )


def test_a_lattice_too_fine_for_floats_is_exact():
    table = oracles.Perturbation.separable([[0, 0, 1]], unit=2.0**-40)
    problem, _ = instances.tie_of_zero_scores()
    problem = oracles.ZeroOneProblem(
        points=[[0]],
        positives=[1000],
        negatives=[0],
        grid=oracles.WeightGrid.box(1, 1),
        perturbation=table,
    )
    solution = oracles.solve(problem, "cp-sat")
    assert solution.hypothesis == (1,)
    assert solution.certificate.primal_bound == 1000 * 2**40 - 1
    assert solution.certificate.proves_optimal


def test_bad_seeds_are_named():
    problem, _ = instances.exclusive_or()
    with pytest.raises(InvalidOption, match="got seed=-5"):
        CpSatOracle().solve(problem, SolveOptions(seed=-5))


@pytest.mark.timing
def test_the_child_serves_again_and_dies_with_the_oracle():
    oracle = CpSatOracle()
    problem, _ = instances.exclusive_or()
    oracles.solve(problem, oracle)
    pid = oracle._child.pid
    oracles.solve(problem, oracle)
    assert oracle._child.pid == pid
    del oracle
    wait_until_gone(pid)


@pytest.mark.timing
def test_an_exception_in_the_callback_ends_the_child(monkeypatch):
    oracle, seen = CpSatOracle(), []

    def fail(incumbent, bound, seconds):
        raise KeyboardInterrupt

    started = cpsat._started

    def spy():
        child = started()
        seen.append(child.pid)
        return child

    monkeypatch.setattr(cpsat, "_started", spy)
    with pytest.raises(KeyboardInterrupt):
        oracle.solve(instances.too_hard(), SolveOptions(time_limit=PATIENCE, progress=fail))
    wait_until_gone(seen[0])
    problem, optimum = instances.exclusive_or()
    assert oracles.solve(problem, oracle).certificate.primal_bound == optimum


@pytest.mark.timing
def test_a_dead_child_is_no_hypothesis(monkeypatch):
    oracle = CpSatOracle()
    problem, optimum = instances.exclusive_or()
    oracles.solve(problem, oracle)
    os.kill(oracle._child.pid, signal.SIGKILL)
    with pytest.raises(oracles.NoHypothesis):
        oracles.solve(problem, oracle)
    assert oracles.solve(problem, oracle).certificate.primal_bound == optimum


@pytest.mark.timing
def test_a_silent_child_is_killed_after_its_time(monkeypatch):
    monkeypatch.setattr("oracles.milp.cp_sat.SECONDS_OF_GRACE", 0.0)
    claim = CpSatOracle().solve(instances.too_hard(), SolveOptions(time_limit=0.05))
    assert claim.termination is Termination.NO_HYPOTHESIS and claim.limit is Limit.TIME


@pytest.mark.timing
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_the_child_dies_with_its_parent():
    code = (
        f"import sys; sys.path[:0] = [{str(Path(instances.__file__).parent)!r}]; "
        "import instances; from oracles import *; "
        "from oracles.milp.cp_sat import CpSatOracle; o = CpSatOracle(); "
        "p, _ = instances.exclusive_or(); solve(p, o); "
        "print(o._child.pid, flush=True); said = []; "
        "say = lambda *_: said or said.append(print('searching', flush=True)); "
        "solve(instances.too_hard(), o, SolveOptions(progress=say))"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        pid = int(next_line(parent))
        wait_for_line(parent, "searching")
        assert alive(pid)
    finally:
        parent.kill()
        parent.wait()
        parent.stdout.close()
    wait_until_gone(pid)


def test_cvxpy_is_imported_without_the_solver():
    code = (
        "import sys, importlib.util\n"
        "if importlib.util.find_spec('cvxpy') is None: sys.exit(0)\n"
        "import oracles.convex.conic\n"
        "sys.exit('ortools' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
