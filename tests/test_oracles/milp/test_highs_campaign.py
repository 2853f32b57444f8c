"""HiGHS against exact optima on many problems: for each new version of it, and each release."""

import math

import numpy as np
import pytest
from helpers.oracles import instances

from oracles import SolveOptions, WeightGrid, ZeroOneProblem, solve
from oracles.milp import HighsOracle, highs
from oracles.milp.block_rows import takes_block_rows
from oracles.milp.program import ProgramBuilder
from oracles.milp.workers import Request, highs_solver
from oracles.problem import Perturbation

PROBLEMS = 600

CHUNKS = 6

pytestmark = [pytest.mark.long, pytest.mark.slow]


def many_columns(seed):
    """A problem of 6 to 12 columns: labels at random or from a noisy card, noise or none."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(6, 13))
    n_points = 26 if seed % 20 == 0 else int(rng.integers(6, 17))
    points = rng.integers(0, 2, (n_points, d))
    points[:, 0] = 1
    points = np.unique(points, axis=0)
    if rng.random() < 0.5:
        scores = points @ rng.integers(-1, 2, d)
        chance = np.where(scores >= 1, 0.8, 0.2)
    else:
        chance = np.full(len(points), 0.5)
    counts = rng.integers(1, 6, len(points))
    positives = rng.binomial(counts, chance)
    budget = int(rng.integers(2, d + 1))
    grid = WeightGrid.box(d, 1, norm_budget=budget if rng.random() < 0.25 else None)
    noise = None
    if rng.random() < 0.5:
        tables = [rng.integers(0, 48, 3) for _ in range(d)]
        noise = Perturbation.separable(tables, unit=2.0**-3)
    return ZeroOneProblem(
        points=points,
        positives=positives,
        negatives=counts - positives,
        grid=grid,
        perturbation=noise,
    )


def seeds(chunk):
    each = PROBLEMS // CHUNKS
    return range(chunk * each, (chunk + 1) * each)


def disagreements(oracle, problems):
    """Return the numbers of the problems where an oracle does not prove the exact optimum."""
    wrong = []
    for seed, problem in problems:
        truth = solve(problem, "branch-and-bound").certificate
        found = solve(problem, oracle).certificate
        if not found.proves_optimal or found.primal_bound != truth.primal_bound:
            wrong.append(seed)
    return wrong


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_it_proves_the_optimum_of_many_columns(chunk):
    oracle = HighsOracle(warm_start=False)
    assert not disagreements(oracle, ((seed, many_columns(seed)) for seed in seeds(chunk)))


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_it_proves_the_optimum_with_a_start_and_block_rows(monkeypatch, chunk):
    monkeypatch.setattr(highs, "_SECONDS_ALONE", 0.0)
    monkeypatch.setattr("oracles.milp.warm_start.WORTHWHILE_GRID", 1)
    rows = []
    find = highs.find_block_rows

    def noting(*arguments):
        found = find(*arguments)
        rows.append(found is not None and len(found[1]))
        return found

    monkeypatch.setattr(highs, "find_block_rows", noting)
    problems = [(seed, many_columns(10_000 + seed)) for seed in seeds(chunk)]
    assert not disagreements(HighsOracle(), problems)
    assert all(takes_block_rows(problem) for _, problem in problems)
    assert sum(map(bool, rows)) > PROBLEMS // CHUNKS // 2, "most are solved with its rows"


def shared_row(seed):
    """A program of one row, to which a fraction and an integer add, and its optimum.

    highspy 1.14.0 calls wrong answers optimal where the fraction is the cheaper one. No program of
    ours has such a row, so no table shows it.
    """
    rng = np.random.default_rng(seed)
    cheap, dear = sorted(rng.integers(1, 9, 2).tolist())
    needed, least = float(rng.integers(4, 20)) + 0.5, int(rng.integers(0, 3))
    program = ProgramBuilder()
    columns = (
        program.variable(cheap, lower=least, upper=20, integer=False),
        program.variable(dear, upper=20),
    )
    program.row(needed, math.inf, columns, (1, 1))
    optimum = min(cheap * max(needed - z, least) + dear * z for z in range(21))
    return program.finish((), ()), optimum


def test_it_proves_the_optimum_where_a_fraction_and_an_integer_share_a_row(monkeypatch):
    monkeypatch.setattr(highs_solver, "WRONG_VERSIONS", ())  # the problems are to find them out
    settings = highs.highs_options(instances.exclusive_or()[0], SolveOptions())
    wrong = []
    for seed in range(PROBLEMS):
        program, optimum = shared_row(seed)
        request = Request(
            solver="highs", program=program, settings=settings, deadline=None, wants_reports=False
        )
        answer = highs_solver.answer(request, lambda report: None)
        assert answer.status == "kOptimal"
        if not math.isclose(answer.objective, optimum) or answer.bound > optimum + 1e-6:
            wrong.append(seed)
    assert not wrong
