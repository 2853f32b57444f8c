"""Rows from the block bound: no hypothesis as good as the incumbent breaks one."""

import itertools

import numpy as np
import pytest

from oracles import SolveOptions, WeightGrid, ZeroOneProblem, solve
from oracles.branch_and_bound import prove_root, reduce_problem
from oracles.milp import HighsOracle, highs
from oracles.milp.block_rows import find_block_rows, takes_block_rows
from oracles.milp.formulation import formulate
from oracles.milp.workers import highs_solver
from oracles.problem import Perturbation


def conflicting(seed, *, d=6, n=60, noise=0, bound=1):
    """Plain columns whose labels no hypothesis gets right."""
    rng = np.random.default_rng(seed)
    points = np.unique(rng.integers(0, 2, (n, d)), axis=0)
    perturbation = None
    if noise:
        tables = [rng.integers(0, noise * 8, 2 * bound + 1) for _ in range(d)]
        perturbation = Perturbation.separable(tables, unit=2.0**-3)
    return ZeroOneProblem(
        points=points,
        positives=rng.integers(0, 6, len(points)),
        negatives=rng.integers(0, 6, len(points)),
        grid=WeightGrid.box(d, bound),
        perturbation=perturbation,
    )


def left_side(found, problem, reduction, hypothesis):
    """Return what an inequality's left-hand side comes to, and its right-hand sides."""
    predicted = found.points @ np.array(hypothesis) >= 1
    places = [v.index(w) for v, w in zip(problem.grid.values, hypothesis, strict=True)]
    total = int(found.shares[predicted].sum())
    total += sum(int(found.tables[j, a]) for j, a in enumerate(places))
    return total, [
        (int(found.least[i, places[j]]), bool(found.excluded[i, places[j]]))
        for i, j in enumerate(found.columns)
    ]


@pytest.mark.parametrize("noise", [0, 1, 6])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_every_hypothesis_as_good_as_the_incumbent_keeps_every_inequality(seed, noise):
    problem = conflicting(seed, noise=noise)
    reduction = reduce_problem(problem)
    scale = reduction.model.scale
    everybody = list(itertools.product(*problem.grid.values))
    objectives = [problem.objective(hypothesis) for hypothesis in everybody]
    upper = sorted(objectives)[20]
    proof = prove_root(reduction, upper * scale, lambda: False)
    assert proof is not None and proof.bound <= min(objectives) * scale
    assert proof.inequalities and any(len(found.points) for found in proof.inequalities)
    tight = 0
    for hypothesis, objective in zip(everybody, objectives, strict=True):
        if objective > upper:
            continue
        for found in proof.inequalities:
            total, sides = left_side(found, problem, reduction, hypothesis)
            for least, excluded in sides:
                assert not excluded
                assert total >= least
                tight += total == least
    assert tight, "an inequality that nobody meets with equality says less than it could"


@pytest.mark.parametrize("calls", [3, 17, 40, 130])
def test_what_was_proved_until_a_stop_holds(calls):
    problem = conflicting(4, noise=2)
    reduction = reduce_problem(problem)
    everybody = list(itertools.product(*problem.grid.values))
    objectives = [problem.objective(hypothesis) for hypothesis in everybody]
    upper = sorted(objectives)[20]
    left = itertools.count(calls, -1)
    proof = prove_root(reduction, upper * reduction.model.scale, lambda: next(left) <= 0)
    assert proof is not None and proof.inequalities
    assert proof.bound <= min(objectives) * reduction.model.scale
    for hypothesis, objective in zip(everybody, objectives, strict=True):
        for found in proof.inequalities if objective <= upper else ():
            total, sides = left_side(found, problem, reduction, hypothesis)
            assert all(total >= least and not excluded for least, excluded in sides)


def test_with_its_rows_the_relaxation_says_what_the_block_bound_says():
    problem = conflicting(3, d=8, n=200)
    optimum = solve(problem, "enumeration")
    bound, inequalities = find_block_rows(problem, optimum.hypothesis)
    values = []
    for rows in ((), inequalities):
        program = formulate(problem, "ordered", tolerance=highs.TOLERANCE, inequalities=rows)
        model = highs_solver._model(program, {"solve_relaxation": True})
        model.run()
        values.append(model.getInfo().objective_function_value)
    best = optimum.certificate.primal_bound * problem.unit
    assert values[0] < bound * problem.unit - 1 <= values[1] <= best + 1e-6


@pytest.mark.parametrize("noise", [0, 2])
def test_highs_that_starts_again_with_rows_finds_the_optimum(monkeypatch, noise):
    monkeypatch.setattr(highs, "_SECONDS_ALONE", 0.0)
    monkeypatch.setattr("oracles.milp.warm_start.WORTHWHILE_GRID", 1)
    asked = []

    def noting(*arguments):
        asked.append(arguments)
        return find_block_rows(*arguments)

    monkeypatch.setattr(highs, "find_block_rows", noting)
    for seed in range(3):
        problem = conflicting(seed, d=8, n=120, noise=noise)
        certificate = solve(problem, HighsOracle()).certificate
        assert certificate.proves_optimal
        expected = solve(problem, "enumeration").certificate.primal_bound
        assert certificate.primal_bound == expected
    assert len(asked) == 3


def test_a_deadline_that_is_over_makes_no_rows_and_loses_nothing(monkeypatch):
    monkeypatch.setattr(highs, "_SECONDS_ALONE", 0.0)
    monkeypatch.setattr("oracles.milp.warm_start.WORTHWHILE_GRID", 1)
    monkeypatch.setattr(highs, "_SHARE_OF_BLOCKS", 0.0)
    problem = conflicting(0)
    solution = solve(problem, HighsOracle(), SolveOptions(time_limit=60.0))
    assert solution.certificate.proves_optimal


def test_tables_of_several_columns_and_columns_of_one_value_have_no_rows():
    problem = conflicting(0)
    assert takes_block_rows(problem)
    table = np.arange(9).reshape(3, 3)
    joint = Perturbation(blocks=((0, 1),), tables=(table,), unit=1.0)
    assert not takes_block_rows(problem.with_perturbation(joint))
    fixed = WeightGrid(values=((1,), *[(-1, 0, 1)] * 5))
    assert not takes_block_rows(
        ZeroOneProblem(
            points=problem.points,
            positives=problem.positives,
            negatives=problem.negatives,
            grid=fixed,
        )
    )
