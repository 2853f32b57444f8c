"""Seconds until a gap of one percent of the rows is proved on many plain columns with noise.

    OPDISC_DATA=... python benchmarks/allowance.py --seeds 3        adult_binary, epsilon 1

One draw of the one-hot and of RSPM's noise each; processor seconds until the oracle has a
hypothesis within the gap of its own bound. With ``--highs`` HiGHS tries the same. These are
instances, not releases: a release with such a gap must have it priced into its noise as the
mechanism's allowance.
"""

from __future__ import annotations

import argparse
import time

from opdisc.data import encode, load_dataset, load_schema
from opdisc.mechanisms import SeparatorMechanism, one_hot_mechanism
from opdisc.privacy import GridPublic, NeighboringRelation, PrivacyParams, SystemEntropy
from oracles import SolveOptions, WeightGrid, ZeroOneProblem, solve


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--part", type=float, default=0.01, help="gap, part of the rows")
    parser.add_argument("--seeds", type=int, default=1, help="draws of the noise")
    parser.add_argument("--time-limit", type=float, default=600.0)
    parser.add_argument("--highs", action="store_true")
    chosen = parser.parse_args()
    data = encode(load_dataset("adult-binary"), load_schema("adult_binary"))
    d = data.points.shape[1]
    problem = ZeroOneProblem(
        points=data.points,
        positives=data.positives,
        negatives=data.negatives,
        grid=WeightGrid.box(d, 1),
    )
    gap = chosen.part * data.n_rows
    public = GridPublic(
        params=PrivacyParams(epsilon=chosen.epsilon, delta=0.0),
        relation=NeighboringRelation.REPLACE_ONE,
        grid=problem.grid,
        n_rows=data.n_rows,
    )
    oracles = ["branch-and-bound"] + ["highs"] * chosen.highs
    for name, mechanism in (("one-hot", one_hot_mechanism(d)), ("RSPM", SeparatorMechanism())):
        spec = mechanism.calibrate(public)
        for _ in range(chosen.seeds):
            perturbed = mechanism.perturb(problem, spec, SystemEntropy())
            for oracle in oracles:
                options = SolveOptions(absolute_gap=gap, time_limit=chosen.time_limit)
                before = time.process_time()
                certificate = solve(perturbed, oracle, options).certificate
                seconds = time.process_time() - before
                print(
                    f"{name}, {oracle}: gap {certificate.gap_in_rows:.1f} of {gap:.1f} rows, "
                    f"{seconds:.1f} s of processor time",
                    flush=True,
                )


if __name__ == "__main__":
    main()
