"""The objective against a naive version; the tie rule; immutability; validation."""

import dataclasses
import itertools

import numpy as np
import pytest
from helpers.oracles import instances, strategies
from hypothesis import given

from oracles import InvalidProblem, Perturbation, WeightGrid, ZeroOneProblem
from oracles.testing.brute_force import brute_force


@given(strategies.problems())
def test_objective_matches_the_naive_loops(problem):
    for hypothesis, expected in brute_force(problem).items():
        found = problem.objective(hypothesis)
        if problem.is_exact:
            assert found == expected and isinstance(found, int)
        else:
            assert found == pytest.approx(expected, abs=1e-9)


@given(strategies.problems())
def test_trivial_bound_holds(problem):
    assert problem.trivial_bound() <= min(brute_force(problem).values()) + 1e-9


@given(strategies.grids())
def test_grid_counts(grid):
    box = list(itertools.product(*grid.values))
    inside = [w for w in box if grid.contains(w)]
    norms = [sum(a * a for a in w) for w in inside]
    assert grid.n_assignments == len(box) and grid.n_hypotheses == len(inside)
    assert grid.largest_norm == max(norms)
    assert grid.norm_counts() == {k: norms.count(k) for k in sorted(set(norms))}
    if grid.norm_budget is not None:
        assert all(n <= grid.norm_budget for n in norms)


def test_a_score_of_zero_predicts_minus():
    problem = ZeroOneProblem(
        points=[[1], [0], [-1]],
        positives=[1, 1, 1],
        negatives=[0, 0, 0],
        grid=WeightGrid.box(1, 1),
    )
    assert problem.predict((0,)).tolist() == [False, False, False]
    assert problem.predict((1,)).tolist() == [True, False, False]
    assert problem.predict((-1,)).tolist() == [False, False, True]


def test_objectives_are_in_steps():
    problem, optimum = instances.pulled_by_table()
    assert problem.steps_per_row == 2 and problem.unit == 0.5
    assert problem.objective((0,)) == 4 * 2 == optimum
    assert problem.objective((1,)) == 3 * 2 + 6
    assert problem.loss((1,)) == 3


def test_large_sums_stay_exact():
    table = Perturbation.separable([[0, 2**53 + 1]], unit=1.0)
    problem = ZeroOneProblem(
        points=[[1]],
        positives=[2**54],
        negatives=[0],
        grid=WeightGrid(values=((0, 1),)),
        perturbation=table,
    )
    assert problem.objective((1,)) == -(2**53) - 1
    assert problem.objective((0,)) == 2**54


def test_nothing_can_be_changed():
    source = np.array([[1, 0], [0, 1]])
    problem = ZeroOneProblem(
        points=source, positives=[1, 2], negatives=[3, 4], grid=WeightGrid.box(2, 1)
    )
    source[0, 0] = 9
    assert problem.points[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        problem.points[0, 0] = 9
    with pytest.raises(dataclasses.FrozenInstanceError):
        problem.positives = np.zeros(2)
    table = Perturbation.separable([[1, 2, 3]], unit=1.0)
    with pytest.raises(ValueError, match="read-only"):
        table.tables[0][0] = 5


BOX = WeightGrid.box(1, 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: WeightGrid(values=()), "a grid needs at least one coordinate, got none."),
        (lambda: WeightGrid(values=((1, 1),)), "non-empty and strictly increasing"),
        (lambda: WeightGrid(values=((),)), "non-empty and strictly increasing"),
        (lambda: WeightGrid(values=((2,),), norm_budget=3), "must admit at least one hypothesis"),
        (lambda: Perturbation.separable([[1, 2]], unit=0.3), "unit must be 2**-r"),
        (lambda: Perturbation.separable([[1, 2]], unit=2.0), "unit must be 2**-r"),
        (lambda: Perturbation.separable([[1.5, 2]], unit=1.0), "on a lattice must hold integers"),
        (lambda: Perturbation.separable([[np.inf]], unit=None), "tables must be finite."),
        (
            lambda: Perturbation(blocks=((0,), (0,)), tables=(np.zeros(1),) * 2, unit=None),
            "blocks must be non-empty and disjoint.",
        ),
        (
            lambda: Perturbation(blocks=((0, 1),), tables=(np.zeros(3),), unit=None),
            "one axis per coordinate",
        ),
        (
            lambda: Perturbation(blocks=((0,),), tables=(), unit=None),
            "there must be one table per block.",
        ),
        (
            lambda: ZeroOneProblem(points=[[1, 2]], positives=[1], negatives=[0], grid=BOX),
            "one column per grid coordinate (1), got 2.",
        ),
        (
            lambda: ZeroOneProblem(points=[[1]], positives=[1, 2], negatives=[0], grid=BOX),
            "positives must have one entry per point.",
        ),
        (
            lambda: ZeroOneProblem(points=[[0.5]], positives=[1], negatives=[0], grid=BOX),
            "points must hold integers, got dtype float64.",
        ),
        (
            lambda: ZeroOneProblem(points=[[1]], positives=[2**62], negatives=[0], grid=BOX),
            "counts and tables must keep every sum below 2**62.",
        ),
        (
            lambda: ZeroOneProblem(
                points=[[1]],
                positives=[1],
                negatives=[0],
                grid=BOX,
                perturbation=Perturbation.separable([[1, 2]], unit=1.0),
            ),
            "a table must have shape (3,), got (2,).",
        ),
        (
            lambda: ZeroOneProblem(
                points=[[1]],
                positives=[1],
                negatives=[0],
                grid=BOX,
                perturbation=Perturbation.separable([[1, 2, 3]], unit=1.0, norm_table=[1]),
            ),
            "one entry per squared norm",
        ),
    ],
)
def test_malformed_statements_are_refused(make, message):
    with pytest.raises(InvalidProblem) as caught:
        make()
    assert message in str(caught.value)


def test_hypotheses_outside_the_grid_are_refused():
    problem, _ = instances.pushed_out_of_budget()
    for outside in [(1, 0), (2, 0), (0,)]:
        with pytest.raises(InvalidProblem, match="must belong to the grid"):
            problem.objective(outside)
