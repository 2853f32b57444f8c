"""The mixed-integer programs against the objective, hypothesis by hypothesis."""

import math

import numpy as np
import pytest
from helpers.oracles import strategies
from hypothesis import HealthCheck, given, settings
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from oracles import FormulationError, Perturbation, UnsupportedProblem, WeightGrid, ZeroOneProblem
from oracles.interface.solving import solve
from oracles.milp import formulation as encoding
from oracles.milp.formulation import formulate, formulation_limits, reachable_scores
from oracles.milp.highs import HighsOracle
from oracles.testing.brute_force import brute_force
from oracles.testing.sample_problems import KINDS, random_problem


def smallest_objective(program, hypothesis):
    """Solve for everything but the weights, which are fixed to the hypothesis; rows."""
    lower, upper = program.lower.copy(), program.upper.copy()
    for columns, allowed, weight in zip(program.choices, program.values, hypothesis, strict=True):
        for column, value in zip(columns, allowed, strict=True):
            lower[column] = upper[column] = float(value == weight)
    matrix = csr_array(
        (program.coefficients, program.columns.astype(np.int32), program.starts.astype(np.int32)),
        shape=(program.n_rows, program.n_variables),
    )
    answer = milp(
        program.objective,
        integrality=program.integrality.astype(int),
        bounds=Bounds(lower, upper),
        constraints=LinearConstraint(matrix, program.row_lower, program.row_upper),
        options={"mip_rel_gap": 0.0},
    )
    if answer.x is None:
        return None
    assert program.hypothesis(answer.x) == hypothesis
    assert program.value(answer.x) == pytest.approx(answer.fun + program.offset)
    return answer.fun + program.offset


@pytest.mark.parametrize("formulation", encoding.FORMULATIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_hypothesis_costs_its_objective(formulation, kind):
    rng = np.random.default_rng(5)
    checked = 0
    while checked < 60:
        problem = random_problem(rng, kind, negative_counts=formulation != "per-row")
        objectives = brute_force(problem)
        program = formulate(problem, formulation)
        chosen = list(objectives)[:: 1 + len(objectives) // 12]
        for hypothesis in chosen:
            expected = objectives[hypothesis] * problem.unit
            assert smallest_objective(program, hypothesis) == pytest.approx(expected, abs=1e-6)
        checked += len(chosen)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(strategies.problems(max_points=4))
def test_any_problem_is_encoded_right(problem):
    program = formulate(problem, "ordered")
    objectives = brute_force(problem)
    for hypothesis in list(objectives)[:: 1 + len(objectives) // 4]:
        expected = problem.objective(hypothesis) * problem.unit
        assert smallest_objective(program, hypothesis) == pytest.approx(expected, abs=1e-5)


def test_hypotheses_outside_the_norm_budget_are_infeasible():
    problem = ZeroOneProblem(
        points=[[1, 1]], positives=[1], negatives=[0], grid=WeightGrid.box(2, 1, norm_budget=1)
    )
    for formulation in encoding.FORMULATIONS:
        program = formulate(problem, formulation)
        assert smallest_objective(program, (1, 1)) is None
        assert smallest_objective(program, (1, 0)) == 0


def points_only(points, positives, negatives, grid=None):
    grid = grid or WeightGrid.box(len(points[0]), 1)
    return ZeroOneProblem(points=points, positives=positives, negatives=negatives, grid=grid)


def n_indicators(program):
    return program.n_variables - sum(len(c) for c in program.choices) - len(program.choices)


def test_duplicates_share_one_binary_and_free_points_have_none():
    problem = points_only([[1, 0], [1, 0], [0, 1], [1, 1]], [3, 1, 2, 0], [0, 1, 2, 5])
    assert n_indicators(formulate(problem)) == 2  # [0, 1] costs the same either way
    assert n_indicators(formulate(problem, "per-row")) == 14


def test_decided_points_vanish_into_the_constant():
    positive_grid = WeightGrid(values=((1, 2), (-3, -1)))
    problem = points_only([[1, 0], [0, 1], [0, 0]], [0, 4, 0], [2, 0, 7], positive_grid)
    program = formulate(problem)
    assert n_indicators(program) == 0
    assert program.offset == 2 + 4


def test_big_m_is_the_reachable_score():
    grid = WeightGrid(values=((-1, 0, 2), (-3, 1)))
    assert reachable_scores(np.array([[1, 1], [0, -1], [2, 0]]), grid.values).tolist() == [
        [-4, 3],
        [-1, 3],
        [-2, 4],
    ]
    program = formulate(points_only([[1, 1]], [1], [0], grid))
    # score - (1 - low) s >= low with low = -4
    assert program.coefficients[-1] == -5 and program.row_lower[-1] == -4


def test_objective_is_an_exact_multiple_of_the_unit():
    table = Perturbation.separable([[1, 2, 3]], unit=2.0**-10)
    program = formulate(points_only([[1]], [1], [0]).with_perturbation(table))
    assert (program.objective[:3] * 1024).tolist() == [-1.0, -2.0, -3.0]


def test_arrays_are_read_only():
    program = formulate(points_only([[1]], [1], [0]))
    with pytest.raises(ValueError, match="read-only"):
        program.objective[0] = 1.0


def test_no_clear_choice_is_no_hypothesis():
    program = formulate(points_only([[1]], [1], [0]))
    assert program.hypothesis(np.zeros(program.n_variables)) is None
    both = np.zeros(program.n_variables)
    both[[0, 1]] = 1
    assert program.hypothesis(both) is None


def test_scores_beyond_the_tolerance_are_refused():
    problem = points_only([[200_000]], [1], [0])
    with pytest.raises(FormulationError) as caught:
        formulate(problem, tolerance=1e-6)
    assert str(caught.value) == (
        "the aggregated formulation needs scores below 125,000, because of its tolerance of "
        "1e-06; use smaller features or weights, or an oracle with integer arithmetic."
    )
    assert formulate(problem, tolerance=1e-9).n_variables == 5


def test_lattices_too_fine_are_refused():
    table = Perturbation.separable([[0, 0, 2**40]], unit=2.0**-40)
    problem = points_only([[1]], [1], [0]).with_perturbation(table)
    with pytest.raises(FormulationError, match="use a coarser unit"):
        formulate(problem)
    assert math.isfinite(formulate(points_only([[1]], [10**9], [0])).offset)


def test_unknown_names_are_refused():
    with pytest.raises(
        FormulationError, match="must be one of aggregated, ordered, per-row, got 'dense'"
    ):
        formulate(points_only([[1]], [1], [0]), "dense")


def test_negative_counts_have_no_rows():
    problem = points_only([[1]], [-1], [0])
    assert formulation_limits(problem, "aggregated") is None
    with pytest.raises(UnsupportedProblem) as caught:
        solve(problem, HighsOracle(formulation="per-row"))
    assert str(caught.value) == (
        "oracle 'highs' takes non-negative counts, because it has one variable per row."
    )
    with pytest.raises(FormulationError, match="takes non-negative counts"):
        formulate(problem, "per-row")


def test_large_blocks_are_unsupported():
    shape = (30, 30, 30)
    grid = WeightGrid(values=(tuple(range(30)),) * 3)
    table = Perturbation(blocks=((0, 1, 2),), tables=(np.zeros(shape, dtype=np.int64),), unit=1.0)
    problem = points_only([[1, 1, 1]], [1], [0], grid).with_perturbation(table)
    with pytest.raises(UnsupportedProblem, match="blocks of at most 20,000 weight combinations"):
        solve(problem, HighsOracle())


def test_too_many_rows_are_unsupported():
    problem = points_only([[1]], [2_000_000], [0])
    assert not HighsOracle(formulation="per-row").supports(problem)
    assert HighsOracle().supports(problem)
