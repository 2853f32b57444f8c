"""Solvers called directly: one table of profiles, and what each of them really does.

What needs no solver runs everywhere, with modules that take the solvers' places. The rest runs
where the solver's package is installed.
"""

import functools
import importlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from helpers.child_events import wait_for_line
from helpers.extras import DIRECT, needs_licence, oracle_params
from helpers.oracles import instances
from helpers.processes import (
    PATIENCE,
    descendants,
    needs_proc,
    process_of,
    processor_ticks,
    wait_until,
    wait_until_gone,
)

import oracles
from oracles import (
    InconsistentSolution,
    InvalidOption,
    Limit,
    NoHypothesis,
    OracleUnavailable,
    SolveOptions,
    Termination,
    UnsupportedProblem,
    WeightGrid,
    ZeroOneProblem,
)
from oracles.arithmetic import module_environment
from oracles.interface import ORACLES
from oracles.milp import solver_statuses as statuses
from oracles.milp.direct_oracle import DirectOracle
from oracles.milp.formulation import FORMULATIONS, formulate
from oracles.milp.solver_profiles import PROFILES
from oracles.milp.workers import Answer, Failure, pool
from oracles.testing.brute_force import brute_force

NAMES = tuple(PROFILES)

TOO_LARGE = (
    "takes programs of at most {} without a licence of your own, and this one is larger; install "
    "one or choose another oracle"
)

REFUSED = {
    "gurobi": [
        ("GurobiError", 10009, "needs a valid Gurobi licence; renew it or choose another oracle"),
        ("GurobiError", 10010, TOO_LARGE.format("2,000 rows and 2,000 columns")),
    ],
    "cplex": [("CplexSolverError", 1016, TOO_LARGE.format("1,000 rows and 1,000 columns"))],
    "xpress": [("SolverError", 120, TOO_LARGE.format("5,000 rows and columns in sum"))],
    "copt": [("CoptError", 4, TOO_LARGE.format("2,000 rows and 2,000 columns"))],
    "mosek": [
        ("Error", 1001, "needs a valid MOSEK licence; renew it or choose another oracle"),
        ("Error", 1008, "needs a MOSEK licence; install one or choose another oracle"),
    ],
    "scip": [],
}


# --- without any of them -------------------------------------------------------------------------


def test_the_table_is_of_all_and_the_registry_knows_them():
    assert set(NAMES) == set(DIRECT)
    listed = list(ORACLES.entries())
    for name, profile in PROFILES.items():
        entry = ORACLES.entry(name)
        assert profile.name == name and entry.modules == entry.distributions == (DIRECT[name],)
        assert entry.install in (f"pip install {DIRECT[name]}", "pip install 'gurobipy>=13'")
        assert entry.size_limit == profile.size_limit == DirectOracle(name).size_limit
        assert listed.index(name) < listed.index("pulp:HiGHS")
        assert DirectOracle(name).can_certify and not DirectOracle(name).integer_arithmetic


def test_cbc_is_another_name_of_pulps():
    assert ORACLES.entry("cbc") is ORACLES.entry("pulp:CBC")
    assert "cbc" not in oracles.available_oracles()
    if "pulp:CBC" in oracles.available_oracles():
        assert oracles.get_oracle("cbc").name == "pulp:CBC"
        assert oracles.get_oracle("cbc then enumeration").name == "pulp:CBC then enumeration"


def test_another_solver_is_refused():
    with pytest.raises(OracleUnavailable, match="must be one of gurobi, cplex, .*, got 'lindo'"):
        DirectOracle("lindo")


@pytest.fixture(params=NAMES)
def direct(request):
    """Every one of them, installed or not."""
    return DirectOracle(request.param)


def answering(monkeypatch, message):
    monkeypatch.setattr(pool, "ask_worker", lambda *_, **__: message)


def answer_of(problem, oracle, hypothesis, **changes):
    """Return the answer of a solver that found the hypothesis and proved it optimal."""
    program = formulate(problem, oracle.formulation, tolerance=1e-9)
    x = np.zeros(program.n_variables)
    for columns, allowed, weight in zip(program.choices, program.values, hypothesis, strict=True):
        x[columns[allowed.index(weight)]] = 1.0
    objective = problem.objective(hypothesis) * problem.unit
    settings = {"status": "OPTIMAL", "objective": objective, "bound": objective, "nodes": 1}
    return Answer(assignment=x, **{**settings, **changes})


def status_for(oracle, wanted):
    table = PROFILES[oracle.name].statuses
    return next(status for status, meaning in table.items() if meaning == wanted)


def test_an_unknown_status_is_refused(monkeypatch, direct):
    problem, _ = instances.exclusive_or()
    hypothesis = min(brute_force(problem), key=brute_force(problem).get)
    answering(monkeypatch, answer_of(problem, direct, hypothesis, status="HAPPY"))
    with pytest.raises(InconsistentSolution, match="a status that is known here, got 'HAPPY'"):
        oracles.solve(problem, direct)


def test_a_bound_gives_up_what_the_solver_was_allowed(monkeypatch, direct):
    """An optimum is closed to within the gap and no further; an open search gives up a step."""
    problem, optimum = instances.exclusive_or()
    found = brute_force(problem)
    best = min(found, key=found.get)
    for bound, claimed in ((optimum + 7.0, optimum - 0.25), (optimum, optimum - 0.25)):
        status = status_for(direct, (Termination.OPTIMAL, None))
        answering(monkeypatch, answer_of(problem, direct, best, status=status, bound=bound))
        assert direct.solve(problem, SolveOptions()).dual_bound == claimed
    status = status_for(direct, (Termination.FEASIBLE, Limit.TIME))
    answering(monkeypatch, answer_of(problem, direct, best, status=status, bound=optimum - 1.0))
    claim = direct.solve(problem, SolveOptions())
    assert (claim.dual_bound, claim.limit) == (optimum - 2, Limit.TIME)


@pytest.mark.parametrize("excess", [0.0, 3.0, np.inf, np.nan])
def test_a_limit_with_a_bound_that_closes_the_gap_proves_nothing(monkeypatch, direct, excess):
    problem, optimum = instances.exclusive_or()
    found = brute_force(problem)
    worst = max(found, key=found.get)
    status = status_for(direct, (Termination.FEASIBLE, Limit.TIME))
    lie = answer_of(problem, direct, worst, status=status, bound=found[worst] + excess)
    answering(monkeypatch, lie)
    certificate = oracles.solve(problem, direct).certificate
    assert certificate.termination is Termination.FEASIBLE and certificate.gap == np.inf
    assert optimum < found[worst]


def test_a_limit_without_an_incumbent_is_none(monkeypatch, direct):
    problem, _ = instances.exclusive_or()
    status = status_for(direct, (Termination.FEASIBLE, Limit.TIME))
    nothing = Answer(status=status, assignment=None, objective=None, bound=None, nodes=0)
    answering(monkeypatch, nothing)
    claim = direct.solve(problem, SolveOptions())
    assert (claim.hypothesis, claim.dual_bound) == (None, -np.inf)
    assert (claim.termination, claim.limit) == (Termination.NO_HYPOTHESIS, Limit.TIME)


@pytest.mark.parametrize(
    ("name", "kind", "code", "sentence"),
    [(name, *refusal) for name, refusals in REFUSED.items() for refusal in refusals],
)
def test_a_licence_that_does_not_cover_it_is_one_sentence(monkeypatch, name, kind, code, sentence):
    oracle = DirectOracle(name)
    problem, optimum = instances.exclusive_or()
    answering(monkeypatch, Failure(kind=kind, code=code))
    with pytest.raises(UnsupportedProblem) as caught:
        oracle.solve(problem, SolveOptions())
    assert str(caught.value) == f"oracle '{name}' {sentence}."
    chain = oracles.interface.HandoverOracle(oracle, oracles.get_oracle("enumeration"))
    assert oracles.solve(problem, chain).certificate.primal_bound == optimum


def test_another_error_is_no_refusal(monkeypatch, direct):
    problem, _ = instances.exclusive_or()
    answering(monkeypatch, Failure(kind="SolverError", code=77))
    with pytest.raises(NoHypothesis, match="failed with SolverError 77;"):
        direct.solve(problem, SolveOptions())


@pytest.mark.parametrize("seed", [-1, 2**31])
def test_bad_seeds_are_named(direct, seed):
    problem, _ = instances.exclusive_or()
    with pytest.raises(InvalidOption, match=f"takes seeds in 0..2000000000, got seed={seed}"):
        direct.solve(problem, SolveOptions(seed=seed))


@pytest.fixture
def misbehaving(monkeypatch, tmp_path):
    """Put a module in the place of every solver, in workers that end with the test."""
    monkeypatch.setattr(pool, "_idle", {})

    def replace(act):
        for name in DIRECT.values():
            (tmp_path / f"{name}.py").write_text(f"{act}\n")
        monkeypatch.syspath_prepend(str(tmp_path))

    yield replace
    for kept in pool._idle.values():
        for worker in kept:
            worker.close()


ACTS = {
    "killed": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "abort": "import os; os.abort()",
    "error": "raise RuntimeError('3 rows say 77')",
}


@pytest.mark.parametrize("act", ACTS)
def test_a_crash_is_a_sentence_and_a_chain_goes_on(misbehaving, capfd, direct, act):
    misbehaving(f"print('noise', flush=True); {ACTS[act]}")
    problem, optimum = instances.exclusive_or()
    reason = "it failed with RuntimeError" if act == "error" else "its process ended"
    with pytest.raises(NoHypothesis, match=f"oracle '{direct.name}' needs .* but {reason};"):
        oracles.solve(problem, direct)
    chain = oracles.interface.HandoverOracle(direct, oracles.get_oracle("enumeration"))
    assert oracles.solve(problem, chain).certificate.primal_bound == optimum
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_every_weight_has_finite_bounds(formulation):
    """With free weights and a big-M of 1e6 three of the solvers call 0 errors the optimum."""
    problem, _ = instances.exclusive_or()
    program = formulate(problem, formulation, tolerance=1e-9)
    assert np.isfinite(program.lower).all() and np.isfinite(program.upper).all()
    assert np.abs(program.coefficients).max() < 100


# --- with the solvers ----------------------------------------------------------------------------

MEMBERS = {
    "gurobi": lambda: public(importlib.import_module("gurobipy").GRB.Status),
    "scip": lambda: {n.lower() for n in public(importlib.import_module("pyscipopt").SCIP_STATUS)},
    "copt": lambda: set(importlib.import_module("oracles.milp.workers.copt_solver").NAMES),
    "xpress": lambda: xpress_members(),
    "mosek": lambda: (
        {"none"}
        | (public(importlib.import_module("mosek").solsta) - set(dir(int)) - INTERNAL)
        | {n for n in public(importlib.import_module("mosek").rescode) if n.startswith("trm_")}
    ),
    "cplex": lambda: (
        set(statuses.CPLEX)
        & public(importlib.import_module("cplex._internal._subinterfaces").SolutionStatus)
    ),
}
"""How each solver names what a search may end with."""

INTERNAL = {"enumnamere", "members", "values"}


def public(kind):
    return {name for name in dir(kind) if not name.startswith("_")}


def xpress_members():
    xpress = importlib.import_module("xpress")
    ends, stops = xpress.SolveStatus, {stop.name for stop in xpress.StopType}
    completed = {f"{ends.COMPLETED.name} {found.name}" for found in xpress.SolStatus}
    stopped = {f"{ends.STOPPED.name} {stop}" for stop in stops}
    return completed | stopped | {ends.UNSTARTED.name, ends.FAILED.name}


@pytest.mark.parametrize("name", oracle_params(NAMES))
def test_every_status_of_the_solver_is_mapped(name):
    known = set(PROFILES[name].statuses)
    assert MEMBERS[name]() - known == set()
    assert known - MEMBERS[name]() <= {"terminate"}  # not in every version of SCIP


@pytest.fixture(params=oracle_params(NAMES))
def installed(request):
    """Each that can be run here, without a licence where that is possible."""
    return needs_licence(oracles.get_oracle(request.param))


def test_a_gap_of_a_ten_thousandth_is_not_taken(installed):
    """Where every count is large, one row less is within each solver's own default."""
    rng = np.random.default_rng(5)
    for _ in range(6):
        points = rng.integers(0, 2, (9, 3))
        counts = 100_000 + rng.integers(0, 5, (2, 9))
        problem = ZeroOneProblem(
            points=points, positives=counts[0], negatives=counts[1], grid=WeightGrid.box(3, 2)
        )
        certificate = oracles.solve(problem, installed).certificate
        assert certificate.primal_bound == min(brute_force(problem).values())
        assert certificate.proves_optimal


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_large_big_m_changes_no_prediction(installed, formulation):
    rng = np.random.default_rng(8)
    oracle = oracles.get_oracle(installed.name, formulation=formulation)
    for _ in range(4):
        problem = ZeroOneProblem(
            points=rng.integers(-1_000_000, 1_000_000, (8, 3)),
            positives=rng.integers(0, 3, 8),
            negatives=rng.integers(0, 3, 8),
            grid=WeightGrid.box(3, 2),
        )
        certificate = oracles.solve(problem, oracle).certificate
        assert certificate.primal_bound == min(brute_force(problem).values())
        assert certificate.proves_optimal


def test_a_parameter_that_the_solver_does_not_have_is_an_error(installed, monkeypatch):
    profile = installed._profile

    def with_another(gap, options):
        return profile.settings(gap, options) | {"surely/no.such_parameter": 1}

    monkeypatch.setattr(installed, "_profile", replace(profile, settings=with_another))
    with pytest.raises(NoHypothesis, match="it failed with"):
        oracles.solve(instances.exclusive_or()[0], installed)


@pytest.mark.timing
@pytest.mark.parametrize("formulation", ["aggregated", "per-row"])
@pytest.mark.parametrize("seconds", [1e-6, 0.1, 1.0])
def test_a_time_limit_is_said_with_and_without_an_incumbent(installed, formulation, seconds):
    oracle = oracles.get_oracle(installed.name, formulation=formulation)
    problem = instances.too_hard(n_rows=600)
    claim = oracle.solve(problem, SolveOptions(time_limit=seconds))
    assert claim.limit is Limit.TIME
    if claim.hypothesis is None:
        assert claim.termination is Termination.NO_HYPOTHESIS
    else:
        assert claim.termination is Termination.FEASIBLE
        assert claim.dual_bound < problem.objective(claim.hypothesis)


def test_a_licence_that_is_too_small_is_one_sentence(installed):
    if installed.size_limit is None:
        pytest.skip("this solver's licence has no limit")
    problem = instances.too_hard(n_rows=6000, n_features=16)
    try:
        oracles.solve(problem, installed, SolveOptions(time_limit=60.0))
    except UnsupportedProblem as caught:
        told = str(caught)
    else:
        pytest.skip("needs a solver without a full licence")
    sentences = [sentence for *_, sentence in REFUSED[installed.name]]
    assert told.removeprefix(f"oracle '{installed.name}' ")[:-1] in sentences


@pytest.mark.parametrize("name", oracle_params(["mosek"]))
def test_without_a_licence_mosek_says_so(name):
    oracle = oracles.get_oracle(name)
    with pytest.raises(UnsupportedProblem, match="^oracle 'mosek' needs a MOSEK licence; "):
        oracles.solve(instances.exclusive_or()[0], oracle)


def test_silent_and_tidy(installed, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(pool, "_idle", {})
    problem, optimum = instances.exclusive_or()
    assert oracles.solve(problem, installed).certificate.primal_bound == optimum
    capfd_text = capfd.readouterr()
    for kept in pool._idle.values():
        for worker in kept:
            worker.close()
    assert capfd_text == ("", "") and os.listdir(tmp_path) == []


PARENT = """
import sys
import oracles
from helpers.oracles import instances
oracles.solve(instances.exclusive_or()[0], sys.argv[1].partition(" then ")[0])
print("searching", flush=True)
try:
    oracles.solve(instances.too_hard(n_rows=600), sys.argv[1])
finally:
    print("ended", flush=True)
"""


@pytest.fixture
def searching():
    """Start a program that searches for long, and wait until its solver is at work."""
    started = []

    def start(name):
        process = subprocess.Popen(
            [sys.executable, "-c", PARENT, name],
            env=module_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        wait_for_line(process, "searching")
        workers = descendants(process.pid)
        before = processor_ticks(workers)
        ticks = os.sysconf("SC_CLK_TCK")
        wait_until(
            lambda: processor_ticks(workers) > before + ticks or process.poll() is not None,
            "the solver to work",
        )
        assert process.poll() is None, process.communicate()
        return process, workers

    yield start
    for process in started:
        process.kill()
        process.communicate()


@needs_proc
@pytest.mark.timing
@pytest.mark.parametrize("chain", ["", " then branch-and-bound"])
def test_ctrl_c_ends_it_and_no_other_takes_over(installed, searching, chain):
    process, workers = searching(f"{installed.name}{chain}")
    before = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    wait_for_line(process, "ended")  # the end of Python itself takes longer where numba is loaded
    assert time.monotonic() - before < 2.0
    output, errors = process.communicate(timeout=PATIENCE)
    assert output == "" and errors.rstrip().endswith("KeyboardInterrupt")
    wait_until_gone(*workers)


@needs_proc
@pytest.mark.timing
def test_a_worker_killed_in_mid_search_is_a_crash(installed, monkeypatch):
    begin = pool.ChildProcess.send

    def send(child, question, time_limit=None):
        begin(child, question, time_limit)
        os.kill(process_of(child.pid).pid, signal.SIGKILL)

    monkeypatch.setattr(pool.ChildProcess, "send", send)
    with pytest.raises(NoHypothesis, match="but its process ended;"):
        oracles.solve(instances.too_hard(n_rows=600), installed)


@pytest.mark.extras("ortools")
def test_or_tools_may_be_loaded_here_before(installed):
    code = (
        "from ortools.sat.python import cp_model\n"
        "import sys, json, oracles\n"
        "from helpers.oracles import instances\n"
        "problem, optimum = instances.exclusive_or()\n"
        "found = oracles.solve(problem, sys.argv[1]).certificate\n"
        "print(json.dumps([found.primal_bound == optimum, found.proves_optimal]))\n"
    )
    run = functools.partial(subprocess.run, capture_output=True, text=True, check=True)
    done = run([sys.executable, "-c", code, installed.name], env=module_environment())
    assert json.loads(done.stdout) == [True, True] and done.stderr == ""
