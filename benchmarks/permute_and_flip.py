"""Permute-and-flip by lazy noise beside listing.

Processor seconds of one release and the training errors it makes, medians over fits; compilation
excluded. The tables are public; none of the draws is a release.

    OPDISC_DATA=... python benchmarks/permute_and_flip.py [--only adult-small:5 mammo:1] [--fits 5]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from result_files import save

from opdisc import load_dataset, load_schema
from opdisc.data.encoded_table import encode
from opdisc.mechanisms.base import Mechanism
from opdisc.mechanisms.permute_and_flip import (
    AStarPermuteAndFlipMechanism,
    PermuteAndFlipMechanism,
)
from opdisc.mechanisms.run import run_mechanism
from opdisc.privacy.entropy import SeededEntropy
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from opdisc.privacy.public import GridPublic
from oracles import WeightGrid, ZeroOneProblem
from oracles.problem.grid import ENUMERATION_LIMIT

TABLES = {
    "adult-small": "adult-balanced",
    "adult-wide": "adult-balanced",
    "adult-wide31": "adult-balanced",
    "german": "german",
    "mammo": "mammo",
    "breastcancer": "breastcancer",
}
TASKS = (
    "adult-small:2",
    "adult-small:3",
    "adult-small:5",
    "mammo:1",
    "breastcancer:1",
    "mammo:2",
    "adult-wide31:1",
    "adult-wide:1",
    "german:1",
)
EPSILONS = (0.1, 1.0, 5.0, 10.0)
SECONDS = 20.0


def load(name: str, bound: int) -> ZeroOneProblem:
    schema = load_schema(name)
    encoded = encode(load_dataset(TABLES[name]), schema)
    return ZeroOneProblem(
        points=encoded.points.astype(int),
        positives=encoded.positives,
        negatives=encoded.negatives,
        grid=WeightGrid.box(schema.n_columns + 1, bound),
    )


def measured(
    build: Callable[[], Mechanism], problem: ZeroOneProblem, public: GridPublic, fits: int
) -> str:
    """Return seconds and errors, medians; as many fits as the time of a cell allows."""
    seconds: list[float] = []
    errors: list[int] = []
    for seed in range(fits):
        started = time.process_time()
        try:
            release = run_mechanism(
                build(), problem, public, entropy=SeededEntropy(seed), oracle="enumeration"
            )
        except Exception:
            return f"none in {SECONDS:g} s"
        seconds.append(time.process_time() - started)
        errors.append(problem.loss(release.hypothesis))
        if sum(seconds) > SECONDS:
            break
    return f"{statistics.median(seconds):.2f}, {statistics.median(errors):,.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=TASKS)
    parser.add_argument("--fits", type=int, default=5)
    parser.add_argument("--save", type=Path, help="result file to write")
    chosen = parser.parse_args()
    columns = ("task", "combinations", "epsilon", "lazy noise", "listed")
    rows = []
    limit = 1.5 * SECONDS
    print(f"| {' | '.join(columns)} |")
    print("|---" * len(columns) + "|")
    for place, name in enumerate(chosen.only):
        table, bound = name.split(":")
        problem = load(table, int(bound))
        size = problem.grid.n_assignments
        n_rows = int(problem.positives.sum() + problem.negatives.sum())

        def lazy() -> Mechanism:
            return AStarPermuteAndFlipMechanism(time_limit=limit)

        for epsilon in EPSILONS:
            public = GridPublic(
                params=PrivacyParams(epsilon=epsilon, delta=0.0),
                relation=NeighboringRelation.REPLACE_ONE,
                grid=problem.grid,
                n_rows=n_rows,
            )
            if place == 0 and epsilon == EPSILONS[0]:  # compile
                measured(lazy, problem, public, 1)
            listed = "-"
            if size <= ENUMERATION_LIMIT:
                listed = measured(PermuteAndFlipMechanism, problem, public, min(chosen.fits, 3))
            cells = (measured(lazy, problem, public, chosen.fits), listed)
            row = [name, f"{size:.2g}", f"{epsilon:g}", *cells]
            print(f"| {' | '.join(row)} |", flush=True)
            rows.append(row)
    save(chosen.save, columns, rows, align="l" * len(columns))


if __name__ == "__main__":
    main()
