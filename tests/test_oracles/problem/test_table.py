"""Explicit loss tables: the same definitions as everywhere else, against naive loops."""

import itertools

import numpy as np
import pytest

from oracles import InvalidProblem, Perturbation, UnsupportedProblem, WeightGrid, solve
from oracles.enumeration.listing import EnumerationOracle, all_losses
from oracles.enumeration.table_oracle import TabularOracle
from oracles.interface.oracle import SolveOptions
from oracles.problem.table import TabularProblem
from oracles.testing.brute_force import brute_force
from oracles.testing.sample_problems import KINDS, random_problem

GRID = WeightGrid(values=((0, 1), (-1, 2, 5)))
HALVES = Perturbation.separable([[0, 1], [0, 1, 2]], unit=0.5)


@pytest.mark.parametrize("kind", [k for k in KINDS if not k.startswith("float")])
def test_a_table_of_zero_one_losses_has_the_same_objectives_and_minimiser(kind):
    rng = np.random.default_rng(0)
    for _ in range(60):
        problem = random_problem(rng, kind, negative_counts=True)
        table = TabularProblem(
            losses=all_losses(problem) * problem.steps_per_row,
            grid=problem.grid,
            unit=problem.unit,
            perturbation=problem.perturbation,
        )
        expected = brute_force(problem)
        assert {w: table.objective(w) for w in expected} == expected
        solution = solve(table, TabularOracle())
        assert solution.certificate.proves_optimal
        assert solution.certificate.primal_bound == min(expected.values())
        assert solution.hypothesis == solve(problem, "enumeration").hypothesis
        assert table.trivial_bound() <= min(expected.values())
        # The perturbation alone, by two routes.
        bare = table.with_perturbation(None)
        assert all(bare.objective(w) == problem.loss(w) * problem.steps_per_row for w in expected)


def test_rows_add_up_after_each_was_clipped_scaled_and_rounded():
    rows = [[0.0, 1.0, 2.0, 3.0, 4.0, 5.0], [-1.0, 0.3, 0.0, 9.0, 2.0, 2.0]]
    problem = TabularProblem.from_rows(rows, GRID, unit=0.25, bound=4.0)
    # Quarters of a row: 0 1 2 3 4 4(clipped) + 0 0(0.075 -> 0) 0 4(clipped) 2 2.
    assert problem.losses.tolist() == [0, 1, 2, 7, 6, 6]
    assert problem.loss((1, -1)) == 1.75 and problem.loss((0, 5)) == 0.5


def test_one_row_changes_every_entry_by_at_most_one_row():
    rng = np.random.default_rng(1)
    for _ in range(50):
        rows = rng.normal(0.5, 2.0, (4, 6))
        other = rows.copy()
        other[2] = rng.normal(0.5, 5.0, 6)
        first = TabularProblem.from_rows(rows, GRID, bound=0.7)
        second = TabularProblem.from_rows(other, GRID, bound=0.7)
        change = (first.losses - second.losses) * first.unit
        fewer = TabularProblem.from_rows(np.delete(rows, 2, axis=0), GRID, bound=0.7)
        added = (first.losses - fewer.losses) * first.unit
        assert change.max() - change.min() <= 2.0
        assert 0 <= added.min() and added.max() <= 1.0


def test_from_function_is_from_rows_of_the_same_numbers():
    def loss(row, w):
        return abs(row - w[1]) * (1 + w[0])

    data = [0.5, 2.0, -1.0]
    rows = [[loss(x, w) for w in itertools.product(*GRID.values)] for x in data]
    first = TabularProblem.from_function(data, loss, GRID, bound=10.0)
    assert (
        first.losses.tolist() == TabularProblem.from_rows(rows, GRID, bound=10.0).losses.tolist()
    )


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"losses": [1, 2]}, "one entry per assignment"),
        ({"losses": [0.5] * 6}, "integers"),
        ({"losses": [0] * 6, "unit": 0.3}, "power of two"),
        ({"losses": [2**62] * 6}, "2\\*\\*62"),
        (
            {
                "losses": [0] * 6,
                "perturbation": Perturbation.separable([[0, 1], [0, 1, 2]], unit=0.5),
            },
            "unit of the losses",
        ),
    ],
)
def test_malformed_tables_are_refused(settings, words):
    with pytest.raises(InvalidProblem, match=words):
        TabularProblem(grid=GRID, **settings)


def test_malformed_rows_are_refused():
    with pytest.raises(InvalidProblem, match="NaN"):
        TabularProblem.from_rows([[0, 0, 0, 0, 0, np.nan]], GRID)
    with pytest.raises(InvalidProblem, match="bound"):
        TabularProblem.from_rows([[0] * 6], GRID, bound=0.0)
    assert TabularProblem.from_rows([[np.inf] * 6], GRID).losses.tolist() == [1024] * 6


def test_the_table_is_a_read_only_copy():
    losses = np.arange(6)
    problem = TabularProblem(losses=losses, grid=GRID)
    losses[:] = 0
    assert problem.losses.tolist() == [0, 1, 2, 3, 4, 5]
    with pytest.raises(ValueError, match="read-only"):
        problem.losses[0] = 3


def test_oracles_and_problems_that_do_not_match_are_refused():
    problem = random_problem(np.random.default_rng(2))
    assert not TabularOracle().supports(problem)
    with pytest.raises(UnsupportedProblem, match="explicit tables"):
        TabularOracle().solve(problem, SolveOptions())
    # The enumeration of rows knows nothing of tables: it must not answer.
    with pytest.raises(AttributeError):
        EnumerationOracle().solve(TabularProblem(losses=[0] * 6, grid=GRID), SolveOptions())


def test_progress_is_reported_by_the_oracle_and_then_as_certified():
    seen = []
    options = SolveOptions(progress=lambda *a: seen.append(a))
    solve(TabularProblem(losses=[6, 4, 5, 9, 9, 9], grid=GRID, unit=0.5), TabularOracle(), options)
    assert [(best, bound) for best, bound, _ in seen] == [(2.0, 2.0)] * 2
