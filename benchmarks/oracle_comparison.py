"""All installed oracles side by side on the same instances, in one run.

Every solve runs in a process of its own, so that peak memory is the solve's and a solver's crash
costs one cell. Tables are perturbed by one-sided exponentials per coordinate and value with mean
2 d / epsilon rows, rounded to multiples of 2**-10; epsilon 0 stands for no perturbation.

    python benchmarks/oracle_comparison.py                          a quick table
    python benchmarks/oracle_comparison.py --tasks wide --bounds 1 2 3 --epsilons 0.5 5 0 --seeds 3
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import resource
import statistics
import sys
import time
from pathlib import Path
from typing import Any

# This file has the package's name: its folder must not be searched before the package.
_HERE = Path(__file__).resolve().parent
sys.path[:] = [path for path in sys.path if Path(path).resolve() != _HERE]

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

import oracles  # noqa: E402
from oracles import Perturbation, SolveOptions, WeightGrid, ZeroOneProblem  # noqa: E402
from oracles.errors import OracleError  # noqa: E402

UNIT = 2.0**-10
TASKS = ("small", "16", "wide", "breast-cancer")
SCHEMAS = {"small": "adult-small", "wide": "adult-wide31"}


def encoded(task: str) -> tuple[Any, Any, Any]:
    """Return distinct points and their labels' counts."""
    if task == "breast-cancer":
        from sklearn.datasets import load_breast_cancer

        features, labels = load_breast_cancer(return_X_y=True)
        points = np.column_stack([np.ones(len(labels)), features > np.median(features, axis=0)])
        return aggregated(points, labels == 0)
    from opdisc.datasets import load_dataset, load_schema
    from opdisc.encoding import encode

    table = load_dataset("adult-balanced")
    if task in SCHEMAS:
        data = encode(table, load_schema(SCHEMAS[task]))
        return data.points.astype(np.int64), data.positives, data.negatives
    return sixteen_columns(table)


def aggregated(points: Any, positive: Any) -> tuple[Any, Any, Any]:
    """Merge equal rows."""
    distinct, inverse = np.unique(np.asarray(points, dtype=np.int64), axis=0, return_inverse=True)
    counts = np.zeros((2, len(distinct)), dtype=np.int64)
    np.add.at(counts, (np.asarray(positive, dtype=np.int64), inverse.ravel()), 1)
    return distinct, counts[1], counts[0]


def sixteen_columns(table: pd.DataFrame) -> tuple[Any, Any, Any]:
    """Return the census task with 15 yes/no columns and the intercept."""
    text = table.apply(lambda column: column.astype(str).str.strip())
    job, family, work = text["occupation"], text["marital-status"], text["workclass"]
    education, age = pd.to_numeric(text["education-num"]), pd.to_numeric(text["age"])
    columns = [
        family == "Married-civ-spouse",
        text["sex"] == "Male",
        education >= 13,
        age >= 37,
        pd.to_numeric(text["hours-per-week"]) > 40,
        pd.to_numeric(text["capital-gain"]) > 0,
        job.isin(["Exec-managerial", "Prof-specialty"]),
        education >= 10,
        education >= 14,
        family == "Never-married",
        job == "Exec-managerial",
        job.isin(["Other-service", "Handlers-cleaners", "Farming-fishing", "Priv-house-serv"]),
        pd.to_numeric(text["capital-loss"]) > 0,
        work.isin(["Self-emp-inc", "Self-emp-not-inc"]),
        age >= 50,
    ]
    points = np.column_stack([np.ones(len(table)), *columns])
    return aggregated(points, text["income-per-year"].str.startswith(">"))


def instance(data: tuple[Any, Any, Any], bound: int, epsilon: float, seed: int) -> ZeroOneProblem:
    """Return one instance."""
    points, positives, negatives = data
    d = points.shape[1]
    perturbation = None
    if epsilon > 0:
        drawn = np.random.default_rng([seed, 17]).exponential(2 * d / epsilon, (d, 2 * bound + 1))
        tables = np.rint(drawn / UNIT).astype(np.int64)
        perturbation = Perturbation.separable(list(tables), unit=UNIT)
    return ZeroOneProblem(
        points=points,
        positives=positives,
        negatives=negatives,
        grid=WeightGrid.box(d, bound),
        perturbation=perturbation,
    )


def solved(problem: ZeroOneProblem, name: str, seconds: float) -> dict[str, Any]:
    """Solve in this process; return what it took."""
    started = time.perf_counter()
    solution = oracles.solve(problem, name, SolveOptions(time_limit=seconds))
    certificate = solution.certificate
    return {
        "seconds": time.perf_counter() - started,
        "nodes": solution.stats.nodes,
        "proven": certificate.proves_optimal,
        "objective": float(certificate.primal_bound) * problem.unit,
        "gap": certificate.gap_in_rows,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def child(pipe: Any, problem: ZeroOneProblem, name: str, seconds: float) -> None:
    """Warm the oracle up, solve, and send the outcome."""
    try:
        tiny = ZeroOneProblem(
            points=np.ones((1, 1), dtype=np.int64),
            positives=np.array([1]),
            negatives=np.array([0]),
            grid=WeightGrid.box(1, 1),
        )
        oracles.solve(tiny, name)
        pipe.send(solved(problem, name, seconds))
    except OracleError as error:
        pipe.send({"error": type(error).__name__})


def measured(problem: ZeroOneProblem, name: str, seconds: float) -> dict[str, Any]:
    """Solve in a process of its own."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=child, args=(theirs, problem, name, seconds))
    process.start()
    theirs.close()
    try:
        outcome: dict[str, Any] = ours.recv()
    except EOFError:
        outcome = {"error": "crashed"}
    process.join()
    return outcome


def machine() -> dict[str, Any]:
    """Return versions and public facts of the machine."""
    versions = {name: oracles.oracle_versions(name) for name in oracles.available_oracles()}
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "architecture": platform.machine(),
        "cores": os.cpu_count(),
        "versions": versions,
    }


def cell(outcomes: list[dict[str, Any]]) -> str:
    """Summarise one oracle on one kind of instance."""
    done = [o for o in outcomes if "error" not in o]
    if not done:
        return str(outcomes[0]["error"])
    proven = sum(o["proven"] for o in done)
    seconds = statistics.median(o["seconds"] for o in done)
    nodes = statistics.median(o["nodes"] or 0 for o in done)
    memory = max(o["peak_mib"] for o in done)
    gap = max(o["gap"] for o in done)
    tail = "" if proven == len(outcomes) else f", gap {gap:.4g}"
    return (
        f"{seconds:.2f} s, {proven}/{len(outcomes)} proven{tail}, "
        f"{nodes:.0f} nodes, {memory:.0f} MiB"
    )


def markdown(rows: list[dict[str, Any]], names: list[str]) -> str:
    """Return the table."""
    lines = [
        "| task | weights | epsilon | " + " | ".join(names) + " |",
        "|---" * (3 + len(names)) + "|",
    ]
    for row in rows:
        cells = [cell(row["outcomes"][name]) for name in names]
        label = "none" if row["epsilon"] == 0 else f"{row['epsilon']:g}"
        lines.append(
            f"| {row['task']} | -{row['bound']}..{row['bound']} | {label} | "
            + " | ".join(cells)
            + " |"
        )
    return "\n".join(lines) + "\n"


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", nargs="+", default=["small", "16"], choices=TASKS)
    parser.add_argument("--bounds", nargs="+", type=int, default=[1])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0, 0.0])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--oracles", nargs="+", default=list(oracles.available_oracles()))
    parser.add_argument("--time-limit", type=float, default=30.0)
    parser.add_argument("--out", type=Path, default=Path("results/oracles"))
    return parser.parse_args()


def main() -> None:
    """Run, print and save."""
    chosen = options()
    rows = []
    for task in chosen.tasks:
        data = encoded(task)
        for bound in chosen.bounds:
            for epsilon in chosen.epsilons:
                outcomes: dict[str, list[dict[str, Any]]] = {n: [] for n in chosen.oracles}
                for seed in range(chosen.seeds):
                    problem = instance(data, bound, epsilon, seed)
                    for name in chosen.oracles:
                        outcomes[name].append(measured(problem, name, chosen.time_limit))
                row = {"task": task, "points": len(data[0]), "columns": data[0].shape[1]}
                rows.append(row | {"bound": bound, "epsilon": epsilon, "outcomes": outcomes})
                print(markdown(rows[-1:], chosen.oracles).splitlines()[-1], flush=True)
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    facts = machine() | {"time_limit": chosen.time_limit, "seeds": chosen.seeds}
    text = json.dumps({"machine": facts, "rows": rows}, indent=1)
    chosen.out.with_suffix(".json").write_text(text + "\n")
    about = "\n".join(f"- {key}: {value}" for key, value in facts.items())
    chosen.out.with_suffix(".md").write_text(markdown(rows, chosen.oracles) + "\n" + about + "\n")


if __name__ == "__main__":
    main()
