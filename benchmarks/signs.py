"""Counted signs beside few points and the whole grid, on adult-wide: several splits and draws.

``python benchmarks/signs.py --splits 12 --draws 3`` prints mean held-out and training accuracy.
Draws are seeded, so a run can be repeated; such a release would be VOID. The whole grid is drawn
from by the exact sampler, whose time nobody bounds: about a second a draw on these rows.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np
from result_files import save
from splits import encoded, split_rows

from opdisc.data import column_structure, load_schema
from opdisc.mechanisms import ExponentialMechanism, StagedMechanism
from opdisc.mechanisms.staged.stages import automatic_bound
from opdisc.privacy import GridPublic, NeighboringRelation, PrivacyParams, SeededEntropy
from oracles import WeightGrid, ZeroOneProblem
from oracles.problem import Hypothesis

EPSILONS = (0.25, 0.5, 1.0)


def points_of(encoding: np.ndarray, labels: np.ndarray, grid: WeightGrid) -> ZeroOneProblem:
    """Return the rows as a problem."""
    points, where = np.unique(encoding, axis=0, return_inverse=True)
    where = where.ravel()
    return ZeroOneProblem(
        points=points,
        positives=np.bincount(where, weights=labels, minlength=len(points)).astype(int),
        negatives=np.bincount(where, weights=~labels, minlength=len(points)).astype(int),
        grid=grid,
    )


def accuracy(card: Hypothesis, encoding: np.ndarray, labels: np.ndarray) -> float:
    """Return the share of rows that a card is right on."""
    return float(((encoding @ np.array(card) >= 1) == labels).mean())


def measured(name: str, epsilon: float, splits: int, draws: int) -> list[tuple[float, float]]:
    """Return held-out and training accuracy of every draw."""
    structure = column_structure(load_schema("adult-wide"))
    encoding, labels = encoded("adult-balanced", "adult-wide")
    found = []
    for split in range(splits):
        train, test = split_rows(len(labels), 1000 + split)
        whole = name == "exponential"
        bound = 1 if whole else automatic_bound(len(train) * epsilon)
        problem = points_of(
            encoding[train], labels[train], WeightGrid.box(encoding.shape[1], bound)
        )
        mechanism: StagedMechanism | ExponentialMechanism
        if whole:
            mechanism = ExponentialMechanism(structure=structure)
        else:
            mechanism = StagedMechanism(structure=structure if name == "signs" else ())
        spec = mechanism.calibrate(
            GridPublic(
                params=PrivacyParams(epsilon=epsilon, delta=0.0),
                relation=NeighboringRelation.REPLACE_ONE,
                grid=problem.grid,
                n_rows=len(train),
            )
        )
        mechanism.prepare(problem, spec)
        for draw in range(draws):
            card = mechanism.draw(problem, spec, SeededEntropy(100 * split + draw))
            found.append(
                (
                    accuracy(card, encoding[test], labels[test]),
                    accuracy(card, encoding[train], labels[train]),
                )
            )
    return found


def main() -> None:
    """Print, and save if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=12)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--save", type=Path)
    arguments = parser.parse_args()
    rows = []
    for name, title in (
        ("points", "few points first"),
        ("signs", "counted signs first (default)"),
        ("exponential", "whole grid, exponential mechanism by name"),
    ):
        cells = [title]
        for epsilon in EPSILONS:
            found = np.array(measured(name, epsilon, arguments.splits, arguments.draws))
            error = found[:, 0].std() / math.sqrt(len(found))
            held, training = (f"{mean:.4f}".lstrip("0") for mean in found.mean(axis=0))
            cells += [f"{held} ({f'{error:.4f}'.lstrip('0')})", training]
            print(name, epsilon, cells[-2:], flush=True)
        rows.append(tuple(cells))
    if arguments.save:
        save(
            arguments.save,
            compared=f"The same {arguments.splits} splits for all lines, {arguments.draws} draws "
            "each. In brackets: standard errors, draws and splits taken as one sample.",
            align="lllllll",
            columns=(
                "first draw",
                *(f"{kind}, {e:g}" for e in EPSILONS for kind in ("held out", "training")),
            ),
            rows=rows,
        )


if __name__ == "__main__":
    main()
