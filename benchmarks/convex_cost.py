"""Processor time of the convex mechanisms beside a hand-written loop and diffprivlib.

Everything gets the census rows as arrays and runs in turns, so that load falls on all alike; the
figures are medians of processor time of the running thread, and their ratios.
"""

from __future__ import annotations

import json
import math
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from opdisc.convex.public import ConvexPublic
from opdisc.convex.rows import Rows
from opdisc.convex.stochastic import BatchPlan, Sampling, noisy_sgd, plan_noisy_sgd
from opdisc.estimators.linear import PrivateLogisticRegression
from opdisc.privacy.entropy import SystemEntropy
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from oracles.arithmetic.arrays import FloatArray
from oracles.convex.balls import L2Ball
from oracles.convex.classification_losses import LogisticLoss
from oracles.convex.constants import RowBounds

STEPS, BATCH, RADIUS, DELTA = 200, 784, 5.0, 1e-8

_PEER = """
import json, sys, time, warnings
import numpy as np
from diffprivlib.models import LogisticRegression
warnings.simplefilter("ignore")
table = np.load(sys.argv[1])
for line in sys.stdin:
    begun = time.thread_time()
    LogisticRegression(epsilon=1.0, data_norm=float(table["norm"])).fit(table["X"], table["y"])
    print(json.dumps(time.thread_time() - begun), flush=True)
"""


def numpy_loop(X: FloatArray, y: FloatArray, sampling: Sampling, noise: float) -> FloatArray:
    """Return what a short noisy SGD by hand gives: same batches, steps and average."""
    rng, (n, p) = np.random.default_rng(), X.shape
    parameters, total = np.zeros(p), np.zeros(p)
    for t in range(1, STEPS + 1):
        if sampling == "poisson":
            drawn = np.flatnonzero(rng.random(n) < BATCH / n)
        else:
            drawn = rng.choice(n, BATCH, replace=False)
        xb, yb = X[drawn], y[drawn]
        slopes = -yb / (1 + np.exp(yb * (xb @ parameters)))
        parameters = (
            parameters - 2 / math.sqrt(t) * (slopes @ xb + rng.normal(0, noise, p)) / BATCH
        )
        length = float(np.linalg.norm(parameters))
        parameters = parameters * (RADIUS / length) if length > RADIUS else parameters
        total += parameters if 2 * t > STEPS else 0.0
    return 2 * total / STEPS


def seconds(run: Callable[[], object]) -> float:
    begun = time.thread_time()
    run()
    return time.thread_time() - begun


def compare_cost(X: FloatArray, y: FloatArray, peer: Path | None, repeats: int) -> None:
    """Print processor times of each pair, and their ratio."""
    n, p = X.shape
    norm = math.sqrt((p - 1) / 4)
    print(f"small census task, n = {n:,}, {p} coordinates; milliseconds of processor time\n")
    print(f"{'':<58}{'ours':>8}{'other':>8}{'ratio':>8}")
    cases: tuple[tuple[NeighboringRelation, Sampling], ...] = (
        (NeighboringRelation.REPLACE_ONE, "poisson"),
        (NeighboringRelation.REPLACE_ONE, "fixed"),
        (NeighboringRelation.ADD_OR_REMOVE_ONE, "poisson"),
    )
    for relation, sampling in cases:
        exact = relation is NeighboringRelation.REPLACE_ONE
        public = ConvexPublic(
            params=PrivacyParams(epsilon=1.0, delta=DELTA),
            relation=relation,
            loss=LogisticLoss(),
            bounds=RowBounds(l2=math.sqrt(1 + norm**2), linf=1.0),
            dimension=p,
            domain=L2Ball(dimension=p, radius=RADIUS),
            n_rows=n if exact else None,
            public_row_guess=None if exact else n,
        )
        batches = BatchPlan(batch=BATCH, steps=STEPS, sampling=sampling)
        begun = time.thread_time()
        noise = plan_noisy_sgd(public, batches).scales[0]
        accountant = time.thread_time() - begun
        rows = Rows(X=X.copy(), y=y.copy())
        run = partial(noisy_sgd, rows, public, batches, entropy=SystemEntropy())
        by_hand = partial(numpy_loop, X, y, sampling, noise)
        pairs = [(seconds(run), seconds(by_hand)) for _ in range(repeats)]
        _line(f"noisy SGD, {sampling}, {relation.value} / numpy loop", pairs)
        print(f"    its accountant, once for a plan and process: {1e3 * accountant:.0f}")
    if peer is None:
        print("\ndiffprivlib: not measured; give --peer-python")
        return
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "table.npz"
        np.savez(table, X=X[:, 1:], y=y, norm=norm)
        run = [str(peer), "-c", _PEER, str(table)]
        with subprocess.Popen(
            run, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdin is not None and process.stdout is not None
            for mechanism in ("objective_perturbation", "output_perturbation"):
                for delta in (0.0, DELTA):
                    model = PrivateLogisticRegression(
                        delta=delta, mechanism=mechanism, data_norm=norm
                    )
                    fit, pairs = partial(model.fit, X[:, 1:], y), []
                    for _ in range(repeats):
                        mine = seconds(fit)
                        process.stdin.write("\n")
                        process.stdin.flush()
                        pairs.append((mine, json.loads(process.stdout.readline())))
                    _line(f"{mechanism}, delta {delta:g} / diffprivlib", pairs)
            process.stdin.close()


def _line(name: str, pairs: list[tuple[float, float]]) -> None:
    mine, theirs = 1e3 * np.median(np.array(pairs), axis=0)
    print(f"{name:<58}{mine:>8.1f}{theirs:>8.1f}{mine / theirs:>8.2f}", flush=True)
