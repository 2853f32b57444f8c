"""Draws by levels: weights by number of points, counts and draws against a list of them all."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from oracles import InvalidProblem, UnsupportedProblem, WeightGrid, ZeroOneProblem
from oracles.arithmetic.random_bits import SeededEntropy
from oracles.problem.level_weights import LevelWeights, all_sizes, size_counts
from oracles.sampling.by_levels import sample_by_levels
from oracles.sampling.sparse import is_sparse

WEIGHTS = LevelWeights(shares=(1, 2, 1), whole=3)

GRIDS = [
    WeightGrid.box(4, 1),
    WeightGrid(values=((-2, -1, 0, 1), (0, 1), (-1, 0, 1), (0,)), norm_budget=3),
    WeightGrid.box(20, 1, norm_budget=2),
]


def listed(grid):
    """Every hypothesis of a grid; budgets keep the large box small."""
    if grid.norm_budget is None or grid.n_features < 9:
        everything = itertools.product(*grid.values)
        return [w for w in everything if grid.contains(w)]
    found = []
    for size in range(grid.norm_budget + 1):
        for columns in itertools.combinations(range(grid.n_features), size):
            for signs in itertools.product((-1, 1), repeat=size):
                w = [0] * grid.n_features
                for column, sign in zip(columns, signs, strict=True):
                    w[column] = sign
                found.append(tuple(w))
    return found


def points(w):
    return sum(1 for weight in w[1:] if weight)


@pytest.mark.parametrize("grid", GRIDS)
def test_every_level_weighs_its_share(grid):
    everything, factors = listed(grid), WEIGHTS.factors(grid)
    sizes = [points(w) for w in everything]
    assert size_counts(grid) == tuple(sizes.count(r) for r in range(grid.n_features))
    mass = np.array([factors[size] for size in sizes], dtype=float)
    mass /= mass.sum()
    for r, share in enumerate((1, 2, 1)):
        whole = 3 / 7 * sizes.count(r) / len(sizes)
        assert sum(mass[k] for k, s in enumerate(sizes) if s == r) == pytest.approx(
            share / 7 + whole
        )
    assert WEIGHTS.log_inverse(grid) == pytest.approx(math.log(1 / mass.min()))


def test_levels_without_a_hypothesis_lose_their_mass_and_nonsense_is_refused():
    alone = WeightGrid.box(1, 2)
    assert LevelWeights(shares=(1, 5), whole=0).factors(alone) == (1,)
    assert all_sizes(WeightGrid.box(2, 1)).tolist() == [1, 0, 1] * 3
    for shares, whole in (((0,), 0), ((-1, 2), 1)):
        with pytest.raises(InvalidProblem, match="masses"):
            LevelWeights(shares=shares, whole=whole)


@pytest.mark.long
@pytest.mark.statistical
@pytest.mark.parametrize("grid", GRIDS)
def test_draws_follow_the_target_law(grid):
    # Chi-square against enumeration over cells of loss and size, 1,500 draws, false alarm 1e-6
    # each; the uniform measure, or a temperature that is off by half, is noticed.
    rng = np.random.default_rng(6)
    problem = ZeroOneProblem(
        points=np.column_stack(
            [np.ones(15, dtype=int), rng.integers(0, 2, (15, grid.n_features - 1))]
        ),
        positives=rng.integers(0, 4, 15),
        negatives=rng.integers(0, 4, 15),
        grid=grid,
    )
    everything = listed(grid)
    losses = np.array([problem.loss(w) for w in everything])
    sizes = np.array([points(w) for w in everything])
    names = {w: k for k, w in enumerate(everything)}
    entropy = SeededEntropy(1)
    drawn = [
        names[sample_by_levels(problem, Fraction(1, 2), entropy, WEIGHTS)[0]] for _ in range(1500)
    ]
    cells = np.unique(np.column_stack([losses, sizes]), axis=0, return_inverse=True)[1].ravel()

    def agrees(weights):
        law = np.bincount(cells, weights=weights / weights.sum()) * 1500
        seen = np.bincount(cells[drawn], minlength=len(law)).astype(float)
        few = law < 5
        law = np.append(law[~few], law[few].sum())
        seen = np.append(seen[~few], seen[few].sum())
        return bool(stats.chisquare(seen[law > 0], law[law > 0]).pvalue > 1e-6)

    factors = np.array(WEIGHTS.factors(grid), dtype=float)[sizes]
    assert agrees(factors * np.exp(-0.5 * losses))
    if len(everything) > 20:
        assert not agrees(np.exp(-0.5 * losses))
    assert not agrees(factors * np.exp(-0.25 * losses))


def test_what_cannot_be_listed_is_refused():
    for grid in (WeightGrid.box(20, 1), WeightGrid.box(60, 1, norm_budget=9)):
        assert not is_sparse(grid)
        empty = ZeroOneProblem(points=[], positives=[], negatives=[], grid=grid)
        with pytest.raises(UnsupportedProblem, match="by levels takes"):
            sample_by_levels(empty, 1, SeededEntropy(0), WEIGHTS)
