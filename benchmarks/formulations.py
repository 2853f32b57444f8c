"""Per row against aggregated: the same problem, the same HiGHS, other encodings; and more rows.

    python benchmarks/formulations.py                      n = 1,000 and 15,682; some minutes
    python benchmarks/formulations.py --rows 1000 --weight-bound 2 --scale 16 --out results.json

The balanced census table of Neel, Roth, Vietri and Wu (2019) with 7 binary columns and an
intercept: 15,682 rows, at most 128 distinct points; fewer rows are drawn from it. The per-row
encoding is given a time limit, which then counts as its time, so that its ratio is a lower bound.
Times include writing the program down. All runs share this process and its options; the fast ones
are repeated with other solver seeds and their median is taken. At last the counts of every point
are multiplied by ten: the cost should not grow with the rows.
"""

from __future__ import annotations

import argparse
import functools
import json
import statistics
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from opdisc.data.datasets.loading import load_dataset
from opdisc.data.datasets.schemas import load_schema
from opdisc.data.encoded_table import encode
from oracles import (
    NoHypothesis,
    Oracle,
    Perturbation,
    SolveOptions,
    WeightGrid,
    ZeroOneProblem,
    get_oracle,
    oracle_versions,
    solve,
)
from oracles.benchmarking.measurement import machine_facts

UNIT = 2.0**-10
SLOW = "per-row"
FAST = {
    "branch-and-bound": functools.partial(get_oracle, "branch-and-bound"),
    "aggregated": functools.partial(
        get_oracle, "highs", formulation="aggregated", warm_start=False
    ),
    "ordered, warm start": functools.partial(get_oracle, "highs", block_rows=False),
}
"""The native search; HiGHS on one binary per point; HiGHS as the oracle "highs" runs it."""


def census_problem(n_rows: int, weight_bound: int, scale: float, seed: int) -> ZeroOneProblem:
    """Return the problem; with a scale, every weight gets a reward of that mean, in rows."""
    rows = load_dataset("adult-balanced")
    if n_rows < len(rows):
        rows = rows.sample(n_rows, random_state=0)
    table = encode(rows, load_schema("adult-small"))
    grid = WeightGrid.box(table.points.shape[1], weight_bound)
    perturbation = None
    if scale > 0:
        rng = np.random.default_rng(seed)
        tables = [
            rng.geometric(-np.expm1(-UNIT / scale), size=len(allowed)) - 1
            for allowed in grid.values
        ]
        perturbation = Perturbation.separable(tables, unit=UNIT)
    return ZeroOneProblem(
        points=table.points,
        positives=table.positives,
        negatives=table.negatives,
        grid=grid,
        perturbation=perturbation,
    )


def timed(problem: ZeroOneProblem, oracle: Oracle, options: SolveOptions) -> dict[str, Any]:
    """Solve once; wall and processor seconds, bounds in rows."""
    before = time.process_time()
    try:
        solution = solve(problem, oracle, options)
    except NoHypothesis:
        found = {"seconds": options.time_limit, "primal": None, "dual": None, "proved": False}
    else:
        certificate = solution.certificate
        found = {
            "seconds": solution.stats.seconds,
            "primal": certificate.primal_bound * certificate.unit,
            "dual": certificate.dual_bound * certificate.unit,
            "proved": certificate.proves_optimal,
        }
    return found | {"processor_seconds": time.process_time() - before}


def median_of(
    problem: ZeroOneProblem, oracle: Oracle, options: SolveOptions, repeats: int
) -> dict[str, Any]:
    """Solve with several solver seeds, the first time for nothing; medians of the times."""
    timed(problem, oracle, options)
    runs = [timed(problem, oracle, replace(options, seed=seed)) for seed in range(repeats)]
    medians = {
        key: statistics.median(run[key] for run in runs)
        for key in ("seconds", "processor_seconds")
    }
    return runs[0] | medians | {"proved": all(run["proved"] for run in runs)}


def compare(problem: ZeroOneProblem, arguments: argparse.Namespace) -> dict[str, Any]:
    """Run every encoding and return every figure."""
    options = SolveOptions(threads=arguments.threads)
    runs = {
        name: median_of(problem, make(), options, arguments.repeats) for name, make in FAST.items()
    }
    limited = replace(options, time_limit=arguments.time_limit)
    runs[SLOW] = timed(problem, get_oracle("highs", formulation=SLOW), limited)
    return {
        "rows": int(problem.positives.sum() + problem.negatives.sum()),
        "points": problem.n_points,
        "hypotheses": problem.grid.n_hypotheses,
        "runs": runs,
        "ratios": {name: runs[SLOW]["seconds"] / runs[name]["seconds"] for name in FAST},
    }


def growth(problem: ZeroOneProblem, arguments: argparse.Namespace) -> dict[str, float]:
    """Return by how much ten times the rows with the same points lengthen each solve."""
    options = SolveOptions(threads=arguments.threads)
    many = replace(problem, positives=10 * problem.positives, negatives=10 * problem.negatives)
    found = {}
    for name, make in FAST.items():
        few_and_many = (
            median_of(p, make(), options, arguments.repeats)["processor_seconds"]
            for p in (problem, many)
        )
        few, more = few_and_many
        found[name] = more / few
    return found


def print_table(figures: dict[str, Any]) -> None:
    print(
        f"{figures['rows']:,} rows, {figures['points']} points, "
        f"{figures['hypotheses']:,} hypotheses"
    )
    print(f"{'encoding':20} {'seconds':>9} {'objective':>11} {'bound':>11}  proved  per-row takes")
    sign = "" if figures["runs"][SLOW]["proved"] else "at least "
    for name, run in figures["runs"].items():
        primal, dual = (
            "-" if run[key] is None else f"{run[key]:,.2f}" for key in ("primal", "dual")
        )
        proved = "yes" if run["proved"] else "no"
        ratio = f"{sign}{figures['ratios'][name]:,.0f}x" if name in figures["ratios"] else ""
        print(f"{name:20} {run['seconds']:9.4f} {primal:>11} {dual:>11}  {proved:7} {ratio}")
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 15682])
    parser.add_argument("--weight-bound", type=int, default=1, help="weights from -B to B")
    parser.add_argument("--scale", type=float, default=0.0, help="mean reward per weight, rows")
    parser.add_argument("--seed", type=int, default=0, help="seed of the rewards")
    parser.add_argument("--time-limit", type=float, default=120.0, help="for per-row, seconds")
    parser.add_argument("--repeats", type=int, default=7, help="fast runs, one seed each")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    arguments = parser.parse_args()
    sizes = []
    for n_rows in arguments.rows:
        problem = census_problem(n_rows, arguments.weight_bound, arguments.scale, arguments.seed)
        sizes.append(compare(problem, arguments))
        print_table(sizes[-1])
    longer = growth(problem, arguments)
    print("ten times the rows, the same points, processor time:")
    for name, ratio in longer.items():
        print(f"{name:20} {ratio:.2f}x")
    if arguments.out is not None:
        settings = {k: v for k, v in vars(arguments).items() if k != "out"}
        versions = {name: oracle_versions(name) for name in ("highs", "branch-and-bound")}
        record = {"settings": settings, "machine": machine_facts(), "versions": versions}
        record |= {"sizes": sizes, "ten_times_the_rows": longer}
        arguments.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
