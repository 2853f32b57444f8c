"""Local search that weighs mistakes: what it finds, where it applies, and who takes its turn."""

from dataclasses import replace

import numpy as np
import pytest

from oracles import SolveOptions, WeightGrid, ZeroOneProblem
from oracles.arithmetic import compiled_in_place
from oracles.branch_and_bound import oracle
from oracles.branch_and_bound.arrays import INFINITE
from oracles.branch_and_bound.block_bound import BlockBoundUse
from oracles.branch_and_bound.local_search import BEST, columns_of, new_walk, take_over, walk_on
from oracles.branch_and_bound.reduction import reduce_problem
from oracles.branch_and_bound.weighted_search import (
    can_weigh,
    new_weighted_walk,
    tabulate,
    weigh_on,
)
from oracles.testing.brute_force import brute_force
from oracles.testing.sample_problems import random_problem


def some_problem(seed, n_features=6, n_points=40):
    """Random points with entries of -1..2, labels of coins, and uneven weights."""
    rng = np.random.default_rng(seed)
    values = tuple(tuple(sorted({0, *rng.integers(-4, 5, 3).tolist()})) for _ in range(n_features))
    return ZeroOneProblem(
        points=rng.integers(-1, 3, (n_points, n_features)),
        positives=rng.integers(0, 5, n_points),
        negatives=rng.integers(0, 5, n_points),
        grid=WeightGrid(values=values),
    )


def searched(problem, n_moves, seed=0):
    """Return the reduction, the start and the search after so many moves."""
    reduction = reduce_problem(problem)
    columns = columns_of(reduction)
    start = new_walk(reduction, seed)
    walk_on(reduction.model, columns, start, 1)
    weigher = new_weighted_walk(reduction, columns, start)
    weigh_on(reduction.model, weigher, n_moves)
    return reduction, start, weigher


@pytest.mark.slow
def test_it_finds_optima_of_small_problems_and_tells_their_cost():
    for seed in range(30):
        problem = some_problem(seed)
        reduction, _, weigher = searched(problem, 3000)
        hypothesis = tuple(
            values[a] for values, a in zip(problem.grid.values, weigher.walk.best, strict=True)
        )
        cost = int(weigher.walk.numbers[BEST])
        assert cost == problem.objective(hypothesis) * reduction.model.scale
        assert cost == min(brute_force(problem).values()) * reduction.model.scale


@compiled_in_place
def fill_tables(model, weigher):
    """Let Python call a function that only compiled ones can."""
    tabulate(model, weigher)


@pytest.mark.parametrize("grid", [None, WeightGrid.box(6, 2), WeightGrid.box(6, 1)])
def test_tables_tell_what_every_single_move_adds(grid):
    """By weighed costs, for uneven values and those that are one apart."""
    for seed in range(10):
        problem = some_problem(seed)
        if grid is not None:
            problem = replace(problem, grid=grid)
        reduction, _, weigher = searched(problem, 70)
        model, walk = reduction.model, weigher.walk
        fill_tables(model, weigher)
        tables = np.cumsum(weigher.tables, axis=1)
        for j, n in enumerate(model.n_values):
            old = model.values[j, walk.current[j]]
            scores = walk.scores + np.outer(model.values[j, :n] - old, reduction.points[:, j])
            costs = np.where(scores >= 1, weigher.costs, 0).sum(axis=1)
            added = tables[j, :n] - tables[j, walk.current[j]]
            assert (added == costs - costs[walk.current[j]]).all()


def test_it_is_never_worse_than_its_start_and_leaves_the_costs_alone():
    for seed in range(20):
        reduction, start, weigher = searched(some_problem(seed, 9, 80), 150)
        assert weigher.walk.numbers[BEST] <= start.numbers[BEST]
        assert (weigher.columns.costs == reduction.costs).all()


def test_mistakes_count_more_and_half_of_it_is_forgotten_every_ten_moves():
    first, second = (searched(some_problem(3), n)[2] for n in (9, 10))
    own = first.columns.costs
    more = (first.costs - own) // np.where(own == 0, 1, own)
    assert more.min() >= 0 and more.max() > 1
    grown = np.where((second.walk.scores >= 1) == (own > 0), own, 0)  # if no move helps
    halved = own + (first.costs - own) // 2
    assert (np.abs(second.costs - halved) <= np.abs(grown) + 1).all()
    for n_moves in (500, 501, 509):
        _, _, weigher = searched(some_problem(3), n_moves)
        assert (np.abs(weigher.costs) <= 21 * np.abs(own)).all()


def test_the_same_seed_takes_the_same_course():
    first, second = (searched(some_problem(5, 9, 80), 500)[2].walk for _ in range(2))
    assert (first.best == second.best).all()
    assert (first.numbers == second.numbers).all()


@pytest.mark.parametrize(
    ("kind", "taken"),
    [("plain", True), ("separable", False), ("blocks", False), ("sphere", False)],
)
def test_only_points_may_cost(kind, taken):
    problem = random_problem(np.random.default_rng([7, 21]), kind)
    assert can_weigh(reduce_problem(problem)) is taken


def test_a_walk_takes_over_what_is_better_only():
    reduction = reduce_problem(some_problem(1))
    walk, other = new_walk(reduction, 0), new_walk(reduction, 1)
    walk.numbers[BEST] = 50
    other.best[:] = 1
    for cost, taken in ((50, False), (60, False), (40, True)):
        other.numbers[BEST] = cost
        take_over(walk, other)
        assert walk.numbers[BEST] == (cost if taken else 50)
        assert (walk.best == other.best).all() == taken


@pytest.mark.parametrize(
    ("kind", "lost", "turns"),
    [
        ("plain", 0.1, ["walk", "weigh", "weigh", "walk", "weigh"]),
        ("plain", 0.2, ["walk", "weigh", "walk", "weigh"]),
        ("separable", 0.1, ["walk"] * 4),
    ],
)
def test_later_searches_take_turns(monkeypatch, kind, lost, turns):
    """After the root's first stage where little is lost, and then every second time."""
    taken = []
    monkeypatch.setattr(oracle, "weigh_on", lambda *_: taken.append("weigh"))
    monkeypatch.setattr(oracle._Run, "_local_search", lambda *_, **__: taken.append("walk"))
    monkeypatch.setattr(oracle, "_MOVES", 10**9)
    problem = random_problem(np.random.default_rng([7, 21]), kind)
    run = oracle._Run(problem, SolveOptions(), None, BlockBoundUse.AUTO)
    reduction = run.reduction
    run.walk.numbers[BEST] = reduction.base + int(lost * np.abs(reduction.costs).sum())
    for look in range(5):
        run._improve(look)
    assert taken == turns


def test_costs_whose_weighed_sums_might_not_fit_are_not_weighed():
    reduction = reduce_problem(some_problem(0))
    assert can_weigh(reduction)
    reduction.costs[0] = INFINITE // 40
    assert not can_weigh(reduction)
