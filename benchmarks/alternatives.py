"""What alternatives save: at most one of the columns that measure one thing has points.

Two tables. The generated one has three blood pressures of which the third follows from the others,
two thresholds each, and four statements more; breastcancer, each score cut at 4, has two groups of
scores: the size and shape of cells, and their nuclei. Every seed makes a new table, or another
70/30 split, and each way fits it once. Public are the number of rows and the schema. About ten
minutes.

    OPDISC_DATA=... python benchmarks/alternatives.py --seeds 40
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from result_files import save
from splits import split_rows

from opdisc import PrivateScorecardClassifier, Schema
from opdisc.data import load_dataset, load_schema
from opdisc.planning import plan_fit

EPSILONS = (0.05, 0.1, 0.2, 0.5)
ROWS = 1000
PRESSURES = ("systolic", "diastolic", "mean_pressure")
CELLS = ("UniformityOfCellSize", "UniformityOfCellShape", "SingleEpithelialCellSize")
NUCLEI = ("BareNuclei", "BlandChromatin", "NormalNucleoli")
Table = tuple[pd.DataFrame, pd.DataFrame]


def pressures(seed: int) -> Table:
    """Return a generated table to learn from, and one of 10,000 rows to test on."""
    rng = np.random.default_rng(seed)
    n = ROWS + 10_000
    shared, own = rng.normal(size=n), rng.normal(size=(n, 2))
    systolic = 128 + 18 * (0.9 * shared + 0.44 * own[:, 0])
    diastolic = 80 + 11 * (0.9 * shared + 0.44 * own[:, 1])
    mean = (systolic + 2 * diastolic) / 3
    age, smokes = rng.integers(25, 86, n), rng.random(n) < 0.3
    log_odds = (mean - 98) / 6 + (age - 55) / 15 + 0.8 * smokes
    rows = pd.DataFrame(
        {
            "systolic": systolic.round(),
            "diastolic": diastolic.round(),
            "mean_pressure": mean.round(),
            "age": age,
            "smokes": smokes.astype(int),
            "heavy": (rng.random(n) < 0.35).astype(int),
            "ill": (rng.random(n) < 1 / (1 + np.exp(-log_odds))).astype(int),
        }
    )
    return rows[:ROWS], rows[ROWS:]


def cells(seed: int) -> Table:
    """Return a split of breastcancer."""
    rows = load_dataset("breastcancer")
    learned, held = split_rows(len(rows), seed)
    return rows.iloc[learned], rows.iloc[held]


def declared() -> dict[str, tuple[Schema, Callable[[int], Table]]]:
    """Return schema and table of each name."""
    stated = [
        {"column": "systolic", "thresholds": [130, 150]},
        {"column": "diastolic", "thresholds": [80, 95]},
        {"column": "mean_pressure", "thresholds": [97, 112]},
        {"column": "age", "thresholds": [50, 65]},
        {"column": "smokes", "binary": True},
        {"column": "heavy", "binary": True},
    ]
    generated = Schema.from_dict(
        {
            "name": "pressures",
            "target": {"column": "ill", "positive": 1, "negative": 0},
            "feature": stated,
            "alternatives": [PRESSURES],
        }
    )
    shipped = load_schema("breastcancer")
    features = tuple(replace(one, thresholds=(4,)) for one in shipped.features)
    biopsies = replace(shipped, features=features, alternatives=(CELLS, NUCLEI))
    return {"pressures": (generated, pressures), "breastcancer": (biopsies, cells)}


def bound(schema: Schema, epsilon: float, n_rows: int) -> tuple[str, int]:
    """Return what is chosen, and its bound on the expected extra errors."""
    plan, *_ = plan_fit(
        schema, epsilon=epsilon, n_rows=n_rows, weight_bound=1, compare_others=False
    )
    assert plan.prediction is not None
    return plan.mechanism, math.ceil(plan.prediction.mean)


def accuracy(schema: Schema, epsilon: float, table: Table) -> float:
    """Return the accuracy on the rows held out of one card."""
    learned, held = table
    model = PrivateScorecardClassifier(epsilon=epsilon, schema=schema, weight_bound=1)
    model.fit(learned, learned[schema.target.column])
    return float(model.score(held, held[schema.target.column]))


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--save", type=Path)
    arguments = parser.parse_args()
    n_seeds = arguments.seeds
    rows = []
    for name, (schema, make) in declared().items():
        ways = {"without": replace(schema, alternatives=()), "with": schema}
        tables = [make(seed) for seed in range(n_seeds)]
        for epsilon in EPSILONS:
            bounds = {way: bound(one, epsilon, len(tables[0][0])) for way, one in ways.items()}
            found = {
                way: np.array([accuracy(one, epsilon, table) for table in tables])
                for way, one in ways.items()
            }
            gain = found["with"] - found["without"]
            error = gain.std(ddof=1) / math.sqrt(n_seeds)
            rows.append(
                (
                    name,
                    f"{epsilon:g}",
                    bounds["with"][0],
                    *(f"{bounds[way][1]:,}" for way in ways),
                    *(f"{found[way].mean():.3f}".lstrip("0") for way in ways),
                    f"{gain.mean():+.3f} ± {error:.3f}".replace("0.", "."),
                )
            )
            print(*rows[-1], flush=True)
    columns = ("table", "epsilon", "drawn by", "errors expected at most", "with alternatives",
               "accuracy", "with alternatives", "gain")  # fmt: skip
    compared = f"The same {n_seeds} seeds for all cells of a line, one fit each."
    save(arguments.save, columns, rows, align="lrlrrrrr", compared=compared)


if __name__ == "__main__":
    main()
