"""Where the exact search ends: N19's two mechanisms on 7, 30, 37 and 58 columns of one table.

    OPDISC_DATA=... python benchmarks/paper_columns.py --time-limit 300

The balanced census table, noise as published, one draw each; a line says how many rows the answer
may be from the best one when the search ended, and the processor seconds of the native search.
These are instances on a public table, not releases.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from result_files import save

from opdisc.data import encode, load_dataset, load_schema
from opdisc.mechanisms import PerturbingMechanism, SeparatorMechanism, SphereMechanism
from opdisc.privacy import GridPublic, NeighboringRelation, PrivacyParams, SystemEntropy
from oracles import SolveOptions, WeightGrid, ZeroOneProblem, solve

SCHEMAS = ("adult-n19", "adult-wide31", "adult-wide", "adult-n19-onehot")
PUBLISHED = "gaussian-published-3.5"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--schemas", nargs="+", default=SCHEMAS)
    parser.add_argument("--epsilons", nargs="+", type=float, default=(0.25, 1.0))
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--time-limit", type=float, default=300.0, help="seconds by the clock")
    parser.add_argument("--save", type=Path, help="result file to write")
    chosen = parser.parse_args()
    columns = ["columns", "mechanism", "eps", "seconds", "processor seconds", "gap, rows"]
    rows = []
    for name in chosen.schemas:
        for epsilon in chosen.epsilons:
            for mechanism, bound in (("OPDisc", 2), ("RSPM", 1)):
                for _ in range(chosen.draws):
                    found = search(name, mechanism, bound, epsilon, chosen.time_limit)
                    rows.append(found)
                    print(*found, sep=", ", flush=True)
    save(chosen.save, columns, rows, align="rlrrrr")


def search(
    name: str, kind: str, bound: int, epsilon: float, limit: float
) -> tuple[str, str, str, str, str, str]:
    """Perturb a census table and search it, for so many seconds at most."""
    data = encode(load_dataset("adult-balanced"), load_schema(name))
    d = data.points.shape[1]
    mechanism: PerturbingMechanism
    if kind == "OPDisc":
        grid = WeightGrid.box(d, bound, norm_budget=d)
        mechanism = SphereMechanism(noise=PUBLISHED, radius_squared=d)
    else:
        grid = WeightGrid.box(d, bound)
        mechanism = SeparatorMechanism(noise=PUBLISHED)
    problem = ZeroOneProblem(
        points=data.points, positives=data.positives, negatives=data.negatives, grid=grid
    )
    public = GridPublic(
        params=PrivacyParams(epsilon=epsilon, delta=float(data.n_rows) ** -2),
        relation=NeighboringRelation.REPLACE_ONE,
        grid=grid,
        n_rows=data.n_rows,
    )
    perturbed = mechanism.perturb(problem, mechanism.calibrate(public), SystemEntropy())
    started, before = time.perf_counter(), time.process_time()
    certificate = solve(perturbed, "branch-and-bound", SolveOptions(time_limit=limit)).certificate
    worked, passed = time.process_time() - before, time.perf_counter() - started
    gap = "proved" if certificate.proves_optimal else f"{certificate.gap_in_rows:,.0f}"
    return f"{d - 1}", kind, f"{epsilon:g}", f"{passed:.1f}", f"{worked:.1f}", gap


if __name__ == "__main__":
    main()
