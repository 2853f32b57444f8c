"""Training accuracy of every noise on N19's grid: the comparison that motivates the defaults.

Seven binary columns of the balanced census table plus intercept, integer weights with
``|w|^2 <= 8`` (21,697 hypotheses; RSPM: weights -1..1), exact minimisation, ``delta = 1/n^2`` for
Gaussians. Prints mean and standard error over the draws beside the reference figures.

    OPDISC_DATA=... python benchmarks/noise_table.py --draws 200
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np

from opdisc.data.datasets.loading import load_dataset
from opdisc.data.datasets.schemas import load_schema
from opdisc.data.encoded_table import encode
from opdisc.mechanisms.objective_perturbation import (
    BlockOneHotMechanism,
    SphereMechanism,
    one_hot_mechanism,
)
from opdisc.mechanisms.permute_and_flip import PermuteAndFlipMechanism
from opdisc.mechanisms.separator import SeparatorMechanism
from opdisc.privacy.entropy import SystemEntropy
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from opdisc.privacy.public import GridPublic
from oracles import WeightGrid, ZeroOneProblem
from oracles.enumeration.listing import all_losses, all_perturbations
from oracles.problem.grid import squared_norms

EPSILONS = (0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0)
REFERENCE = {
    "full (permute-and-flip), pure": (0.757, 0.771, 0.782, 0.783, 0.783, 0.783, 0.783),
    "block one-hot, 2 blocks, pure": (0.730, 0.757, 0.774, 0.781, 0.783, 0.783, 0.783),
    "one-hot, 8 blocks, pure": (0.626, 0.688, 0.750, 0.766, 0.777, 0.782, 0.783),
    "sphere, l2-Laplace, pure": (0.588, 0.635, 0.716, 0.756, 0.772, 0.779, 0.782),
    "sphere, Gaussian, published 3.5": (0.568, 0.620, 0.684, 0.742, 0.768, 0.778, 0.781),
    "sphere, Gaussian, proven": (0.533, 0.567, 0.629, 0.692, 0.754, 0.769, 0.777),
    "RSPM Laplace, {-1,0,1}^8, pure": (0.587, 0.644, 0.715, 0.746, 0.772, 0.780, 0.782),
}
N19_GRID = WeightGrid.box(8, 2, norm_budget=8)
CASES = (
    (PermuteAndFlipMechanism(), N19_GRID),
    (BlockOneHotMechanism(blocks=((0, 1, 2, 3), (4, 5, 6, 7))), N19_GRID),
    (one_hot_mechanism(8), N19_GRID),
    (SphereMechanism(radius_squared=8), N19_GRID),
    (SphereMechanism(noise="gaussian-published-3.5", radius_squared=8), N19_GRID),
    (SphereMechanism(noise="gaussian", radius_squared=8), N19_GRID),
    (SeparatorMechanism(), WeightGrid.box(8, 1)),
)
GAUSSIAN = ("gaussian", "gaussian-published-3.5")


def accuracies(mechanism, problem, losses, allowed, n_rows, epsilon, draws):
    """Return the training accuracy of each draw, the losses being computed once."""
    delta = 1 / n_rows**2 if getattr(mechanism, "noise", "") in GAUSSIAN else 0.0
    public = GridPublic(
        params=PrivacyParams(epsilon=epsilon, delta=delta),
        relation=NeighboringRelation.REPLACE_ONE,
        grid=problem.grid,
        n_rows=n_rows,
    )
    spec = mechanism.calibrate(public)
    entropy = SystemEntropy()
    found = []
    for _ in range(draws):
        perturbed = mechanism.perturb(problem, spec, entropy)
        objectives = losses * perturbed.steps_per_row - all_perturbations(perturbed)
        best = allowed[np.argmin(objectives[allowed])]
        found.append(1 - losses[best] / n_rows)
    return np.array(found)


def main() -> None:
    """Run the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--out", type=Path, help="JSON file for the figures")
    arguments = parser.parse_args()
    encoded = encode(load_dataset("adult-balanced"), load_schema("adult-small"))
    rows, started = [], time.perf_counter()
    print(f"{'eps':<34}" + "".join(f"{e:>8}" for e in EPSILONS))
    for (name, reference), (mechanism, grid) in zip(REFERENCE.items(), CASES, strict=True):
        problem = ZeroOneProblem(
            points=encoded.points,
            positives=encoded.positives,
            negatives=encoded.negatives,
            grid=grid,
        )
        losses = all_losses(problem)
        budget = math.inf if grid.norm_budget is None else grid.norm_budget
        allowed = np.flatnonzero(squared_norms(grid) <= budget)
        means, errors = [], []
        for epsilon in EPSILONS:
            found = accuracies(
                mechanism, problem, losses, allowed, encoded.n_rows, epsilon, arguments.draws
            )
            means.append(float(found.mean()))
            errors.append(float(found.std(ddof=1) / math.sqrt(len(found))))
        # Both are averages of 200 draws; half a unit of the reference digits is added.
        off = [
            (m - r) / math.hypot(e, e, 0.0005)
            for m, r, e in zip(means, reference, errors, strict=True)
        ]
        rows.append({"name": name, "mean": means, "stderr": errors, "reference": reference})
        print(f"{name:<34}" + "".join(f"{m:8.3f}" for m in means))
        print(f"{'  reference':<34}" + "".join(f"{r:8.3f}" for r in reference))
        print(f"{'  difference in standard errors':<34}" + "".join(f"{z:8.1f}" for z in off))
    seconds = time.perf_counter() - started
    print(f"{arguments.draws} draws each, {seconds:.0f} s")
    if arguments.out is not None:
        versions = {name: version(name) for name in ("opdisc", "numpy", "scipy")}
        record = {"epsilons": EPSILONS, "draws": arguments.draws, "rows": rows}
        record |= {"versions": versions, "python": platform.python_version(), "seconds": seconds}
        arguments.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
