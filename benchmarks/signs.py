"""Counted signs beside few points, on adult-wide: several splits and draws.

``python benchmarks/signs.py --splits 12 --draws 3`` prints mean held-out and training accuracy.
Draws are seeded, so a run can be repeated; such a release would be VOID.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np
from result_files import save
from splits import encoded, split_rows

from opdisc.data import column_structure, load_schema
from opdisc.data.encoding import aggregate
from opdisc.mechanisms import StagedMechanism
from opdisc.mechanisms.staged.stages import automatic_bound
from opdisc.privacy import GridPublic, NeighboringRelation, PrivacyParams, SeededEntropy
from oracles import WeightGrid, ZeroOneProblem
from oracles.problem import Hypothesis

EPSILONS = (0.25, 0.5, 1.0)


def accuracy(card: Hypothesis, encoding: np.ndarray, labels: np.ndarray) -> float:
    """Return the share of rows that a card is right on."""
    return float(((encoding @ np.array(card) >= 1) == labels).mean())


def measured(
    table: tuple[np.ndarray, np.ndarray], name: str, epsilon: float, splits: int, draws: int
) -> list[tuple[float, float]]:
    """Return held-out and training accuracy of every draw."""
    encoding, labels = table
    structure = column_structure(load_schema("adult-wide"))
    found = []
    for split in range(splits):
        train, test = split_rows(len(labels), 1000 + split)
        bound = automatic_bound(len(train) * epsilon)
        merged = aggregate(
            encoding[train].astype(np.int8), np.where(labels[train], 1, -1).astype(np.int8)
        )
        problem = ZeroOneProblem(
            points=merged.points,
            positives=merged.positives,
            negatives=merged.negatives,
            grid=WeightGrid.box(encoding.shape[1], bound),
        )
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
    table = encoded("adult-balanced", "adult-wide")
    rows = []
    for name, title in (
        ("points", "few points first"),
        ("signs", "counted signs first (default)"),
    ):
        cells = [title]
        for epsilon in EPSILONS:
            found = np.array(measured(table, name, epsilon, arguments.splits, arguments.draws))
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
