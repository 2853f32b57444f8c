"""Objective perturbation of generalised linear models, and what is built on it."""

from __future__ import annotations

from dataclasses import replace

from opdisc.convex.minimisation import minimise
from opdisc.convex.noise_plan import ConvexRelease, prepare
from opdisc.convex.noiseless import noiseless_minimum
from opdisc.convex.objective_plan import (
    OUTPUT_SHARE,
    RELATIVE_ACCURACY,
    ObjectiveNoise,
    ReleaseNoise,
    plan_objective_perturbation,
)
from opdisc.convex.public import ConvexPublic
from opdisc.convex.rows import Rows
from opdisc.noise import l2_laplace, normals
from opdisc.privacy import EntropySource, Ledger, Prepared, prepared_first
from oracles.arithmetic import FloatArray


@prepared_first
def objective_perturbation(
    rows: Rows,
    public: ConvexPublic,
    *,
    entropy: EntropySource,
    ridge: float | None = None,
    noise: ObjectiveNoise = "auto",
    stopping: float = RELATIVE_ACCURACY,
    output_share: float = OUTPUT_SHARE,
    released: ReleaseNoise = "corrected",
    ledger: Ledger | None = None,
) -> Prepared[ConvexRelease]:
    """Minimise the sum of losses plus a ridge and a random tilt; add a little output noise.

    Parameters
    ----------
    rows : Rows
        Private rows.
    public : ConvexPublic
        Public facts; the loss must be convex and smooth. A domain is projected on at the end.
    entropy : EntropySource
        Random bits.
    ridge : float or None
        Lambda of ``(Lambda/2)|theta|^2`` in the sum scale; None takes the least predicted error.
    noise : str
        "auto" (the smaller predicted error; pure if delta = 0), "gaussian", "pure"; or by name
        the published "c11", "k12" and the refuted "j14", whose receipts are VOID.
    stopping : float
        Largest distance to the exact minimiser, in units of L / Lambda; what it can reveal is
        covered by output noise (approximate minima, with the factor 2 that the paper lacks).
    output_share : float
        Share of epsilon and delta that pays for the output noise.
    released : str
        Output noise for sensitivity "corrected" (``2 tau / Lambda``), or as AMP "published" it
        (half of that; refuted, VOID).
    ledger : Ledger or None
        Where the budget is recorded first.

    Returns
    -------
    ConvexRelease

    Notes
    -----
    **Guarantee.** As on the receipt; proofs in docs/convex.md, entry "objective-perturbation" and
    "approximate-minima". Both neighbouring relations.
    """
    if public.is_noiseless:
        return noiseless_minimum(
            "objective_perturbation", rows, public, ridge=ridge, entropy=entropy
        )
    plan = plan_objective_perturbation(
        public,
        ridge=ridge,
        noise=noise,
        stopping=stopping,
        output_share=output_share,
        released=released,
    )

    def solved(data: Rows, tilt: FloatArray | None = None) -> FloatArray:
        return minimise(
            data,
            public.loss,
            ridge=plan.setting("ridge"),
            accuracy=plan.setting("accuracy"),
            tilt=tilt,
        )

    def compute() -> FloatArray:
        draw = l2_draw if plan.setting("pure") else gaussian_draw
        parameters = solved(rows, draw(public.dimension, plan.scales[0], entropy))
        parameters = parameters + draw(public.dimension, plan.scales[1], entropy)
        return parameters if public.domain is None else public.domain.project(parameters)

    if plan.setting("pure"):
        public = replace(public, params=replace(public.params, delta=0.0))
    return prepare(plan, rows, public, compute, entropy=entropy, solver=solved)


def gaussian_draw(dimension: int, scale: float, entropy: EntropySource) -> FloatArray:
    """Draw independent normals of standard deviation ``scale``."""
    return scale * normals(dimension, entropy)


def l2_draw(dimension: int, scale: float, entropy: EntropySource) -> FloatArray:
    """Draw from the density proportional to ``exp(-|b|_2 / scale)``."""
    return l2_laplace(dimension, scale, entropy)


@prepared_first
def approximate_minima(
    rows: Rows,
    public: ConvexPublic,
    *,
    entropy: EntropySource,
    ridge: float | None = None,
    stopping: float = 0.05,
    output_share: float = 0.1,
    released: ReleaseNoise = "corrected",
    ledger: Ledger | None = None,
) -> Prepared[ConvexRelease]:
    """Objective perturbation that stops early and pays for it with visible output noise (AMP).

    Parameters are those of :func:`objective_perturbation`; the release's sensitivity is
    ``2 tau / Lambda`` for a gradient of at most tau. Iyengar et al. 2019 have half of that:
    ``released="published"``, whose receipt is VOID.
    """
    return objective_perturbation.prepare(
        rows,
        public,
        entropy=entropy,
        ridge=ridge,
        noise="gaussian",
        stopping=stopping,
        output_share=output_share,
        released=released,
    )
