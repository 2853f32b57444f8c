"""Counted cards beside a partition: the mixture's law, and the choice between the two parts."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from oracles import UnsupportedProblem, WeightGrid, ZeroOneProblem
from oracles.arithmetic.random_bits import RandomBits, SeededEntropy
from oracles.problem.level_weights import LevelWeights
from oracles.problem.product_weights import LogWeights
from oracles.sampling.options import SamplingOptions
from oracles.sampling.rejection.counted_part import CountedPart
from oracles.sampling.rejection.partition import MASS_BITS
from oracles.sampling.rejection.sampler import PartitionSampler
from oracles.sampling.staged import points as points_module
from oracles.sampling.staged.sparse_cards import SparseCards

SHARES, WHOLE = (1, 2, 4), 8


def problem_on(grid):
    rng = np.random.default_rng(0)
    points = np.column_stack([np.ones(20, dtype=int), rng.integers(0, 2, (20, 5))])
    return ZeroOneProblem(
        points=points,
        positives=rng.integers(0, 4, 20),
        negatives=rng.integers(0, 4, 20),
        grid=grid,
    )


BOX = WeightGrid.box(6, 1)

BUDGET = WeightGrid(values=BOX.values, norm_budget=4)

CARDS = SparseCards(signs=((1, -1),) * 5, starts=((-1, 1),) * 3, shares=SHARES)


@pytest.mark.statistical
@pytest.mark.parametrize("grid", [BOX, BUDGET])
@pytest.mark.parametrize("beta", [Fraction(1, 10), Fraction(1, 2)])
@pytest.mark.parametrize("most", [10**6, 3])
def test_draws_follow_the_mixture(grid, beta, most, monkeypatch):
    # Chi-square against enumeration over cells of loss and size, 1,500 draws, false alarm 1e-6
    # each; the uniform measure, or equal shares, is noticed.
    monkeypatch.setattr(points_module, "MOST_LEVELS", most)
    monkeypatch.setattr(points_module, "LEVELS_BEYOND", most)
    problem = problem_on(grid)
    everything = [w for w in itertools.product(*grid.values) if grid.contains(w)]
    losses = np.array([problem.loss(w) for w in everything])
    sizes = np.array([sum(1 for v in w[1:] if v) for w in everything])
    options = SamplingOptions(n_threads=1)
    sampler = PartitionSampler(problem, beta, (), options, None, (CARDS, WHOLE))
    entropy = SeededEntropy(1)
    names = {w: k for k, w in enumerate(everything)}
    drawn = [names[sampler.draw(entropy)] for _ in range(1500)]
    cells = np.unique(np.column_stack([losses, sizes]), axis=0, return_inverse=True)[1].ravel()

    def agrees(weights):
        weights = weights * np.exp(-float(beta) * (losses - losses.min()))
        law = np.bincount(cells, weights=weights / weights.sum()) * 1500
        seen = np.bincount(cells[drawn], minlength=len(law)).astype(float)
        few = law < 5
        law = np.append(law[~few], law[few].sum())
        seen = np.append(seen[~few], seen[few].sum())
        return bool(stats.chisquare(seen[law > 0], law[law > 0]).pvalue > 1e-6)

    def factors(shares, whole):
        return np.array(LevelWeights(shares=shares, whole=whole).factors(grid), dtype=float)[sizes]

    assert agrees(factors(SHARES, WHOLE))
    assert not agrees(np.ones(len(sizes)))
    assert not agrees(factors((4, 2, 1), 8))


@pytest.mark.statistical
@pytest.mark.parametrize("reference", [-30, 0, 3])
def test_a_round_draws_from_the_part_by_its_share(reference):
    # The part's sum by enumeration, the grid's mass chosen so that the chance is a third: 3,000
    # first rounds, false alarm 1e-6.
    problem, beta = problem_on(BOX), Fraction(1, 4)
    part = CountedPart(problem, beta, CARDS, WHOLE)
    total = 0.0
    for w in itertools.product(*BOX.values):
        size = sum(1 for v in w[1:] if v)
        if size < 3:
            share = SHARES[size] / CARDS.counts[size] / (WHOLE / BOX.n_hypotheses)
            total += share * math.exp(-0.25 * problem.loss(w))
    assert part.log_sum == pytest.approx(math.log(total))
    units = Fraction(2 * total * math.exp(-reference)) * 2**MASS_BITS
    bits = RandomBits(SeededEntropy(2))
    places = [part.first(1, reference, int(units), bits) for _ in range(3000)]
    n_first = sum(place == 0 for place in places)
    assert stats.binomtest(n_first, 3000, 1 / 3).pvalue > 1e-6
    assert part.first(5, 10**6, 1, bits) is None
    assert part.first(5, -(10**6), 1, bits) == 0


def test_doubtful_words_are_decided_with_more_bits():
    part = CountedPart(problem_on(BOX), Fraction(1, 4), CARDS, WHOLE)
    mass = 5 << MASS_BITS
    low, high = part._chance(0, mass, 192)
    word = math.floor(low * 2**64)
    assert math.floor(high * 2**64) == word
    answers = {part._decide(word, 0, mass, RandomBits(SeededEntropy(k))) for k in range(40)}
    assert answers == {True, False}
    assert not part._decide(word + 1, 0, mass, RandomBits(SeededEntropy(0)))
    assert part._decide(word - 1, 0, mass, RandomBits(SeededEntropy(0)))


def test_what_is_no_mixture_is_refused():
    problem = problem_on(BOX)
    without = SparseCards(signs=CARDS.signs, starts=CARDS.starts)
    for cards, whole in ((CARDS, 0), (without, 1)):
        with pytest.raises(UnsupportedProblem, match="shares of counted cards"):
            CountedPart(problem, Fraction(1), cards, whole)
    flat = LogWeights(tables=((Fraction(0), Fraction(1), Fraction(0)),) * 6)
    with pytest.raises(UnsupportedProblem, match="not both"):
        PartitionSampler(problem, 1, (), None, flat, (CARDS, 1))
