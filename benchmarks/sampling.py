"""How soon the partition sampler draws its first exact sample, on every task of the README.

Medians over fresh samplers, compilation excluded. Where no sample was drawn within a cell's limit,
the table shows how far it came: the partition's cells, and by how many nats the envelope's sum
exceeds an annealed estimate of log Z. The tables are public; none of the draws is a release.

    OPDISC_DATA=... python benchmarks/sampling.py [--quick] [--only adult-wide:1 german:1]
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from opdisc import load_dataset, load_schema
from opdisc.data.encoding import encode
from oracles import WeightGrid, ZeroOneProblem
from oracles.arithmetic.random_bits import SeededEntropy
from oracles.problem.structure import ColumnGroup
from oracles.sampling.effort import sampling_reach
from oracles.sampling.options import SamplingDiagnostics, SamplingOptions
from oracles.sampling.rejection.annealing import AnnealedSum
from oracles.sampling.rejection.sampler import PartitionSampler

TABLES = {
    "adult-wide": "adult-balanced",
    "adult-wide31": "adult-balanced",
    "adult_binary": "adult-binary",
    "german": "german",
    "mammo": "mammo",
    "breastcancer": "breastcancer",
}
KINDS = {"thresholds": "nested", "categories": "exclusive", "binary": "free"}
# What the names of adult_binary's columns say: of each run at most one column is active.
BINARY_RUNS = (
    (2, 5),
    (6, 9),
    (10, 14),
    (15, 20),
    (21, 24),
    (25, 27),
    (28, 29),
    (30, 32),
    (33, 34),
)
EVERY = ("0.01", "0.05", "0.1", "0.25", "0.5", "1")
# (task, weight bound, epsilons, seconds allowed per epsilon)
PLAN = (
    ("adult-wide", 1, EVERY, 60),
    ("adult-wide31", 1, ("0.1", "1"), 240),
    ("mammo", 1, ("0.1", "1"), 20),
    ("breastcancer", 1, ("0.1", "1"), 60),
    ("german", 1, ("0.01", "0.05", "0.1"), 600),
    ("german", 1, ("1",), 60),
    ("adult_binary", 1, ("0.01", "0.1"), 60),
    ("adult-wide", 2, EVERY, 1500),
    ("adult-wide", 3, ("0.01", "0.05"), 600),
)
ACCURACY = {"0.01": 0.729, "0.05": 0.772, "0.1": 0.784, "0.25": 0.793, "0.5": 0.794, "1": 0.795}
N_ACCURACY = 600


class OutOfTime(Exception):
    """The time allowed is over."""


@dataclass(frozen=True)
class Task:
    """A problem and what is public about its columns."""

    problem: ZeroOneProblem
    structure: list[ColumnGroup]


def load(name: str, bound: int) -> Task:
    schema = load_schema(name)
    encoded = encode(load_dataset(TABLES[name]), schema)
    structure = [
        ColumnGroup(columns=attribute.indices, kind=KINDS[attribute.kind])
        for attribute in schema.attributes
    ]
    if name == "adult_binary":
        structure = [
            ColumnGroup(columns=tuple(range(a, b + 1)), kind="exclusive") for a, b in BINARY_RUNS
        ]
    problem = ZeroOneProblem(
        points=encoded.points.astype(int),
        positives=encoded.positives,
        negatives=encoded.negatives,
        grid=WeightGrid.box(schema.n_columns + 1, bound),
    )
    return Task(problem, structure)


def new_sampler(task: Task, beta: Fraction, deadline: float) -> PartitionSampler:
    def watch(_: SamplingDiagnostics) -> None:
        if time.perf_counter() > deadline:
            raise OutOfTime

    return PartitionSampler(task.problem, beta, task.structure, SamplingOptions(progress=watch))


def first_draws(task: Task, beta: Fraction, n_fits: int, seconds: float) -> str:
    """Time the first draw of fresh samplers until the fits or the time are used up."""
    deadline = time.perf_counter() + seconds
    wall, cpu = [], []
    sampler = None
    for seed in range(n_fits):
        started, used = time.perf_counter(), time.process_time()
        sampler = new_sampler(task, beta, deadline)
        try:
            sampler.draw(SeededEntropy(seed))
        except OutOfTime:
            break
        wall.append(time.perf_counter() - started)
        cpu.append(time.process_time() - used)
        if time.perf_counter() > deadline:
            break
    assert sampler is not None
    if wall:
        return (
            f"first {np.median(wall):6.2f} s (worst {max(wall):.2f}; processor "
            f"{np.median(cpu):.2f}) over {len(wall)} fits"
        )
    found = sampler.diagnostics
    gap = found.log_total - AnnealedSum(task.problem, float(beta)).estimate(60, 800)
    return (
        f"no draw in {seconds:.0f} s: gap {gap:.1f} nats, {found.cells:,} cells, "
        f"{found.steps:,} steps, {found.rounds:,} rounds"
    )


def accuracy(task: Task, epsilon: str, n_draws: int, seconds: float) -> str:
    """Mean training accuracy of independent exact draws, against the reference."""
    n_rows = int(task.problem.positives.sum() + task.problem.negatives.sum())
    sampler = new_sampler(task, Fraction(epsilon) / 2, time.perf_counter() + seconds)
    entropy, found = SeededEntropy(1), []
    try:
        while len(found) < n_draws:
            found.append(1 - task.problem.loss(sampler.draw(entropy)) / n_rows)
    except OutOfTime:
        pass
    off = np.mean(found) - ACCURACY[epsilon]
    error = np.std(found) / np.sqrt(len(found))
    return f"accuracy {np.mean(found):.4f} +- {error:.4f} ({len(found)} draws), off {off:+.4f}"


def main() -> None:
    """Print one line per task, weight bound and epsilon (replace-one: beta = epsilon / 2)."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="3 fits, a fifth of the time")
    parser.add_argument("--only", nargs="+", default=None, help="task:bound pairs")
    parser.add_argument("--epsilons", nargs="+", choices=EVERY, help="of those planned")
    parser.add_argument(
        "--seconds", type=float, default=None, help="per cell, instead of the plan"
    )
    parser.add_argument("--fits", type=int, default=20)
    parser.add_argument("--no-accuracy", action="store_true")
    arguments = parser.parse_args()
    chosen = arguments.epsilons or EVERY
    plan = [
        (name, bound, [e for e in epsilons if e in chosen], arguments.seconds or seconds)
        for name, bound, epsilons, seconds in PLAN
        if (arguments.only is None or f"{name}:{bound}" in arguments.only)
        and set(epsilons) & set(chosen)
    ]
    shrink = 0.2 if arguments.quick else 1.0
    n_fits = min(3, arguments.fits) if arguments.quick else arguments.fits
    most = sum(len(epsilons) * seconds for _, _, epsilons, seconds in plan) * shrink
    print(f"at most about {most / 60:.0f} min of draws, and the accuracies")
    for name, bound, epsilons, seconds in plan:
        task = load(name, bound)
        PartitionSampler(task.problem, Fraction(0), task.structure).draw(SeededEntropy(0))
        print(f"{name} {-bound}..{bound}: {task.problem.n_features} coordinates", flush=True)
        for epsilon in epsilons:
            beta = Fraction(epsilon) / 2
            reach = sampling_reach(task.problem.grid, task.structure, beta)
            line = first_draws(task, beta, n_fits, seconds * shrink)
            print(f"  epsilon {epsilon:<5} expected {reach.verdict:<7} {line}", flush=True)
            if name == "adult-wide" and bound == 1 and not arguments.no_accuracy:
                line = accuracy(task, epsilon, int(N_ACCURACY * shrink), 60 * shrink)
                print(f"                {line}", flush=True)


if __name__ == "__main__":
    main()
