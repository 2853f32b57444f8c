"""Bounds from infeasible sets beside brute force, and sets or amounts that lie."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from oracles import SolveOptions, WeightGrid, ZeroOneProblem
from oracles.branch_and_bound import infeasible_sets
from oracles.branch_and_bound.arrays import INFINITE
from oracles.branch_and_bound.block_bound import race
from oracles.branch_and_bound.infeasible_sets import (
    MOST_WORK,
    InfeasibleSets,
    packed,
)
from oracles.branch_and_bound.local_search import walk_on
from oracles.branch_and_bound.oracle import BranchAndBoundOracle
from oracles.branch_and_bound.reduction import reduce_problem
from oracles.testing.brute_force import brute_force
from oracles.testing.conformance import check_oracle
from oracles.testing.sample_problems import random_problem

FAR = 2**60


def coins(seed, n_points=60, n_features=6, bound=1):
    """Points that are 0 or 1 with labels of coins: no hypothesis predicts all of them."""
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 2, (n_points, n_features))
    points[:, 0] = 1
    return ZeroOneProblem(
        points=points,
        positives=rng.integers(0, 4, n_points),
        negatives=rng.integers(0, 4, n_points),
        grid=WeightGrid.box(n_features, bound),
    )


def searched(problem):
    sets = InfeasibleSets(reduce_problem(problem))
    sets.search(MOST_WORK, -FAR, FAR, lambda: False)
    return sets


def optimum(problem):
    """Return the least objective in internal units."""
    return int(min(brute_force(problem).values())) * reduce_problem(problem).model.scale


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(2, 80))
def test_bounds_hold(seed, bound, n_points):
    problem = coins(seed, n_points=n_points, n_features=4, bound=bound)
    assert searched(problem).bound <= optimum(problem)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "separable", "blocks", "sphere"])
@settings(max_examples=40)
@given(st.integers(0, 10**6), st.booleans())
def test_bounds_hold_with_noise_budgets_and_any_values(kind, seed, negative):
    problem = random_problem(np.random.default_rng(seed), kind, negative_counts=negative)
    assert searched(problem).bound <= optimum(problem)


@pytest.mark.slow
def test_bounds_are_worth_something():
    shares = []
    for seed in range(10):
        problem = coins(seed)
        reduction = reduce_problem(problem)
        sets = searched(problem)
        lost = optimum(problem) - reduction.base
        shares.append((sets.bound - reduction.base) / lost)
        assert len(sets.sets) > 5
    assert np.mean(shares) > 0.5


def test_every_set_is_infeasible():
    problem = coins(3, n_features=5)
    sets = searched(problem)
    points, costs = sets._reduction.points, sets._reduction.costs
    grid = np.stack(np.meshgrid(*[[-1, 0, 1]] * 5, indexing="ij"), axis=-1).reshape(-1, 5)
    is_lost = (grid @ points.T >= 1) == (costs > 0)
    assert sets.sets
    for members in sets.sets:
        assert is_lost[:, members].any(axis=1).all()


def test_sets_without_proof_are_refused():
    problem = coins(3)
    sets = searched(problem)
    members = sets.sets[0]
    ones = np.ones(len(members), dtype=np.int64)
    assert not sets.is_infeasible(members[:1], ones[:1])
    assert not sets.is_infeasible(members, -ones)
    assert not sets.is_infeasible(members, 0 * ones)


def test_separable_points_have_no_sets():
    points = np.array([[1, 0], [1, 1]])
    problem = ZeroOneProblem(
        points=points,
        positives=np.array([0, 5]),
        negatives=np.array([5, 0]),
        grid=WeightGrid.box(2, 1),
    )
    sets = searched(problem)
    assert not sets.sets
    assert sets.bound == 0


def test_no_points():
    problem = ZeroOneProblem(
        points=np.array([[1, 0], [1, 1]]),
        positives=np.array([3, 2]),
        negatives=np.array([3, 2]),
        grid=WeightGrid.box(2, 1),
    )
    assert searched(problem).bound == optimum(problem)


def test_amounts_charge_no_point_twice():
    sets = [np.array([0, 1]), np.array([1, 2]), np.array([0, 2])]
    capacities = np.array([1, 1, 1])
    unit = 2**20
    assert packed(sets, np.array([0.5, 0.5, 0.5]), capacities) == pytest.approx(
        1.5 * unit, rel=1e-5
    )
    assert packed(sets, np.array([9.0, 9.0, 9.0]), capacities) == unit
    assert packed(sets, np.array([-1.0, 0.0, 1.0]), capacities) == pytest.approx(unit, rel=1e-5)


def test_a_search_pauses_and_goes_on():
    problem = coins(5)
    calls = iter(range(10**6))
    sets = InfeasibleSets(reduce_problem(problem))
    sets.search(MOST_WORK, -FAR, FAR, lambda: next(calls) >= 6)
    early, found = sets.bound, len(sets.sets)
    sets.search(MOST_WORK, -FAR, FAR, lambda: False)
    assert found <= 6 < len(sets.sets)
    assert sets.bound >= early
    assert sets.bound == searched(problem).bound


def test_sets_below_a_known_bound_are_given_up(monkeypatch):
    monkeypatch.setattr(infeasible_sets, "FIRST_WORK", 1)
    problem = coins(5)
    sets = InfeasibleSets(reduce_problem(problem))
    sets.search(MOST_WORK, FAR, FAR, lambda: False)
    assert len(sets.sets) < len(searched(problem).sets) / 2


def remembered(monkeypatch):
    """Return a list of all sets that searches make from now on."""
    found = []

    class Remembered(InfeasibleSets):
        def __init__(self, reduction):
            super().__init__(reduction)
            found.append(self)

    monkeypatch.setattr(race, "InfeasibleSets", Remembered)
    return found


def test_sets_prove_an_optimum(monkeypatch):
    found = remembered(monkeypatch)
    # Exclusive or: at least one point is lost, whatever the weights.
    problem = ZeroOneProblem(
        points=np.array([[1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1]]),
        positives=np.array([0, 1, 1, 0]),
        negatives=np.array([1, 0, 0, 1]),
        grid=WeightGrid.box(3, 1),
    )
    claim = BranchAndBoundOracle(block_bound="always").solve(problem, SolveOptions())
    assert claim.dual_bound == claim.objective == 1
    assert claim.nodes == 0
    (sets,) = found
    assert sets.bound == optimum(problem)


def test_noise_leaves_sets_out(monkeypatch):
    found = remembered(monkeypatch)
    for seed in range(10):
        problem = random_problem(np.random.default_rng(seed), "separable")
        BranchAndBoundOracle(block_bound="always").solve(problem, SolveOptions())
    assert not found
    BranchAndBoundOracle(block_bound="always").solve(coins(0), SolveOptions())
    assert found


def descend_once(monkeypatch):
    """With good hypotheses known from the start a false bound would have nothing to cut off."""

    def descend(model, columns, walk, n_kicks):
        if walk.numbers[2] >= INFINITE:
            walk_on(model, columns, walk, 1)

    monkeypatch.setattr("oracles.branch_and_bound.oracle.walk_on", descend)


def test_amounts_that_count_twice_are_caught_by_the_kit(monkeypatch):
    def lying(sets, amounts, capacities):
        return 2 * packed(sets, amounts, capacities)

    descend_once(monkeypatch)
    monkeypatch.setattr(infeasible_sets, "packed", lying)
    with pytest.raises(AssertionError, match="must"):
        check_oracle(BranchAndBoundOracle(block_bound="always"), n_random=400)


@pytest.mark.slow
def test_sets_that_are_feasible_are_caught_by_the_kit(monkeypatch):
    class Single:
        """Claims of one point after the other that it cannot have its label."""

        work = 0

        def __init__(self, points, *_):
            self.multipliers = iter(np.eye(len(points), dtype=np.int64))

        def run(self, prices):
            return next(self.multipliers, None)

    descend_once(monkeypatch)
    monkeypatch.setattr(infeasible_sets, "_Pricing", Single)
    # The proof is looked at, so nothing comes of it.
    check_oracle(BranchAndBoundOracle(block_bound="always"), n_random=400)
    monkeypatch.setattr(InfeasibleSets, "is_infeasible", lambda *_: True)
    with pytest.raises(AssertionError, match="must"):
        check_oracle(BranchAndBoundOracle(block_bound="always"), n_random=400)
