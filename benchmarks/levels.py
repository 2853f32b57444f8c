"""Held-out accuracy of base measures by levels beside the uniform one, on every known table.

The figures behind ``base_measure="auto"`` (docs/utility.md). What a measure gives on one split is
computed, not drawn: sparse cards are counted by loss and by what they get right of the held-out
rows, and for the whole grid the sampler's own draws are averaged and weighed by an estimate of its
sum. So only the splits are left to chance. Tables that the sampler does not reach have no row of
the whole grid. ``--keep FILE`` keeps the pieces of every split, so that other shares can be tried.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from pathlib import Path

import numpy as np
from numba import njit

from opdisc.data import column_structure, load_dataset, load_schema
from opdisc.data.encoding import encode_features, encode_label_values
from opdisc.errors import TableError
from opdisc.privacy import SeededEntropy
from oracles.problem import WeightGrid, ZeroOneProblem
from oracles.sampling import PartitionSampler, SamplingOptions
from oracles.sampling.rejection.annealing import AnnealedSum

TABLES = (
    ("adult-balanced", "adult-small"),
    ("adult-balanced", "adult-wide"),
    ("mammo", "mammo"),
    ("breastcancer", "breastcancer"),
    ("german", "german"),
    ("adult-binary", "adult_binary"),
)
SAMPLED = ("adult-small", "adult-wide", "mammo", "breastcancer")
EPSILONS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0)
MOST_POINTS = 4
DRAWS, CHAINS, RUNGS = 60, 8, 1500


@dataclass
class Pieces:
    """What one split says: of every size and every loss, how many cards and how right they are.

    ``right`` and ``squares`` are sums over cards of the held-out accuracy and its square;
    ``whole`` has, by epsilon, the log of the grid's sum, the mean accuracy and its square's.
    """

    schema: str
    split: int
    n_train: int
    log_grid: float
    counts: list[dict[int, int]] = field(default_factory=list)
    right: list[dict[int, float]] = field(default_factory=list)
    squares: list[dict[int, float]] = field(default_factory=list)
    whole: dict[float, tuple[float, float, float]] = field(default_factory=dict)


@njit(cache=True)
def _tally(columns, costs, gains, chosen, low, high, base, held, counts, right, squares):
    """Add every card with the chosen columns, any signs and start, to the tallies."""
    k = len(chosen)
    cost, gain = np.zeros(1 << k, np.int64), np.zeros(1 << k, np.int64)
    for p in range(columns.shape[1]):
        pattern = 0
        for i in range(k):
            pattern |= columns[chosen[i], p] << i
        cost[pattern] += costs[p]
        gain[pattern] += gains[p]
    for signs in range(1 << k):
        for start in range(low, high + 1):
            loss, correct = base, held[0]
            for pattern in range(1 << k):
                score = start
                for i in range(k):
                    if pattern >> i & 1:
                        score += -1 if signs >> i & 1 else 1
                if score >= 1:
                    loss += cost[pattern]
                    correct += gain[pattern]
            accuracy = correct / held[1]
            counts[loss] += 1
            right[loss] += accuracy
            squares[loss] += accuracy * accuracy


def pieces(dataset: str, name: str, split: int, low: int, high: int) -> Pieces:
    """Return the pieces of one split of 70%, starts from ``low`` to ``high``."""
    schema, table = load_schema(name), load_dataset(dataset)
    encoded = encode_features(table, schema).astype(np.int64)
    positive = encode_label_values(table[schema.target.column], schema) > 0
    order = np.random.default_rng(split).permutation(len(encoded))
    cut = round(0.3 * len(encoded))
    learns = np.ones(len(encoded), dtype=bool)
    learns[order[:cut]] = False
    points, where = np.unique(encoded, axis=0, return_inverse=True)
    where = where.ravel()
    positives, negatives, gains = (np.zeros(len(points), np.int64) for _ in range(3))
    np.add.at(positives, where, (learns & positive).astype(np.int64))
    np.add.at(negatives, where, (learns & ~positive).astype(np.int64))
    np.add.at(gains, where, np.where(learns, 0, np.where(positive, 1, -1)))
    n_train, d = int(learns.sum()), points.shape[1]
    grid = WeightGrid.box(d, 1)
    found = Pieces(name, split, n_train, math.log(grid.n_assignments))
    columns = np.ascontiguousarray(points[:, 1:].T)
    held = np.array([int((~learns & ~positive).sum()), cut])
    most = d - 1 if name == "adult-small" else MOST_POINTS
    for size in range(most + 1):
        counts = np.zeros(n_train + 1, np.int64)
        right, squares = np.zeros(n_train + 1), np.zeros(n_train + 1)
        for chosen in itertools.combinations(range(d - 1), size):
            _tally(
                columns,
                negatives - positives,
                gains,
                np.array(chosen, dtype=np.int64),
                low,
                high,
                int(positives.sum()),
                held,
                counts,
                right,
                squares,
            )
        seen = np.flatnonzero(counts)
        found.counts.append({int(k): int(counts[k]) for k in seen})
        found.right.append({int(k): float(right[k]) for k in seen})
        found.squares.append({int(k): float(squares[k]) for k in seen})
    problem = ZeroOneProblem(points=points, positives=positives, negatives=negatives, grid=grid)
    if name in SAMPLED and name != "adult-small":
        for epsilon in EPSILONS:
            beta, entropy = Fraction(epsilon) / 2, SeededEntropy(split)
            options = SamplingOptions(n_threads=1)
            sampler = PartitionSampler(problem, beta, column_structure(schema), options)
            drawn = np.array([sampler.draw(entropy) for _ in range(DRAWS)])
            right_of = held[0] + ((points @ drawn.T >= 1) * gains[:, None]).sum(axis=0)
            accuracy = right_of / cut
            log_sum = AnnealedSum(problem, float(beta), seed=split).estimate(CHAINS, RUNGS)
            found.whole[epsilon] = (
                log_sum,
                float(accuracy.mean()),
                float((accuracy**2).mean()),
            )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=15)
    parser.add_argument("--schemas", nargs="+", default=[schema for _, schema in TABLES])
    parser.add_argument("--keep", type=Path)
    arguments = parser.parse_args()
    absent = set()
    for split, (dataset, name) in itertools.product(range(arguments.splits), TABLES):
        if name not in arguments.schemas or name in absent:
            continue
        wide = name not in SAMPLED
        try:
            found = pieces(dataset, name, split, -3 if wide else -1, 3 if wide else 1)
        except TableError as error:
            absent.add(name)
            print(error)
            continue
        if arguments.keep:
            with arguments.keep.open("a") as file:
                file.write(json.dumps(asdict(found)) + "\n")


if __name__ == "__main__":
    main()
