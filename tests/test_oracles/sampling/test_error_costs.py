"""Draws by cost: every exact sampler against rows that are priced one by one.

Chi-square with rare hypotheses pooled, at a false alarm of 1e-6 each; the law of equal costs, and
a temperature off by the larger cost, must be noticed (positive controls).
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from helpers.oracles.first_head import first_head_law
from scipy import stats

from oracles import ZeroOneProblem
from oracles.arithmetic.random_bits import RandomBits, SeededEntropy
from oracles.problem import ErrorCosts, LevelWeights, WeightGrid
from oracles.sampling import (
    BinaryPoints,
    SparseCards,
    draw_sparse_card,
    minimise_by_a_star,
    sample_by_enumeration,
    sample_by_levels,
    sample_sparse,
)

FALSE_ALARM = 1e-6
COSTS = ErrorCosts(false_negative=4, false_positive=1)
BETA = Fraction(1, 10)
N_DRAWS = 4_000


def table(grid):
    """Return counted rows of every 0/1 point."""
    rng = np.random.default_rng(5)
    points = np.array([(1, *x) for x in itertools.product((0, 1), repeat=grid.n_features - 1)])
    return ZeroOneProblem(
        points=points,
        positives=rng.integers(0, 7, len(points)),
        negatives=rng.integers(0, 14, len(points)),
        grid=grid,
    )


def members(grid):
    return [
        w
        for w in itertools.product(*grid.values)
        if grid.norm_budget is None or sum(v * v for v in w) <= grid.norm_budget
    ]


def prices(problem, costs, hypotheses):
    """Return what each hypothesis costs, row by row."""
    found = []
    for w in hypotheses:
        plus = [sum(a * b for a, b in zip(w, x, strict=True)) >= 1 for x in problem.points]
        found.append(
            sum(
                costs.false_positive * n if says else costs.false_negative * p
                for says, p, n in zip(plus, problem.positives, problem.negatives, strict=True)
            )
        )
    return np.array(found)


def p_value(drawn, hypotheses, law):
    """Return the chi-square p-value of draws, hypotheses expected less than 8 times pooled."""
    place = {w: k for k, w in enumerate(hypotheses)}
    seen = np.bincount([place[w] for w in drawn], minlength=len(law))
    expected = len(drawn) * law / law.sum()
    order = np.argsort(-expected, kind="stable")
    group = np.minimum(np.cumsum(expected[order]) // 8, expected.sum() // 8 - 1).astype(int)
    sums = np.bincount(group, expected[order])
    counts = np.bincount(group, seen[order], minlength=len(sums))
    kept = sums > 0
    return stats.chisquare(counts[kept], sums[kept]).pvalue


def gibbs(beta, losses):
    return np.exp(-float(beta) * (losses - losses.min()))


def check(grid, draw, law=gibbs):
    """Compare draws with the law by cost, and with two wrong ones."""
    problem = table(grid)
    hypotheses = members(grid)
    weighed, entropy = COSTS.weigh(problem), SeededEntropy(2)
    drawn = [draw(weighed, entropy) for _ in range(N_DRAWS)]
    by_cost, by_count = (
        prices(problem, COSTS, hypotheses),
        prices(problem, ErrorCosts(), hypotheses),
    )
    assert p_value(drawn, hypotheses, law(BETA, by_cost)) > FALSE_ALARM
    assert p_value(drawn, hypotheses, law(BETA, by_count)) < FALSE_ALARM
    assert p_value(drawn, hypotheses, law(BETA * COSTS.largest, by_cost)) < FALSE_ALARM


@pytest.mark.statistical
def test_listed_draws_follow_the_cost():
    check(WeightGrid.box(4, 1), lambda p, e: sample_by_enumeration(p, BETA, e)[0])


@pytest.mark.statistical
def test_sparse_draws_follow_the_cost():
    grid = WeightGrid.box(5, 1, norm_budget=2)
    check(grid, lambda p, e: sample_sparse(p, BETA, e)[0])


@pytest.mark.statistical
def test_draws_by_levels_follow_the_cost():
    grid = WeightGrid.box(3, 1)
    weights = LevelWeights(shares=(1, 1), whole=1)
    factors = np.array([weights.factors(grid)[sum(v != 0 for v in w[1:])] for w in members(grid)])
    check(
        grid,
        lambda p, e: sample_by_levels(p, BETA, e, weights)[0],
        lambda beta, losses: factors * gibbs(beta, losses),
    )


def first_head(beta, losses):
    return first_head_law(losses, float(beta))


@pytest.mark.statistical
def test_a_star_draws_follow_the_cost():
    steps = 1024
    check(
        WeightGrid.box(3, 1),
        lambda p, e: minimise_by_a_star(p, BETA / steps, steps, entropy=e),
        first_head,
    )


@pytest.mark.statistical
def test_staged_cards_follow_the_cost():
    cards = SparseCards(signs=((1, -1),) * 2, starts=((-1, 1),) * 3)

    def draw(problem, entropy):
        return draw_sparse_card(BinaryPoints.of(problem), cards, BETA, RandomBits(entropy))

    check(WeightGrid.box(3, 1), draw, first_head)
