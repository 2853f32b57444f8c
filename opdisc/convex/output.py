"""Output perturbation: noise on the minimiser of a strongly convex sum."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

from opdisc.calibration import require_delta
from opdisc.convex.minimisation import minimise, minimise_on, row_spectrum
from opdisc.convex.noise_plan import ConvexRelease, NoisePlan, prepare
from opdisc.convex.noiseless import noiseless_minimum
from opdisc.convex.objective import gaussian_draw, l2_draw
from opdisc.convex.objective_plan import (
    ACCURACY_CONDITION,
    RELATIVE_ACCURACY,
    TAIL,
    output_noise_scale,
    require_ridge,
)
from opdisc.convex.public import ConvexPublic
from opdisc.convex.rows import Rows
from opdisc.errors import CalibrationError
from opdisc.privacy import CalibrationStatus, EntropySource, Ledger, Prepared, prepared_first
from oracles.arithmetic import FloatArray

OutputNoise = Literal["auto", "gaussian", "pure", "j14"]


def plan_output_perturbation(
    public: ConvexPublic,
    *,
    ridge: float,
    noise: OutputNoise = "auto",
    stopping: float = RELATIVE_ACCURACY,
) -> NoisePlan:
    """Calibrate output perturbation; arguments as in :func:`output_perturbation`."""
    public.require_convex("output perturbation")
    public.require_smooth("output perturbation")
    ridge = require_ridge(ridge)
    constants = public.constants if _constrained(public) else public.unbounded_constants
    params, kind = public.params, noise
    if kind == "auto":
        kind = "gaussian" if params.delta > 0 else "pure"
    one_row = constants.lipschitz_l2 / ridge
    accuracy = stopping * one_row
    sensitivity = (public.changed_rows * one_row + 2 * accuracy) * (1 + 1e-12)
    theorem, status = "stability of strongly convex minimisers", CalibrationStatus.PROVEN
    if kind == "gaussian":
        require_delta(params, "Gaussian output perturbation")
        scale = output_noise_scale(sensitivity, params)
    elif kind == "pure":
        scale = output_noise_scale(sensitivity, replace(params, delta=0.0))
    elif kind == "j14":
        require_delta(params, "J14's Output-Gauss")
        public.require_one_row("J14's Output-Gauss")
        scale = 4 * one_row * math.sqrt(math.log(1 / params.delta) + params.epsilon)
        scale /= params.epsilon
        theorem, status = "J14 Output-Gauss", CalibrationStatus.PUBLISHED
    else:
        raise CalibrationError(f"noise must be auto, gaussian, pure or j14, got {kind!r}.")
    return NoisePlan(
        mechanism="output_perturbation",
        theorem=f"{theorem} (docs/convex.md, output-perturbation)",
        status=status,
        law="l2-Laplace" if kind == "pure" else "Gaussian",
        scales=(scale,),
        settings=(("ridge", ridge), ("accuracy", accuracy), ("sensitivity", sensitivity)),
        conditions=(ACCURACY_CONDITION,),
        total_variation=2 * public.dimension * TAIL,
    )


def _constrained(public: ConvexPublic) -> bool:
    """Return whether the minimiser must stay in the domain: only if the loss needs that."""
    return public.domain is not None and not math.isfinite(
        public.loss.slope_bound(public.bounds, math.inf)
    )


@prepared_first
def output_perturbation(
    rows: Rows,
    public: ConvexPublic,
    *,
    ridge: float,
    entropy: EntropySource,
    noise: OutputNoise = "auto",
    stopping: float = RELATIVE_ACCURACY,
    ledger: Ledger | None = None,
) -> Prepared[ConvexRelease]:
    """Minimise the sum of losses plus a ridge, and add noise to the minimiser.

    Parameters
    ----------
    rows, public, entropy, ledger
        As in :func:`objective_perturbation`. A loss that is Lipschitz only on a domain is
        minimised over it; a domain is projected on at the end in any case.
    ridge : float
        Lambda of ``(Lambda/2)|theta|^2`` in the sum scale (``n nu`` for a mean that is
        nu-strongly convex), > 0.
    noise : str
        "auto" (Gaussian if delta > 0, else pure), "gaussian", "pure", or by name "j14".
    stopping : float
        Largest distance to the exact minimiser, in units of L / Lambda.

    Notes
    -----
    **Guarantee.** One row moves the minimiser by at most L / Lambda (twice that when replaced),
    and each side's distance to its own exact minimiser adds ``accuracy`` (B14 Algorithm 3; C11
    Lemma 8; docs/convex.md, entry "output-perturbation"). Both relations.
    """
    if public.is_noiseless:
        return noiseless_minimum("output_perturbation", rows, public, ridge=ridge, entropy=entropy)
    ridge = require_ridge(ridge)
    plan = plan_output_perturbation(public, ridge=ridge, noise=noise, stopping=stopping)

    def solved(data: Rows) -> FloatArray:
        accuracy = plan.setting("accuracy")
        if not _constrained(public):
            return minimise(data, public.loss, ridge=ridge, accuracy=accuracy)
        return minimise_on(
            data,
            public.loss,
            public.require_domain("this loss"),
            ridge=ridge,
            smoothness=public.loss.curvature_bound() * row_spectrum(data) + ridge,
            accuracy=accuracy,
        )

    def compute() -> FloatArray:
        draw = l2_draw if plan.law == "l2-Laplace" else gaussian_draw
        parameters = solved(rows) + draw(public.dimension, plan.scales[0], entropy)
        return parameters if public.domain is None else public.domain.project(parameters)

    if plan.law == "l2-Laplace":
        public = replace(public, params=replace(public.params, delta=0.0))
    return prepare(plan, rows, public, compute, entropy=entropy, solver=solved)
