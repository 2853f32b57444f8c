"""Sums over parts of a block's weights: against enumeration, and whole tables against halved."""

from __future__ import annotations

import math

import numpy as np
import pytest
from helpers.oracles import instances

from oracles.arithmetic.arrays import IntArray
from oracles.enumeration.listing import all_losses
from oracles.problem.grid import WeightGrid, grid_assignments
from oracles.problem.structure import ColumnGroup, complete_structure
from oracles.problem.zero_one import ZeroOneProblem
from oracles.sampling.elimination import plan as block_plan
from oracles.sampling.elimination.blocks import ColumnBlock, choose_blocks
from oracles.sampling.rejection.lower_bound import LowerBound, Region

GROUPS = [
    ColumnGroup(columns=(1, 2, 3), kind="exclusive"),
    ColumnGroup(columns=(4, 5), kind="exclusive"),
    ColumnGroup(columns=(6,)),
    ColumnGroup(columns=(7,)),
]


def one_hot_problem(seed: int) -> ZeroOneProblem:
    """Two one-hot attributes, two plain columns and an intercept; 3^8 hypotheses."""
    rng = np.random.default_rng(seed)
    parts = [np.ones((20, 1), dtype=int)]
    parts += [(rng.integers(0, c + 1, 20)[:, None] == np.arange(1, c + 1)) for c in (3, 2)]
    points = np.hstack([*parts, rng.integers(0, 2, (20, 2))]).astype(int)
    return ZeroOneProblem(
        points=points,
        positives=rng.integers(0, 6, 20),
        negatives=rng.integers(0, 6, 20),
        grid=WeightGrid.box(8, 1),
    )


def lower_bound_of(problem: ZeroOneProblem) -> LowerBound:
    groups = complete_structure(GROUPS, problem.n_features)
    return LowerBound(problem, 0.3, choose_blocks(groups, problem.grid, 2))


def some_region(lower_bound: LowerBound, indices: IntArray, rng: np.random.Generator) -> Region:
    """A region with a few conditions, mostly around one of the hypotheses."""
    whole = lower_bound.whole()
    low, high = whole.low.copy(), whole.high.copy()
    for row in rng.integers(0, len(low), int(rng.integers(1, 5))):
        place = int(rng.choice(indices[:, row]))
        low[row], high[row] = max(low[row], place - 1), min(high[row], place)
    return Region(low=low, high=np.maximum(low, high))


@pytest.fixture
def cut_whenever_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_plan, "_LEAST_CUT", 2)
    monkeypatch.setattr(block_plan, "_CUT_SIZE", 1.0)


def check_regions(problem: ZeroOneProblem, lower_bound: LowerBound, seed: int) -> None:
    """Compare sums and laws of some regions with enumeration."""
    losses, rng = all_losses(problem), np.random.default_rng(seed)
    indices = np.array(
        [
            instances.score_indices(
                lower_bound, [weights[columns] for columns in lower_bound.columns]
            )
            for weights in grid_assignments(problem.grid.values)
        ]
    )
    rows = np.arange(indices.shape[1])
    for _ in range(6):
        region = some_region(lower_bound, indices, rng)
        bound = lower_bound.bound(np.zeros(lower_bound.shape), region, np.zeros(lower_bound.shape))
        log_sum = lower_bound.log_sum(bound, region)
        inside = ((indices >= region.low) & (indices <= region.high)).all(axis=1)
        certified = bound.constant + bound.costs[rows, indices[inside]].sum(axis=1)
        assert (certified <= losses[inside] + 1e-9).all()
        if not inside.any():
            assert log_sum == -math.inf
            continue
        expected = float(np.logaddexp.reduce(-lower_bound.beta * certified))
        assert log_sum == pytest.approx(expected, abs=1e-9)
        lower_bound.take_laws()
        law = np.zeros_like(lower_bound.law)
        chances = np.exp(-lower_bound.beta * certified - log_sum)
        for found, chance in zip(indices[inside], chances, strict=True):
            law[rows, found] += chance
        np.testing.assert_allclose(lower_bound.law, law, atol=1e-10)


@pytest.mark.parametrize("seed", range(6))
def test_sums_and_laws_of_regions_match_enumeration(seed: int) -> None:
    problem = one_hot_problem(seed)
    check_regions(problem, lower_bound_of(problem), seed)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.usefixtures("cut_whenever_possible")
def test_sums_and_laws_of_cut_tables_match_enumeration(seed: int) -> None:
    problem = one_hot_problem(seed)
    check_regions(problem, lower_bound_of(problem), seed)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sizes", [(2, 5, 3), (8, 4, 1), (7, 6, 2)])
@pytest.mark.usefixtures("cut_whenever_possible")
def test_sums_and_laws_of_bundles_match_enumeration(seed: int, sizes: tuple[int, ...]) -> None:
    """One block of two one-hot attributes; the weights of one have so many values each."""
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, 4, 40), rng.integers(0, 4, 40)
    points = np.hstack(
        [first[:, None] == np.arange(1, 4), second[:, None] == np.arange(1, 4), np.ones((40, 1))]
    ).astype(int)
    values = [(-1, 0, 1), (-1, 0, 2), (0, 1)] + [tuple(range(-1, n - 1)) for n in sizes] + [(0,)]
    problem = ZeroOneProblem(
        points=points,
        positives=rng.integers(0, 6, 40),
        negatives=rng.integers(0, 6, 40),
        grid=WeightGrid(values=tuple(values)),
    )
    blocks = [
        ColumnBlock(
            groups=(
                ColumnGroup(columns=(0, 1, 2), kind="exclusive"),
                ColumnGroup(columns=(3, 4, 5), kind="exclusive"),
            )
        ),
        ColumnBlock(groups=(ColumnGroup(columns=(6,)),)),
    ]
    lower_bound = LowerBound(problem, 0.3, blocks)
    assert lower_bound.sums[0].plan.bundled.sum() >= 2
    check_regions(problem, lower_bound, seed)


@pytest.mark.usefixtures("cut_whenever_possible")
def test_the_cut_tables_above_are_cut() -> None:
    cuts = [block.plan.half for s in range(6) for block in lower_bound_of(one_hot_problem(s)).sums]
    assert (np.concatenate(cuts) >= 0).any()
