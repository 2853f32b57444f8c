"""How well small 0/1 losses of adult_binary carry over to held-out rows, without any privacy.

The 0/1 loss is replaced by sigmoids that get steeper and steeper, each minimised from where the
one before ended, and the first from logistic regression. So the last one's weights nearly
minimise the 0/1 loss. Beside them are logistic regression without privacy, the default at
epsilon 1, and what the exponential mechanism over all weights of -12..12 would give there. No
exact draw of that ends in time, so it is taken from long annealed chains: nothing that may be
released. About a minute a split.

    OPDISC_DATA=... python benchmarks/overfitting.py --splits 15
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numba import njit
from result_files import save
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from splits import encoded, split_rows
from staged import fit

EPSILON = 1.0
WIDTHS = (2.0, 0.5, 0.12, 0.06)
BOUND, STEPS, KEPT, APART = 12, 1_500_000, 20, 2_000


def steeper(X: np.ndarray, signs: np.ndarray, first: np.ndarray, width: float) -> np.ndarray:
    """Return weights, (d,), that minimise the mean sigmoid of the margins over a width."""

    def objective(weights: np.ndarray) -> tuple[float, np.ndarray]:
        wrong = expit(-signs * (X @ weights) / width)
        slopes = -(X.T @ (signs * wrong * (1 - wrong))) / width / len(signs)
        return float(wrong.mean() + 1e-6 * weights @ weights), slopes + 2e-6 * weights

    found = minimize(objective, first, jac=True, method="L-BFGS-B", options={"maxiter": 500})
    return np.asarray(found.x)


@njit(cache=True)
def chain(starts, of, gains, weights, betas, rng):
    """Run a Metropolis chain over integer weights; return those kept at its end, (KEPT, d).

    ``of[starts[j]:starts[j + 1]]`` are the points where column j is 1. ``gains`` is what a point
    costs more if the answer is "+".
    """
    scores = np.zeros(len(gains), np.int64)
    for j in range(len(weights)):
        for k in range(starts[j], starts[j + 1]):
            scores[of[k]] += weights[j]
    kept = np.zeros((KEPT, len(weights)), np.int64)
    for step in range(STEPS):
        j = rng.integers(0, len(weights))
        move = rng.integers(1, 3) * (2 * rng.integers(0, 2) - 1)
        if abs(weights[j] + move) <= BOUND:
            change = 0
            for k in range(starts[j], starts[j + 1]):
                old = scores[of[k]]
                change += gains[of[k]] * ((old + move >= 1) - (old >= 1))
            if change <= 0 or rng.random() < np.exp(-betas[step] * change):
                weights[j] += move
                for k in range(starts[j], starts[j + 1]):
                    scores[of[k]] += move
        left = STEPS - 1 - step
        if left % APART == 0 and left < KEPT * APART:
            kept[KEPT - 1 - left // APART] = weights
    return kept


def drawn(X: np.ndarray, positive: np.ndarray, first: np.ndarray, seed: int) -> np.ndarray:
    """Return weights that are nearly draws of the exponential mechanism, (KEPT, d)."""
    points, where = np.unique(X, axis=0, return_inverse=True)
    active = [np.flatnonzero(column) for column in points.T]
    starts = np.concatenate([[0], np.cumsum([len(rows) for rows in active])])
    costs = np.where(positive, -1, 1)
    gains = np.bincount(where.ravel(), weights=costs, minlength=len(points)).astype(np.int64)
    betas = EPSILON / 2 * np.minimum(1.0, np.linspace(0.2, 1.8, STEPS))
    start = np.clip(np.round(4 * first), -BOUND, BOUND).astype(np.int64)
    of, rng = np.concatenate(active), np.random.default_rng(seed)
    return np.asarray(chain(starts, of, gains, start, betas, rng), dtype=np.int64)


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
        half = 0.5 * (np.arange(len(card)) == 0)  # a card says "+" from 1 on
        laws = {
            "scorecard, epsilon 1": card - half,
            "all weights at once, epsilon 1": drawn(X[train], positive[train], weights, split)
            - half,
            "logistic regression, not private": weights,
        }
        for width in WIDTHS:
            weights = steeper(X[train], np.where(positive[train], 1.0, -1.0), weights, width)
        laws["smallest 0/1 loss found, not private"] = weights
        for name, weights in laws.items():
            answers = np.atleast_2d(weights) @ X.T > 0
            right = (answers == positive).mean(axis=0)
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
