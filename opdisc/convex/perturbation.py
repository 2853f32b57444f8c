"""Objective and output perturbation of generalised linear models."""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from opdisc.accounting import Ledger
from opdisc.convex import objective_calibration as calibration
from opdisc.convex.base import ConvexPublic, ConvexRelease, NoisePlan, Rows, release
from opdisc.convex.draws import l2_laplace, normals
from opdisc.convex.minimise import minimise
from opdisc.errors import CalibrationError
from opdisc.gaussian import gaussian_multiplier, require_delta
from opdisc.losses import HuberisedHingeLoss, LossConstants
from opdisc.noise import EntropySource
from opdisc.privacy import CalibrationStatus, NeighboringRelation, PrivacyParams

FloatArray = NDArray[np.float64]

ObjectiveNoise = Literal["auto", "gaussian", "pure", "c11", "k12", "j14"]

RELATIVE_ACCURACY = 1e-6
"""Distance to the exact minimiser that calibrations pay for, over what one row can do to it."""

OUTPUT_SHARE = 0.01
"""Share of epsilon and delta that pays for the inexact minimiser of objective perturbation."""

ACCURACY_CONDITION = (
    "the minimiser reaches its public accuracy on every table (otherwise nothing is released)"
)
TAIL = 2.0**-63
"""Total variation that one truncated draw may add."""

TYPICAL_MARGIN = 5.0
"""Public guess of the optimum's norm times the bound on a row; it only sets the default ridge."""


def require_ridge(ridge: float) -> None:
    """Refuse a ridge that is not a positive number."""
    if not (isinstance(ridge, int | float) and 0 < ridge < math.inf):
        raise CalibrationError(f"the ridge must be finite and > 0, got {ridge!r}.")


def plan_objective_perturbation(
    public: ConvexPublic,
    *,
    ridge: float | None = None,
    noise: ObjectiveNoise = "auto",
    stopping: float = RELATIVE_ACCURACY,
    output_share: float = OUTPUT_SHARE,
) -> NoisePlan:
    """Calibrate objective perturbation; arguments as in :func:`objective_perturbation`."""
    public.require_convex("objective perturbation")
    public.require_smooth("objective perturbation")
    constants = public.unbounded_constants
    lipschitz, smoothness = constants.lipschitz_l2, constants.smoothness_l2
    if not 0 < output_share < 1:
        raise CalibrationError(f"output_share must be in (0, 1), got {output_share}.")
    params = public.params
    exact = PrivacyParams(
        epsilon=params.epsilon * (1 - output_share), delta=params.delta * (1 - output_share)
    )
    if ridge is not None:
        require_ridge(ridge)
    kind, ridge = _choice(public, exact, noise, ridge)
    ridge, scale, theorem, status = _tilt(public, exact, kind, ridge, lipschitz, smoothness)
    accuracy = stopping * lipschitz / ridge
    output = output_noise_scale(
        2 * accuracy,
        PrivacyParams(
            epsilon=params.epsilon * output_share,
            delta=0.0 if kind in ("pure", "c11") else params.delta * output_share,
        ),
    )
    pure = kind in ("pure", "c11")
    return NoisePlan(
        mechanism="objective-perturbation",
        theorem=theorem,
        status=status,
        law=("l2-Laplace" if pure else "Gaussian") + " tilt, and output noise",
        scales=(scale, output),
        settings=(
            ("ridge", ridge),
            ("accuracy", accuracy),
            ("output share", output_share),
            ("pure", float(pure)),
        ),
        conditions=(ACCURACY_CONDITION,),
        distance=4 * public.dimension * TAIL,
    )


def _choice(
    public: ConvexPublic, params: PrivacyParams, kind: str, ridge: float | None
) -> tuple[str, float]:
    """Return the noise and the ridge with the least predicted error, where they are left open."""
    published = kind not in ("auto", "gaussian", "pure")
    kinds = ["pure"] if kind in ("pure", "c11") else ["gaussian"]
    if kind == "auto":
        kinds = ["pure", "gaussian"] if params.delta > 0 else ["pure"]
    if ridge is None:
        found = [(*_best_ridge(public, params, option), option) for option in kinds]
        _, ridge, option = min(found)
    else:
        fixed = ridge
        option = min(kinds, key=lambda candidate: _length(public, params, candidate, fixed))
    return (kind if published else option), ridge


@functools.lru_cache(maxsize=256)
def _best_ridge_of(
    params: PrivacyParams,
    relation: NeighboringRelation,
    constants: LossConstants,
    dimension: int,
    kind: str,
    norm: float,
) -> tuple[float, float]:
    def length(ridge: float) -> float:
        return _tilt_length(params, relation, constants, dimension, kind, ridge)

    return calibration.predicted_choice(params.epsilon, constants.smoothness_l2, norm, length)


def _best_ridge(public: ConvexPublic, params: PrivacyParams, kind: str) -> tuple[float, float]:
    constants, norm = public.unbounded_constants, TYPICAL_MARGIN / public.bounds.l2
    return _best_ridge_of(params, public.relation, constants, public.dimension, kind, norm)


def _length(public: ConvexPublic, params: PrivacyParams, kind: str, ridge: float) -> float:
    constants = public.unbounded_constants
    return _tilt_length(params, public.relation, constants, public.dimension, kind, ridge)


def _tilt_length(
    params: PrivacyParams,
    relation: NeighboringRelation,
    constants: LossConstants,
    dimension: int,
    kind: str,
    ridge: float,
) -> float:
    """Return the typical length of the tilt, infinite where the ridge is too small."""
    lipschitz, smoothness = constants.lipschitz_l2, constants.smoothness_l2
    calibrate = calibration.pure_scale if kind == "pure" else calibration.gaussian_stddev
    try:
        scale = calibrate(
            params, relation, lipschitz=lipschitz, smoothness=smoothness, ridge=ridge
        )
    except CalibrationError:
        return math.inf
    return scale * (dimension if kind == "pure" else math.sqrt(dimension))


def _tilt(
    public: ConvexPublic,
    params: PrivacyParams,
    kind: str,
    ridge: float,
    lipschitz: float,
    smoothness: float,
) -> tuple[float, float, str, CalibrationStatus]:
    """Return the ridge, the scale of the tilt, the theorem and its status."""
    proven, entry = CalibrationStatus.PROVEN, "docs/convex.md, objective-perturbation"
    match kind:
        case "gaussian":
            sigma = calibration.gaussian_stddev(
                params, public.relation, lipschitz=lipschitz, smoothness=smoothness, ridge=ridge
            )
            return ridge, sigma, f"Gaussian objective perturbation ({entry})", proven
        case "pure":
            scale = calibration.pure_scale(
                params, public.relation, lipschitz=lipschitz, smoothness=smoothness, ridge=ridge
            )
            return ridge, scale, f"pure objective perturbation ({entry})", proven
        case "c11":
            public.require_relation(
                "C11's calibration", NeighboringRelation.REPLACE_ONE, "it is stated for that"
            )
            # Rows of norm r and slopes up to s are rows of norm 1 for theta scaled by r.
            wide, scale = calibration.published_c11(params.epsilon, smoothness, ridge)
            theorem = "C11 Theorem 9 (docs/convex.md, published-c11)"
            return wide, scale * lipschitz, theorem, CalibrationStatus.PUBLISHED
        case "k12":
            public.require_relation(
                "K12's calibration", NeighboringRelation.ADD_OR_REMOVE_ONE, "it is stated for that"
            )
            least, sigma = calibration.published_k12(
                params, lipschitz=lipschitz, smoothness=smoothness
            )
            theorem = "K12 Theorem 1 (docs/convex.md, published-k12)"
            return max(ridge, least), sigma, theorem, CalibrationStatus.PUBLISHED
        case "j14":
            sigma = calibration.published_j14(params, lipschitz=lipschitz)
            theorem = "J14 Objective-Gauss (docs/convex.md, published-objective-gauss)"
            return ridge, sigma, theorem, CalibrationStatus.REFUTED
        case _:
            raise CalibrationError(
                f"noise must be auto, gaussian, pure, c11, k12 or j14, got {kind!r}."
            )


def output_noise_scale(sensitivity: float, params: PrivacyParams) -> float:
    """Return the standard deviation (delta > 0) or the l2-Laplace scale (delta = 0).

    Parameters
    ----------
    sensitivity : float
        Euclidean sensitivity of the vector to release.
    params : PrivacyParams
        Target.
    """
    if params.delta > 0:
        return sensitivity * gaussian_multiplier(params)
    return sensitivity / params.epsilon * (1 + 1e-9)


def objective_perturbation(
    rows: Rows,
    public: ConvexPublic,
    *,
    entropy: EntropySource,
    ridge: float | None = None,
    noise: ObjectiveNoise = "auto",
    stopping: float = RELATIVE_ACCURACY,
    output_share: float = OUTPUT_SHARE,
    ledger: Ledger | None = None,
) -> ConvexRelease:
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
    plan = plan_objective_perturbation(
        public, ridge=ridge, noise=noise, stopping=stopping, output_share=output_share
    )

    def compute() -> FloatArray:
        draw = l2_draw if plan.setting("pure") else gaussian_draw
        tilt = draw(public.dimension, plan.scales[0], entropy)
        theta = minimise(
            rows,
            public.loss,
            ridge=plan.setting("ridge"),
            accuracy=plan.setting("accuracy"),
            tilt=tilt,
        )
        theta = theta + draw(public.dimension, plan.scales[1], entropy)
        return theta if public.domain is None else public.domain.project(theta)

    if plan.setting("pure"):
        public = replace(public, params=replace(public.params, delta=0.0))
    return release(plan, rows, public, compute, entropy=entropy, ledger=ledger)


def gaussian_draw(dimension: int, scale: float, entropy: EntropySource) -> FloatArray:
    """Draw independent normals of standard deviation ``scale``."""
    return scale * normals(dimension, entropy)


def l2_draw(dimension: int, scale: float, entropy: EntropySource) -> FloatArray:
    """Draw from the density proportional to ``exp(-|b|_2 / scale)``."""
    return l2_laplace(dimension, scale, entropy)


def approximate_minima(
    rows: Rows,
    public: ConvexPublic,
    *,
    entropy: EntropySource,
    ridge: float | None = None,
    stopping: float = 0.05,
    output_share: float = 0.1,
    ledger: Ledger | None = None,
) -> ConvexRelease:
    """Objective perturbation that stops early and pays for it with visible output noise (AMP).

    Parameters are those of :func:`objective_perturbation`; the release's sensitivity is
    ``2 tau / Lambda`` for a gradient of at most tau (Iyengar et al. 2019 have half of that).
    """
    return objective_perturbation(
        rows,
        public,
        entropy=entropy,
        ridge=ridge,
        noise="gaussian",
        stopping=stopping,
        output_share=output_share,
        ledger=ledger,
    )


def published_amp_stddev(tau: float, ridge: float, params: PrivacyParams) -> float:
    """Return AMP's output standard deviation as published: sensitivity ``tau / Lambda``. Refuted.

    docs/convex.md, entry "approximate-minima": two tables whose approximate minima lie on opposite
    sides of exact ones differ by ``2 tau / Lambda``.
    """
    require_delta(params, "AMP")
    return tau / ridge * gaussian_multiplier(params)


def huberised_svm(
    rows: Rows,
    public: ConvexPublic,
    *,
    entropy: EntropySource,
    width: float = 0.5,
    ridge: float | None = None,
    ledger: Ledger | None = None,
) -> ConvexRelease:
    """Objective perturbation on the hinge smoothed over ``width`` (C11 section 3.4.2; B14 App. A).

    Parameters are those of :func:`objective_perturbation`; ``public.loss`` is replaced.
    """
    smooth = replace(public, loss=HuberisedHingeLoss(width))
    return objective_perturbation(rows, smooth, entropy=entropy, ridge=ridge, ledger=ledger)
