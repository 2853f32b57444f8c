"""The enumeration referee against naive loops."""

import itertools

import numpy as np
import pytest
from helpers.oracles import strategies
from hypothesis import given

from oracles import SolveOptions, WeightGrid, ZeroOneProblem, solve
from oracles.enumeration import listing as enumeration_module
from oracles.enumeration.listing import all_losses, all_perturbations
from oracles.testing.brute_force import brute_force


@given(strategies.problems(max_points=12))
def test_matches_naive_loops(problem):
    expected = brute_force(problem)
    optimum = min(expected.values())
    solution = solve(problem, "enumeration")
    assert solution.certificate.proves_optimal
    if problem.is_exact:
        assert solution.certificate.primal_bound == optimum
        first = min(w for w, value in expected.items() if value == optimum)
        assert solution.hypothesis == first, "ties go to the lexicographically smallest"
    else:
        assert solution.certificate.primal_bound == pytest.approx(optimum, abs=1e-9)


@given(strategies.problems())
def test_whole_tables_match(problem):
    losses, shifts = all_losses(problem), all_perturbations(problem)
    for position, w in enumerate(itertools.product(*problem.grid.values)):
        if problem.grid.contains(w):
            assert losses[position] == problem.loss(w)
            assert shifts[position] == pytest.approx(problem.perturbation_value(w))


@pytest.mark.parametrize("cells", [1, 7, 1000])
def test_chunks_do_not_matter(cells, monkeypatch):
    rng = np.random.default_rng(3)
    problem = ZeroOneProblem(
        points=rng.integers(-2, 3, (40, 4)),
        positives=rng.integers(0, 9, 40),
        negatives=rng.integers(0, 9, 40),
        grid=WeightGrid.box(4, 2, norm_budget=7),
    )
    whole = solve(problem, "enumeration")
    monkeypatch.setattr(enumeration_module, "_CHUNK_CELLS", cells)
    parts = solve(problem, "enumeration")
    assert parts.hypothesis == whole.hypothesis
    assert parts.certificate == whole.certificate


def test_a_limit_leaves_an_honest_bound(monkeypatch):
    rng = np.random.default_rng(4)
    problem = ZeroOneProblem(
        points=rng.integers(0, 2, (60, 7)),
        positives=rng.integers(0, 5, 60),
        negatives=rng.integers(0, 5, 60),
        grid=WeightGrid.box(7, 1),
    )
    optimum = solve(problem, "enumeration").certificate.primal_bound
    monkeypatch.setattr(enumeration_module, "_CHUNK_CELLS", 1)
    certificate = solve(problem, "enumeration", SolveOptions(time_limit=1e-6)).certificate
    assert not certificate.proves_optimal
    assert certificate.dual_bound <= optimum <= certificate.primal_bound


def test_counts_beyond_single_precision_stay_exact():
    problem = ZeroOneProblem(
        points=[[1, 0], [0, 1]],
        positives=[2**40 + 1, 0],
        negatives=[0, 2**40],
        grid=WeightGrid.box(2, 1),
    )
    assert all_losses(problem).max() == 2**41 + 1
    assert solve(problem).certificate.primal_bound == 0
