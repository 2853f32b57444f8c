"""Private Frank-Wolfe beside other private logistic regressions, where few of many columns matter.

Tables of p yes/no columns, each a fair coin. Five of them shift the log-odds by 2 either way, the
others do nothing. 10,000 rows to learn from, as many held out, epsilon 1, delta 1e-8, a replaced
row, public defaults. Hull noise is pure, and is drawn where its p is at most `--hull`. About ten
minutes, most of them for the others at 500 and 2,000 columns.

    python benchmarks/frank_wolfe.py --seeds 3
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from result_files import save

from opdisc import PrivateLogisticRegression

EPSILON, DELTA, ROWS, RELEVANT, SHIFT = 1.0, 1e-8, 10_000, 5, 2.0
NAMES = {
    "frank_wolfe": "Frank-Wolfe",
    "hull": "hull noise (pure)",
    "objective_perturbation": "objective perturbation",
}


def table(
    columns: int, seed: int, rows: int = ROWS
) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Return a table with its answers, and the answer that is more likely for each row."""
    random = np.random.default_rng(seed)
    cells = random.integers(0, 2, size=(rows, columns), dtype=np.int8)
    signs = SHIFT * np.array([1, -1] * RELEVANT)[:RELEVANT]
    odds = (2.0 * cells[:, :RELEVANT] - 1) @ signs
    answers = random.random(rows) < 1 / (1 + np.exp(-odds))
    names = [f"c{j}" for j in range(columns)]
    frame = pd.DataFrame(cells, columns=names)
    frame["answer"] = np.where(answers, "yes", "no")
    return frame, answers, odds > 0


def schema(columns: int) -> dict[str, object]:
    """Return the public facts of such a table: a column is 0 or 1, and no more."""
    target = {"column": "answer", "positive": "yes", "negative": "no"}
    binary = [{"column": f"c{j}", "binary": True} for j in range(columns)]
    return {"name": "sparse", "target": target, "unit": "one row", "feature": binary}


def accuracies(mechanism: str, columns: int, seeds: int) -> list[float]:
    """Return the held-out accuracy of one fit on each of some tables."""
    found = []
    for seed in range(seeds):
        learned, _, _ = table(columns, 2 * seed)
        held, answers, _ = table(columns, 2 * seed + 1)
        model = PrivateLogisticRegression(
            epsilon=EPSILON,
            delta=0.0 if mechanism == "hull" else DELTA,
            mechanism=mechanism,
            schema=schema(columns),
        ).fit(learned, learned["answer"])
        found.append(float(np.mean((model.predict(held) == "yes") == answers)))
    return found


def best(columns: int, seeds: int) -> list[float]:
    """Return the accuracy of whoever knows the law of the answers."""
    tables = (table(columns, 2 * seed + 1) for seed in range(seeds))
    return [float(np.mean(likely == answers)) for _, answers, likely in tables]


def lines(columns: Sequence[int], seeds: int, hull: int) -> list[list[str]]:
    """Return a line for each method, a cell for each number of columns."""
    rows = []
    for mechanism, name in NAMES.items():
        cells = []
        for p in columns:
            if mechanism == "hull" and p > hull:
                cells.append("-")
                continue
            started = time.perf_counter()
            found = accuracies(mechanism, p, seeds)
            cells.append(_cell(found))
            print(
                name, p, np.round(found, 4), f"{time.perf_counter() - started:.0f} s", flush=True
            )
        rows.append([name, *cells])
    return [*rows, ["who knows the law", *(_cell(best(p, seeds)) for p in columns)]]


def _cell(found: Sequence[float]) -> str:
    return f"{np.mean(found):.3f}".lstrip("0")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--columns", type=int, nargs="+", default=[50, 100, 500, 2000])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--hull", type=int, default=100, help="most columns for hull noise")
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    rows = lines(options.columns, options.seeds, options.hull)
    save(options.save, ["method", *(f"{p:,} columns" for p in options.columns)], rows)
    for row in rows:
        print(" | ".join(row))


if __name__ == "__main__":
    main()
