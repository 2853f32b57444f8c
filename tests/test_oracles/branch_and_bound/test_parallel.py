"""Several threads on one tree: the same optimum, the same course, honest limits."""

import numpy as np
import pytest

from oracles import Limit, Perturbation, SolveOptions, Termination, WeightGrid, ZeroOneProblem
from oracles.branch_and_bound.kernels import branching as places
from oracles.branch_and_bound.oracle import BranchAndBoundOracle
from oracles.branch_and_bound.parallel import SearchTeam
from oracles.testing.brute_force import brute_force
from oracles.testing.sample_problems import KINDS, random_problem


def crowded(seed, n_features=7, bound=2):
    """A problem of many nodes: a table of two coordinates keeps the search from listing."""
    rng = np.random.default_rng(seed)
    size = 2 * bound + 1
    tables = [np.rint(rng.exponential(3072, size)).astype(np.int64) for _ in range(n_features - 2)]
    pair = np.rint(rng.exponential(3072, (size, size))).astype(np.int64)
    return ZeroOneProblem(
        points=rng.integers(0, 2, (100, n_features)),
        positives=rng.integers(0, 9, 100),
        negatives=rng.integers(0, 9, 100),
        grid=WeightGrid.box(n_features, bound),
        perturbation=Perturbation(
            blocks=(*((j,) for j in range(n_features - 2)), (n_features - 2, n_features - 1)),
            tables=(*tables, pair),
            unit=2.0**-10,
        ),
    )


@pytest.mark.parametrize("threads", [2, 3])
def test_every_kind_of_problem_gets_its_optimum(threads):
    oracle, seen = BranchAndBoundOracle(), 0
    for index in range(120):
        problem = random_problem(np.random.default_rng([index, 11]), KINDS[index % len(KINDS)])
        if not oracle.supports(problem):
            continue
        claim = oracle.solve(problem, SolveOptions(threads=threads))
        assert claim.termination is Termination.OPTIMAL
        assert claim.objective == claim.dual_bound == min(brute_force(problem).values())
        assert claim.objective == problem.objective(claim.hypothesis)
        seen += 1
    assert seen >= 60


@pytest.mark.parametrize("seed", range(4))
def test_threads_agree_and_each_course_repeats(seed):
    problem, oracle = crowded(seed), BranchAndBoundOracle()
    alone = oracle.solve(problem, SolveOptions())
    for threads in (2, 4):
        first, second = (oracle.solve(problem, SolveOptions(threads=threads)) for _ in range(2))
        assert first.objective == first.dual_bound == alone.objective
        assert (first.hypothesis, first.nodes) == (second.hypothesis, second.nodes)


def test_work_is_handed_over(monkeypatch):
    handed = []
    share = SearchTeam._share

    def watched(team):
        idle = [m for m in team._members if not m.is_busy]
        share(team)
        handed.extend(m for m in idle if m.is_busy)
        assert len({m.upper for m in team._members}) == 1

    monkeypatch.setattr(SearchTeam, "_share", watched)
    claim = BranchAndBoundOracle().solve(crowded(0), SolveOptions(threads=2))
    assert claim.termination is Termination.OPTIMAL
    assert handed
    assert all(m.state[places.NODES] > 0 for m in handed)


@pytest.mark.timing
def test_a_limit_leaves_an_honest_bound():
    problem = crowded(0, n_features=16, bound=5)
    seen = []
    options = SolveOptions(
        threads=2, time_limit=0.3, progress=lambda upper, lower, _: seen.append((upper, lower))
    )
    claim = BranchAndBoundOracle().solve(problem, options)
    assert claim.limit is Limit.TIME
    assert claim.dual_bound < claim.objective == problem.objective(claim.hypothesis)
    assert all(lower <= upper for upper, lower in seen)


def test_a_gap_is_kept_and_a_node_limit_exact():
    problem = crowded(1)
    optimum = BranchAndBoundOracle().solve(problem, SolveOptions()).objective
    loose = BranchAndBoundOracle().solve(problem, SolveOptions(threads=2, absolute_gap=9.0))
    assert loose.objective - loose.dual_bound <= 9 * 1024
    assert loose.dual_bound <= optimum <= loose.objective
    limited = BranchAndBoundOracle(node_limit=5).solve(problem, SolveOptions(threads=2))
    assert limited.nodes == 5
    assert limited.dual_bound <= optimum <= limited.objective


def test_an_interrupt_in_the_callback_comes_out():
    def stop(upper, lower, seconds):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        BranchAndBoundOracle().solve(crowded(2), SolveOptions(threads=2, progress=stop))
