"""Permute-and-flip by lazy noise beside listing and the exponential mechanism.

Processor seconds of one release and the training errors it makes, medians over fits; compilation
excluded. The tables are public; none of the draws is a release.

    OPDISC_DATA=... python benchmarks/permute_and_flip.py [--only adult-small:5 mammo:1] [--fits 5]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import sampling  # noqa: E402
from result_files import save  # noqa: E402

from opdisc.mechanisms.base import Mechanism
from opdisc.mechanisms.exponential import ExponentialMechanism
from opdisc.mechanisms.permute_and_flip import (
    AStarPermuteAndFlipMechanism,
    PermuteAndFlipMechanism,
)
from opdisc.mechanisms.run import run_mechanism
from opdisc.privacy.entropy import SeededEntropy  # noqa: E402
from opdisc.privacy.params import NeighboringRelation, PrivacyParams  # noqa: E402
from opdisc.privacy.public import GridPublic  # noqa: E402
from oracles.problem.grid import ENUMERATION_LIMIT  # noqa: E402

sampling.TABLES["adult-small"] = "adult-balanced"
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


def measured(
    build: Callable[[], Mechanism], task: sampling.Task, public: GridPublic, fits: int
) -> str:
    """Return seconds and errors, medians; as many fits as the time of a cell allows."""
    seconds: list[float] = []
    errors: list[int] = []
    for seed in range(fits):
        started = time.process_time()
        try:
            release = run_mechanism(
                build(), task.problem, public, entropy=SeededEntropy(seed), oracle="enumeration"
            )
        except Exception:
            return f"none in {SECONDS:g} s"
        seconds.append(time.process_time() - started)
        errors.append(task.problem.loss(release.hypothesis))
        if sum(seconds) > SECONDS:
            break
    return f"{statistics.median(seconds):.2f}, {statistics.median(errors):,.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=TASKS)
    parser.add_argument("--fits", type=int, default=5)
    parser.add_argument("--save", type=Path, help="result file to write")
    chosen = parser.parse_args()
    columns = ("task", "combinations", "epsilon", "lazy noise", "listed", "exponential mechanism")
    rows = []
    limit = 1.5 * SECONDS
    print(f"| {' | '.join(columns)} |")
    print("|---" * len(columns) + "|")
    for place, name in enumerate(chosen.only):
        table, bound = name.split(":")
        task = sampling.load(table, int(bound))
        size = task.problem.grid.n_assignments
        n_rows = int(task.problem.positives.sum() + task.problem.negatives.sum())

        def exponential(task: sampling.Task = task) -> Mechanism:
            return ExponentialMechanism(structure=tuple(task.structure), time_limit=limit)

        def lazy() -> Mechanism:
            return AStarPermuteAndFlipMechanism(time_limit=limit)

        for epsilon in EPSILONS:
            public = GridPublic(
                params=PrivacyParams(epsilon=epsilon, delta=0.0),
                relation=NeighboringRelation.REPLACE_ONE,
                grid=task.problem.grid,
                n_rows=n_rows,
            )
            if place == 0 and epsilon == EPSILONS[0]:  # compile
                measured(lazy, task, public, 1)
            listed = "-"
            if size <= ENUMERATION_LIMIT:
                listed = measured(PermuteAndFlipMechanism, task, public, min(chosen.fits, 3))
            cells = (
                measured(lazy, task, public, chosen.fits),
                listed,
                measured(exponential, task, public, chosen.fits),
            )
            row = [name, f"{size:.2g}", f"{epsilon:g}", *cells]
            print(f"| {' | '.join(row)} |", flush=True)
            rows.append(row)
    save(chosen.save, columns, rows, align="l" * len(columns))


if __name__ == "__main__":
    main()
