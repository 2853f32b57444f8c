"""What a draw of few points loses by its starts, its number of points and its measure.

Cards are counted by loss, so the mean training accuracy of the exponential law over them is
computed, not drawn; permute-and-flip errs a little less. The figures behind ``LARGEST_START``,
``NARROW_START`` and ``MOST_CHEAP_POINTS`` of ``opdisc/mechanisms/stages.py`` (docs/utility.md).
With ``--starts`` more starts, beside the same tables with their labels the other way round,
breast_cancer's 30 columns cut at their medians, and 700 rows of adult-small, whose cards of -1..1
are listed by default: each of them weighs the same. About five minutes each with three splits.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from result_files import save
from sklearn.datasets import load_breast_cancer
from splits import encoded, split_rows

from oracles.problem import WeightGrid, ZeroOneProblem
from oracles.sampling import BinaryPoints, CardWalk, SparseCards

TABLES = (
    ("breastcancer", "breastcancer", 7),
    ("mammo", "mammo", 7),
    ("german", "german", 5),
    ("adult-balanced", "adult-wide", 5),
)
EPSILONS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0)
GROWTH = {"equal": 1.0, "doubled": 2.0}
"""How much more each number of points weighs than the one before."""

LISTED_ROWS = 1000
"""Of adult-small; 70% of them are learned from."""


STARTS, MORE_STARTS = ((-1, 2), (-2, 3)), ((-1, 1), (-1, 2), (-3, 3), (-2, 3), (-3, 4))


def tables() -> Iterator[tuple[str, int, np.ndarray, np.ndarray]]:
    """Yield name, most points, columns and whether each label is positive."""
    for dataset, name, most in TABLES:
        yield name, most, *encoded(dataset, name)
    patients = load_breast_cancer()
    above = patients.data >= np.median(patients.data, axis=0)
    columns = np.column_stack([np.ones(len(above), dtype=np.int64), above])
    yield "breast_cancer, 30 columns", 4, columns, patients.target == 0
    columns, positive = encoded("adult-balanced", "adult-small")
    some = np.random.default_rng(0).permutation(len(columns))[:LISTED_ROWS]
    yield "adult-small, listed", 7, columns[some], positive[some]


def counted(
    columns: np.ndarray, positive: np.ndarray, most: int, starts: tuple[int, int], split: int
) -> list[np.ndarray]:
    """Return for every number of points how many cards have each loss; its length is n + 1."""
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
    cards = SparseCards(signs=((1, -1),) * (d - 1), starts=(starts,) * (most + 1))
    walk = CardWalk(BinaryPoints.of(problem), cards)
    return [walk.count(size) for size in range(most + 1)]


def accuracy(counts: list[np.ndarray], growth: float | None, epsilon: float) -> float:
    """Return the mean training accuracy of the exponential law at ``beta = epsilon / 2``.

    Without ``growth`` every card weighs the same.
    """
    losses = np.arange(len(counts[0]))
    masses = sum(
        count if growth is None else growth**size * count / count.sum()
        for size, count in enumerate(counts)
    )
    kept = masses > 0
    nats = np.log(masses[kept]) - epsilon / 2 * losses[kept]
    chances = np.exp(nats - nats.max())
    return float(1 - (chances @ losses[kept]) / chances.sum() / losses[-1])


def in_words(starts: tuple[int, int]) -> str:
    """Return an interval of starts as the pages write it."""
    return f"{starts[0]}..{starts[1]}"


def sizes_and_measures(splits: int) -> Iterator[tuple[str, ...]]:
    """Yield a line for each table, starts, number of points and measure."""
    for name, most, columns, positive in itertools.islice(tables(), len(TABLES)):
        for starts in STARTS:
            found = [counted(columns, positive, most, starts, split) for split in range(splits)]
            for points in (4, most):
                for measure, growth in GROWTH.items():
                    shown = [counts[: points + 1] for counts in found]
                    yield name, in_words(starts), str(points), measure, *cells(shown, growth)


def starts_and_labels(splits: int) -> Iterator[tuple[str, ...]]:
    """Yield a line for each table, labels either way round, and starts."""
    for name, most, columns, positive in tables():
        growth = None if name.endswith("listed") else GROWTH["doubled"]
        for labels, said in (("as they are", positive), ("reversed", ~positive)):
            for starts in MORE_STARTS:
                found = [counted(columns, said, most, starts, split) for split in range(splits)]
                yield name, labels, in_words(starts), *cells(found, growth)


def cells(found: list[list[np.ndarray]], growth: float | None) -> list[str]:
    """Return mean accuracies at every epsilon."""
    means = (np.mean([accuracy(counts, growth, e) for counts in found]) for e in EPSILONS)
    return [f"{mean:.3f}".removeprefix("0") for mean in means]


def main() -> None:
    """Print, and save, one of the two tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--starts", action="store_true")
    parser.add_argument("--save", type=Path)
    arguments = parser.parse_args()
    columns: tuple[str, ...] = ("table", "starts", "points", "measure")
    lines = sizes_and_measures(arguments.splits)
    if arguments.starts:
        columns, lines = ("table", "labels", "starts"), starts_and_labels(arguments.splits)
    rows = []
    for line in lines:
        rows.append(line)
        print("  ".join(line), flush=True)
    save(
        arguments.save,
        (*columns, *(f"{epsilon:g}".removeprefix("0") for epsilon in EPSILONS)),
        rows,
        compared=f"The same {arguments.splits} splits for all rows of a table.",
    )


if __name__ == "__main__":
    main()
