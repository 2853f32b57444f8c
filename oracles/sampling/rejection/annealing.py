"""An estimate of the log of a sum over all hypotheses, by annealed importance sampling.

With inverse temperatures ``0 = b_0 < .. < b_n = beta``, ``mu(w)`` the weight of a hypothesis and
``w_t`` the state of a chain that was moved at ``b_0 .. b_t``,

    sum over w of mu(w) * exp(-beta * L(w)) = (sum over w of mu(w)) * mean of W
    ln W = - sum over t = 1 .. n of (b_t - b_(t-1)) * L(w_(t-1))

since every move leaves its own law ``mu(w) * exp(-b_t * L(w))`` as it is, whether or not the chain
follows it closely (Neal 2001).

Good for deciding what to compute next, and as a reference; never part of a certificate.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from oracles.arithmetic import FloatArray, IntArray, njit
from oracles.problem import LogWeights, ZeroOneProblem

N_CHAINS = 16
"""Independent chains of an estimate."""

FIRST_STEPS = 200
"""Temperatures of the first estimate's chains."""

_UNIT_WORK = 2.5

_MOVE_WORK = 40.0


@njit(cache=True, nogil=True, error_model="numpy")
def _chain(
    points: IntArray,
    starts: IntArray,
    costs: FloatArray,
    base: float,
    ladder: FloatArray,
    values: IntArray,
    sizes: IntArray,
    penalties: FloatArray,
    uniforms: FloatArray,
) -> float:
    """Run one chain of single-coordinate Gibbs moves up a ladder of inverse temperatures.

    Shapes, for ``m`` points, ``d`` coordinates of at most ``k`` values and ``n`` rungs: points
    where column ``j`` is active are ``points[starts[j] : starts[j + 1]]``, int64, ``starts`` being
    (d + 1,). Predicting "+" costs ``costs`` (m,) more than "-", and all "-" costs ``base``, rows
    of loss. ``ladder`` (n,) is in nats per row. ``values`` (d, k) int64 are the allowed weights,
    ``sizes`` (d,) int64 how many, ``penalties`` (d, k) minus their log-weights in nats.
    ``uniforms`` (n, d) are in [0, 1). Returns the log of the chain's importance weight, nats.
    """
    d = len(sizes)
    weights = np.zeros(d, dtype=np.int64)
    scores = np.zeros(len(costs), dtype=np.int64)
    losses = np.zeros(values.shape[1])
    shares = np.zeros(values.shape[1])
    loss, log_weight = base, 0.0
    for k in range(len(ladder)):
        if k > 0:
            log_weight -= (ladder[k] - ladder[k - 1]) * loss
        for j in range(d):
            n = sizes[j]
            losses[:n] = 0.0
            for q in range(starts[j], starts[j + 1]):
                p = points[q]
                rest = scores[p] - weights[j]
                for v in range(n):
                    if rest + values[j, v] >= 1:
                        losses[v] += costs[p]
            least = np.inf
            for v in range(n):
                least = min(least, ladder[k] * losses[v] + penalties[j, v])
            total = 0.0
            for v in range(n):
                shares[v] = np.exp(least - ladder[k] * losses[v] - penalties[j, v])
                total += shares[v]
            left, chosen = uniforms[k, j] * total, 0
            while chosen < n - 1 and left >= shares[chosen]:
                left -= shares[chosen]
                chosen += 1
            here = 0.0
            for v in range(n):
                if values[j, v] == weights[j]:
                    here = losses[v]
            step = values[j, chosen] - weights[j]
            if k == 0 or step != 0:
                weights[j] = values[j, chosen]
                loss += losses[chosen] - here
                for q in range(starts[j], starts[j + 1]):
                    scores[points[q]] += step
        if k == 0:
            loss = base
            for p in range(len(costs)):
                if scores[p] >= 1:
                    loss += costs[p]
    return log_weight


class AnnealedSum:
    """Estimates the log of the sum of ``exp(-beta * L(w))`` over the box of a grid.

    Its arrays are those that :func:`_chain` takes, under the same names.

    Parameters
    ----------
    problem : ZeroOneProblem
        Binary points; a perturbation and a norm budget are ignored.
    beta : float
        Inverse temperature, nats per row of loss, >= 0.
    log_weights : LogWeights or None
        What hypotheses are weighed by, relative to the largest weight.
    seed : int
        Of the chains: the same estimates for the same problem.

    Attributes
    ----------
    log_sum : float or None
        The latest estimate, nats. Its exponential is unbiased, so it rarely is much too large.
    work : float
        Work of all estimates so far, nanoseconds, estimated.
    """

    def __init__(
        self,
        problem: ZeroOneProblem,
        beta: float,
        log_weights: LogWeights | None = None,
        *,
        seed: int = 0,
    ) -> None:
        difference = problem.negatives - problem.positives
        columns = problem.points[difference != 0]
        active = [np.flatnonzero(columns[:, j]) for j in range(problem.n_features)]
        lengths = np.cumsum([0, *(len(a) for a in active)])
        self._points, self._starts = np.concatenate(active), lengths.astype(np.int64)
        self._costs = difference[difference != 0].astype(np.float64)
        self._base = float(problem.positives.sum())
        self._beta = beta
        grid = problem.grid
        self._sizes = np.array(grid.shape, dtype=np.int64)
        self._values = np.zeros((problem.n_features, max(grid.shape)), dtype=np.int64)
        self._penalties: NDArray[np.float64] = np.zeros(self._values.shape)
        for j, allowed in enumerate(grid.values):
            self._values[j, : len(allowed)] = allowed
            if log_weights is not None:
                row = [float(v) for v in log_weights.penalties[j]]
                self._penalties[j, : len(allowed)] = row
        self._log_prior = sum(
            math.log(np.exp(-self._penalties[j, :n]).sum()) for j, n in enumerate(grid.shape)
        )
        self._generator = np.random.default_rng(seed)
        self._n_steps = FIRST_STEPS
        self.log_sum: float | None = None
        self.work = 0.0

    def improve(self) -> float:
        """Estimate anew, with chains twice as long as the last time."""
        self.log_sum = self.estimate(N_CHAINS, self._n_steps)
        self._n_steps *= 2
        return self.log_sum

    def estimate(self, n_chains: int, n_steps: int) -> float:
        """Return the estimate of so many chains of so many temperatures.

        Inverse temperatures rise in proportion first, and by equal factors once they tell
        hypotheses apart.
        """
        spread = 1.0 + self._beta * float(np.abs(self._costs).sum())
        ladder = (
            self._beta * (spread ** np.linspace(0.0, 1.0, n_steps) - 1.0) / (spread - 1.0 or 1)
        )
        logs = [
            _chain(
                self._points,
                self._starts,
                self._costs,
                self._base,
                ladder,
                self._values,
                self._sizes,
                self._penalties,
                self._generator.random((n_steps, len(self._sizes))),
            )
            for _ in range(n_chains)
        ]
        mean_size = float(self._sizes.mean())
        per_step = len(self._points) * mean_size * _UNIT_WORK + len(self._sizes) * _MOVE_WORK
        self.work += n_chains * n_steps * per_step
        return float(np.logaddexp.reduce(logs)) - math.log(n_chains) + self._log_prior
