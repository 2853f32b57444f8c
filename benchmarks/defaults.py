"""What the defaults give on the known tables: training accuracy and processor seconds of a fit.

One fit a cell, so small epsilons scatter; compiled code is loaded before. The tables are public;
none of the figures is a private release.

    OPDISC_DATA=... python benchmarks/defaults.py --save benchmarks/results/utility/defaults.toml
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from result_files import save

from opdisc import PrivateScorecardClassifier, load_dataset, load_schema

TABLES = {
    "adult-small": "adult-balanced",
    "breast-cancer": "breast-cancer",
    "adult-wide": "adult-balanced",
    "adult-wide31": "adult-balanced",
    "mammo": "mammo",
    "breastcancer": "breastcancer",
    "german": "german",
    "adult_binary": "adult-binary",
}
"""Data set of each schema."""
EPSILONS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0)


def main() -> None:
    """Print a row for each table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--schemas", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--save", type=Path, help="result file to write")
    arguments = parser.parse_args()
    rows = []
    for schema_name in arguments.schemas:
        table, schema = load_dataset(TABLES[schema_name]), load_schema(schema_name)
        labels = table[schema.target.column]
        PrivateScorecardClassifier(epsilon=1.0, schema=schema).fit(table, labels)
        mechanisms, cells = [], []
        for epsilon in EPSILONS:
            started = time.process_time()
            card = PrivateScorecardClassifier(epsilon=epsilon, schema=schema).fit(table, labels)
            seconds = time.process_time() - started
            # A table read from a file has labels of text, the schema's may be numbers.
            right = card.predict(table).astype(str) == labels.astype(str)
            accuracy = f"{np.mean(right):.3f}".removeprefix("0")
            cells.append(f"{accuracy}, {seconds:.1f}")
            mechanisms.append(card.receipt_.mechanism.replace("_", "-"))
        rows.append([schema_name, "; ".join(dict.fromkeys(mechanisms)), *cells])
        print(f"| {' | '.join(rows[-1])} |", flush=True)
    columns = ["table", "mechanism", r"$\varepsilon$ 0.01", *(f"{e:g}" for e in EPSILONS[1:])]
    save(arguments.save, columns, rows, align="l" * len(columns))


if __name__ == "__main__":
    main()
