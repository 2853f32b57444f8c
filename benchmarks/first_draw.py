"""What the first staged draw loses by its starts, its number of points and its measure.

Cards are counted by loss, so the mean training accuracy of the exponential law over them is
computed, not drawn; permute-and-flip errs a little less. The figures behind ``NARROW_START`` and
``MOST_CHEAP_POINTS`` of ``opdisc/mechanisms/staged/stages.py`` (docs/utility.md). About five
minutes with three splits.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from result_files import save
from splits import encoded, split_rows

from oracles.problem import WeightGrid, ZeroOneProblem
from oracles.sampling import BinaryPoints, SparseCards
from oracles.sampling.staged import CardWalk

TABLES = (
    ("breastcancer", "breastcancer", 7),
    ("mammo", "mammo", 7),
    ("german", "german", 5),
    ("adult-balanced", "adult-wide", 5),
)
EPSILONS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0)
GROWTH = {"equal": 1.0, "doubled": 2.0}
"""How much more each number of points weighs than the one before."""


def counted(dataset: str, name: str, most: int, start: int, split: int) -> list[np.ndarray]:
    """Return for every number of points how many cards have each loss; its length is n + 1."""
    columns, positive = encoded(dataset, name)
    learned, _ = split_rows(len(columns), 1000 + split)
    points, where = np.unique(columns[learned], axis=0, return_inverse=True)
    where, d = where.ravel(), points.shape[1]
    positives = np.bincount(where, weights=positive[learned], minlength=len(points))
    negatives = np.bincount(where, weights=~positive[learned], minlength=len(points))
    problem = ZeroOneProblem(
        points=points,
        positives=positives.astype(np.int64),
        negatives=negatives.astype(np.int64),
        grid=WeightGrid.box(d, 1),
    )
    cards = SparseCards(signs=((1, -1),) * (d - 1), starts=((-start, start),) * (most + 1))
    walk = CardWalk(BinaryPoints.of(problem), cards)
    return [walk.count(size) for size in range(most + 1)]


def accuracy(counts: list[np.ndarray], growth: float, epsilon: float) -> float:
    """Return the mean training accuracy of the exponential law at ``beta = epsilon / 2``."""
    losses = np.arange(len(counts[0]))
    masses = sum(growth**size * count / count.sum() for size, count in enumerate(counts))
    kept = masses > 0
    nats = np.log(masses[kept]) - epsilon / 2 * losses[kept]
    chances = np.exp(nats - nats.max())
    return float(1 - (chances @ losses[kept]) / chances.sum() / losses[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--save", type=Path)
    arguments = parser.parse_args()
    columns = ("table", "starts", "points", "measure", ".01", ".05", ".1", ".25", ".5", "1")
    rows = []
    for dataset, name, most in TABLES:
        for start in (1, 3):
            splits = [
                counted(dataset, name, most, start, split) for split in range(arguments.splits)
            ]
            for points in (4, most):
                for measure, growth in GROWTH.items():
                    means = [
                        np.mean([accuracy(counts[: points + 1], growth, e) for counts in splits])
                        for e in EPSILONS
                    ]
                    cells = [f"{mean:.3f}".removeprefix("0") for mean in means]
                    rows.append((name, f"-{start}..{start}", str(points), measure, *cells))
                    print("  ".join(rows[-1]), flush=True)
    save(
        arguments.save,
        columns,
        rows,
        compared=f"The same {arguments.splits} splits for all rows of a table.",
    )


if __name__ == "__main__":
    main()
