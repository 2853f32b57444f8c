"""HiGHS: status table, options, limits, progress, interruption."""

import os
import signal
import threading

import instances
import numpy as np
import pytest

import oracles
from oracles import InvalidOption, Limit, SolveOptions, Termination, WeightGrid, ZeroOneProblem
from oracles.highs import STATUS, HighsOracle, lowered_bound, stopping_gap

highspy = pytest.importorskip("highspy")


def hard():
    return instances.too_hard()


def test_every_status_is_mapped():
    members = {name for name in dir(highspy.HighsModelStatus) if name.startswith("k")}
    assert members <= set(STATUS), "a new HiGHS status must be given a meaning"


def test_only_optimal_reads_as_optimal():
    optimal = [name for name, (termination, _) in STATUS.items() if termination.name == "OPTIMAL"]
    assert optimal == ["kOptimal"]
    assert all(limit is not None for name, (_, limit) in STATUS.items() if name != "kOptimal")


@pytest.mark.parametrize("formulation", ["aggregated", "per-row"])
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
    assert str(caught.value) == "HiGHS must accept every option, it rejected random_seed=-5."


def test_thread_counts_can_change_within_a_process():
    problem, optimum = instances.exclusive_or()
    for threads in (1, 2, 1):
        solution = oracles.solve(problem, "highs", SolveOptions(threads=threads))
        assert solution.certificate.primal_bound == optimum
        assert solution.certificate.proves_optimal


def test_progress_is_in_rows_and_ordered():
    reports = []
    problem = hard()
    options = SolveOptions(time_limit=1.0, progress=lambda *report: reports.append(report))
    HighsOracle().solve(problem, options)
    assert reports
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


@pytest.mark.skipif(not hasattr(signal, "SIGINT"), reason="needs signals")
def test_ctrl_c_stops_the_solver():
    # Test workers may ignore SIGINT; a program started from a terminal does not.
    inherited = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            HighsOracle().solve(hard(), SolveOptions(time_limit=60))
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        timer.join()
        signal.signal(signal.SIGINT, inherited)


def test_stopping_gap_is_a_quarter_step():
    problem, _ = instances.pulled_by_table()
    assert stopping_gap(problem, 0.0) == 0.125
    assert stopping_gap(problem, 1.2) == 1.125, "two whole half rows and a quarter of one"


def test_the_gap_is_taken_off_the_bound():
    problem, _ = instances.pulled_by_table()  # half rows
    assert lowered_bound(problem, 4.0, 8.0, 0.125) == 7.75
    assert lowered_bound(problem, 2.0, 8.0, 0.125) == 4.0
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
