"""What a worker process costs a solve: the same programs in this process and in a warm worker.

    python benchmarks/isolation.py
    python benchmarks/isolation.py --repeats 50 --solvers highs,pulp:HiGHS,pulp:CBC

The two take turns, so that whatever else the machine does meets both. CP-SAT cannot be loaded
beside HiGHS: time it by itself (``--solvers cp-sat``). The first line of each solver is the start
of its worker, once a process.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from oracles.interface import SolveOptions, get_oracle
from oracles.milp import cp_sat, highs, pulp_oracle
from oracles.milp.workers import Request
from oracles.problem import WeightGrid, ZeroOneProblem

BACK_ENDS = {"highs": "highs_solver", "cp-sat": "cp_sat_solver"}


def problems(repeats: int) -> list[ZeroOneProblem]:
    """Return small random problems of three columns, which solvers prove in milliseconds."""
    rng = np.random.default_rng(0)
    return [
        ZeroOneProblem(
            points=rng.integers(0, 2, (8, 3)),
            positives=rng.integers(0, 9, 8),
            negatives=rng.integers(0, 9, 8),
            grid=WeightGrid.box(3, 1),
        )
        for _ in range(repeats)
    ]


def requests(name: str, repeats: int) -> list[Request]:
    """Return what the oracle of that name asks its worker."""
    found: list[Request] = []

    def note(name: str, request: Request, **_: object) -> None:
        found.append(request)

    oracle = get_oracle(name)
    for module in (highs, cp_sat, pulp_oracle):
        module.solve_in_worker = note  # type: ignore[assignment]
    for problem in problems(repeats):
        oracle.solve(problem, SolveOptions())
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--solvers", default="highs,pulp:HiGHS,pulp:CBC")
    parser.add_argument("--repeats", type=int, default=40)
    options = parser.parse_args()
    from oracles.milp.workers import solve_in_worker

    print("solver: start of the worker; medians of a solve here, in the worker, difference; least")
    for name in options.solvers.split(","):
        asked = requests(name, options.repeats)
        before = time.perf_counter()
        files = name.startswith("pulp:")
        solve_in_worker(name, asked[0], with_files=files)
        start = time.perf_counter() - before
        back_end = importlib.import_module(
            f"oracles.milp.workers.{BACK_ENDS.get(name, 'pulp_solver')}"
        )
        here, there = [], []
        for request in asked:
            before = time.perf_counter()
            with tempfile.TemporaryDirectory() as folder:
                back_end.answer(replace(request, folder=folder), print)
            middle = time.perf_counter()
            solve_in_worker(name, request, with_files=files)
            here.append(middle - before)
            there.append(time.perf_counter() - middle)
        print(f"{name}: {start:.2f} s; {shown(statistics.median, here, there)}", end="; ")
        print(f"at least {shown(min, here, there)}")


def shown(summary: Callable[[list[float]], float], here: list[float], there: list[float]) -> str:
    inside, outside = 1000 * summary(here), 1000 * summary(there)
    return f"{inside:.1f} ms, {outside:.1f} ms, {outside - inside:+.1f} ms"


if __name__ == "__main__":
    main()
