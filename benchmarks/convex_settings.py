"""The methods of Bassily et al. and of Wang et al., by setting, with their rates.

Three settings: strongly convex (logistic loss and a ridge), convex (logistic loss on a ball), not
convex (sigmoid loss on a ball). Rates are the papers', up to constants and logarithms; "-" where
they have none.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
from convex_problems import (
    RADIUS,
    CountedHuber,
    CountedLogistic,
    CountedSigmoid,
    FloatArray,
    Method,
    Setting,
)

from opdisc.convex.full_gradient import (
    accelerated_mirror_descent,
    gradient_descent,
    plan_accelerated_steps,
    plan_descent_steps,
)
from opdisc.convex.objective import approximate_minima, objective_perturbation
from opdisc.convex.one_pass import mirror_descent
from opdisc.convex.output import output_perturbation
from opdisc.convex.public import ConvexPublic
from opdisc.convex.rows import Rows
from opdisc.convex.sampling.exponential import exponential_sampling
from opdisc.convex.sampling.localized import localization
from opdisc.convex.stochastic import BatchPlan, noisy_sgd, plan_batches
from opdisc.convex.variance_reduced import plan_epochs, svrg
from opdisc.privacy.entropy import SystemEntropy
from oracles.convex.balls import L2Ball

NU = 0.1
"""Strong convexity of the mean objective in the strongly convex setting."""
ENTROPY = SystemEntropy()


def _single(n: int) -> BatchPlan:
    return BatchPlan(batch=1, steps=2 * n, sampling="fixed")


def _sgd(rows: Rows, public: ConvexPublic, ridge: float = 0.0) -> FloatArray:
    plan = plan_batches(public, ridge=ridge, sampling="fixed")
    return noisy_sgd(rows, public, plan, ridge=ridge, entropy=ENTROPY).parameters


def _svrg(rows: Rows, public: ConvexPublic, ridge: float = 0.0) -> FloatArray:
    plan = plan_epochs(public, ridge=ridge, sampling="fixed")
    return svrg(rows, public, plan, ridge=ridge, entropy=ENTROPY).parameters


def _descent(rows: Rows, public: ConvexPublic) -> FloatArray:
    steps = plan_descent_steps(public, ridge=NU)
    return gradient_descent(rows, public, steps=steps, ridge=NU, entropy=ENTROPY).parameters


def _accelerated(rows: Rows, public: ConvexPublic) -> FloatArray:
    steps = plan_accelerated_steps(public)
    return accelerated_mirror_descent(rows, public, steps=steps, entropy=ENTROPY).parameters


class _Trace(L2Ball):
    """Remembers every point that was projected on the ball."""

    points: ClassVar[list[FloatArray]] = []

    def project(self, parameters: FloatArray) -> FloatArray:
        found = super().project(parameters)
        self.points.append(found)
        return found


def _random_iterate(rows: Rows, public: ConvexPublic) -> FloatArray:
    """Return all iterates: their mean excess is the expectation over the random index.

    A few early steps hold most of it, so one index a run is a poor estimate.
    """
    steps = plan_descent_steps(public, iterate="random")
    traced = replace(public, domain=_Trace(dimension=public.dimension, radius=RADIUS))
    _Trace.points.clear()
    gradient_descent(rows, traced, steps=steps, entropy=ENTROPY)
    return np.array(_Trace.points[-steps:])


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
                    output_perturbation(
                        r, q, ridge=ridge(r), noise="pure", entropy=ENTROPY
                    ).parameters
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
                    ).parameters
                ),
                "p^2 / (n eps)^2",
                "C11",
                pure=True,
            ),
            Method(
                "localization",
                lambda r, q: localization(r, q, ridge=ridge(r), entropy=ENTROPY).parameters,
                "p^2 / (n eps)^2",
                "B14 Thm 4.3",
                pure=True,
            ),
            Method(
                "objective perturbation, Gaussian",
                lambda r, q: (
                    objective_perturbation(
                        r, q, ridge=ridge(r), noise="gaussian", entropy=ENTROPY
                    ).parameters
                ),
                "p ln(1/d) / (n eps)^2",
                "K12",
            ),
            Method(
                "approximate minima",
                lambda r, q: approximate_minima(r, q, ridge=ridge(r), entropy=ENTROPY).parameters,
                "p ln(1/d) / (n eps)^2",
                "AMP",
            ),
            Method(
                "noisy SGD",
                lambda r, q: _sgd(r, q, NU),
                "p ln^2(n/d) / (n eps)^2",
                "B14 Thm 2.4",
            ),
            Method(
                "noisy SGD, B14's noise (void)",
                lambda r, q: (
                    noisy_sgd(
                        r, q, _single(len(r.y)), ridge=NU, noise="published", entropy=ENTROPY
                    ).parameters
                ),
                "p ln^2(n/d) / (n eps)^2 at T = n^2",
                "B14 Thm 2.4",
            ),
            Method(
                "DP-SVRG",
                lambda r, q: _svrg(r, q, NU),
                "p ln(n) ln(1/d) / (n eps)^2",
                "W17 (5)",
            ),
            Method(
                "DP-GD, last iterate (PL)",
                _descent,
                "p ln^2(n) ln(1/d) / (n eps)^2",
                "W17 (13); ours: ln(n)",
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
                lambda r, q: exponential_sampling(r, q, entropy=ENTROPY).parameters,
                "p / (n eps)",
                "B14 Thm 3.2",
                pure=True,
            ),
            Method(
                "objective perturbation, pure",
                lambda r, q: (
                    objective_perturbation(r, q, noise="pure", entropy=ENTROPY).parameters
                ),
                "p / (n eps)",
                "C11",
                pure=True,
            ),
            Method(
                "objective perturbation, Gaussian",
                lambda r, q: (
                    objective_perturbation(r, q, noise="gaussian", entropy=ENTROPY).parameters
                ),
                "sqrt(p ln(1/d)) / (n eps)",
                "K12",
            ),
            Method(
                "noisy SGD",
                _sgd,
                "sqrt(p) ln^1.5(n/d) / (n eps)",
                "B14 Thm 2.4",
            ),
            Method(
                "noisy SGD, B14's noise (void)",
                lambda r, q: (
                    noisy_sgd(
                        r, q, _single(len(r.y)), noise="published", entropy=ENTROPY
                    ).parameters
                ),
                "sqrt(p) ln^1.5(n/d) / (n eps) at T = n^2",
                "B14 Thm 2.4",
            ),
            Method(
                "DP-SVRG++",
                _svrg,
                "sqrt(p ln(1/d)) / (n eps)",
                "W17 (7)",
            ),
            Method(
                "DP-AccMD",
                _accelerated,
                "sqrt(p ln(1/d)) / (n eps)",
                "W17 Thm 5.4",
            ),
            Method(
                "DP-GD",
                lambda r, q: gradient_descent(r, q, steps=40, entropy=ENTROPY).parameters,
                "-",
                "-",
            ),
            Method(
                "single-use mirror descent",
                lambda r, q: mirror_descent(r, q, batch=1, entropy=ENTROPY).parameters,
                "1/sqrt(n) + sqrt(p ln(1/d)) / (sqrt(n) eps)",
                "A20 Thm 4, our noise",
            ),
            Method(
                "single-use batches",
                lambda r, q: mirror_descent(r, q, entropy=ENTROPY).parameters,
                "(p ln(1/d) / (n eps)^2)^(1/3) + 1/sqrt(n)",
                "ours",
            ),
            Method(
                "Huberised SVM (its own loss)",
                lambda r, q: (
                    objective_perturbation(
                        r, replace(q, loss=CountedHuber()), noise="pure", entropy=ENTROPY
                    ).parameters
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
                "W17 (14)",
            ),
            Method(
                "DP-GD, last iterate",
                lambda r, q: gradient_descent(r, q, steps=60, entropy=ENTROPY).parameters,
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
