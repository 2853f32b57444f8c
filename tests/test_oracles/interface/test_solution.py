"""Claims that contradict themselves are refused; certificates say only what holds."""

import math

import numpy as np
import pytest
from helpers.oracles import instances

from oracles import (
    Claim,
    InconsistentSolution,
    InvalidOption,
    Limit,
    NoHypothesis,
    Oracle,
    Perturbation,
    SolveOptions,
    Termination,
    UnsupportedProblem,
    WeightGrid,
    ZeroOneProblem,
    solve,
)
from oracles.enumeration.listing import EnumerationOracle


class Scripted:
    """An oracle that says what it is told to."""

    name = "scripted"
    requirement = "follows its script"

    def __init__(self, integer_arithmetic=True, **claim):
        self.integer_arithmetic = integer_arithmetic
        self.claim = Claim(
            **{"limit": None, "nodes": None, "termination": Termination.OPTIMAL} | claim
        )

    def supports(self, problem):
        return True

    def solve(self, problem, options):
        return self.claim


PROBLEM, OPTIMUM = instances.pulled_by_table()  # in half rows: 8 at (-1,) and (0,), 12 at (1,)


def certified(options=None, integer_arithmetic=True, **claim):
    oracle = Scripted(integer_arithmetic=integer_arithmetic, **claim)
    return solve(PROBLEM, oracle, options).certificate


def test_claims_and_certificates_have_no_defaults():
    with pytest.raises(TypeError, match="termination"):
        Claim(hypothesis=(0,), objective=8, dual_bound=8, limit=None, nodes=None)


def test_a_proof_is_certified():
    certificate = certified(hypothesis=(0,), objective=8, dual_bound=8)
    assert certificate.termination is Termination.OPTIMAL
    assert certificate.proves_optimal and certificate.gap == 0 and certificate.integer_arithmetic


def test_the_objective_is_recomputed():
    assert certified(hypothesis=(1,), objective=None, dual_bound=8).primal_bound == 12
    with pytest.raises(InconsistentSolution, match="differs from the recomputed one"):
        certified(hypothesis=(1,), objective=8, dual_bound=8)


@pytest.mark.parametrize("bound", [9, 8.001, math.nan, math.inf])
def test_a_bound_above_its_own_objective_is_refused(bound):
    with pytest.raises(InconsistentSolution, match="lower bound above the objective of its own"):
        certified(hypothesis=(0,), objective=8, dual_bound=bound)


def test_floating_point_bounds_get_half_a_step():
    assert certified(hypothesis=(0,), objective=8, dual_bound=7.6).dual_bound == 8
    loose = certified(hypothesis=(0,), objective=8, dual_bound=7.6, integer_arithmetic=False)
    assert loose.dual_bound == 8 and not loose.integer_arithmetic
    assert (
        certified(
            hypothesis=(0,), objective=8, dual_bound=8.4, integer_arithmetic=False
        ).dual_bound
        == 8
    )
    too_low = certified(hypothesis=(0,), objective=8, dual_bound=7.4, integer_arithmetic=False)
    assert too_low.dual_bound == 7 and too_low.termination is Termination.IMPRECISE


def test_an_open_gap_is_never_optimal():
    certificate = certified(hypothesis=(1,), objective=12, dual_bound=8)
    assert certificate.termination is Termination.IMPRECISE
    assert certificate.gap == 4 and certificate.gap_in_rows == 2.0
    limited = certified(
        hypothesis=(1,),
        objective=12,
        dual_bound=-math.inf,
        termination=Termination.FEASIBLE,
        limit=Limit.TIME,
    )
    assert limited.termination is Termination.FEASIBLE and limited.limit is Limit.TIME
    assert limited.gap == math.inf


def test_a_gap_within_the_request_is_optimal():
    options = SolveOptions(absolute_gap=2.0)  # rows; the gap is 4 half rows
    assert certified(options, hypothesis=(1,), objective=12, dual_bound=8).termination is (
        Termination.OPTIMAL
    )


def test_answers_outside_the_grid_are_refused():
    with pytest.raises(InconsistentSolution, match="answered outside the grid"):
        certified(hypothesis=(2,), objective=8, dual_bound=8)


def test_no_hypothesis_is_an_error_in_one_sentence():
    with pytest.raises(NoHypothesis) as caught:
        certified(
            hypothesis=None,
            objective=None,
            dual_bound=-math.inf,
            termination=Termination.NO_HYPOTHESIS,
            limit=Limit.TIME,
        )
    assert str(caught.value) == (
        "oracle 'scripted' must find a hypothesis, but it stopped before the first one (time "
        "limit); raise the limit or choose another oracle."
    )


def test_unsupported_problems_are_refused_in_the_oracles_words():
    class Picky(EnumerationOracle):
        name = "picky"
        requirement = "takes nothing today"

        def supports(self, problem):
            return False

    with pytest.raises(UnsupportedProblem) as caught:
        solve(PROBLEM, Picky())
    assert str(caught.value) == "oracle 'picky' takes nothing today."


def test_every_shipped_oracle_follows_the_protocol(oracle):
    assert isinstance(oracle, Oracle)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time_limit": 0.0}, "time_limit must be > 0 seconds, got 0.0."),
        ({"time_limit": -1.0}, "time_limit must be > 0 seconds, got -1.0."),
        ({"absolute_gap": -0.5}, "absolute_gap must be >= 0 rows, got -0.5."),
        ({"absolute_gap": math.inf}, "absolute_gap must be >= 0 rows, got inf."),
        ({"threads": 0}, "threads must be >= 1, got 0."),
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(InvalidOption) as caught:
        SolveOptions(**options)
    assert str(caught.value) == message


def test_bounds_beyond_the_reach_of_floats_are_compared_as_integers():
    # Thirty steps apart near 2**60, where neighbouring floats are 128 apart.
    worse, better = 2**60 - 130, 2**60 - 100
    problem = ZeroOneProblem(
        points=[[1]],
        positives=[0],
        negatives=[0],
        grid=WeightGrid(values=((0, 1),)),
        perturbation=Perturbation.separable([np.array([worse, better])], unit=1.0),
    )
    loose = Scripted(hypothesis=(0,), objective=-worse, dual_bound=-better)
    certificate = solve(problem, loose).certificate
    assert certificate.gap == 30 and not certificate.proves_optimal
    tight = Scripted(hypothesis=(1,), objective=-better, dual_bound=-better)
    assert solve(problem, tight).certificate.proves_optimal
    with pytest.raises(InconsistentSolution, match="lower bound above"):
        solve(problem, Scripted(hypothesis=(1,), objective=-better, dual_bound=1 - better))


@pytest.mark.parametrize("oracle", ["auto", "enumeration"])
def test_progress_ends_with_what_is_certified(oracle):
    seen = []
    options = SolveOptions(progress=lambda *report: seen.append(report))
    problem, _ = instances.pulled_by_table()
    solution = solve(problem, oracle, options)
    certificate = solution.certificate
    assert seen[-1][:2] == (
        certificate.primal_bound * certificate.unit,
        certificate.dual_bound * certificate.unit,
    )
    assert seen[-1][2] == solution.stats.seconds


def test_progress_is_told_that_nothing_is_proved():
    seen = []
    problem, _ = instances.pulled_by_table()
    oracle = Scripted(
        hypothesis=tuple(v[0] for v in problem.grid.values),
        objective=None,
        dual_bound=-math.inf,
        termination=Termination.FEASIBLE,
    )
    solve(problem, oracle, SolveOptions(progress=lambda *report: seen.append(report)))
    assert len(seen) == 1 and seen[0][1] == -math.inf
