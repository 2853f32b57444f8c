"""Rows between neighbouring points: which pairs, and what they do to the relaxation."""

import numpy as np
import pytest
from helpers.oracles import instances
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

import oracles
from oracles import WeightGrid, ZeroOneProblem
from oracles.milp.cp_sat import CpSatOracle
from oracles.milp.formulation import formulate
from oracles.milp.highs import HighsOracle
from oracles.milp.ordering_rows import ROWS_PER_POINT, conflicting_neighbours
from oracles.milp.pulp_solvers import solver_profile


def by_loops(points, costs):
    """Every pair one step apart, by the definition."""
    d = points.shape[1]
    found = set()
    for i in np.flatnonzero(costs < 0):
        for t in np.flatnonzero(costs > 0):
            step = points[t] - points[i]
            falls, rises = np.flatnonzero(step == -1), np.flatnonzero(step == 1)
            if np.abs(step).sum() == len(falls) + len(rises) and 0 < len(falls) + len(rises):
                if len(falls) <= 1 and len(rises) <= 1:
                    j = falls[0] if len(falls) else -1
                    k = rises[0] if len(rises) else -1
                    found.add((i, t, j, k))
    assert all(-1 <= j < d for _, _, j, _ in found)
    return found


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("low", [0, -2])
def test_all_conflicting_neighbours_are_found_once(seed, low):
    rng = np.random.default_rng(seed)
    points = np.unique(rng.integers(low, 2, (40, int(rng.integers(1, 6)))), axis=0)
    costs = rng.integers(-3, 4, len(points))
    rows = conflicting_neighbours(points, costs)
    assert {tuple(row) for row in rows.tolist()} == by_loops(points, costs)
    assert len(rows) == len({tuple(row) for row in rows.tolist()})
    smaller = np.minimum(-costs[rows[:, 0]], costs[rows[:, 1]])
    assert (np.diff(smaller) <= 0).all(), "the costliest come first"


def test_no_conflict_no_rows():
    points = np.array([[0, 1], [1, 1]])
    assert len(conflicting_neighbours(points, np.array([1, 2]))) == 0
    assert len(conflicting_neighbours(points, np.array([0, -2]))) == 0
    assert conflicting_neighbours(points[:0], np.zeros(0, dtype=int)).shape == (0, 4)


def relaxation(program):
    matrix = csr_array(
        (program.coefficients, program.columns.astype(np.int32), program.starts.astype(np.int32)),
        shape=(program.n_rows, program.n_variables),
    )
    rows = LinearConstraint(matrix, program.row_lower, program.row_upper)
    answer = milp(program.objective, bounds=Bounds(program.lower, program.upper), constraints=rows)
    return answer.fun + program.offset


def test_the_relaxation_is_tighter_and_still_a_bound():
    rng = np.random.default_rng(3)
    points = np.unique(rng.integers(0, 2, (60, 6)), axis=0)
    problem = ZeroOneProblem(
        points=points,
        positives=rng.integers(0, 20, len(points)),
        negatives=rng.integers(0, 20, len(points)),
        grid=WeightGrid.box(6, 1),
    )
    optimum = oracles.solve(problem, "enumeration").certificate.primal_bound
    plain, ordered = (relaxation(formulate(problem, name)) for name in ("aggregated", "ordered"))
    assert plain < ordered <= optimum
    assert optimum - ordered < 0.7 * (optimum - plain)


def test_the_number_of_rows_is_limited():
    points = np.array(
        [[a, b, c, e] for a in (0, 1) for b in (0, 1) for c in (0, 1) for e in (0, 1)]
    )
    parity = points.sum(axis=1) % 2
    problem = ZeroOneProblem(
        points=points, positives=parity, negatives=1 - parity, grid=WeightGrid.box(4, 1)
    )
    assert len(conflicting_neighbours(points, 1 - 2 * parity)) == 32
    plain, ordered = (formulate(problem, name).n_rows for name in ("aggregated", "ordered"))
    assert 0 < ordered - plain <= ROWS_PER_POINT * len(points)


def test_exclusive_or_is_solved_with_the_rows():
    problem, optimum = instances.exclusive_or()
    oracle = oracles.get_oracle("highs", formulation="ordered")
    assert oracles.solve(problem, oracle).certificate.primal_bound == optimum


def test_order_rows_are_the_default_where_no_licence_counts_rows():
    defaults = {name: solver_profile(name).formulation for name in ("HiGHS", "SCIP", "CBC")}
    defaults |= {"highs": HighsOracle().formulation, "cp-sat": CpSatOracle().formulation}
    assert set(defaults.values()) == {"ordered"}
    assert solver_profile("GUROBI").formulation == "aggregated"
