"""The native exact search against brute force, under limits, and at its edges."""

import itertools

import numpy as np
import pytest

from oracles import (
    Limit,
    Perturbation,
    SolveOptions,
    Termination,
    WeightGrid,
    ZeroOneProblem,
    get_oracle,
    solve,
)
from oracles.branch_and_bound.oracle import BranchAndBoundOracle
from oracles.testing.brute_force import brute_force
from oracles.testing.conformance import check_oracle
from oracles.testing.sample_problems import random_problem

KINDS = ("plain", "separable", "blocks", "sphere")


def tangle(seed, n_features=9, bound=2, n_points=150, spread=3.0):
    """A problem that needs many nodes: random binary points, mixed labels, tables on a lattice."""
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 2, (n_points, n_features))
    points[:, 0] = 1
    tables = np.rint(rng.exponential(spread * 1024, (n_features, 2 * bound + 1)))
    return ZeroOneProblem(
        points=points,
        positives=rng.integers(0, 9, n_points),
        negatives=rng.integers(0, 9, n_points),
        grid=WeightGrid.box(n_features, bound),
        perturbation=Perturbation.separable(tables.astype(np.int64), unit=2.0**-10),
    )


def test_contract():
    check_oracle(BranchAndBoundOracle(), n_random=120)


@pytest.mark.slow
@pytest.mark.long(3)
@pytest.mark.parametrize("seed", range(1, 37))
def test_contract_at_length(seed):
    report = check_oracle(BranchAndBoundOracle(), n_random=340, seed=seed)
    assert report.n_proved == report.n_checked


@pytest.mark.parametrize("kind", KINDS)
def test_matches_brute_force_under_every_node_limit(kind):
    for seed in range(40):
        rng = np.random.default_rng([seed, 5])
        problem = random_problem(rng, kind, negative_counts=seed % 2 == 1)
        optimum = min(brute_force(problem).values())
        for node_limit in (None, 1, 2, 5):
            claim = BranchAndBoundOracle(node_limit=node_limit).solve(problem, SolveOptions())
            assert claim.dual_bound <= optimum <= claim.objective
            assert claim.objective == problem.objective(claim.hypothesis)
            if node_limit is None:
                assert claim.dual_bound == optimum == claim.objective
                assert claim.termination is Termination.OPTIMAL


@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_enumeration_where_the_tree_is_large(seed):
    problem = tangle(seed, n_features=6)
    ours, theirs = solve(problem, "branch-and-bound"), solve(problem, "enumeration")
    assert ours.certificate.proves_optimal
    assert ours.certificate.primal_bound == theirs.certificate.primal_bound
    assert ours.stats.nodes > 1


def test_blocks_and_norm_budgets_agree_with_enumeration():
    for seed, budget in itertools.product(range(3), (None, 5, 9)):
        rng = np.random.default_rng(seed)
        plain = tangle(seed, n_features=6, n_points=40)
        tables = [rng.integers(0, 9000, shape) for shape in ((5, 5), (5,), (5, 5))]
        problem = ZeroOneProblem(
            points=plain.points,
            positives=plain.positives,
            negatives=plain.negatives,
            grid=WeightGrid.box(6, 2, norm_budget=budget),
            perturbation=Perturbation(
                blocks=((4, 1), (2,), (0, 5)),
                tables=tuple(tables),
                norm_table=rng.integers(0, 9000, 25),
                unit=2.0**-10,
            ),
        )
        ours, theirs = solve(problem, "branch-and-bound"), solve(problem, "enumeration")
        assert ours.certificate.primal_bound == theirs.certificate.primal_bound
        assert ours.certificate.proves_optimal


@pytest.mark.timing
def test_a_time_limit_leaves_an_honest_bound():
    problem = tangle(0, n_features=16, bound=5)
    claim = get_oracle("branch-and-bound").solve(problem, SolveOptions(time_limit=0.05))
    assert claim.termination is Termination.FEASIBLE
    assert claim.limit is Limit.TIME
    assert claim.dual_bound < claim.objective == problem.objective(claim.hypothesis)


def test_an_absolute_gap_is_respected():
    problem = tangle(1)
    optimum = solve(problem, "branch-and-bound").certificate.primal_bound
    exact = BranchAndBoundOracle().solve(problem, SolveOptions())
    loose = BranchAndBoundOracle().solve(problem, SolveOptions(absolute_gap=20.0))
    assert loose.nodes < exact.nodes
    assert loose.termination is Termination.OPTIMAL
    assert loose.objective - loose.dual_bound <= 20 * 1024
    assert loose.dual_bound <= optimum


def test_progress_is_ordered_and_in_rows():
    seen = []
    problem = tangle(2)
    options = SolveOptions(progress=lambda *report: seen.append(report))
    claim = BranchAndBoundOracle().solve(problem, options)
    optimum = claim.objective / 1024
    assert seen
    assert all(bound <= optimum <= incumbent for incumbent, bound, _ in seen)
    assert [s for *_, s in seen] == sorted(s for *_, s in seen)


def test_an_exception_in_the_callback_comes_out():
    def stop(incumbent, bound, seconds):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        BranchAndBoundOracle().solve(tangle(2), SolveOptions(progress=stop))


def test_scores_too_wide_to_tabulate_stay_exact():
    rng = np.random.default_rng(4)
    for seed in range(6):
        problem = ZeroOneProblem(
            points=rng.integers(-3000, 3000, (9, 3)),
            positives=rng.integers(0, 9, 9),
            negatives=rng.integers(0, 9, 9),
            grid=WeightGrid.box(3, 2, norm_budget=None if seed % 2 else 6),
        )
        certificate = solve(problem, "branch-and-bound").certificate
        assert certificate.primal_bound == min(brute_force(problem).values())
        assert certificate.proves_optimal


def test_norms_too_wide_to_tabulate_stay_exact():
    rng = np.random.default_rng(5)
    values = ((-60, -3, 0, 2, 50), (-55, 1, 40), (0, 70))
    problem = ZeroOneProblem(
        points=rng.integers(0, 2, (12, 3)),
        positives=rng.integers(0, 9, 12),
        negatives=rng.integers(0, 9, 12),
        grid=WeightGrid(values=values, norm_budget=7000),
        perturbation=Perturbation.separable(
            [np.zeros(len(v), dtype=np.int64) for v in values],
            unit=1.0,
            norm_table=rng.integers(0, 30, 7001),
        ),
    )
    certificate = solve(problem, "branch-and-bound").certificate
    assert certificate.primal_bound == min(brute_force(problem).values())


def test_counts_near_the_limit_stay_exact():
    big = 2**54
    problem = ZeroOneProblem(
        points=[[1, 0], [1, 1], [0, 1]],
        positives=[big, 0, big // 2 + 1],
        negatives=[1, big + 3, 5],
        grid=WeightGrid.box(2, 2),
    )
    certificate = solve(problem, "branch-and-bound").certificate
    assert certificate.primal_bound == min(brute_force(problem).values())


@pytest.mark.parametrize("perturbed", [False, True])
def test_ten_times_the_rows_cost_no_more_nodes(perturbed):
    few_nodes = many_nodes = 0
    for seed in range(3):
        few = tangle(seed)
        tables = [10 * table for table in few.perturbation.tables]
        many = ZeroOneProblem(
            points=np.tile(few.points, (10, 1)),
            positives=np.tile(few.positives, 10),
            negatives=np.tile(few.negatives, 10),
            grid=few.grid,
            perturbation=Perturbation.separable(tables, unit=2.0**-10) if perturbed else None,
        )
        few = few if perturbed else few.with_perturbation(None)
        once, tenfold = (BranchAndBoundOracle().solve(p, SolveOptions()) for p in (few, many))
        assert tenfold.objective == 10 * once.objective
        few_nodes += once.nodes
        many_nodes += tenfold.nodes
    assert few_nodes > 20
    assert many_nodes <= 1.2 * few_nodes


def test_floating_point_and_huge_problems_are_unsupported():
    floats = Perturbation.separable([np.array([0.5, 0.25, 0.0])], unit=None)
    labels = {"points": [[1]], "positives": [1], "negatives": [2]}
    assert not BranchAndBoundOracle().supports(
        ZeroOneProblem(**labels, grid=WeightGrid.box(1, 1), perturbation=floats)
    )
    assert not BranchAndBoundOracle().supports(
        ZeroOneProblem(points=[[1]], positives=[2**60], negatives=[0], grid=WeightGrid.box(1, 1))
    )
