"""PuLP: status tables, limits, silence, files, names."""

import os
from dataclasses import replace

import pulp
import pytest
from helpers.oracles import instances

import oracles
import oracles.interface
from oracles import (
    InvalidOption,
    Limit,
    OracleUnavailable,
    SolveOptions,
    Termination,
    UnsupportedProblem,
)
from oracles.milp.pulp_oracle import PulpOracle
from oracles.milp.pulp_solvers import SOLUTION_STATUS, installed_solvers, solver_profile
from oracles.milp.workers import Failure, pool
from oracles.testing.brute_force import brute_force

SOLVERS = installed_solvers()


@pytest.fixture(params=SOLVERS)
def solver(request):
    return request.param


def test_every_solution_status_is_mapped():
    members = {name for name in dir(pulp.constants) if name.startswith("LpSolution")}
    members.discard("LpSolution")  # the dictionary of their names
    assert members == set(SOLUTION_STATUS)


def test_only_optimal_reads_as_optimal():
    optimal = [
        n for n, (termination, _) in SOLUTION_STATUS.items() if termination.name == "OPTIMAL"
    ]
    assert optimal == ["LpSolutionOptimal"]


@pytest.mark.timing
@pytest.mark.parametrize("formulation", ["aggregated", "per-row"])
def test_a_time_limit_never_reads_as_optimal(solver, formulation):
    problem = instances.too_hard(n_rows=600)
    claim = PulpOracle(solver, formulation).solve(problem, SolveOptions(time_limit=0.5))
    assert claim.termination is not Termination.OPTIMAL
    assert claim.limit is Limit.TIME
    if claim.hypothesis is not None:
        assert claim.dual_bound < problem.objective(claim.hypothesis)


@pytest.mark.timing
def test_pulp_itself_does_say_optimal():
    """The trap, still there: if this fails, PuLP has changed and the comments here should too."""
    from oracles.milp.formulation import formulate
    from oracles.milp.workers.pulp_solver import _model

    # The first hypothesis comes within a tenth of a second, the proof takes minutes.
    model, _ = _model(formulate(instances.too_hard(n_rows=100)), 1)
    model.solve(pulp.HiGHS(msg=False, timeLimit=3.0))
    assert model.status == pulp.constants.LpStatusOptimal
    assert model.sol_status == pulp.constants.LpSolutionIntegerFeasible


def test_unknown_and_missing_solvers_are_refused():
    listed = ", ".join(f"pulp:{name}" for name in SOLVERS)
    for name in ("NO_SUCH_CMD", "MOSEK"):
        with pytest.raises(OracleUnavailable) as caught:
            oracles.get_oracle(f"pulp:{name}")
        assert str(caught.value) == (
            f"oracle 'pulp:{name}' must be a solver that PuLP can run; choose one of the "
            f"installed ones ({listed})."
        )


def test_the_registry_lists_what_pulp_can_run():
    listed = [n for n in oracles.available_oracles() if n.startswith("pulp:")]
    known = [n for n in SOLVERS if solver_profile(n).proves]
    assert listed == [f"pulp:{name}" for name in known]


def test_class_names_work_too(solver):
    for name in solver_profile(solver).classes:
        if name in pulp.listSolvers(onlyAvailable=True):
            problem, optimum = instances.exclusive_or()
            assert oracles.solve(problem, f"pulp:{name}").certificate.primal_bound == optimum


def test_unchecked_solvers_never_prove():
    assert not solver_profile("GLPK_CMD").proves
    assert not solver_profile("SCIP_CMD").proves, "PuLP calls its time limit optimal"
    for name in SOLVERS:
        assert PulpOracle(name).can_certify == solver_profile(name).proves


def test_a_blurred_optimal_is_only_feasible(monkeypatch):
    problem, optimum = instances.exclusive_or()
    oracle = PulpOracle(SOLVERS[-1])
    monkeypatch.setattr(oracle, "_class", "PULP_CBC_CMD")
    monkeypatch.setattr(oracle, "_profile", solver_profile("GLPK_CMD"))
    if "PULP_CBC_CMD" not in pulp.listSolvers(onlyAvailable=True):
        pytest.skip("needs the bundled CBC")
    certificate = oracles.solve(problem, oracle).certificate
    assert certificate.termination is Termination.FEASIBLE and certificate.gap == float("inf")


def test_bad_seeds_are_named(solver):
    problem, _ = instances.exclusive_or()
    if not solver_profile(solver).proves:
        pytest.skip("takes no seed")
    with pytest.raises(InvalidOption, match="-5"):
        PulpOracle(solver).solve(problem, SolveOptions(seed=-5))


def test_silent_and_tidy(solver, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    problem, _ = instances.exclusive_or()
    oracles.solve(problem, PulpOracle(solver))
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")
    assert os.listdir(tmp_path) == []


def test_preprocessing_does_not_cut_off_the_optimum(solver):
    """With its integer preprocessing on, CBC 2.10 claims -5 here and calls it optimal."""
    problem = oracles.ZeroOneProblem(
        points=[[0, 1], [1, 0], [0, 1], [1, 1], [0, 0], [1, 1], [0, 0]],
        positives=[-1, -3, -5, 0, -6, 3, -6],
        negatives=[4, 2, 3, -3, 6, 0, 0],
        grid=oracles.WeightGrid(values=((-4, -2, 2, 4), (-3, 1, 3)), norm_budget=12),
    )
    assert min(brute_force(problem).values()) == -6
    solution = oracles.solve(problem, PulpOracle(solver))
    assert solution.certificate.primal_bound == -6


def test_progress_is_reported_once_at_the_end(solver):
    reports = []
    problem, optimum = instances.pulled_by_table()
    PulpOracle(solver).solve(problem, SolveOptions(progress=lambda *r: reports.append(r)))
    assert len(reports) == 1 and reports[0][0] == pytest.approx(optimum * 0.5)


def test_thread_counts_can_change_within_a_process():
    if "HiGHS" not in SOLVERS:
        pytest.skip("needs HiGHS")
    problem, optimum = instances.exclusive_or()
    for threads in (1, 2, 1):
        solution = oracles.solve(problem, "pulp:HiGHS", SolveOptions(threads=threads))
        assert solution.certificate.primal_bound == optimum
        assert solution.certificate.proves_optimal


def test_what_a_licence_does_not_cover_is_one_sentence(monkeypatch):
    """As gurobipy raises it, error code included."""
    oracle = PulpOracle(SOLVERS[0])
    refusals = solver_profile("GUROBI").refusals
    monkeypatch.setattr(oracle, "_profile", replace(oracle._profile, refusals=refusals))
    failure = Failure(kind="GurobiError", code=10010)
    monkeypatch.setattr(pool, "ask_worker", lambda *_, **__: failure)
    problem, _ = instances.exclusive_or()
    with pytest.raises(UnsupportedProblem) as caught:
        oracle.solve(problem, SolveOptions())
    assert str(caught.value) == (
        f"oracle 'pulp:{SOLVERS[0]}' takes programs of at most 2,000 rows and 2,000 columns "
        "without a licence of your own, and this one is larger; install one or choose another "
        "oracle."
    )


@pytest.mark.parametrize(
    ("solver", "kind", "code", "sentence"),
    [
        ("GUROBI", "GurobiError", 10009, "needs a valid Gurobi licence"),
        ("CPLEX_PY", "CplexSolverError", 1016, "at most 1,000 rows and 1,000 columns"),
        ("COPT", "CoptError", 4, "at most 2,000 rows and 2,000 columns"),
        ("MOSEK", "Error", 1008, "needs a MOSEK licence"),
        ("XPRESS_PY", "SolverError", 120, "at most 5,000 rows and columns in sum"),
    ],
)
def test_every_licence_has_its_sentence(monkeypatch, solver, kind, code, sentence):
    """Classes and codes as cplex 22.2, coptpy 8.0, mosek 11.2 and gurobipy 13.0 raise them."""
    oracle = PulpOracle(SOLVERS[0])
    refusals = solver_profile(solver).refusals
    monkeypatch.setattr(oracle, "_profile", replace(oracle._profile, refusals=refusals))
    problem, optimum = instances.exclusive_or()
    failure = Failure(kind=kind, code=code)
    monkeypatch.setattr(pool, "ask_worker", lambda *_, **__: failure)
    with pytest.raises(UnsupportedProblem, match=sentence):
        oracle.solve(problem, SolveOptions())
    chain = oracles.interface.HandoverOracle(oracle, oracles.get_oracle("enumeration"))
    assert oracles.solve(problem, chain).certificate.primal_bound == optimum
    other = Failure(kind=kind, code=77)
    monkeypatch.setattr(pool, "ask_worker", lambda *_, **__: other)
    with pytest.raises(oracles.NoHypothesis, match=f"failed with {kind} 77;"):
        oracle.solve(problem, SolveOptions())


@pytest.mark.extras("gurobipy")
def test_a_full_sized_model_needs_a_full_gurobi_licence():
    import gurobipy

    problem = instances.too_hard(n_rows=4000)
    with pytest.raises(UnsupportedProblem, match="without a licence of your own"):
        PulpOracle("GUROBI").solve(problem, SolveOptions(time_limit=20.0))
    assert gurobipy.gurobi.version() >= (12, 0, 0)


def test_nodes_are_counted_where_the_solver_says_them(solver):
    problem, _ = instances.exclusive_or()
    nodes = PulpOracle(solver).solve(problem, SolveOptions()).nodes
    assert (nodes is None) == (solver not in ("HiGHS", "SCIP", "GUROBI"))
    assert nodes is None or nodes >= 0
