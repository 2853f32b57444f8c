"""Calibration of objective perturbation: which noise, which ridge, how much of the budget."""

from __future__ import annotations

import functools
import math
from typing import Literal

from opdisc.arguments import check_finite, check_within
from opdisc.calibration import gaussian_multiplier
from opdisc.convex import objective_calibration as calibration
from opdisc.convex.noise_plan import NoisePlan
from opdisc.convex.public import ConvexPublic
from opdisc.errors import CalibrationError
from opdisc.privacy import CalibrationStatus, NeighboringRelation, PrivacyParams
from opdisc.tuned import TYPICAL_MARGIN
from oracles.convex import LossConstants

ObjectiveNoise = Literal["auto", "gaussian", "pure", "c11", "k12", "j14"]

ReleaseNoise = Literal["corrected", "published"]

RELATIVE_ACCURACY = 1e-6
"""Distance to the exact minimiser that calibrations pay for, over what one row can do to it."""

OUTPUT_SHARE = 0.01
"""Share of epsilon and delta that pays for the inexact minimiser of objective perturbation."""

ACCURACY_CONDITION = (
    "the minimiser reaches its public accuracy on every table (otherwise nothing is released)"
)

TAIL = 2.0**-63
"""Total variation that one truncated draw may add."""


def require_ridge(ridge: float) -> float:
    """Return a ridge as a double; refuse one that is not a positive number."""
    return check_finite("the ridge", ridge)


def plan_objective_perturbation(
    public: ConvexPublic,
    *,
    ridge: float | None = None,
    noise: ObjectiveNoise = "auto",
    stopping: float = RELATIVE_ACCURACY,
    output_share: float = OUTPUT_SHARE,
    released: ReleaseNoise = "corrected",
) -> NoisePlan:
    """Calibrate objective perturbation; see its function for the arguments."""
    public.require_convex("objective perturbation")
    public.require_smooth("objective perturbation")
    _require_pure_for_units(public, noise)
    constants = public.unbounded_constants
    lipschitz, smoothness = constants.lipschitz_l2, constants.smoothness_l2
    output_share = check_within("output_share", output_share, 0, 1)
    params = public.params
    exact = PrivacyParams(
        epsilon=params.epsilon * (1 - output_share), delta=params.delta * (1 - output_share)
    )
    if ridge is not None:
        ridge = require_ridge(ridge)
    kind, ridge = _choice(public, exact, noise, ridge)
    ridge, scale, theorem, status = _tilt(public, exact, kind, ridge, lipschitz, smoothness)
    accuracy = stopping * lipschitz / ridge
    if released == "published":
        # AMP as printed: half the sensitivity that two inexact minimisers can have.
        theorem = "AMP Algorithm 1 as published (docs/convex.md, approximate-minima)"
        status = CalibrationStatus.REFUTED
    elif released != "corrected":
        raise CalibrationError(f"released must be corrected or published, got {released!r}.")
    output = output_noise_scale(
        accuracy if released == "published" else 2 * accuracy,
        PrivacyParams(
            epsilon=params.epsilon * output_share,
            delta=0.0 if kind in ("pure", "c11") else params.delta * output_share,
        ),
    )
    pure = kind in ("pure", "c11")
    return NoisePlan(
        mechanism="objective_perturbation",
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
        total_variation=4 * public.dimension * TAIL,
    )


def _require_pure_for_units(public: ConvexPublic, noise: str) -> None:
    """Refuse all but pure noise for more than one row per unit: the others need one direction."""
    if noise not in ("auto", "pure"):
        public.require_one_row(f"{noise} objective perturbation")


def _choice(
    public: ConvexPublic, params: PrivacyParams, kind: str, ridge: float | None
) -> tuple[str, float]:
    """Return the noise and the ridge with the least predicted error, where they are left open."""
    published = kind not in ("auto", "gaussian", "pure")
    kinds = ["pure"] if kind in ("pure", "c11") else ["gaussian"]
    if kind == "auto":
        only_pure = params.delta == 0 or public.rows_per_unit > 1
        kinds = ["pure"] if only_pure else ["pure", "gaussian"]
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
    units: int,
) -> tuple[float, float]:
    def length(ridge: float) -> float:
        return _tilt_length(params, relation, constants, dimension, kind, ridge, units)

    each = params.epsilon / units
    return calibration.predicted_choice(each, constants.smoothness_l2, norm, length)


def _best_ridge(public: ConvexPublic, params: PrivacyParams, kind: str) -> tuple[float, float]:
    constants, norm = public.unbounded_constants, TYPICAL_MARGIN / public.bounds.l2
    dimension, units = public.dimension, public.rows_per_unit
    return _best_ridge_of(params, public.relation, constants, dimension, kind, norm, units)


def _length(public: ConvexPublic, params: PrivacyParams, kind: str, ridge: float) -> float:
    constants, units = public.unbounded_constants, public.rows_per_unit
    return _tilt_length(params, public.relation, constants, public.dimension, kind, ridge, units)


def _tilt_length(
    params: PrivacyParams,
    relation: NeighboringRelation,
    constants: LossConstants,
    dimension: int,
    kind: str,
    ridge: float,
    units: int,
) -> float:
    """Return the typical length of the tilt, infinite where the ridge is too small."""
    lipschitz, smoothness = constants.lipschitz_l2, constants.smoothness_l2
    about = dict(lipschitz=lipschitz, smoothness=smoothness, ridge=ridge)
    try:
        if kind == "pure":
            return dimension * calibration.pure_scale(params, relation, units=units, **about)
        return math.sqrt(dimension) * calibration.gaussian_stddev(params, relation, **about)
    except CalibrationError:
        return math.inf


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
                params,
                public.relation,
                lipschitz=lipschitz,
                smoothness=smoothness,
                ridge=ridge,
                units=public.rows_per_unit,
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
