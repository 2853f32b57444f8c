"""Sparse hypotheses of boxes that cannot be listed: the walk against enumeration."""

import numpy as np
import pytest
from scipy import stats

from oracles import UnsupportedProblem, WeightGrid, ZeroOneProblem
from oracles.arithmetic.random_bits import SeededEntropy
from oracles.enumeration.listing import all_losses
from oracles.problem.grid import hypothesis_at, squared_norms
from oracles.sampling.sparse import _Walk, is_sparse, sample_sparse


def problem(seed, grid, n_points=12):
    rng = np.random.default_rng(seed)
    return ZeroOneProblem(
        points=rng.integers(-1, 3, (n_points, grid.n_features)),
        positives=rng.integers(0, 5, n_points),
        negatives=rng.integers(0, 5, n_points),
        grid=grid,
    )


GRIDS = [
    WeightGrid.box(5, 1, norm_budget=2),
    WeightGrid.box(4, 2, norm_budget=5),
    WeightGrid(values=((-1, 0, 1), (0, 1), (-2, 0), (0,), (0, 3)), norm_budget=10),
    WeightGrid.box(3, 1, norm_budget=3),
]


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("seed", range(5))
def test_the_walk_counts_every_loss_level_and_lists_each_member_once(grid, seed):
    made = problem(seed, grid)
    within = np.flatnonzero(squared_norms(grid) <= grid.norm_budget)
    losses = all_losses(made)[within]
    total = int(made.positives.sum() + made.negatives.sum())
    counts = np.zeros(total + 1, dtype=np.int64)
    walk = _Walk(made)
    walk.run(-1, 0, counts)
    assert (counts == np.bincount(losses, minlength=total + 1)).all()
    expected = {
        hypothesis_at(grid, int(place)): loss for place, loss in zip(within, losses, strict=True)
    }
    for level in np.flatnonzero(counts):
        members = {walk.run(int(level), rank, counts) for rank in range(counts[level])}
        assert members == {w for w, loss in expected.items() if loss == level}


@pytest.mark.long
@pytest.mark.statistical
@pytest.mark.parametrize("grid", GRIDS[:3])
def test_draws_follow_the_target_law(grid):
    # Chi-square against enumeration, 4,000 draws, false alarm 1e-6 per grid; and it would notice
    # a temperature that is off by half (positive control).
    made, beta = problem(9, grid), 0.25
    within = np.flatnonzero(squared_norms(grid) <= grid.norm_budget)
    losses = all_losses(made)[within]
    names = {hypothesis_at(grid, int(place)): k for k, place in enumerate(within)}
    entropy = SeededEntropy(3)
    drawn = [names[sample_sparse(made, beta, entropy)[0]] for _ in range(4000)]
    seen = np.bincount(drawn, minlength=len(within))
    for factor, agrees in ((1.0, True), (1.5, False)):
        law = np.exp(-factor * beta * (losses - losses.min()))
        assert bool(stats.chisquare(seen, 4000 * law / law.sum()).pvalue > 1e-6) is agrees


def test_too_many_hypotheses_are_refused():
    for grid in (
        WeightGrid.box(40, 1, norm_budget=8),
        WeightGrid.box(4, 1),
        WeightGrid(values=((1, 2), (0, 1)), norm_budget=5),
    ):
        assert not is_sparse(grid)
        with pytest.raises(UnsupportedProblem, match="norm budget"):
            sample_sparse(problem(0, grid), 1.0, SeededEntropy(0))


@pytest.mark.parametrize("grid", GRIDS)
def test_listed_losses_give_the_draws_that_counted_ones_do(grid, monkeypatch):
    made = problem(3, grid)

    def draws():
        entropy = SeededEntropy(5)
        return [sample_sparse(made, 0.25, entropy)[0] for _ in range(20)]

    counted = draws()
    monkeypatch.setattr("oracles.sampling.sparse._LARGEST_COUNTED", 0)
    assert draws() == counted
