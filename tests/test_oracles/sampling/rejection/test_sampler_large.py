"""Grids far too large to list: agreement with annealed importance sampling and tempered chains.

Both references share no code with the sampler: they flip single weights at random.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from oracles.arithmetic.random_bits import SeededEntropy
from oracles.problem.grid import WeightGrid
from oracles.problem.product_weights import LogWeights
from oracles.problem.structure import ColumnGroup
from oracles.problem.zero_one import ZeroOneProblem
from oracles.sampling.rejection.sampler import PartitionSampler

SIZES = (2, 5, 6, 7, 10)
BETA = 0.02


def one_hot_problem() -> tuple[ZeroOneProblem, list[ColumnGroup]]:
    """31 coordinates (3^31 hypotheses): five one-hot attributes and an intercept; 300 points."""
    rng = np.random.default_rng(11)
    codes = np.stack([rng.integers(0, size, 300) for size in SIZES], axis=1)
    codes = np.unique(codes, axis=0)
    parts = [np.ones((len(codes), 1), dtype=int)]
    groups, start, score = [], 1, np.zeros(len(codes))
    for a, size in enumerate(SIZES):
        parts.append((codes[:, a][:, None] == np.arange(size)).astype(int))
        groups.append(ColumnGroup(columns=tuple(range(start, start + size)), kind="exclusive"))
        score += rng.normal(size=size)[codes[:, a]]
        start += size
    rows = rng.integers(1, 10, len(codes))
    positives = rng.binomial(rows, 1 / (1 + np.exp(-2 * score)))
    problem = ZeroOneProblem(
        points=np.hstack(parts),
        positives=positives,
        negatives=rows - positives,
        grid=WeightGrid.box(start, 1),
    )
    return problem, groups


class Chains:
    """Many Gibbs chains side by side, at any weight."""

    def __init__(
        self, problem: ZeroOneProblem, n_chains: int, seed: int, gains: NDArray[np.float64]
    ) -> None:
        self._rng = np.random.default_rng(seed)
        self._points = problem.points
        self._cost = (problem.negatives - problem.positives).astype(float)
        self._base = float(problem.positives.sum())
        self._gains = gains  # log-weights of -1, 0 and 1
        shares = np.exp(gains) / np.exp(gains).sum()
        self.weights = self._rng.choice([-1, 0, 1], (n_chains, problem.n_features), p=shares)
        self._scores = self.weights @ self._points.T

    def losses(self) -> NDArray[np.float64]:
        return self._base + (self._scores >= 1) @ self._cost

    def sweep(self, beta: float) -> None:
        for j in range(self.weights.shape[1]):
            on = self._points[:, j] != 0
            rest = self._scores[:, on] - self.weights[:, [j]]
            losses = np.stack([(rest + v >= 1) @ self._cost[on] for v in (-1, 0, 1)], axis=1)
            noise = self._rng.gumbel(size=losses.shape)
            chosen = np.argmax(noise + self._gains - beta * losses, axis=1) - 1
            self._scores[:, on] = rest + chosen[:, None]
            self.weights[:, j] = chosen


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("gains", [(0.0, 0.0, 0.0), (-1.0, 0.0, -1.5)], ids=["flat", "weighted"])
def test_tempered_chains_and_annealed_importance_sampling_agree(
    gains: tuple[float, float, float],
) -> None:
    """Mean loss within 6 joint standard errors of annealed chains; log Z below the masses.

    False alarm below 1e-6 if the chains have mixed. The acceptance rate of a frozen partition
    is Z / S, so rounds and masses estimate log Z; it must meet the annealed estimate within 0.5.
    """
    problem, structure = one_hot_problem()
    chains = Chains(problem, n_chains=200, seed=3, gains=np.array(gains))
    weights = LogWeights(tables=(tuple(map(Fraction, gains)),) * problem.n_features)
    log_weights = np.zeros(200)
    ladder = np.linspace(0.0, 1.0, 201) ** 1.5 * BETA
    for low, high in zip(ladder, ladder[1:], strict=False):
        log_weights -= (high - low) * chains.losses()
        chains.sweep(high)
    annealed = problem.n_features * math.log(np.exp(gains).sum()) + float(
        np.logaddexp.reduce(log_weights) - math.log(200)
    )
    for _ in range(20):
        chains.sweep(BETA)
    reference = chains.losses()

    sampler, entropy = PartitionSampler(problem, BETA, structure, None, weights), SeededEntropy(5)
    drawn = np.array([problem.loss(sampler.draw(entropy)) for _ in range(100)])
    error = math.sqrt(reference.var() / len(reference) + drawn.var() / len(drawn))
    assert abs(reference.mean() - drawn.mean()) < 6 * error

    # Every round ends with probability Z / S_round: summed over rounds, S estimates Z unbiasedly.
    totals, hits = [], 0
    rounds = sampler.diagnostics.rounds
    for _ in range(150):
        before = sampler.diagnostics.log_total
        sampler.draw(entropy)
        used = sampler.diagnostics.rounds - rounds
        rounds += used
        totals += [before] * used
        hits += 1
    estimate = math.log(hits) - math.log(sum(math.exp(-t + totals[0]) for t in totals)) + totals[0]
    assert sampler.diagnostics.log_total > annealed - 0.5
    assert estimate == pytest.approx(annealed, abs=0.5)
