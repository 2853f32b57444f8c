"""HiGHS: status table, options, limits, progress, interruption."""

import os
import signal
import threading

import highspy
import numpy as np
import pytest
from helpers.oracles import instances
from helpers.processes import PATIENCE

import oracles
from oracles import (
    InconsistentSolution,
    InvalidOption,
    Limit,
    OracleUnavailable,
    SolveOptions,
    Termination,
    WeightGrid,
    ZeroOneProblem,
)
from oracles.milp import claims, cp_sat, highs
from oracles.milp.claims import lowered_bound, stopping_gap
from oracles.milp.highs import STATUS, HighsOracle
from oracles.milp.pulp_solvers import SOLUTION_STATUS
from oracles.milp.warm_start import find_incumbent
from oracles.milp.workers import highs_solver
from oracles.testing.sample_problems import wide_problem


def test_a_status_without_a_meaning_is_refused_and_a_chain_survives(monkeypatch):
    problem, optimum = instances.exclusive_or()
    for table in (STATUS, SOLUTION_STATUS, cp_sat.STATUS):
        with pytest.raises(InconsistentSolution, match="got 'kNew'"):
            claims.meaning_of("kNew", table)
    monkeypatch.setattr(highs, "STATUS", {})
    with pytest.raises(InconsistentSolution, match="got 'kOptimal'"):
        oracles.solve(problem, "highs")
    certificate = oracles.solve(problem, "highs then enumeration").certificate
    assert certificate.proves_optimal and certificate.primal_bound == optimum


@pytest.mark.parametrize("version", ["1.13", "1.13.0", "1.13.1", "1.14.0"])
def test_versions_that_prove_what_is_false_are_refused(monkeypatch, version):
    monkeypatch.setattr(highs_solver, "version", lambda name: version)
    with pytest.raises(OracleUnavailable, match=f"and this is {version};"):
        highs_solver.check_version()


@pytest.mark.parametrize("version", ["1.8.0", "1.12.0", "1.15.1", "1.130.0", "1.16.0"])
def test_other_versions_are_not(monkeypatch, version):
    monkeypatch.setattr(highs_solver, "version", lambda name: version)
    highs_solver.check_version()


def test_tolerances_that_a_version_writes_over_each_other_are_the_same():
    problem, _ = instances.exclusive_or()
    options = highs.highs_options(problem, SolveOptions())
    assert options["mip_feasibility_tolerance"] == options["primal_feasibility_tolerance"]


def hard():
    return instances.too_hard()


def test_every_status_is_mapped():
    members = {name for name in dir(highspy.HighsModelStatus) if name.startswith("k")}
    assert members <= set(STATUS), "a new HiGHS status must be given a meaning"


def test_only_optimal_reads_as_optimal():
    optimal = [name for name, (termination, _) in STATUS.items() if termination.name == "OPTIMAL"]
    assert optimal == ["kOptimal"]
    assert all(limit is not None for name, (_, limit) in STATUS.items() if name != "kOptimal")


@pytest.mark.timing
@pytest.mark.parametrize("formulation", ["aggregated", "ordered", "per-row"])
def test_a_time_limit_never_reads_as_optimal(formulation):
    claim = HighsOracle(formulation).solve(hard(), SolveOptions(time_limit=0.3))
    assert claim.termination is not Termination.OPTIMAL
    assert claim.limit is Limit.TIME
    if claim.hypothesis is not None:
        assert claim.dual_bound < hard().objective(claim.hypothesis)


def test_rejected_options_are_named():
    problem, _ = instances.exclusive_or()
    with pytest.raises(InvalidOption) as caught:
        HighsOracle().solve(problem, SolveOptions(seed=-5))
    assert str(caught.value) == "HiGHS must accept every option, but it rejected random_seed=-5."


def test_thread_counts_can_change_within_a_process():
    problem, optimum = instances.exclusive_or()
    for threads in (1, 2, 1):
        solution = oracles.solve(problem, "highs", SolveOptions(threads=threads))
        assert solution.certificate.primal_bound == optimum
        assert solution.certificate.proves_optimal


def test_progress_is_in_rows_and_ordered(monkeypatch):
    monkeypatch.setattr("oracles.milp.highs._SECONDS_ALONE", 0.5)
    monkeypatch.setattr("oracles.milp.highs._SHARE_OF_BLOCKS", 0.01)
    reports, runs = [], []
    solve = highs.solve_in_worker

    def counted(*arguments, **settings):
        runs.append(len(reports))
        return solve(*arguments, **settings)

    class Enough(Exception):
        pass

    def note(*report):
        reports.append(report)
        # Both before and after the block bound's rows are made.
        if len(runs) == 2 and len(reports) >= runs[1] + 3:
            raise Enough

    monkeypatch.setattr(highs, "solve_in_worker", counted)
    problem = instances.too_hard(n_rows=300)
    with pytest.raises(Enough):
        HighsOracle().solve(problem, SolveOptions(time_limit=60.0, progress=note))
    seconds = [report[2] for report in reports]
    assert seconds == sorted(seconds)
    total = int(problem.positives.sum() + problem.negatives.sum())
    assert all(0 <= r[0] <= total for r in reports if r[0] is not None)


def test_an_exception_in_the_callback_comes_out():
    def fail(incumbent, bound, seconds):
        raise RuntimeError("from the callback")

    with pytest.raises(RuntimeError, match="from the callback"):
        HighsOracle().solve(hard(), SolveOptions(time_limit=20, progress=fail))


def test_keyboard_interrupt_is_not_swallowed():
    def press(incumbent, bound, seconds):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        HighsOracle().solve(hard(), SolveOptions(time_limit=20, progress=press))


@pytest.mark.timing
@pytest.mark.skipif(not hasattr(signal, "SIGINT"), reason="needs signals")
def test_ctrl_c_stops_the_solver():
    # Test workers may ignore SIGINT; a program started from a terminal does not.
    inherited = signal.signal(signal.SIGINT, signal.default_int_handler)
    searching, ended = threading.Event(), threading.Event()

    def press():
        # Before HiGHS runs, Python itself would raise the interruption, or drop it: one that
        # comes in the midst of a weak reference's callback or of a finalizer is only printed.
        if searching.wait(PATIENCE) and not ended.is_set():
            os.kill(os.getpid(), signal.SIGINT)

    presser = threading.Thread(target=press)
    presser.start()
    options = SolveOptions(time_limit=PATIENCE, progress=lambda *_: searching.set())
    try:
        with pytest.raises(KeyboardInterrupt):
            # Without a start nothing but HiGHS runs from the first report on.
            HighsOracle(warm_start=False).solve(hard(), options)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        ended.set()
        searching.set()
        presser.join()
        signal.signal(signal.SIGINT, inherited)


def test_stopping_gap_is_a_quarter_step():
    problem, _ = instances.pulled_by_table()
    assert stopping_gap(problem, 0.0) == 0.125
    assert stopping_gap(problem, 1.2) == 1.125, "two whole half rows and a quarter of one"


def test_the_gap_is_taken_off_the_bound():
    problem, _ = instances.pulled_by_table()  # half rows
    assert lowered_bound(problem, 4.0, 8.0, 0.125) == 7.75
    # Open searches give up a step: solvers round bounds up to one.
    assert lowered_bound(problem, 2.0, 8.0, 0.125) == 3.0
    assert lowered_bound(problem, np.inf, 8.0, 0.125) == -np.inf
    assert lowered_bound(problem, np.nan, 8.0, 0.125) == -np.inf


def test_a_fine_lattice_is_resolved():
    # Two hypotheses whose objectives differ by one step of 2**-20 rows: relative gap 1e-9.
    table = oracles.Perturbation.separable([[0, 1]], unit=2.0**-20)
    problem = ZeroOneProblem(
        points=[[0]],
        positives=[900],
        negatives=[0],
        grid=WeightGrid(values=((0, 1),)),
        perturbation=table,
    )
    solution = oracles.solve(problem, "highs")
    assert solution.hypothesis == (1,) and solution.certificate.proves_optimal


def test_certificates_say_that_the_bound_is_floating_point():
    problem, _ = instances.exclusive_or()
    assert not oracles.solve(problem, "highs").certificate.integer_arithmetic


def wide():
    return wide_problem(np.random.default_rng(5))


def test_a_start_is_looked_for_on_large_grids_only():
    problem, _ = instances.exclusive_or()
    assert find_incumbent(problem) is None
    found = find_incumbent(wide(), seed=3)
    assert found == find_incumbent(wide(), seed=3), "same inputs, same hypothesis"
    assert wide().grid.contains(found)
    assert wide().objective(found) < min(wide().objective((a,) + (0,) * 31) for a in (-1, 0, 1))


def test_a_start_in_a_norm_budget_is_in_the_grid():
    base = wide()
    d = base.n_features
    problem = ZeroOneProblem(
        points=base.points,
        positives=base.positives,
        negatives=base.negatives,
        grid=WeightGrid.box(d, 1, norm_budget=3),
    )
    assert problem.grid.contains(find_incumbent(problem))


def test_tables_off_the_lattice_have_no_start():
    tables = oracles.Perturbation.separable([[0.5, 0.0, 0.1]] * 32, unit=None)
    assert find_incumbent(wide().with_perturbation(tables)) is None


def test_the_start_is_the_answer_where_the_limit_comes_first():
    claim = HighsOracle().solve(wide(), SolveOptions(time_limit=1e-3))
    assert claim.termination is Termination.FEASIBLE and claim.limit is Limit.TIME
    assert wide().grid.contains(claim.hypothesis)
    assert claim.dual_bound < claim.objective == wide().objective(claim.hypothesis)


def test_a_rejected_start_is_an_error():
    class Refusing:
        def setSolution(self, *_):  # noqa: N802 - HiGHS's name
            return highspy.HighsStatus.kError

    with pytest.raises(InvalidOption, match="the hypothesis to start from"):
        highs_solver._start_from(Refusing(), np.array([0, 1]), np.array([0.0, 1.0]))


def test_a_bad_start_does_not_spoil_the_answer(monkeypatch):
    problem, optimum = instances.exclusive_or()
    for start in ((1, 1, 1), (-1, -1, 0)):
        monkeypatch.setattr("oracles.milp.highs.find_incumbent", lambda *_, s=start, **__: s)
        certificate = oracles.solve(problem, "highs").certificate
        assert certificate.primal_bound == optimum and certificate.proves_optimal
