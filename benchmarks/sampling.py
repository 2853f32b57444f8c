"""How soon the partition sampler draws its first exact sample, and how fast further ones follow.

The tables are public, so accuracies and diagnostics may be shown; none of them is a release.

    OPDISC_DATA=... python benchmarks/sampling.py --epsilons 0.1 1 --seconds 60
"""

from __future__ import annotations

import argparse
import time
from fractions import Fraction

import numpy as np

from opdisc import load_dataset, load_schema
from opdisc.encoding import encode
from opdisc.schema import Schema
from oracles import WeightGrid, ZeroOneProblem
from oracles.sampling import (
    ColumnGroup,
    PartitionSampler,
    SamplingDiagnostics,
    SamplingOptions,
    SeededEntropy,
)

TASKS = {
    "adult-wide": "adult-balanced",
    "adult-wide31": "adult-balanced",
    "adult_binary": "adult_binary",
    "german": "german",
    "mammo": "mammo",
    "breastcancer": "breastcancer",
}
KINDS = {"thresholds": "nested", "categories": "exclusive", "binary": "free"}


class OutOfTime(Exception):
    """The time allowed for one line is over."""


def structure_of(schema: Schema) -> list[ColumnGroup]:
    return [
        ColumnGroup(columns=attribute.indices, kind=KINDS[attribute.kind])
        for attribute in schema.attributes
    ]


def run(
    problem: ZeroOneProblem,
    structure: list[ColumnGroup],
    beta: Fraction,
    arguments: argparse.Namespace,
) -> str:
    started = time.perf_counter()

    def watch(_: SamplingDiagnostics) -> None:
        if time.perf_counter() - started > arguments.seconds:
            raise OutOfTime

    n_rows = int(problem.positives.sum() + problem.negatives.sum())
    options = SamplingOptions(progress=watch, n_blocks=arguments.blocks)
    sampler = PartitionSampler(problem, beta, structure, options)
    entropy = SeededEntropy(arguments.seed)
    accuracies: list[float] = []
    first = None
    try:
        while len(accuracies) < arguments.samples:
            accuracies.append(1 - problem.loss(sampler.draw(entropy)) / n_rows)
            first = first or time.perf_counter() - started
            watch(sampler.diagnostics)
    except OutOfTime:
        pass
    found = sampler.diagnostics
    line = f"rounds {found.rounds:>6} cells {found.cells:>6} log total {found.log_total:9.2f}"
    if first is None:
        return f"first -   after {arguments.seconds:.0f} s; {line}"
    further = (time.perf_counter() - started - first) / max(1, len(accuracies) - 1)
    return (
        f"first {first:6.2f} s, further {1000 * further:7.1f} ms, accuracy "
        f"{np.mean(accuracies):.4f} ({len(accuracies)} draws); {line}"
    )


def main() -> None:
    """Print one line per task and epsilon (replace-one: beta = epsilon / 2)."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument(
        "--epsilons", nargs="+", default=["0.01", "0.05", "0.1", "0.25", "0.5", "1"]
    )
    parser.add_argument("--weight-bound", type=int, default=1)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--blocks", type=int, default=None)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    for task in arguments.tasks:
        schema = load_schema(task)
        encoded = encode(load_dataset(TASKS[task]), schema)
        problem = ZeroOneProblem(
            points=encoded.points.astype(int),
            positives=encoded.positives,
            negatives=encoded.negatives,
            grid=WeightGrid.box(schema.n_columns + 1, arguments.weight_bound),
        )
        structure = structure_of(schema)
        PartitionSampler(problem, Fraction(0), structure).draw(SeededEntropy(0))  # compile
        print(f"{task}: {problem.n_features} coordinates, {encoded.n_rows} rows", flush=True)
        for epsilon in arguments.epsilons:
            line = run(problem, structure, Fraction(epsilon) / 2, arguments)
            print(f"  epsilon {epsilon:<5} {line}", flush=True)


if __name__ == "__main__":
    main()
