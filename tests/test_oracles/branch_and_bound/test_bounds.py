"""At every node of a search: the tables never claim more than any hypothesis of the node costs."""

import itertools

import numpy as np
import pytest

from oracles import SolveOptions
from oracles.branch_and_bound.kernels import branching as places, completion
from oracles.branch_and_bound.local_search import columns_of, new_walk, walk_on
from oracles.branch_and_bound.oracle import BranchAndBoundOracle
from oracles.branch_and_bound.reduction import reduce_problem
from oracles.branch_and_bound.search import new_search
from oracles.testing.brute_force import brute_force
from oracles.testing.sample_problems import random_problem

NO_PRUNING = 2**58
N_NODES = 15


def node_violations(problem, reduction, seed):
    """Walk through a search that prunes nothing; yield (claimed, true) if a claim is too high."""
    costs = brute_force(problem)
    walk = new_walk(reduction, seed)
    walk_on(reduction.model, columns_of(reduction), walk, 1)
    search = new_search(reduction, walk, 0)
    search.state[places.HYPOTHESIS_WORK] = 0  # no node is completed
    for _ in range(N_NODES):
        search.state[places.UPPER] = NO_PRUNING
        if search.run(1):
            return
        assert search.state[places.ENTERED]
        t = int(search.state[places.DEPTH]) - 1  # the parent of the node to be visited next
        domain, fixed = search.frames.domain[t], search.frames.fixed[t]
        allowed = [np.flatnonzero(row) for row in domain]
        for positions in itertools.product(*allowed):
            w = tuple(problem.grid.values[j][a] for j, a in enumerate(positions))
            if w not in costs:
                continue
            claimed = int(search.frames.base[t])
            for j, a in enumerate(positions):
                claimed += 0 if fixed[j] else int(search.frames.theta[t, j, a])
            if claimed > costs[w] * reduction.model.scale:
                yield claimed, costs[w] * reduction.model.scale


@pytest.mark.parametrize("kind", ["plain", "separable", "blocks", "sphere"])
def test_tables_never_exceed_the_cost_of_any_hypothesis(kind):
    for seed in range(60):
        problem = random_problem(
            np.random.default_rng([seed, 9]), kind, negative_counts=seed % 2 == 1
        )
        assert list(node_violations(problem, reduce_problem(problem), seed)) == []


def test_a_group_charged_twice_is_caught():
    """The property above can fail: a group that shares its cost twice breaks it."""
    caught = 0
    for seed in range(60):
        problem = random_problem(np.random.default_rng([seed, 9]), "plain")
        doubled = reduce_problem(problem)
        doubled.costs[:] = 2 * doubled.costs
        caught += any(True for _ in node_violations(problem, doubled, seed))
    assert caught > 10


def test_a_poor_start_does_not_change_the_answer(monkeypatch):
    monkeypatch.setattr("oracles.branch_and_bound.oracle._KICK_WORK", 0)
    for seed in range(40):
        problem = random_problem(np.random.default_rng([seed, 3]), "separable")
        claim = BranchAndBoundOracle().solve(problem, SolveOptions())
        assert claim.objective == claim.dual_bound == min(brute_force(problem).values())


@pytest.mark.parametrize("kind", ["plain", "separable"])
def test_completing_the_root_finds_the_optimum(monkeypatch, kind):
    monkeypatch.setattr("oracles.branch_and_bound.search.FIRST_CREDIT", 2**50)
    monkeypatch.setattr("oracles.branch_and_bound.oracle._KICK_WORK", 0)
    monkeypatch.setattr("oracles.branch_and_bound.search._COMPLETION_WORK", 2000)
    for seed in range(150):
        problem = random_problem(
            np.random.default_rng([seed, 21]), kind, negative_counts=seed % 2 == 1
        )
        optimum = min(brute_force(problem).values())
        for node_limit in (None, 2, 4):
            claim = BranchAndBoundOracle(node_limit).solve(problem, SolveOptions())
            assert claim.dual_bound <= optimum <= claim.objective
            assert claim.objective == problem.objective(claim.hypothesis)
        claim = BranchAndBoundOracle().solve(problem, SolveOptions())
        assert claim.objective == claim.dual_bound == optimum


def test_a_completion_given_up_loses_nothing(monkeypatch):
    monkeypatch.setattr("oracles.branch_and_bound.search._OVERHEAD", 10**7)
    monkeypatch.setattr("oracles.branch_and_bound.oracle._KICK_WORK", 0)
    given_up = 0
    for seed in range(60):
        problem = random_problem(np.random.default_rng([seed, 22]), "separable")
        claim = BranchAndBoundOracle().solve(problem, SolveOptions())
        assert claim.objective == claim.dual_bound == min(brute_force(problem).values())
        given_up += claim.nodes > 5
    assert given_up > 0


def missed_by_completion(problem):
    """Complete the root, told a little more than the optimum; return whether it is missed."""
    reduction = reduce_problem(problem)
    walk = new_walk(reduction, 0)
    walk_on(reduction.model, columns_of(reduction), walk, 1)
    search = new_search(reduction, walk, 0)
    optimum = min(brute_force(problem).values()) * reduction.model.scale
    search.state[places.UPPER] = optimum + reduction.model.scale
    search.state[places.CREDIT] = 2**50
    assert search.run(2**20)
    return search.state[places.UPPER] != optimum


def test_reach_too_short_is_caught(monkeypatch):
    """The tests above can fail: points believed out of reach cut the optimum off."""
    original = completion.open_completion
    problems = [
        random_problem(np.random.default_rng([seed, 21]), kind)
        for seed in range(80)
        for kind in ("plain", "separable")
    ]

    def short(model, frames, t, arena, work, *rest):
        original(model, frames, t, arena, work, *rest)
        work.reach[:] = 0

    assert not any(missed_by_completion(problem) for problem in problems)
    monkeypatch.setattr(completion, "open_completion", short)
    assert any(missed_by_completion(problem) for problem in problems)
