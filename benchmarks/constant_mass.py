"""What the first draw gains or loses on held-out rows by the mass of its constant scorecards.

Cards of few points are counted by loss and by what they get right of the held-out rows, so the
mean held-out accuracy of the exponential law over them is computed, not drawn (docs/utility.md).
Permute-and-flip errs a little less. All cards but the constant ones keep their masses, twice as
large with each point more. About two minutes with eight splits.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np
from levels import EPSILONS, Pieces, level, mixed, pieces
from result_files import save

TABLES = (
    ("german", "german", 3, 5),
    ("mammo", "mammo", 1, 7),
    ("breastcancer", "breastcancer", 1, 7),
)
"""Dataset, schema, largest start and most points, as the default has them."""

SHARES = {"as it is": None, "1/2": 0.5, ".9": 0.9, "1": 1.0}


def accuracy(kept: Pieces, epsilon: float, share: float | None) -> float:
    """Return the mean held-out accuracy if constant cards have such a share of all mass."""
    others = 2.0 ** np.arange(1, len(kept.counts))
    if share is None:
        masses = np.concatenate([[1.0], others])
    else:
        masses = np.concatenate([[share], (1 - share) * others / others.sum()])
    parts = []
    sizes = zip(masses, kept.counts, kept.right, kept.squares, strict=True)
    for mass, counts, right, squares in sizes:
        if mass > 0:
            total, mean, square, size = level(counts, right, squares, epsilon)
            parts.append((math.log(mass) - size + total, mean, square))
    return mixed(parts)[0]


def main() -> None:
    """Print, and save, a line for each table and share."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--splits", type=int, default=8)
    parser.add_argument("--save", type=Path)
    arguments = parser.parse_args()
    columns = ("table", "constant cards", *(f"{e:g}".removeprefix("0") for e in EPSILONS))
    rows = []
    for dataset, name, start, most in TABLES:
        splits = [
            pieces(dataset, name, split, -start, start, most, whole=False)
            for split in range(arguments.splits)
        ]
        for label, share in SHARES.items():
            means = [np.mean([accuracy(kept, e, share) for kept in splits]) for e in EPSILONS]
            rows.append((name, label, *(f"{mean:.3f}".removeprefix("0") for mean in means)))
            print("  ".join(rows[-1]), flush=True)
    compared = f"The same {arguments.splits} splits for all rows of a table."
    save(arguments.save, columns, rows, compared=compared)


if __name__ == "__main__":
    main()
