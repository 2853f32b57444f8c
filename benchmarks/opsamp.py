"""OPSamp with hinge loss on the balanced census table, beside noisy SGD on the same problem.

Training accuracy (mean and standard error over the runs), number m of minimisations, bound on the
mean excess hinge loss per row, and seconds per run, for the proven constants and the published.

    OPDISC_DATA=... python benchmarks/opsamp.py --runs 5
"""

from __future__ import annotations

import argparse
import json
import math
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np

from opdisc.convex.public import ConvexPublic
from opdisc.convex.rows import Rows
from opdisc.convex.stochastic import BatchPlan, noisy_sgd
from opdisc.data.datasets.loading import load_dataset
from opdisc.data.datasets.schemas import load_schema
from opdisc.data.encoding import encode_features
from opdisc.data.label_encoding import encode_label_values
from opdisc.mechanisms.opsamp.mechanism import OPSampMechanism
from opdisc.mechanisms.opsamp.minimisers import DrawOptions
from opdisc.mechanisms.opsamp.run import run_opsamp
from opdisc.privacy.entropy import SystemEntropy
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from opdisc.privacy.public import PublicInputs
from oracles.convex.balls import L1Ball, L2Ball
from oracles.convex.classification_losses import HingeLoss
from oracles.convex.constants import RowBounds
from oracles.convex.polytopes import Box

EPSILONS = (0.1, 0.5, 1.0, 2.0, 5.0)


def census():
    table, schema = load_dataset("adult-balanced"), load_schema("adult-small")
    labels = encode_label_values(table[schema.target.column], schema)
    return encode_features(table, schema).astype(float), labels.astype(float)


def mechanisms(dimension, bounds):
    box, ball = Box.cube(dimension, 1.0), L1Ball(dimension=dimension, radius=2.0)
    common = {"loss": HingeLoss(), "bounds": bounds, "project": False}
    return {
        "OPSamp, box, uniform tilts": OPSampMechanism(domain=box, **common),
        "OPSamp, box, exponential tilts": OPSampMechanism(
            domain=box, tilts="exponential", **common
        ),
        "OPSamp, l1 ball lifted": OPSampMechanism(domain=ball, lift=True, **common),
        "OPSamp, box, published constants": OPSampMechanism(
            domain=box, stability="published", **common
        ),
    }


def summary(scores):
    return float(np.mean(scores)), float(np.std(scores, ddof=1) / math.sqrt(len(scores)))


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--epsilons", type=float, nargs="*", default=EPSILONS)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    X, y = census()
    n, d = X.shape
    bounds = RowBounds(l2=math.sqrt(d), linf=1.0)
    relation, records = NeighboringRelation.REPLACE_ONE, []
    options = DrawOptions(n_jobs=arguments.jobs, backend="loky")
    print(f"{'':<34}{'eps':>6}{'accuracy':>10}{'s.e.':>8}{'m':>8}{'bound/n':>9}{'seconds':>9}")
    for epsilon in arguments.epsilons:
        params = PrivacyParams(epsilon=epsilon, delta=1 / n**2)
        public = PublicInputs(params=params, relation=relation, public_row_guess=n, n_rows=n)
        for name, mechanism in mechanisms(d, bounds).items():
            spec, scores, started = mechanism.calibrate(public), [], time.perf_counter()
            for _ in range(arguments.runs):
                released = run_opsamp(
                    mechanism, X, y, public, entropy=SystemEntropy(), options=options
                ).parameters
                scores.append(float(np.mean(np.where(X @ released > 0, 1, -1) == y)))
            seconds = (time.perf_counter() - started) / arguments.runs
            records.append((name, epsilon, *summary(scores), spec.draws, spec.expected_error / n))
            print(_line(*records[-1], seconds), flush=True)
        scores, started = [], time.perf_counter()
        rows = Rows(X=X, y=y)
        convex = ConvexPublic(
            params=params,
            relation=relation,
            loss=HingeLoss(),
            bounds=bounds,
            domain=L2Ball(dimension=d, radius=2.0),
            dimension=d,
            n_rows=n,
        )
        for _ in range(arguments.runs):
            batches = BatchPlan(batch=512, steps=300)
            released = noisy_sgd(rows, convex, batches, entropy=SystemEntropy()).parameters
            scores.append(float(np.mean(np.where(X @ released > 0, 1, -1) == y)))
        seconds = (time.perf_counter() - started) / arguments.runs
        records.append(("noisy SGD, l2 ball", epsilon, *summary(scores), 300, math.nan))
        print(_line(*records[-1], seconds), flush=True)
    if arguments.out is not None:
        versions = {name: version(name) for name in ("opdisc", "numpy", "highspy")}
        record = {"n": n, "d": d, "runs": arguments.runs, "rows": records, "versions": versions}
        arguments.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def _line(name, epsilon, mean, error, draws, bound, seconds):
    return f"{name:<34}{epsilon:6g}{mean:10.4f}{error:8.4f}{draws:8d}{bound:9.3f}{seconds:9.1f}"


if __name__ == "__main__":
    main()
