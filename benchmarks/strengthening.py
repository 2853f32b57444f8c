"""What rows between neighbouring points and a hypothesis to start from do for HiGHS.

    python benchmarks/strengthening.py                                small tasks, a few minutes
    python benchmarks/strengthening.py --tasks 16 wide --epsilons 1 none --time-limit 120

Processor seconds, nodes and what is left of the gap, for each encoding with and without a start
from local search. Measured like this: the rows close most of the relaxation's gap at weights
-1..1 (16 columns without noise: 2,778 becomes 3,106; the best known hypothesis has 3,251) and pay
there; at weights -5..5 they make little difference. Tried and left out: replacing the big-M
rows by order-encoded partial scores that points share (layer upon layer of columns), whose
relaxation was weaker at weights -1..1 and whose programs were ten times larger beyond.
"""

from __future__ import annotations

import argparse
import itertools
import time

from opdisc.comparison.oracles.tasks import TASKS, load_task, task_problem
from oracles import NoHypothesis, SolveOptions, get_oracle, solve


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", nargs="+", default=["small"], choices=TASKS)
    parser.add_argument("--bounds", nargs="+", type=int, default=[1, 3, 5])
    parser.add_argument("--epsilons", nargs="+", default=["0.5", "1", "none"])
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
        for formulation, warm in itertools.product(("aggregated", "ordered"), (False, True)):
            oracle = get_oracle("highs", formulation=formulation, warm_start=warm)
            before = time.process_time()
            label = f"  {formulation:<12}{'warm' if warm else 'cold'}"
            try:
                solution = solve(problem, oracle, SolveOptions(time_limit=chosen.time_limit))
            except NoHypothesis:
                print(f"{label}  nothing found", flush=True)
                continue
            used = time.process_time() - before
            gap, nodes = solution.certificate.gap_in_rows, solution.stats.nodes
            print(f"{label}  {used:8.2f} s  {nodes:6} nodes  gap {gap:.6g}", flush=True)


if __name__ == "__main__":
    main()
