"""No program is larger than what is known of it without the points."""

import itertools

import numpy as np
import pytest
from helpers.oracles import strategies
from hypothesis import given, settings, strategies as st

from oracles import FormulationError, WeightGrid, ZeroOneProblem
from oracles.interface import ORACLES, SizeLimit, get_oracle
from oracles.milp import formulate, largest_program, problem_beyond
from oracles.milp.formulation import FORMULATIONS

CPLEX, XPRESS = SizeLimit(rows=1_000, columns=1_000), SizeLimit(total=5_000)


def size(problem, formulation):
    program = formulate(problem, formulation, tolerance=0.0)
    return program.n_rows, program.n_variables


def bound(problem, formulation):
    """The bound as a caller has it, who knows no more of the points than their number."""
    return largest_program(
        problem.grid,
        problem.perturbation,
        formulation,
        points=len(np.unique(problem.points, axis=0)),
        weight=int(problem.positives.sum() + problem.negatives.sum()),
    )


@pytest.mark.slow
@pytest.mark.parametrize("formulation", FORMULATIONS)
@given(data=st.data())
@settings(max_examples=150)
def test_no_program_passes_it(formulation, data):
    low = 0 if formulation == "per-row" else -5
    problem = data.draw(strategies.problems(max_points=12, min_count=low))
    try:
        rows, columns = size(problem, formulation)
    except FormulationError:
        return  # no program at all
    most = bound(problem, formulation)
    assert rows <= most.rows and columns <= most.columns


@pytest.mark.parametrize("formulation", FORMULATIONS)
@given(data=st.data())
@settings(max_examples=50)
def test_without_points_it_is_the_size(formulation, data):
    problem = data.draw(strategies.problems(max_points=0))
    try:
        assert size(problem, formulation) == bound(problem, formulation)
    except FormulationError:
        return


def corners(d, *, step=1):
    """Every 0/1 point, the labels by the number of ones: each has neighbours it contradicts."""
    points = np.array(list(itertools.product((0, 1), repeat=d)))[::step]
    odd = points.sum(axis=1) % 2 == 1
    return ZeroOneProblem(
        points=points,
        positives=np.where(odd, 2, 0),
        negatives=np.where(odd, 0, 2),
        grid=WeightGrid.box(d, 1),
    )


@pytest.mark.parametrize("d", [3, 5, 7])
def test_where_every_point_matters_it_is_met(d):
    problem = corners(d)
    for formulation, points in (("aggregated", 2**d - 1), ("per-row", 2 * 2**d)):
        # The origin scores 0 whatever the weights, so that it needs no variable.
        missing = 1 if formulation == "aggregated" else 0
        rows, columns = size(problem, formulation)
        most = bound(problem, formulation)
        assert (most.rows - rows, most.columns - columns) == (missing, missing)
        assert most.columns == points + missing + 4 * d
    rows, columns = size(problem, "ordered")
    most = bound(problem, "ordered")
    assert rows <= most.rows <= 3 * rows and columns <= most.columns <= 3 * columns


def test_an_encoding_that_is_unknown_is_refused():
    with pytest.raises(FormulationError, match="got 'dense'"):
        largest_program(WeightGrid.box(2, 1), None, "dense", points=4)


@pytest.mark.parametrize("limit", [CPLEX, XPRESS, SizeLimit(rows=7), SizeLimit(columns=9)])
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_problem_beyond_a_limit_is_beyond_it_in_every_encoding(formulation, limit):
    rows, columns = size(problem_beyond(limit), formulation)
    assert not limit.admits(rows, columns)
    assert largest_program(WeightGrid.box(2, 1), None, points=0) == (4, 8)


def test_a_limit_in_sum_counts_both():
    assert XPRESS.admits(2_000, 3_000) and not XPRESS.admits(2_001, 3_000)
    assert CPLEX.admits(1_000, 1_000) and not CPLEX.admits(1_001, 1)
    assert str(CPLEX) == "1,000 rows and 1,000 columns"
    assert str(XPRESS) == "5,000 rows and columns in sum"
    assert str(SizeLimit(columns=9)) == "9 columns"


def test_what_is_listed_of_a_licence_is_what_its_oracle_says():
    for name, entry in ORACLES.entries().items():
        if entry.installed:
            assert getattr(get_oracle(name), "size_limit", None) == entry.size_limit
