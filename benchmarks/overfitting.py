"""How well small 0/1 losses of adult_binary carry over to held-out rows, without any privacy.

The 0/1 loss is replaced by sigmoids that get steeper and steeper, each minimised from where the
one before ended, and the first from logistic regression. So the last one's weights nearly
minimise the 0/1 loss. Beside them are logistic regression without privacy and the default at
epsilon 1. About 20 seconds a split.

    OPDISC_DATA=... python benchmarks/overfitting.py --splits 15
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from result_files import save
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from splits import encoded, split_rows
from staged import fit

EPSILON = 1.0
WIDTHS = (2.0, 0.5, 0.12, 0.06)


def steeper(X: np.ndarray, signs: np.ndarray, first: np.ndarray, width: float) -> np.ndarray:
    """Return weights, (d,), that minimise the mean sigmoid of the margins over a width."""

    def objective(weights: np.ndarray) -> tuple[float, np.ndarray]:
        wrong = expit(-signs * (X @ weights) / width)
        slopes = -(X.T @ (signs * wrong * (1 - wrong))) / width / len(signs)
        return float(wrong.mean() + 1e-6 * weights @ weights), slopes + 2e-6 * weights

    found = minimize(objective, first, jac=True, method="L-BFGS-B", options={"maxiter": 500})
    return np.asarray(found.x)


def main() -> None:
    """Print, and save, training and held-out accuracies."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--splits", type=int, default=15)
    parser.add_argument("--save", type=Path)
    arguments = parser.parse_args()
    X, positive = encoded("adult-binary", "adult_binary")
    found: dict[str, list[tuple[float, float]]] = {}
    for split in range(arguments.splits):
        train, test = split_rows(len(X), split)
        card = fit(X[train, 1:], positive[train].astype(np.int64), EPSILON, split)
        regression = LogisticRegression(C=100.0, max_iter=2000).fit(X[train, 1:], positive[train])
        weights = np.concatenate([regression.intercept_, regression.coef_.ravel()])
        laws = {
            "scorecard, epsilon 1": card - 0.5 * (np.arange(len(card)) == 0),
            "logistic regression, not private": weights,
        }
        for width in WIDTHS:
            weights = steeper(X[train], np.where(positive[train], 1.0, -1.0), weights, width)
        laws["smallest 0/1 loss found, not private"] = weights
        for name, weights in laws.items():
            right = ((X @ weights > 0) == positive).astype(float)
            found.setdefault(name, []).append((right[train].mean(), right[test].mean()))
        print(split, {name: found[name][-1] for name in found}, flush=True)
    base = np.array(found["scorecard, epsilon 1"])[:, 1]
    rows = []
    for name, pairs in found.items():
        both = np.array(pairs)
        gains = both[:, 1] - base
        error = gains.std(ddof=1) / len(gains) ** 0.5
        ahead = f"{gains.mean():+.4f} ({error:.4f})".replace("0.", ".") if gains.any() else ""
        rows.append((name, *(f"{x:.4f}".removeprefix("0") for x in both.mean(axis=0)), ahead))
        print("  ".join(rows[-1]))
    columns = ("classifier", "training", "held out", "held out, ahead of the scorecard")
    compared = (
        f"{arguments.splits} splits, the same for all. In brackets: the standard error of the "
        "paired difference."
    )
    save(arguments.save, columns, rows, compared=compared)


if __name__ == "__main__":
    main()
