"""J14's figure 1 but for (c): sampling on the simplex by columns, perturbed SVMs by epsilon.

    python benchmarks/simplex.py columns     figure 1(d): zero columns are added; a few minutes
    python benchmarks/simplex.py epsilons    figures 1(a) and (b); a minute

The table is the small census task, or with `--libsvm FILE --features 8` a file like Cod-RNA, whose
numbers are scaled by their own least and largest values. 70% of the rows are learned from, a new
split for each run; delta 1e-3; a replaced row. Accuracies are of the others, in the clear: the
figures are not private. Figure 1(c) is `convex.py dimension`.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from result_files import save
from splits import encoded, split_rows

from opdisc import read_libsvm
from opdisc.convex import (
    ConvexPublic,
    Rows,
    convex_params,
    objective_perturbation,
    output_perturbation,
    simplex_sampling,
)
from opdisc.privacy import NeighboringRelation, SystemEntropy, WeakPromise
from oracles.convex import HuberisedHingeLoss, RowBounds, Simplex, SquaredLoss

DELTA, EPSILON, RIDGE = 1e-3, 10.0, 1e-3
EPSILONS = (0.1, 0.5, 1.0, 5.0, 10.0)

Fit = Callable[[np.ndarray, np.ndarray, float, int], np.ndarray]
"""Columns in [-1, 1], signs, epsilon and number of columns to weights: of the constant, then of
the columns."""


def table(libsvm: Path | None, features: int) -> tuple[np.ndarray, np.ndarray]:
    """Return columns in [-1, 1], shape (n, d), and signs."""
    if libsvm is None:
        columns, positive = encoded("adult-balanced", "adult-small")
        return 2.0 * columns[:, 1:] - 1, np.where(positive, 1.0, -1.0)
    read = read_libsvm(libsvm, n_features=features).to_numpy()
    numbers, labels = read[:, :-1], read[:, -1]
    low, width = numbers.min(axis=0), np.ptp(numbers, axis=0)
    scaled = 2 * (numbers - low) / np.where(width > 0, width, 1) - 1
    return scaled, np.where(labels == labels.max(), 1.0, -1.0)


def merged(columns: np.ndarray, signs: np.ndarray, p: int) -> Rows:
    """Return distinct rows with counts, zero columns added until there are p."""
    together = np.column_stack([columns, signs])
    points, counts = np.unique(together, axis=0, return_counts=True)
    padded = np.zeros((len(points), p))
    padded[:, : columns.shape[1]] = points[:, :-1]
    return Rows(X=padded, y=points[:, -1].copy(), counts=counts.astype(np.float64))


def facts(epsilon: float, n: int, p: int) -> dict[str, object]:
    """Return what the public facts of all methods say alike."""
    return {
        "params": convex_params(epsilon, DELTA if epsilon < math.inf else 0.0),
        "relation": NeighboringRelation.REPLACE_ONE,
        "dimension": p,
        "n_rows": n,
    }


def sampling(noise: str) -> Fit:
    """Return least squares over mixtures of the columns and their opposites."""

    def fit(columns: np.ndarray, signs: np.ndarray, epsilon: float, p: int) -> np.ndarray:
        n, d = len(columns), 1 + columns.shape[1]
        own = np.column_stack([np.ones(n), columns])
        mixed = np.column_stack([own, -own])
        p = max(p, mixed.shape[1])
        public = ConvexPublic(
            loss=SquaredLoss(),
            bounds=RowBounds(l2=math.sqrt(2 * d), linf=1.0),
            domain=Simplex(dimension=p),
            **facts(epsilon, n, p),  # type: ignore[arg-type]
        )
        release = simplex_sampling(
            merged(mixed, signs, p),
            public,
            entropy=SystemEntropy(),
            noise=noise,  # type: ignore[arg-type]
        )
        return release.parameters[:d] - release.parameters[d : 2 * d]

    return fit


def machine(kind: str, noise: str) -> Fit:
    """Return a perturbed SVM, its hinge smoothed, of halved columns."""
    perturbation = {"objective": objective_perturbation, "output": output_perturbation}[kind]

    def fit(columns: np.ndarray, signs: np.ndarray, epsilon: float, p: int) -> np.ndarray:
        n, d = len(columns), 1 + columns.shape[1]
        p = max(p, d)
        public = ConvexPublic(
            loss=HuberisedHingeLoss(0.5),
            bounds=RowBounds(l2=math.sqrt(1 + (d - 1) / 4), linf=1.0),
            **facts(epsilon, n, p),  # type: ignore[arg-type]
        )
        if noise == "pure":
            public = replace(public, params=replace(public.params, delta=0.0))
        ridge = n * RIDGE
        if kind == "objective":
            # As in C11's Algorithm 2: at least so much that half of epsilon pays for curvature.
            ridge = max(ridge, public.constants.smoothness_l2 / math.expm1(epsilon / 2))
        rows = merged(np.column_stack([np.ones(n), columns / 2]), signs, p)
        release = perturbation(rows, public, ridge=ridge, noise=noise, entropy=SystemEntropy())
        return np.concatenate([release.parameters[:1], release.parameters[1:d] / 2])

    return fit


def not_private(fit: Fit) -> Fit:
    """Return the same without noise."""
    return lambda columns, signs, epsilon, p: fit(columns, signs, math.inf, 0)


SAMPLING: dict[str, Fit] = {
    "sampling, ours": sampling("corrected"),
    "sampling, J14's count (void)": sampling("published"),
    "its least squares, not private": not_private(sampling("corrected")),
}
MACHINES: dict[str, Fit] = {
    f"{kind}, {name}": machine(kind, noise)
    for kind in ("objective", "output")
    for noise, name in (("pure", "Gamma"), ("gaussian", "Gaussian"))
}
PLAIN: dict[str, Fit] = {"SVM, not private": not_private(machine("objective", "pure"))}


def accuracy(
    fit: Fit, data: tuple[np.ndarray, np.ndarray], epsilon: float, p: int, runs: int
) -> float:
    """Return the mean held-out accuracy over runs, each of another split."""
    columns, signs = data
    found = []
    for seed in range(runs):
        learned, held = split_rows(len(signs), seed)
        weights = fit(columns[learned], signs[learned], epsilon, p)
        scores = weights[0] + columns[held] @ weights[1:]
        found.append(np.mean((scores > 0) == (signs[held] > 0)))
    return float(np.mean(found))


def lines(
    methods: dict[str, Fit],
    data: tuple[np.ndarray, np.ndarray],
    settings: Sequence[tuple[float, int]],
    runs: int,
) -> list[list[str]]:
    """Return a line for each method, a cell for each epsilon and number of columns."""
    rows = []
    for name, fit in methods.items():
        plain = "not private" in name
        found = [accuracy(fit, data, *settings[0], runs)] * len(settings) if plain else [
            accuracy(fit, data, epsilon, p, runs) for epsilon, p in settings
        ]  # fmt: skip
        rows.append([name, *(f"{share:.3f}" for share in found)])
        print(" | ".join(rows[-1]), flush=True)
    return rows


def main() -> None:
    """Print a table, and save it if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("figure", choices=["columns", "epsilons"])
    parser.add_argument("--libsvm", type=Path, help="a file of LIBSVM, in place of the census")
    parser.add_argument("--features", type=int, default=8, help="its columns")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore", WeakPromise)  # 1e-3 is J14's delta
    data = table(options.libsvm, options.features)
    if options.figure == "columns":
        least = 2 * (1 + data[0].shape[1])
        sizes = (least, 100, 1000, 10_000)
        methods = {**SAMPLING, **{k: v for k, v in MACHINES.items() if "objective" in k}, **PLAIN}
        rows = lines(methods, data, [(EPSILON, p) for p in sizes], options.runs)
        header = ["method", *(f"{p:,} columns" for p in sizes)]
    else:
        rows = lines({**MACHINES, **PLAIN}, data, [(e, 0) for e in EPSILONS], options.runs)
        header = ["method", *(rf"$\varepsilon$ {e:g}" for e in EPSILONS)]
    save(options.save, header, rows)


if __name__ == "__main__":
    main()
