"""The first head of coins in random order: its law by integrals, and its edges."""

from fractions import Fraction

import numpy as np
import pytest
from helpers.oracles.first_head import first_head_law
from scipy import stats

from oracles.arithmetic.random_bits import RandomBits, SeededEntropy
from oracles.sampling.coin_order import CoinOrder


def draws(levels, counts, beta, n, seed=0):
    bits = RandomBits(SeededEntropy(seed))
    seen = np.zeros(len(levels), dtype=int)
    for _ in range(n):
        coins = CoinOrder(levels, counts, beta, bits)
        while True:
            k = coins.propose()
            if coins.keeps(levels[k], levels[k]):
                break
        seen[k] += 1
    return seen


@pytest.mark.long
@pytest.mark.statistical
@pytest.mark.parametrize(
    ("levels", "counts"), [([3, 4, 6, 9], [1, 2, 3, 1]), ([0, 1], [1, 1]), ([0, 2], [1, 9])]
)
def test_the_law_is_that_of_the_first_head(levels, counts):
    # Chi-square against quadrature, 5,000 draws, false alarm 1e-6 each; drawing with replacement,
    # which is the Gibbs law, is noticed.
    beta = Fraction(1, 2)
    losses = np.repeat(levels, counts)
    law = first_head_law(losses, 0.5)
    assert law.sum() == pytest.approx(1)
    expected = np.array([law[losses == level].sum() for level in levels])
    seen = draws(levels, counts, beta, 5_000)
    assert stats.chisquare(seen, 5_000 * expected).pvalue > 1e-6
    gibbs = np.array(counts) * np.exp(-0.5 * np.array(levels))
    assert stats.chisquare(seen, 5_000 * gibbs / gibbs.sum()).pvalue < 1e-6


@pytest.mark.statistical
def test_members_counted_below_their_loss_come_as_often_as_they_should():
    # Losses 0, 1, 2, 2 with the last three counted at 1: 5,000 draws, false alarm 1e-6.
    beta, bits = Fraction(1), RandomBits(SeededEntropy(3))
    losses = [0, 1, 2, 2]
    seen = np.zeros(4, dtype=int)
    for _ in range(5_000):
        coins = CoinOrder([0, 1], [1, 3], beta, bits)
        while True:
            w = 0 if coins.propose() == 0 else 1 + bits.below(3)
            if coins.keeps(min(1, losses[w]), losses[w]):
                break
        seen[w] += 1
    assert stats.chisquare(seen, 5_000 * first_head_law(losses, 1.0)).pvalue > 1e-6


def test_no_weight_makes_everything_a_head():
    assert draws([0, 5], [3, 7], Fraction(0), 50).sum() == 50


def test_a_great_weight_leaves_the_best():
    assert draws([2, 3, 50_000], [1, 10**30, 10**40], Fraction(1000), 20).tolist() == [20, 0, 0]


def test_undecided_chances_are_refined():
    class Narrow:
        """Words of ones: the uniform numbers lie as close to 1 as their bits allow."""

        def __init__(self):
            self.calls = 0

        def words(self, count):
            self.calls += 1
            full = np.full(count, 2**64 - 1, dtype=np.uint64)
            return full if self.calls < 2 else SeededEntropy(self.calls).words(count)

    source = Narrow()
    coins = CoinOrder([0, 1], [1, 1], Fraction(1, 1000), RandomBits(source))
    coins.propose()
    assert coins.keeps(1, 1) in (True, False)
    low, high = coins._chance(Fraction(1, 1000), 512)
    assert 0 <= low <= high <= 1 + Fraction(1, 2**500) and high - low < Fraction(1, 2**450)
