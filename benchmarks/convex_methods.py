"""The methods of Bassily et al. (Table 1) and Wang et al. (Tables 1 to 3) on the same data.

Three settings, one synthetic table each: strongly convex (logistic loss and a ridge), convex
(logistic loss on a ball), not convex (sigmoid loss on a ball). For each method the mean excess of
the mean objective, and how often it evaluated the loss or its derivative for one row, counted
while it ran. Rates are the papers', up to constants and logarithms; "-" where they have none.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from opdisc.convex import (
    BatchPlan,
    ConvexPublic,
    Rows,
    accelerated_mirror_descent,
    approximate_minima,
    exponential_sampling,
    gradient_descent,
    localization,
    mirror_descent,
    noisy_sgd,
    objective_perturbation,
    output_perturbation,
    svrg,
)
from opdisc.convex.stochastic import gradient_error, plan_batches
from opdisc.convex.svrg import plan_epochs
from opdisc.domains import L2Ball
from opdisc.errors import CalibrationError
from opdisc.losses import HuberisedHingeLoss, LinearLoss, LogisticLoss, RowBounds, SigmoidLoss
from opdisc.noise import SystemEntropy
from opdisc.privacy import NeighboringRelation, PrivacyParams

FloatArray = NDArray[np.float64]
Run = Callable[[Rows, ConvexPublic], FloatArray]

NU = 0.1
"""Strong convexity of the mean objective in the strongly convex setting."""
RADIUS, DELTA = 3.0, 1e-6
ENTROPY = SystemEntropy()


class Counts:
    """Rows for which a derivative, or a value, was evaluated."""

    derivatives = 0
    values = 0


class _Counted:
    """Counts what a loss is asked for; mixed in before a loss."""

    def of_scores(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        Counts.values += len(scores)
        return super().of_scores(scores, y)  # type: ignore[misc]

    def slopes(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        Counts.derivatives += len(scores)
        return super().slopes(scores, y)  # type: ignore[misc]

    def curvatures(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        Counts.derivatives += len(scores)
        return super().curvatures(scores, y)  # type: ignore[misc]


class CountedLogistic(_Counted, LogisticLoss):
    """Logistic loss that counts."""


class CountedSigmoid(_Counted, SigmoidLoss):
    """Sigmoid loss that counts."""


class CountedHuber(_Counted, HuberisedHingeLoss):
    """Huberised hinge that counts."""


@dataclass(frozen=True)
class Method:
    """A line of a table: what runs, and what the paper says."""

    name: str
    run: Run
    rate: str
    source: str
    pure: bool = False


@dataclass(frozen=True)
class Setting:
    """A table of a paper: loss, regularisation, what is measured, methods."""

    name: str
    loss: LinearLoss
    ridge: float
    measure: str
    methods: tuple[Method, ...]


def facts(loss: LinearLoss, n: int, epsilon: float, p: int) -> ConvexPublic:
    return ConvexPublic(
        params=PrivacyParams(epsilon=epsilon, delta=DELTA),
        relation=NeighboringRelation.REPLACE_ONE,
        loss=loss,
        bounds=RowBounds(l2=1.0),
        dimension=p,
        domain=L2Ball(dimension=p, radius=RADIUS),
        n_rows=n,
    )


def synthetic(n: int, p: int, seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    chance = 1 / (1 + np.exp(-3 * X[:, 0]))
    return Rows(X=X, y=np.where(rng.random(n) < chance, 1.0, -1.0))


def _single(n: int) -> BatchPlan:
    return BatchPlan(batch=1, steps=2 * n, sampling="fixed")


def _sgd(rows: Rows, public: ConvexPublic, ridge: float = 0.0) -> FloatArray:
    plan = plan_batches(public, ridge=ridge, sampling="fixed")
    return noisy_sgd(rows, public, plan, ridge=ridge, entropy=ENTROPY).theta


def _svrg(rows: Rows, public: ConvexPublic, ridge: float = 0.0) -> FloatArray:
    plan = plan_epochs(public, ridge=ridge, sampling="fixed")
    return svrg(rows, public, plan, ridge=ridge, entropy=ENTROPY).theta


def _descent(rows: Rows, public: ConvexPublic) -> FloatArray:
    """W17 takes T of the order of ln(n) in units of the condition number."""
    condition = (public.constants.smoothness_l2 + NU) / NU
    steps = math.ceil(2 * condition * math.log(public.exact_rows))
    return gradient_descent(rows, public, steps=steps, ridge=NU, entropy=ENTROPY).theta


def _accelerated(rows: Rows, public: ConvexPublic) -> FloatArray:
    """W17 takes T of the order of sqrt(n eps): beta D^2 / T^2 against the noise."""
    travel = public.constants.smoothness_l2 * public.require_domain("AccMD").diameter_l2
    steps = math.ceil(4 * math.sqrt(travel / gradient_error(public)))
    return accelerated_mirror_descent(rows, public, steps=steps, entropy=ENTROPY).theta


def _random_iterate(rows: Rows, public: ConvexPublic) -> FloatArray:
    """W17 takes T of the order of n eps / sqrt(p ln(1/delta))."""
    budget = public.params
    ratio = math.sqrt(public.dimension * math.log(1 / budget.delta))
    steps = math.ceil(0.1 * public.exact_rows * budget.epsilon / ratio)
    return gradient_descent(rows, public, steps=steps, iterate="random", entropy=ENTROPY).theta


def strongly_convex() -> Setting:
    def ridge(r: Rows) -> float:
        return NU * len(r.y)

    return Setting(
        name="strongly convex",
        loss=CountedLogistic(),
        ridge=NU,
        measure="excess of the mean objective",
        methods=(
            Method(
                "output perturbation, pure",
                lambda r, q: (
                    output_perturbation(r, q, ridge=ridge(r), noise="pure", entropy=ENTROPY).theta
                ),
                "p^2 / (n eps)^2",
                "C11; B14 Alg. 3",
                pure=True,
            ),
            Method(
                "objective perturbation, pure",
                lambda r, q: (
                    objective_perturbation(
                        r, q, ridge=ridge(r), noise="pure", entropy=ENTROPY
                    ).theta
                ),
                "p^2 / (n eps)^2",
                "C11",
                pure=True,
            ),
            Method(
                "localization",
                lambda r, q: localization(r, q, ridge=ridge(r), entropy=ENTROPY).theta,
                "p^2 / (n eps)^2",
                "B14 Table 1",
                pure=True,
            ),
            Method(
                "objective perturbation, Gaussian",
                lambda r, q: (
                    objective_perturbation(
                        r, q, ridge=ridge(r), noise="gaussian", entropy=ENTROPY
                    ).theta
                ),
                "p ln(1/d) / (n eps)^2",
                "K12; W17 Table 1",
            ),
            Method(
                "approximate minima",
                lambda r, q: approximate_minima(r, q, ridge=ridge(r), entropy=ENTROPY).theta,
                "p ln(1/d) / (n eps)^2",
                "AMP",
            ),
            Method(
                "noisy SGD",
                lambda r, q: _sgd(r, q, NU),
                "p ln^2(n/d) / (n eps)^2",
                "B14 Table 1; W17 Table 1",
            ),
            Method(
                "noisy SGD, B14's noise (void)",
                lambda r, q: (
                    noisy_sgd(
                        r, q, _single(len(r.y)), ridge=NU, noise="published", entropy=ENTROPY
                    ).theta
                ),
                "p ln^2(n/d) / (n eps)^2 at T = n^2",
                "B14 Table 1",
            ),
            Method(
                "DP-SVRG",
                lambda r, q: _svrg(r, q, NU),
                "p ln(n) ln(1/d) / (n eps)^2",
                "W17 Table 1",
            ),
            Method(
                "DP-GD, last iterate (PL)",
                _descent,
                "p ln(n) ln(1/d) / (n eps)^2",
                "W17 Table 3",
            ),
        ),
    )


def convex() -> Setting:
    return Setting(
        name="convex",
        loss=CountedLogistic(),
        ridge=0.0,
        measure="excess of the mean objective",
        methods=(
            Method(
                "exponential sampling",
                lambda r, q: exponential_sampling(r, q, entropy=ENTROPY).theta,
                "p / (n eps)",
                "B14 Table 1",
                pure=True,
            ),
            Method(
                "objective perturbation, pure",
                lambda r, q: objective_perturbation(r, q, noise="pure", entropy=ENTROPY).theta,
                "p / (n eps)",
                "C11",
                pure=True,
            ),
            Method(
                "objective perturbation, Gaussian",
                lambda r, q: objective_perturbation(r, q, noise="gaussian", entropy=ENTROPY).theta,
                "sqrt(p ln(1/d)) / (n eps)",
                "K12; W17 Table 2",
            ),
            Method(
                "noisy SGD",
                _sgd,
                "sqrt(p) ln^1.5(n/d) / (n eps)",
                "B14 Table 1; W17 Table 2",
            ),
            Method(
                "noisy SGD, B14's noise (void)",
                lambda r, q: (
                    noisy_sgd(r, q, _single(len(r.y)), noise="published", entropy=ENTROPY).theta
                ),
                "sqrt(p) ln^1.5(n/d) / (n eps) at T = n^2",
                "B14 Table 1",
            ),
            Method(
                "DP-SVRG++",
                _svrg,
                "sqrt(p ln(1/d)) / (n eps)",
                "W17 Table 2",
            ),
            Method(
                "DP-AccMD",
                _accelerated,
                "sqrt(p ln(1/d)) / (n eps)",
                "W17 Table 2",
            ),
            Method(
                "DP-GD",
                lambda r, q: gradient_descent(r, q, steps=40, entropy=ENTROPY).theta,
                "-",
                "-",
            ),
            Method(
                "single-use mirror descent",
                lambda r, q: mirror_descent(r, q, batch=1, entropy=ENTROPY).theta,
                "1/sqrt(n) + sqrt(p ln(1/d)) / (sqrt(n) eps)",
                "A20",
            ),
            Method(
                "single-use batches",
                lambda r, q: mirror_descent(r, q, entropy=ENTROPY).theta,
                "(p ln(1/d) / (n eps)^2)^(1/3) + 1/sqrt(n)",
                "ours",
            ),
            Method(
                "Huberised SVM (its own loss)",
                # As huberised_svm does, with a loss that counts.
                lambda r, q: (
                    objective_perturbation(
                        r, replace(q, loss=CountedHuber()), noise="pure", entropy=ENTROPY
                    ).theta
                ),
                "-",
                "B14 App. A, a lower bound",
                pure=True,
            ),
        ),
    )


def not_convex() -> Setting:
    return Setting(
        name="not convex",
        loss=CountedSigmoid(),
        ridge=0.0,
        measure="squared length of the gradient map",
        methods=(
            Method(
                "DP-GD, random iterate",
                _random_iterate,
                "sqrt(p ln(1/d)) / (n eps)",
                "W17 Table 3",
            ),
            Method(
                "DP-GD, last iterate",
                lambda r, q: gradient_descent(r, q, steps=60, entropy=ENTROPY).theta,
                "-",
                "-",
            ),
            Method(
                "noisy SGD",
                _sgd,
                "-",
                "-",
            ),
        ),
    )


SETTINGS = (strongly_convex, convex, not_convex)


def objective(loss: LinearLoss, rows: Rows, theta: FloatArray, ridge: float) -> float:
    return rows.sum_value(loss, theta) / len(rows.y) + 0.5 * ridge * float(theta @ theta)


def optimum(loss: LinearLoss, rows: Rows, ridge: float) -> float:
    """Minimum over the ball, by a general solver."""
    return float(
        optimize.minimize(
            lambda t: objective(loss, rows, t, ridge),
            np.full(rows.X.shape[1], 0.1),
            constraints={"type": "ineq", "fun": lambda t: RADIUS**2 - t @ t},
            options={"ftol": 1e-14, "maxiter": 500},
        ).fun
    )


def quality(setting: Setting, method: Method, rows: Rows, theta: FloatArray) -> float:
    p = rows.X.shape[1]
    if setting.name == "not convex":
        loss, ball = SigmoidLoss(), L2Ball(dimension=p, radius=RADIUS)
        slope = rows.sum_gradient(loss, theta) / len(rows.y)
        beta = loss.curvature_bound()
        return float((beta * np.linalg.norm(theta - ball.project(theta - slope / beta))) ** 2)
    loss = HuberisedHingeLoss() if "Huberised" in method.name else LogisticLoss()
    found = objective(loss, rows, theta, setting.ridge)
    return found - optimum(loss, rows, setting.ridge)


def measure(
    setting: Setting, method: Method, n: int, epsilon: float, p: int, repeats: int
) -> dict[str, float]:
    """Mean quality and mean row evaluations over tables and noise; NaN where it is refused."""
    public, found = facts(setting.loss, n, epsilon, p), []
    Counts.derivatives = Counts.values = 0
    for seed in range(repeats):
        rows = synthetic(n, p, seed)
        try:
            theta = method.run(rows, public)
        except CalibrationError:
            return {"mean": math.nan, "error": math.nan, "derivatives": math.nan, "values": 0.0}
        found.append(quality(setting, method, rows, theta))
    return {
        "mean": float(np.mean(found)),
        "error": float(np.std(found) / math.sqrt(repeats)),
        "derivatives": Counts.derivatives / repeats / n,
        "values": Counts.values / repeats / n,
    }


def compare(
    n: int, p: int, budgets: Sequence[float], repeats: int, out: Path | None
) -> list[dict[str, Any]]:
    """Print one table a setting; write the figure and the numbers if asked."""
    lines: list[dict[str, Any]] = []
    print(f"n = {n:,}, p = {p}, replace-one, delta {DELTA:g}, {repeats} tables each.")
    print("gradients, values: row evaluations over n at epsilon 1.\n")
    for make in SETTINGS:
        setting = make()
        print(f"{setting.name}: {setting.measure}")
        heads = "".join(f"{'eps ' + format(e, 'g'):>10}" for e in budgets)
        print(f"{'':<34}{heads}{'gradients':>11}{'values':>8}  rate (source)")
        for method in setting.methods:
            cells = [measure(setting, method, n, e, p, repeats) for e in budgets]
            middle = cells[list(budgets).index(1.0)]
            numbers = "".join(f"{cell['mean']:>10.1e}" for cell in cells)
            print(
                f"{method.name:<34}{numbers}{middle['derivatives']:>11.1f}"
                f"{middle['values']:>8.1f}  {method.rate} ({method.source})",
                flush=True,
            )
            lines.append(
                {
                    "setting": setting.name,
                    "measure": setting.measure,
                    "method": method.name,
                    "rate": method.rate,
                    "source": method.source,
                    "pure": method.pure,
                    "epsilon": list(budgets),
                    "cells": cells,
                }
            )
        print()
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        record = {"n": n, "p": p, "delta": DELTA, "repeats": repeats, "lines": lines}
        (out / "convex-methods.json").write_text(json.dumps(record, indent=1) + "\n")
        draw(lines, f"n = {n:,}, p = {p}, delta {DELTA:g}, {repeats} tables", out)
    return lines


def draw(lines: list[dict[str, Any]], about: str, out: Path) -> None:
    """Write convex-methods.svg and .png: excess against epsilon, and against gradients."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot, ticker

    names = list(dict.fromkeys(line["setting"] for line in lines))
    figure, axes = pyplot.subplots(len(names), 2, figsize=(13, 4.2 * len(names)))
    markers = "osD^v<>PX*"
    for row, name in enumerate(names):
        left, right = axes[row]
        chosen = [line for line in lines if line["setting"] == name]
        for k, line in enumerate(chosen):
            means = [cell["mean"] for cell in line["cells"]]
            style = {"marker": markers[k % 10], "color": f"C{k % 10}"}
            left.errorbar(
                line["epsilon"],
                means,
                yerr=[cell["error"] for cell in line["cells"]],
                linestyle="-" if line["pure"] else "--",
                linewidth=1,
                markersize=5,
                **style,
            )
            work = [cell["derivatives"] for cell in line["cells"]]
            label = f"{line['method']}: {line['rate']}  [{line['source']}]"
            right.plot(work, means, linestyle=":", linewidth=0.8, label=label, **style)
        left.set(xscale="log", yscale="log", xlabel="epsilon", ylabel=chosen[0]["measure"])
        right.set(xscale="log", yscale="log", xlabel="gradient evaluations / n")
        right.set_xlim(0.3, 300)
        right.xaxis.set_minor_formatter(ticker.NullFormatter())
        left.set_title(f"{name} ({about}; solid: pure)", fontsize=9)
        right.set_title("the same points against their work; rates up to constants", fontsize=9)
        right.legend(fontsize=6.5, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    figure.tight_layout()
    for kind in ("svg", "png"):
        figure.savefig(out / f"convex-methods.{kind}", dpi=120)
    pyplot.close(figure)
    print(f"figure: {out / 'convex-methods.svg'} and .png")
