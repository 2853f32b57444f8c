"""Unequal costs of mistakes: row by row against every oracle."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from helpers.oracles import strategies
from hypothesis import given, settings, strategies as st

from oracles import InvalidProblem, ZeroOneProblem, get_oracle, solve
from oracles.branch_and_bound.oracle import BranchAndBoundOracle
from oracles.milp.highs import HighsOracle
from oracles.problem import LARGEST_COST, ErrorCosts, WeightGrid
from oracles.testing.sample_problems import random_problem

COSTS = ErrorCosts(false_negative=5, false_positive=2)
some_costs = st.builds(
    ErrorCosts, false_negative=st.integers(1, 30), false_positive=st.integers(1, 30)
)


def cost_of(problem, costs, hypothesis):
    """Return the cost of a problem of counted rows, one row after the other."""
    total = 0
    for point, positives, negatives in zip(
        problem.points.tolist(), problem.positives, problem.negatives, strict=True
    ):
        says_plus = sum(w * x for w, x in zip(hypothesis, point, strict=True)) >= 1
        if says_plus:
            total += costs.false_positive * int(negatives)
        else:
            total += costs.false_negative * int(positives)
    return total


def members(grid):
    """Yield every hypothesis of a grid."""
    for w in itertools.product(*grid.values):
        if grid.norm_budget is None or sum(v * v for v in w) <= grid.norm_budget:
            yield w


def least(problem, costs):
    """Return the least cost less noise, in lattice steps, by looking at every hypothesis."""
    return min(
        cost_of(problem, costs, w) * problem.steps_per_row - problem.perturbation_value(w)
        for w in members(problem.grid)
    )


def test_costs_are_kept_in_lowest_terms():
    assert ErrorCosts(false_negative=10, false_positive=4) == COSTS
    assert ErrorCosts(false_negative=7, false_positive=7) == ErrorCosts()
    assert ErrorCosts().are_equal and not COSTS.are_equal
    assert (COSTS.largest, COSTS.typical, COSTS.total(3, 4)) == (5, Fraction(20, 7), 23)
    assert ErrorCosts().typical == 1
    assert ErrorCosts(false_negative=np.int64(6), false_positive=2).false_negative == 3
    assert str(COSTS) == "a false negative costs 5, a false positive 2"


@pytest.mark.parametrize("cost", [0, -1, 1.0, 2.5, True, "5", None])
def test_a_cost_is_a_whole_number_from_one(cost):
    with pytest.raises(InvalidProblem, match="whole number"):
        ErrorCosts(false_negative=cost)
    with pytest.raises(InvalidProblem, match="whole number"):
        ErrorCosts(false_positive=cost)


def test_too_large_a_ratio_is_refused_in_lowest_terms_only():
    assert ErrorCosts(false_negative=10**9 * LARGEST_COST, false_positive=10**9).largest == 1000
    with pytest.raises(InvalidProblem, match="at most 1,000 in lowest terms"):
        ErrorCosts(false_negative=LARGEST_COST + 1)


@given(st.fractions(min_value=Fraction(1, 50), max_value=Fraction(49, 50), max_denominator=90))
def test_balanced_costs_weigh_both_classes_the_same(share):
    costs = ErrorCosts.balanced(share)
    assert share * costs.false_negative == (1 - share) * costs.false_positive


@given(some_costs, st.fractions(min_value=0, max_value=1, max_denominator=60))
def test_the_better_constant_prediction_costs_at_most_half_the_typical_cost(costs, share):
    constant = min(share * costs.false_negative, (1 - share) * costs.false_positive)
    assert constant <= costs.typical / 2
    worst = Fraction(costs.false_positive, costs.false_negative + costs.false_positive)
    assert worst * costs.false_negative == costs.typical / 2


@given(strategies.problems(min_count=0), some_costs)
def test_a_weighed_problem_costs_what_its_rows_cost(problem, costs):
    weighed = costs.weigh(problem)
    for w in itertools.islice(members(problem.grid), 40):
        assert weighed.loss(w) == cost_of(problem, costs, w)
        assert weighed.perturbation_value(w) == problem.perturbation_value(w)
    if costs.are_equal:
        assert weighed is problem


def test_counts_that_would_overflow_are_refused():
    made = ZeroOneProblem(
        points=[[1]], positives=[2**61], negatives=[0], grid=WeightGrid.box(1, 1)
    )
    with pytest.raises(InvalidProblem, match="below 2"):
        COSTS.weigh(made)


def check(oracle, seed):
    """Compare an oracle with the brute force on problems of every exact shape."""
    rng = np.random.default_rng(seed)
    differs = 0
    for kind in ("plain", "separable", "blocks", "sphere"):
        for _ in range(4):
            problem = random_problem(rng, kind)
            weighed = COSTS.weigh(problem)
            if not oracle.supports(weighed):
                continue
            solution = solve(weighed, oracle)
            w = solution.hypothesis
            found = cost_of(problem, COSTS, w) * problem.steps_per_row
            assert found - problem.perturbation_value(w) == least(problem, COSTS)
            assert solution.certificate.gap == 0
            differs += problem.objective(w) != least(problem, ErrorCosts())
    return differs


def test_every_oracle_minimises_the_cost(oracle):
    # Positive control: the least costly hypothesis often is not the one with fewest mistakes.
    assert check(oracle, 1) > 0


@pytest.mark.parametrize("block_bound", ["always", "never"])
def test_both_bounds_of_the_native_search_hold(block_bound):
    assert check(BranchAndBoundOracle(block_bound=block_bound), 2) > 0


@pytest.mark.parametrize("formulation", ["ordered", "aggregated", "per-row"])
def test_every_formulation_minimises_the_cost(formulation):
    assert check(HighsOracle(formulation=formulation), 3) > 0


@settings(max_examples=40, deadline=None)
@given(strategies.problems(min_count=0), some_costs)
def test_the_native_search_minimises_any_cost(problem, costs):
    weighed = costs.weigh(problem)
    oracle = get_oracle("branch-and-bound")
    if weighed.is_exact and oracle.supports(weighed):
        w = solve(weighed, oracle).hypothesis
        found = cost_of(problem, costs, w) * problem.steps_per_row
        assert found - problem.perturbation_value(w) == least(problem, costs)
