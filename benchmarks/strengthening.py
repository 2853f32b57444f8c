"""What order rows, block rows and a hypothesis to start from do for HiGHS.

    python benchmarks/strengthening.py                                small tasks, a few minutes
    python benchmarks/strengthening.py --tasks 16 wide --epsilons 1 none --time-limit 120
    python benchmarks/strengthening.py --tasks german mammo adult-binary --bounds 1 --starts warm

Processor seconds, nodes, bound and incumbent, for each encoding with and without a start from
local search; block rows ("blocks") need one. Measured like this: order rows close most of the
relaxation's gap at weights
-1..1 (16 columns without noise: 2,778 becomes 3,106; the best known hypothesis has 3,251) and pay
there; at weights -5..5 they make little difference. Tried and left out: replacing the big-M
rows by order-encoded partial scores that points share (layer upon layer of columns), whose
relaxation was weaker at weights -1..1 and whose programs were ten times larger beyond.
"""

from __future__ import annotations

import argparse
import itertools
import time

from opdisc.comparison.oracles.tasks import load_task, task_problem
from oracles import NoHypothesis, SolveOptions, get_oracle, solve


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", nargs="+", default=["small"])
    parser.add_argument("--bounds", nargs="+", type=int, default=[1, 3, 5])
    parser.add_argument("--epsilons", nargs="+", default=["0.5", "1", "none"])
    parser.add_argument("--starts", nargs="+", default=["cold", "warm"])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--time-limit", type=float, default=30.0)
    chosen = parser.parse_args()
    instances = itertools.product(
        chosen.tasks, chosen.bounds, chosen.epsilons, range(chosen.seeds)
    )
    for task, bound, epsilon, seed in instances:
        strength = None if epsilon == "none" else float(epsilon)
        problem = task_problem(load_task(task), bound, strength, seed)
        print(f"{task}, weights -{bound}..{bound}, epsilon {epsilon}, seed {seed}")
        encodings = ("aggregated", "ordered", "blocks")
        for encoding, start in itertools.product(encodings, chosen.starts):
            formulation = "ordered" if encoding == "blocks" else encoding
            rows, warm = encoding == "blocks", start == "warm"
            if rows and not warm:
                continue
            oracle = get_oracle("highs", formulation=formulation, warm_start=warm, block_rows=rows)
            before = time.process_time()
            label = f"  {encoding:<12}{start}"
            try:
                solution = solve(problem, oracle, SolveOptions(time_limit=chosen.time_limit))
            except NoHypothesis:
                print(f"{label}  nothing found", flush=True)
                continue
            used = time.process_time() - before
            certificate, nodes = solution.certificate, solution.stats.nodes
            best, bound = (
                float(amount) * problem.unit
                for amount in (certificate.primal_bound, certificate.dual_bound)
            )
            print(
                f"{label}  {used:8.2f} s  {nodes:6} nodes  {bound:,.1f} of {best:,.1f}, "
                f"gap {certificate.gap_in_rows:.6g}",
                flush=True,
            )


if __name__ == "__main__":
    main()
