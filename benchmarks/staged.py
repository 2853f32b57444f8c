"""Held-out accuracy of staged draws on adult_binary: the released code, several splits.

``python benchmarks/staged.py --splits 15`` prints a line per split and the mean with its standard
error. Split s takes the first 70% of ``numpy.random.default_rng(s).permutation`` for training.
The draws are seeded by the split, so a run can be repeated; such a release would be VOID. Where
later draws follow, the first one gets the same weight at every epsilon, so a split draws it once
and every epsilon goes on from it. Each cell has the law of a release. About 15 s a split.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np

from opdisc.data.datasets.loading import load_dataset
from opdisc.mechanisms.staged import mechanism as staged
from opdisc.mechanisms.staged.stages import automatic_bound
from opdisc.privacy import GridPublic, NeighboringRelation, PrivacyParams
from opdisc.privacy.entropy import SeededEntropy
from oracles import WeightGrid, ZeroOneProblem

EPSILONS = (0.25, 0.5, 1.0)


def remembered(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Return a draw that answers the same question once."""
    known: dict[Any, Any] = {}

    def first(points: Any, cards: Any, beta: Any, bits: Any) -> Any:
        key = (cards, beta)
        if key not in known:
            known[key] = draw(points, cards, beta, bits)
        return known[key]

    return first


def fit(
    X: np.ndarray, y: np.ndarray, epsilon: float, seed: int, later: int | None = None
) -> np.ndarray:
    """Return the released weights, the constant column's first; ``later`` draws, or the rule's."""
    n, d = X.shape
    grid = WeightGrid.box(1 + d, automatic_bound(n * epsilon))
    rows, where = np.unique(X, axis=0, return_inverse=True)
    problem = ZeroOneProblem(
        points=np.column_stack([np.ones(len(rows), dtype=int), rows]),
        positives=np.bincount(where.ravel(), weights=y, minlength=len(rows)).astype(int),
        negatives=np.bincount(where.ravel(), weights=1 - y, minlength=len(rows)).astype(int),
        grid=grid,
    )
    public = GridPublic(
        params=PrivacyParams(epsilon=epsilon, delta=0.0),
        relation=NeighboringRelation.REPLACE_ONE,
        grid=grid,
        n_rows=n,
    )
    mechanism = staged.StagedMechanism(later=later)
    spec = mechanism.calibrate(public)
    return np.array(mechanism.draw(problem, spec, SeededEntropy(seed)))


def main() -> None:
    """Print accuracies."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=15)
    parser.add_argument("--epsilons", type=float, nargs="+", default=EPSILONS)
    arguments = parser.parse_args()
    table = load_dataset("adult-binary")
    label = table.columns[0]
    y_all = (table[label] == table[label].max()).to_numpy().astype(int)
    X_all = table.drop(columns=label).to_numpy().astype(int)
    accuracies: dict[float, list[float]] = {epsilon: [] for epsilon in arguments.epsilons}
    for split in range(arguments.splits):
        order = np.random.default_rng(split).permutation(len(y_all))
        train, test = np.split(order, [int(0.7 * len(order))])
        began = time.process_time()
        with mock.patch.object(staged, "draw_sparse_card", remembered(staged.draw_sparse_card)):
            for k, epsilon in enumerate(arguments.epsilons):
                weights = fit(X_all[train], y_all[train], epsilon, 100 * split + k)
                predicted = weights[0] + X_all[test] @ weights[1:] >= 1
                accuracies[epsilon].append(float((predicted == y_all[test]).mean()))
        line = {str(epsilon): values[-1] for epsilon, values in accuracies.items()}
        seconds = round(time.process_time() - began, 1)
        print(json.dumps({"split": split, **line, "seconds": seconds}), flush=True)
    for epsilon, values in accuracies.items():
        error = np.std(values, ddof=1) / len(values) ** 0.5 if len(values) > 1 else float("nan")
        print(f"epsilon {epsilon}: {np.mean(values):.4f}, standard error {error:.4f}")


if __name__ == "__main__":
    main()
