"""What equal steps gain over cards of few points, on tables whose columns are all thresholds.

breastcancer (nine scores, two thresholds each), the same beside six of its scores that were
shuffled, and scikit-learn's breast_cancer and diabetes (ten measurements each, cut at their
quartiles). One release a split and seed by the staged mechanism, with and without the structure
of the columns. The draws are seeded; such releases would be VOID. About ten minutes of a core.

    OPDISC_DATA=... python benchmarks/equal_steps.py --splits 15 --draws 3
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from result_files import save
from sklearn.datasets import load_breast_cancer, load_diabetes
from splits import encoded, split_rows

from opdisc.mechanisms import StagedMechanism
from opdisc.privacy import GridPublic, NeighboringRelation, PrivacyParams
from opdisc.privacy.entropy import SeededEntropy
from oracles.problem import ColumnGroup, WeightGrid, ZeroOneProblem

EPSILONS = (0.05, 0.1, 0.25, 0.5, 1.0)
Attributes = list[np.ndarray]


def at_quartiles(measured: np.ndarray) -> Attributes:
    """Return the columns of every measurement, cut at its quartiles."""
    quartiles = np.quantile(measured, (0.25, 0.5, 0.75), axis=0).T
    return [
        np.column_stack([numbers >= cut for cut in np.unique(cuts)]).astype(np.int64)
        for numbers, cuts in zip(measured.T, quartiles, strict=True)
    ]


def tables() -> Iterator[tuple[str, Attributes, np.ndarray]]:
    """Yield name, columns of every attribute, and labels."""
    columns, positive = encoded("breastcancer", "breastcancer")
    scores = [columns[:, 1 + 2 * j : 3 + 2 * j] for j in range(9)]
    yield "breastcancer", scores, positive
    rng = np.random.default_rng(0)
    shuffled = [scores[j][rng.permutation(len(positive))] for j in range(6)]
    yield "breastcancer, six shuffled scores", scores + shuffled, positive
    patients = load_breast_cancer()
    yield "breast_cancer", at_quartiles(patients.data[:, :10]), patients.target == 0
    diabetes = load_diabetes()
    high = diabetes.target > np.median(diabetes.target)
    yield "diabetes", at_quartiles(diabetes.data), high


def release(
    attributes: Attributes, positive: np.ndarray, epsilon: float, seed: int, steps: bool
) -> np.ndarray:
    """Return the weights of one release, the constant column's first."""
    rows, where = np.unique(np.concatenate(attributes, axis=1), axis=0, return_inverse=True)
    ends = 1 + np.cumsum([0, *(part.shape[1] for part in attributes)])
    groups = tuple(
        ColumnGroup(columns=tuple(range(begin, end)), kind="nested")
        for begin, end in zip(ends, ends[1:], strict=False)
    )
    grid = WeightGrid.box(1 + rows.shape[1], 9)
    n = np.bincount(where.ravel(), minlength=len(rows))
    positives = np.bincount(where.ravel(), weights=positive, minlength=len(rows)).astype(np.int64)
    problem = ZeroOneProblem(
        points=np.column_stack([np.ones(len(rows), dtype=np.int64), rows]),
        positives=positives,
        negatives=n - positives,
        grid=grid,
    )
    public = GridPublic(
        params=PrivacyParams(epsilon=epsilon, delta=0.0),
        relation=NeighboringRelation.REPLACE_ONE,
        grid=grid,
        n_rows=len(positive),
    )
    mechanism = StagedMechanism(structure=groups if steps else ())
    return np.array(mechanism.draw(problem, mechanism.calibrate(public), SeededEntropy(seed)))


def main() -> None:
    """Print, and save, two lines for each table, and the paired difference."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--splits", type=int, default=15)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--save", type=Path)
    arguments = parser.parse_args()
    seeds = [
        (split, 100 * split + k)
        for split in range(arguments.splits)
        for k in range(arguments.draws)
    ]
    rows: list[tuple[str, ...]] = []
    for name, attributes, positive in tables():
        right = np.zeros((2, len(EPSILONS), len(seeds)))
        for place, (split, seed) in enumerate(seeds):
            train, test = split_rows(len(positive), split)
            learned = [part[train] for part in attributes]
            held = np.concatenate([part[test] for part in attributes], axis=1)
            for k, epsilon in enumerate(EPSILONS):
                for steps in (False, True):
                    weights = release(learned, positive[train], epsilon, seed, steps)
                    predicted = weights[0] + held @ weights[1:] >= 1
                    right[int(steps), k, place] = np.mean(predicted == positive[test])
        gains = right[1] - right[0]
        errors = gains.std(axis=1, ddof=1) / len(seeds) ** 0.5
        for method, line in zip(("few points", "equal steps"), right.mean(axis=2), strict=True):
            rows.append((name, method, *(f"{mean:.4f}".removeprefix("0") for mean in line)))
        told = (
            f"{gain:+.4f} ({error:.4f})".replace("0.", ".")
            for gain, error in zip(gains.mean(axis=1), errors, strict=True)
        )
        rows.append((name, "gain", *told))
        for row in rows[-3:]:
            print("  ".join(row), flush=True)
    compared = (
        f"{arguments.splits} splits and {arguments.draws} draws each, the same for both. In "
        "brackets: the standard error of the paired difference, all draws taken as one sample."
    )
    columns = ("table", "cards", *(f"{epsilon:g}".removeprefix("0") for epsilon in EPSILONS))
    save(arguments.save, columns, rows, compared=compared)


if __name__ == "__main__":
    main()
