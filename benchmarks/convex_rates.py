"""Log-log slopes of the excess in n and in epsilon, beside those of the papers' formulas.

A formula bounds the worst table. In the strongly convex setting every table shows its rate
(logistic loss, ridge 0.1). In the convex setting a fixed table does not: there the excess falls
like 1/(n eps)^2 as soon as the noise is small beside the gradient. So tables are tilted, as in
B14's lower bound: a linear loss (the straight part of the Huberised hinge) on a ball, with a mean
gradient of length s in a random direction, s = 1, 1/2, 1/4, ..., and the excess is that of the
worst tilt (the largest mean over three neighbouring s). The optimum is known exactly, and a method
whose answer does not depend on the table has slope 0.

In brackets beside a formula's slope, where it differs: that of the same formula with the exact
Gaussian noise of this library in place of sqrt(ln(1/delta)) / epsilon; for DP-SVRG, whose anchors
differ in noise, also without ln n; for sums of two terms, whose constants are not known, of the
noise's term alone. A slope within 3 standard errors of either, or between them, agrees.
"""

from __future__ import annotations

import contextlib
import functools
import math
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from convex_problems import DELTA, Method, Setting, facts, objective, optimum, quality, synthetic
from convex_regimes import REGIMES, P, Regime
from convex_settings import ENTROPY, SETTINGS

from opdisc.convex.public import ConvexPublic
from opdisc.convex.rows import Rows
from opdisc.convex.stochastic import BatchPlan, noisy_sgd
from opdisc.privacy.params import NeighboringRelation, PrivacyParams
from oracles.arithmetic.arrays import FloatArray
from oracles.convex.balls import L2Ball
from oracles.convex.classification_losses import HuberisedHingeLoss, LogisticLoss
from oracles.convex.constants import RowBounds

PLAIN = LogisticLoss()
RADIUS = 0.49
"""Radius on which the Huberised hinge is straight for rows of length 1."""


class _Silent:
    """A stream of zeros in place of normals."""

    def __init__(self, _entropy: object) -> None:
        pass

    def take(self, size: int) -> FloatArray:
        return np.zeros(size)


@contextlib.contextmanager
def without_noise() -> Iterator[None]:
    """Run the iterative methods with the same schedule and samples and no privacy noise."""
    names = ("stochastic", "svrg", "descent", "single_use")
    modules = [sys.modules[f"opdisc.convex.{name}"] for name in names]
    kept = [module.NormalStream for module in modules]
    for module in modules:
        module.NormalStream = _Silent  # type: ignore[attr-defined]
    try:
        yield
    finally:
        for module, stream in zip(modules, kept, strict=True):
            module.NormalStream = stream  # type: ignore[attr-defined]


def tilted_facts(n: int, epsilon: float) -> ConvexPublic:
    return ConvexPublic(
        params=PrivacyParams(epsilon=epsilon, delta=DELTA),
        relation=NeighboringRelation.REPLACE_ONE,
        loss=HuberisedHingeLoss(),
        bounds=RowBounds(l2=1.0),
        dimension=P,
        domain=L2Ball(dimension=P, radius=RADIUS),
        n_rows=n,
    )


def tilted(n: int, tilt: float, seed: int) -> tuple[Rows, FloatArray]:
    """Return unit rows whose mean is ``tilt`` times a random direction, and the direction."""
    axes = np.linalg.qr(np.random.default_rng(seed).normal(size=(P, P)))[0].T
    side = math.sqrt(1 - tilt**2)
    X = np.array([tilt * axes[0] + sign * side * axis for axis in axes[1:] for sign in (1, -1)])
    return Rows(X=X, y=np.ones(4), counts=np.full(4, n / 4)), axes[0]


@functools.cache
def _optimum(n: int, seed: int, ridge: float) -> float:
    return optimum(PLAIN, synthetic(n, P, seed), ridge)


def excess(
    setting: Setting, method: Method, regime: Regime, n: int, epsilon: float, repeats: int
) -> tuple[float, float]:
    """Return the mean excess at one point, and its standard error."""
    if setting.name == "convex":
        public, cells, errors = tilted_facts(n, epsilon), [], []
        for k in regime.tilts:
            found = []
            for seed in range(repeats):
                rows, direction = tilted(n, 2.0**-k, seed)
                parameters = method.run(rows, public)
                found.append(2.0**-k * (RADIUS - float(parameters @ direction)))
            cells.append(np.mean(found))
            errors.append(np.var(found, ddof=1) / repeats if repeats > 1 else 0.0)
        windows = np.convolve(cells, np.full(3, 1 / 3), mode="valid")
        worst = int(np.argmax(windows))
        return float(windows[worst]), math.sqrt(sum(errors[worst : worst + 3])) / 3
    public = facts(setting.loss, n, epsilon, P)
    found = []
    for seed in range(repeats):
        rows = synthetic(n, P, seed)
        parameters = method.run(rows, public)
        if setting.name == "not convex":
            found.append(quality(setting, method, rows, parameters))
        else:
            value = objective(PLAIN, rows, parameters, regime.ridge)
            found.append(value - _optimum(n, seed, regime.ridge))
    return float(np.mean(found)), float(np.std(found, ddof=1) / math.sqrt(repeats))


def slope(xs: Sequence[float], ys: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the least-squares slope of log means against log x, and its standard error."""
    logs = np.log(xs) - np.mean(np.log(xs))
    weights = logs / (logs @ logs)
    means, errors = np.array([y[0] for y in ys]), np.array([y[1] for y in ys])
    return float(weights @ np.log(means)), float(np.linalg.norm(weights * errors / means))


def _published(setting: Setting, method: Method, regime: Regime) -> Method:
    """B14's regime: n^2 steps of one row."""

    def run(rows: Rows, public: ConvexPublic) -> FloatArray:
        plan = BatchPlan(batch=1, steps=public.exact_rows**2, sampling="fixed")
        ridge = regime.ridge if setting.ridge > 0 else 0.0
        return noisy_sgd(
            rows, public, plan, ridge=ridge, noise="published", entropy=ENTROPY
        ).parameters

    return replace(method, run=run)


def _line(setting: Setting, method: Method, regime: Regime, scale: float) -> str:
    if "B14's noise" in method.name:
        method = _published(setting, method, regime)
    repeats = max(2, round(regime.repeats * scale))
    points: dict[tuple[int, float], tuple[float, float]] = {}
    last = (regime.sizes[-1], regime.budgets[-1])
    ns = [(n, last[1]) for n in regime.sizes]
    es = [(last[0], e) for e in regime.budgets]
    for point in dict.fromkeys([*ns, *es]):
        points[point] = excess(setting, method, regime, *point, repeats)
    alone = "-"
    if "perturbation" not in method.name and method.name not in EXACT:
        with without_noise():
            alone = f"{excess(setting, method, regime, *last, max(2, repeats // 4))[0]:.1e}"
    cells, verdicts = [], []
    for name, xs, line in (("n", regime.sizes, ns), ("eps", regime.budgets, es)):
        found, error = slope(xs, [points[q] for q in line])
        stated = [
            slope(xs, [(formula(*q), 0.0) for q in line])[0]
            for formula in (regime.formula, regime.stated)
        ]
        exact = f" ({stated[1]:.2f})" if abs(stated[1] - stated[0]) > 0.005 else ""
        cells.append(f"{found:.2f} ± {error:.2f} | {stated[0]:.2f}{exact}")
        if found > max(stated) + 3 * error:
            verdicts.append(f"flatter in {name}")
        elif found < min(stated) - 3 * error:
            verdicts.append(f"steeper in {name}")
    verdict = ", ".join(verdicts) or "agrees"
    ends = f"{points[last][0]:.1e} | {alone} | {verdict}"
    return f"| {method.name} | {method.rate} | {' | '.join(cells)} | {ends} |"


EXACT = ("approximate minima", "localization", "exponential sampling")


def rates(scale: float) -> None:
    """Print the table; ``scale`` multiplies the number of runs."""
    print(
        "| method | formula | in n | formula's | in eps | formula's | excess | without noise | |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for make in SETTINGS:
        setting = make()
        print(f"| **{setting.name}** | | | | | | | | |")
        for method in setting.methods:
            regime = REGIMES[setting.name].get(method.name)
            if regime is not None:
                begun = time.process_time()
                print(_line(setting, method, regime, scale), flush=True)
                spent = time.process_time() - begun
                print(f"{method.name}: {spent:.0f} s of processor time", file=sys.stderr)
