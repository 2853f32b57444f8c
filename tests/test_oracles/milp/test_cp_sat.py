"""CP-SAT: status table and limits; of its process, see the tests of workers."""

import subprocess
import sys

import pytest
from helpers.oracles import instances

import oracles
from oracles import InvalidOption, Limit, SolveOptions, Termination, UnsupportedProblem
from oracles.milp.cp_sat import STATUS, CpSatOracle

pytestmark = pytest.mark.extras("ortools")


def test_every_status_is_mapped():
    # In a process of its own: importing OR-tools here could end the test run.
    code = (
        "from ortools.sat.python import cp_model as m; s = m.CpSolver(); "
        "print(*[s.status_name(x) for x in type(m.OPTIMAL).__members__.values()])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(run.stdout.split()) == set(STATUS)
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


def test_cvxpy_is_imported_without_the_solver():
    code = (
        "import sys, importlib.util\n"
        "if importlib.util.find_spec('cvxpy') is None: sys.exit(0)\n"
        "import oracles.convex.conic\n"
        "sys.exit('ortools' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
