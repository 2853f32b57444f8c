"""Audits: what a mechanism really loses on adversarial neighbours, exactly or with confidence.

Each audit is run on a correct mechanism, whose claim it must not refute, and on one with half the
noise, which it must catch.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from helpers.opdisc.broken_mechanisms import HalfNoiseBlocks
from scipy import stats

from opdisc.audit.grid_cases import parity, two_hypotheses
from opdisc.mechanisms.exponential import ExponentialMechanism
from opdisc.mechanisms.permute_and_flip import PermuteAndFlipMechanism
from opdisc.privacy.entropy import SeededEntropy
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from opdisc.privacy.public import GridPublic
from oracles import WeightGrid, solve


def public(grid: WeightGrid, epsilon: float, delta: float = 0.0) -> GridPublic:
    return GridPublic(
        params=PrivacyParams(epsilon=epsilon, delta=delta),
        relation=NeighboringRelation.REPLACE_ONE,
        grid=grid,
    )


def chance_of_one(rate: Fraction, lead: int) -> float:
    """P[Z1 - Z0 > -lead] for two geometric variables, the chance that weight 1 wins by noise.

    Weight 1 has the smaller loss by ``lead`` lattice steps; ties go to weight 0.
    """
    ratio = math.exp(-float(rate))
    # P[Z1 - Z0 >= k] for k >= 1 is ratio^k / (1 + ratio).
    if lead <= 0:
        return ratio ** (1 - lead) / (1 + ratio)
    return 1 - ratio**lead / (1 + ratio)


def exact_epsilon_of_two_hypotheses(rate: Fraction) -> float:
    """Return the true epsilon over both outputs and all tables whose losses differ by k rows.

    Flipping one row's label moves the difference of the two losses by two rows.
    """
    worst = 0.0
    for rows in range(-30, 31):
        one, other = chance_of_one(rate, 1024 * rows), chance_of_one(rate, 1024 * (rows - 2))
        worst = max(worst, math.log(one / other))
        if one < 1 - 1e-9:
            worst = max(worst, math.log((1 - other) / (1 - one)))
    return worst


def test_the_closed_form_agrees_with_the_mechanism():
    positive = two_hypotheses().first
    mechanism = PermuteAndFlipMechanism()
    spec = mechanism.calibrate(public(positive.grid, 1.0))
    entropy = SeededEntropy(2)
    wins = sum(
        solve(mechanism.perturb(positive, spec, entropy)).hypothesis == (1,) for _ in range(2000)
    )
    chance = chance_of_one(spec.rates[0], 1024)
    # Exact binomial test; the source is seeded, so this cannot flake.
    assert stats.binomtest(wins, 2000, chance).pvalue > 1e-6


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 5.0])
def test_two_hypotheses_permute_and_flip_keeps_its_claim_and_is_not_wasteful(epsilon):
    grid = two_hypotheses().first.grid
    kept = PermuteAndFlipMechanism().calibrate(public(grid, epsilon))
    assert exact_epsilon_of_two_hypotheses(kept.rates[0]) <= epsilon
    broken = HalfNoiseBlocks(blocks=((0,),)).calibrate(public(grid, epsilon))
    assert exact_epsilon_of_two_hypotheses(broken.rates[0]) > 1.9 * epsilon


def test_two_hypotheses_with_many_rows_bind_the_exponential_mechanism():
    # n rows of one label, one of them flipped: exact output probabilities.
    def chances(n_wrong, beta):
        weights = np.exp(-beta * (np.array([n_wrong, 40 - n_wrong]) - min(n_wrong, 40 - n_wrong)))
        return weights / weights.sum()

    epsilon = 1.0
    grid = two_hypotheses().first.grid
    beta = float(ExponentialMechanism().calibrate(public(grid, epsilon)).beta)
    for factor, bound in ((1, True), (2, False)):
        ratio = np.log(chances(1, factor * beta) / chances(0, factor * beta))
        assert (np.abs(ratio).max() <= epsilon) == bound


def test_parity_losses_are_the_closed_form():
    first, second = parity(4).first, parity(4).second
    for w in [(1, a, b, c, d) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1) for d in (-1, 1)]:
        odd = sum(x == 1 for x in w[1:]) % 2
        assert first.loss(w) == odd and second.loss(w) == 1 - odd
