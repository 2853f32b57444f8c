"""What a worker process costs a solve: the same programs in this process and in a warm worker.

    python benchmarks/isolation.py
    python benchmarks/isolation.py --repeats 50 --solvers highs,pulp:HiGHS,pulp:CBC
    python benchmarks/isolation.py --save benchmarks/results/oracles/isolation.toml

The two take turns, so that whatever else the machine does meets both. Each solver has a process of
its own here, because some cannot be loaded beside each other. Without ``--solvers`` these are all
that can be run. A second for each, on an idle machine.
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import statistics
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import result_files

from oracles.interface import SolveOptions, available_oracles, get_oracle, oracle_versions
from oracles.milp import cp_sat, direct_oracle, highs, pulp_oracle
from oracles.milp.workers import Request
from oracles.milp.workers.loop import back_end_of
from oracles.problem import WeightGrid, ZeroOneProblem

OWN = ("enumeration", "branch-and-bound")
"""Those that need no worker."""

COLUMNS = (
    "oracle",
    "version",
    "start and first solve, s",
    "least without one, ms",
    "least in one, ms",
    "difference",
    "median difference",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Seconds of one solver.

    Parameters
    ----------
    start : float
        Of the first solve in a new worker.
    here, there : tuple of float
        Of each program, in this process and in the warm worker.
    """

    start: float
    here: tuple[float, ...]
    there: tuple[float, ...]


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
    for module in (highs, cp_sat, pulp_oracle, direct_oracle):
        module.solve_in_worker = note  # type: ignore[assignment]
    for problem in problems(repeats):
        oracle.solve(problem, SolveOptions())
    return found


def takes_programs(name: str) -> bool:
    """Return whether the solver takes any program without a licence of one's own."""
    limit = getattr(get_oracle(name), "size_limit", None)
    return limit is None or limit.admits(1, 1)


def cost(name: str, repeats: int) -> Cost:
    """Time one solver: in a process of its own, as it is loaded here."""
    from oracles.milp.workers import solve_in_worker

    asked, files = requests(name, repeats), name not in ("highs", "cp-sat")
    before = time.perf_counter()
    solve_in_worker(name, asked[0], with_files=files)
    start = time.perf_counter() - before
    solver = importlib.import_module(back_end_of(name))
    here, there = [], []
    for request in asked:
        before = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            solver.answer(replace(request, folder=folder), print)
        middle = time.perf_counter()
        solve_in_worker(name, request, with_files=files)
        here.append(middle - before)
        there.append(time.perf_counter() - middle)
    return Cost(start=start, here=tuple(here), there=tuple(there))


def row(name: str, found: Cost) -> tuple[str, ...]:
    """Return a solver's line: the least times, and the median of what each pair differs by."""
    here, there = (1000 * min(times) for times in (found.here, found.there))
    pairs = zip(found.here, found.there, strict=True)
    median = 1000 * statistics.median(second - first for first, second in pairs)
    versions = ", ".join(f"{module} {v}" for module, v in oracle_versions(name).items())
    return (
        f"`{name}`",
        versions,
        # PuLP is asked for its classes before, which starts the worker.
        "" if name.startswith("pulp:") else f"{found.start:.2f}",
        f"{here:.1f}",
        f"{there:.1f}",
        f"{there - here:+.1f}",
        f"{median:+.1f}",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--solvers", help="comma-separated; all that can be run, by default")
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--save", type=Path, metavar="FILE", help="write the table as TOML")
    options = parser.parse_args()
    names = [name for name in available_oracles() if name not in OWN and takes_programs(name)]
    if options.solvers is not None:
        names = options.solvers.split(",")
    rows = []
    for name in names:
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(max_workers=1, mp_context=spawn) as alone:
            rows.append(row(name, alone.submit(cost, name, options.repeats).result()))
        print("; ".join(rows[-1]), flush=True)
    result_files.save(options.save, COLUMNS, rows, align="ll" + "r" * 5)


if __name__ == "__main__":
    main()
