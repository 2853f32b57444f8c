"""Aggregated against per-row: the same problem, the same HiGHS, two encodings.

    python benchmarks/formulations.py [--weight-bound 1] [--time-limit 120] [--out results.json]

The balanced census table of Neel, Roth, Vietri and Wu (2019) with 7 binary columns and an
intercept: 15,682 rows, 128 distinct points. The per-row encoding is given a time limit, which then
counts as its time, so the ratio printed is a lower bound. Times include writing the program down.
Both runs share this process and its options; the aggregated one is repeated and its median taken.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
from pathlib import Path
from typing import Any

import numpy as np

from opdisc.datasets import load_dataset, load_schema
from opdisc.encoding import encode
from oracles import (
    NoHypothesis,
    Perturbation,
    SolveOptions,
    WeightGrid,
    ZeroOneProblem,
    get_oracle,
    oracle_versions,
    solve,
)

UNIT = 2.0**-10


def census_problem(weight_bound: int, scale: float, seed: int) -> ZeroOneProblem:
    """Return the problem; with a scale, every weight gets a reward of that mean, in rows."""
    table = encode(load_dataset("adult-balanced"), load_schema("adult-small"))
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


def timed(problem: ZeroOneProblem, formulation: str, options: SolveOptions) -> dict[str, Any]:
    oracle = get_oracle("highs", formulation=formulation)
    try:
        solution = solve(problem, oracle, options)
    except NoHypothesis:
        limit = options.time_limit
        return {"seconds": limit, "primal": None, "dual": None, "proved": False}
    certificate = solution.certificate
    return {
        "seconds": solution.stats.seconds,
        "primal": certificate.primal_bound * certificate.unit,
        "dual": certificate.dual_bound * certificate.unit,
        "proved": certificate.proves_optimal,
    }


def compare(problem: ZeroOneProblem, arguments: argparse.Namespace) -> dict[str, Any]:
    """Run both encodings and return every figure."""
    fast = [
        timed(problem, "aggregated", SolveOptions(seed=seed, threads=arguments.threads))
        for seed in range(arguments.repeats)
    ]
    slow = timed(
        problem,
        "per-row",
        SolveOptions(time_limit=arguments.time_limit, threads=arguments.threads),
    )
    median = statistics.median(run["seconds"] for run in fast)
    return {
        "rows": int(problem.positives.sum() + problem.negatives.sum()),
        "points": problem.n_points,
        "hypotheses": problem.grid.n_hypotheses,
        "aggregated": fast[0] | {"seconds": median, "proved": all(run["proved"] for run in fast)},
        "aggregated_seconds": [run["seconds"] for run in fast],
        "per-row": slow,
        "ratio": slow["seconds"] / median,
    }


def machine_facts() -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "versions": oracle_versions("highs") | {"numpy": np.__version__},
        "system": platform.system(),
        "architecture": platform.machine(),
        "cores": os.cpu_count(),
    }


def print_table(figures: dict[str, Any]) -> None:
    print(
        f"{figures['rows']:,} rows, {figures['points']} points, "
        f"{figures['hypotheses']:,} hypotheses"
    )
    print(f"{'formulation':12} {'seconds':>9} {'objective':>11} {'bound':>11}  proved")
    for name in ("aggregated", "per-row"):
        run = figures[name]
        primal, dual = (
            "-" if run[key] is None else f"{run[key]:,.2f}" for key in ("primal", "dual")
        )
        proved = "yes" if run["proved"] else "no"
        print(f"{name:12} {run['seconds']:9.3f} {primal:>11} {dual:>11}  {proved}")
    sign = "" if figures["per-row"]["proved"] else "at least "
    print(
        f"ratio: {sign}{figures['ratio']:,.0f}x (median of {len(figures['aggregated_seconds'])})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weight-bound", type=int, default=1, help="weights from -B to B")
    parser.add_argument("--scale", type=float, default=0.0, help="mean reward per weight, rows")
    parser.add_argument("--seed", type=int, default=0, help="seed of the rewards")
    parser.add_argument("--time-limit", type=float, default=120.0, help="for per-row, seconds")
    parser.add_argument("--repeats", type=int, default=7, help="aggregated runs, one seed each")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, help="write the figures as JSON")
    arguments = parser.parse_args()
    problem = census_problem(arguments.weight_bound, arguments.scale, arguments.seed)
    figures = compare(problem, arguments)
    print_table(figures)
    if arguments.out is not None:
        settings = {k: v for k, v in vars(arguments).items() if k != "out"}
        record = {"settings": settings, "machine": machine_facts()} | figures
        arguments.out.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
