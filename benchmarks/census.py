"""Accuracy and time of the default fit on the balanced census table, over repeated runs.

The table is public, so training accuracies may be shown; none of them is a private release.

    OPDISC_DATA=... python benchmarks/census.py --runs 20
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from result_files import save
from sklearn.linear_model import LogisticRegression

from opdisc import PrivateScorecardClassifier, load_dataset, load_schema
from opdisc.data.encoded_table import encode
from opdisc.data.encoding import encode_features
from oracles import WeightGrid, ZeroOneProblem, solve


def main() -> None:
    """Print one line per weight bound and epsilon."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--schema", default="adult-small")
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.01, 0.05, 0.1, 0.5, 1.0])
    parser.add_argument("--weight-bounds", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--save", type=Path, help="result file to write")
    arguments = parser.parse_args()
    rows = []
    table, schema = load_dataset("adult-balanced"), load_schema(arguments.schema)
    labels = table[schema.target.column]
    encoded = encode(table, schema)
    columns = encode_features(table, schema)[:, 1:]
    regression = LogisticRegression(max_iter=5000).fit(columns, labels)
    print(f"non-private logistic regression: {regression.score(columns, labels):.4f}")
    for bound in arguments.weight_bounds:
        problem = ZeroOneProblem(
            points=encoded.points.astype(int),
            positives=encoded.positives,
            negatives=encoded.negatives,
            grid=WeightGrid.box(schema.n_columns + 1, bound),
        )
        best = 1 - solve(problem).certificate.primal_bound / encoded.n_rows
        print(f"weights -{bound}..{bound}: best possible {best:.4f}")
        row = [f"weights -{bound}..{bound}"]
        for epsilon in arguments.epsilons:
            accuracies, seconds = [], []
            for _ in range(arguments.runs):
                started = time.perf_counter()
                model = PrivateScorecardClassifier(
                    epsilon=epsilon, schema=schema, weight_bound=bound
                ).fit(table, labels)
                seconds.append(time.perf_counter() - started)
                accuracies.append(model.score(table, labels))
            print(
                f"  epsilon {epsilon:<5} accuracy {np.mean(accuracies):.4f} "
                f"(sd {np.std(accuracies, ddof=1):.4f}), {np.median(seconds):.3f} s a fit, "
                f"{model.receipt_.mechanism}, {model.receipt_.guarantee}"
            )
            row.append(f"{np.mean(accuracies):.3f}")
        rows.append([*row, f"{best:.3f}"])
    columns = ["epsilon", *(f"{epsilon:g}" for epsilon in arguments.epsilons), "best possible"]
    save(arguments.save, columns, rows, align="l" * len(columns))


if __name__ == "__main__":
    main()
