"""Held-out accuracy of the exponential mechanism at larger weights, on every known table.

The figures behind ``weight_bound="auto"`` (docs/utility.md). They need a draw at every weight
bound and epsilon, also where an exact one takes too long, so this script uses long annealed Gibbs
chains: good enough to compare accuracies, never a release. Tables that are not here are left out.
"""

from __future__ import annotations

import argparse
import json
import math

import numpy as np
from numba import njit
from splits import encoded, split_rows

from opdisc.errors import TableError

TABLES = (
    ("adult-balanced", "adult-small"),
    ("breast-cancer", "breast-cancer"),
    ("adult-balanced", "adult-wide"),
    ("adult-binary", "adult_binary"),
    ("german", "german"),
    ("mammo", "mammo"),
    ("breastcancer", "breastcancer"),
)
EPSILONS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0)
SWEEPS, KEPT, THINNING = 1500, 40, 10


@njit(cache=True)
def last_weights(starts, rows, costs, bound, beta, sweeps, kept, thinning, seed):
    """Anneal from almost uniform to beta, then keep some states: shape (kept, d)."""
    np.random.seed(seed)  # noqa: NPY002 (the only generator that compiles)
    d, total = len(starts) - 1, np.abs(costs).sum()
    weights = np.random.randint(-bound, bound + 1, d)  # noqa: NPY002
    scores = np.zeros(len(costs), np.int64)
    for j in range(d):
        for k in range(starts[j], starts[j + 1]):
            scores[rows[k]] += weights[j]
    n_values = 2 * bound + 1
    chances = np.zeros(n_values + 1)
    out = np.zeros((kept, d), np.int64)
    for sweep in range(sweeps + kept * thinning):
        heat = min(1.0, (0.5 / (beta * total)) ** max(0.0, 1.0 - 1.2 * sweep / sweeps))
        for _ in range(d):
            j = np.random.randint(d)  # noqa: NPY002
            chances[:] = 0.0
            for k in range(starts[j], starts[j + 1]):
                place = 1 - (scores[rows[k]] - weights[j]) + bound
                chances[min(max(place, 0), n_values)] += costs[rows[k]]
            for a in range(1, n_values):
                chances[a] += chances[a - 1]
            least = chances[:n_values].min()
            chances[:n_values] = np.exp(-beta * heat * (chances[:n_values] - least))
            left = np.random.random() * chances[:n_values].sum()  # noqa: NPY002
            a = 0
            while a < n_values - 1 and left >= chances[a]:
                left -= chances[a]
                a += 1
            for k in range(starts[j], starts[j + 1]):
                scores[rows[k]] += a - bound - weights[j]
            weights[j] = a - bound
        if sweep >= sweeps and (sweep - sweeps) % thinning == 0:
            out[(sweep - sweeps) // thinning] = weights
    return out


def held_out(columns, positive, bound: int, epsilon: float, split: int) -> float:
    """Return the mean held-out accuracy of one chain on one 70/30 split."""
    train, test = split_rows(len(columns), split)
    points, where = np.unique(columns[train], axis=0, return_inverse=True)
    costs = np.zeros(len(points), np.int64)
    np.add.at(costs, where.ravel(), np.where(positive[train], -1, 1))
    coordinates, rows = np.nonzero(points.T)
    starts = np.concatenate([[0], np.cumsum(np.bincount(coordinates, minlength=points.shape[1]))])
    found = last_weights(starts, rows, costs, bound, epsilon / 2, SWEEPS, KEPT, THINNING, split)
    return float(((columns[test] @ found.T >= 1) == positive[test][:, None]).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=12)
    parser.add_argument("--weight-bounds", type=int, nargs="+", default=[1, 2, 3, 5])
    parser.add_argument("--schemas", nargs="+", default=[schema for _, schema in TABLES])
    arguments = parser.parse_args()
    for dataset, name in TABLES:
        if name not in arguments.schemas:
            continue
        try:
            columns, positive = encoded(dataset, name)
        except TableError as error:
            print(error)
            continue
        for epsilon in EPSILONS:
            for bound in arguments.weight_bounds:
                found = [
                    held_out(columns, positive, bound, epsilon, k) for k in range(arguments.splits)
                ]
                growth = 2 * columns.shape[1] * math.log((2 * bound + 1) / 3) / epsilon
                record = {"schema": name, "epsilon": epsilon, "weight_bound": bound}
                record["predicted_growth_share"] = round(growth / (0.7 * len(columns)), 4)
                record["held_out"] = round(float(np.mean(found)), 4)
                print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
