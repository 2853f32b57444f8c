"""What not trusting the oracle costs: robust vote beside the certified route, census task.

Training accuracy on the balanced census table (public; none of the figures is a private release),
means over runs. Every robust row has the same guarantee, whatever learners and oracles answer.

    OPDISC_DATA=... python benchmarks/robust.py --runs 10
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path

import numpy as np
from result_files import save
from sklearn.linear_model import LogisticRegression

from opdisc import PrivateScorecardClassifier, load_dataset, load_schema
from opdisc.estimators.scorecards.robust_vote import RobustVoteClassifier
from opdisc.mechanisms.robust_vote.learners import ErmLearner

EPSILONS = (0.1, 0.25, 0.5, 1.0, 2.0)


def methods(isolation):
    """Return name and factory of each row."""
    robust = {
        "robust, near-best approved (default)": {},
        "robust, logistic regression imitated": {"learner": LogisticRegression()},
        "robust, add-or-remove-one": {"relation": "add_or_remove_one"},
        "robust, all minimisers of a part": {"learner": ErmLearner(slack=0.0)},
        "robust, one hypothesis per part": {"oracle": "enumeration"},
        "robust, stability test (delta $1/n^2$)": {"rule": "stability", "delta": 15_682**-2.0},
    }
    # Both routes with points from -1 to 1.
    yield (
        "certified (permute-and-flip)",
        lambda e, s: PrivateScorecardClassifier(e, schema=s, weight_bound=1),
    )
    for name, settings in robust.items():
        yield (
            name,
            lambda e, s, settings=settings: RobustVoteClassifier(
                e, schema=s, isolation=isolation, **settings
            ),
        )


def main() -> None:
    """Print one line per method."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--epsilons", type=float, nargs="+", default=EPSILONS)
    parser.add_argument("--only", default="", help="run the methods whose name contains this")
    parser.add_argument("--isolation", default="none", choices=("none", "process"))
    parser.add_argument("--out", type=Path, help="JSON file for the figures")
    parser.add_argument("--save", type=Path, help="result file to write")
    arguments = parser.parse_args()
    table, schema = load_dataset("adult-balanced"), load_schema("adult-small")
    labels = table[schema.target.column]
    print(f"{'epsilon':<40}" + "".join(f"{e:>14g}" for e in arguments.epsilons) + "   s a fit")
    record = {}
    for name, build in methods(arguments.isolation):
        if arguments.only not in name:
            continue
        cells, seconds = [], []
        for epsilon in arguments.epsilons:
            found = []
            for _ in range(arguments.runs):
                started = time.perf_counter()
                found.append(build(epsilon, schema).fit(table, labels).score(table, labels))
                seconds.append(time.perf_counter() - started)
            error = np.std(found, ddof=1) / math.sqrt(len(found)) if len(found) > 1 else 0.0
            cells.append((float(np.mean(found)), float(error)))
        record[name] = cells
        line = "".join(f"{mean:>8.4f}+-{error:.3f}" for mean, error in cells)
        print(f"{name:<40}{line}   {np.median(seconds):.2f}", flush=True)
    if arguments.out is not None:
        text = json.dumps({"epsilons": arguments.epsilons, "runs": arguments.runs, "rows": record})
        arguments.out.write_text(text + "\n", encoding="utf-8")
    rows = [
        [name, *(f"{mean:.3f}".lstrip("0") for mean, _ in cells)] for name, cells in record.items()
    ]
    columns = ["epsilon", *(f"{epsilon:g}" for epsilon in arguments.epsilons)]
    save(arguments.save, columns, rows, align="l" * len(columns))


if __name__ == "__main__":
    main()
