"""Annealed importance sampling of log Z: a reference independent of the exact sampler."""

from __future__ import annotations

import numpy as np
from numba import njit

from oracles import ZeroOneProblem


@njit(cache=True)
def _chain(columns, starts, n_points, costs, base, ladder, values, seed):  # type: ignore[no-untyped-def]
    """Run one chain of single-weight Gibbs moves up a ladder; return its log weight."""
    np.random.seed(seed)  # noqa: NPY002
    d = len(starts) - 1
    weights, scores = np.empty(d, np.int64), np.zeros(n_points, np.int64)
    for j in range(d):
        weights[j] = values[np.random.randint(len(values))]  # noqa: NPY002
        for q in range(starts[j], starts[j + 1]):
            scores[columns[q]] += weights[j]
    loss = base
    for p in range(n_points):
        if scores[p] >= 1:
            loss += costs[p]
    log_weight = 0.0
    losses = np.empty(len(values))
    for k in range(1, len(ladder)):
        log_weight -= (ladder[k] - ladder[k - 1]) * loss
        for j in range(d):
            losses[:] = 0.0
            for q in range(starts[j], starts[j + 1]):
                rest = scores[columns[q]] - weights[j]
                for v in range(len(values)):
                    if rest + values[v] >= 1:
                        losses[v] += costs[columns[q]]
            best, chosen, here = -np.inf, 0, 0.0
            for v in range(len(values)):
                noise = -np.log(-np.log(np.random.random()))  # noqa: NPY002
                gain = noise - ladder[k] * losses[v]
                if gain > best:
                    best, chosen = gain, v
                if values[v] == weights[j]:
                    here = losses[v]
            loss += losses[chosen] - here
            step = values[chosen] - weights[j]
            if step:
                weights[j] = values[chosen]
                for q in range(starts[j], starts[j + 1]):
                    scores[columns[q]] += step
    return log_weight


def annealed_log_sum(
    problem: ZeroOneProblem, beta: float, *, n_chains: int = 60, n_steps: int = 200
) -> float:
    """Estimate the log of the sum of ``exp(-beta * L(w))`` over a box of equal value lists.

    Parameters
    ----------
    problem : ZeroOneProblem
        Columns of 0 and 1.
    beta : float
        Weight of one row of loss.
    n_chains, n_steps : int
        Independent chains and temperatures of each.
    """
    difference = problem.negatives - problem.positives
    points = problem.points[difference != 0]
    costs = difference[difference != 0].astype(float)
    active = [np.flatnonzero(points[:, j]) for j in range(points.shape[1])]
    starts = np.concatenate([[0], np.cumsum([len(a) for a in active])])
    columns, values = np.concatenate(active), np.array(problem.grid.values[0])
    ladder = np.linspace(0.0, 1.0, n_steps) ** 3 * beta
    base = float(problem.positives.sum())
    logs = [
        _chain(columns, starts, len(costs), costs, base, ladder, values, seed)
        for seed in range(n_chains)
    ]
    mean = np.logaddexp.reduce(np.array(logs)) - np.log(n_chains)
    return float(mean + points.shape[1] * np.log(len(values)))
