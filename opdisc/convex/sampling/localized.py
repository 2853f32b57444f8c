"""Localization: half of the budget finds a small ball, the other half samples in it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

from scipy import stats

from opdisc.arguments import check_within
from opdisc.convex import (
    ACCURACY_CONDITION,
    RELATIVE_ACCURACY,
    TAIL,
    minimise_on,
    noiseless_minimum,
    require_ridge,
    row_spectrum,
)
from opdisc.convex.noise_plan import ConvexRelease, NoisePlan, prepare
from opdisc.convex.public import ConvexPublic
from opdisc.convex.rows import Rows
from opdisc.convex.sampling.exponential import ENDS, ConvexSum, check_shape, sample_density
from opdisc.convex.sampling.local_ball import LocalBall
from opdisc.errors import CalibrationError
from opdisc.noise import l2_laplace
from opdisc.privacy import (
    CalibrationStatus,
    EntropySource,
    Ledger,
    Prepared,
    PrivacyParams,
    prepared_first,
)
from oracles.arithmetic import FloatArray

Radius = Literal["quantile", "published"]


def plan_localization(
    public: ConvexPublic,
    *,
    ridge: float,
    confidence: float = 0.99,
    radius_rule: Radius = "quantile",
) -> NoisePlan:
    """Calibrate localization; arguments as in :func:`localization`."""
    public.require_convex("localization")
    public.require_smooth("localization")
    domain = public.require_domain("localization")
    confidence = check_within("confidence", confidence, 0, 1)
    ridge = require_ridge(ridge)
    check_shape(public, domain)
    half = public.params.epsilon / 2
    one_row = public.constants.lipschitz_l2 / ridge
    accuracy = RELATIVE_ACCURACY * one_row
    scale = (public.changed_rows * one_row + 2 * accuracy) / half * (1 + 1e-9)
    if radius_rule == "quantile":
        # The noise's length is a Gamma variable: this radius holds the optimum with that chance.
        radius = float(stats.gamma.ppf(confidence, public.dimension, scale=scale))
    elif radius_rule == "published":
        wide = 12 * math.log(public.exact_rows) * public.dimension
        radius = wide * one_row / public.params.epsilon
    else:
        raise CalibrationError(f"radius_rule must be quantile or published, got {radius_rule!r}.")
    # B14 Algorithm 4 regularises both halves, so that the optimum of the second is near.
    lipschitz = public.constants.lipschitz_l2
    diameter = min(2 * radius, domain.diameter_l2)
    rate = half / (public.changed_rows * lipschitz * diameter) * (1 - 1e-9)
    return NoisePlan(
        mechanism="localization",
        theorem="output perturbation, then exponential sampling (docs/convex.md, localization)",
        status=CalibrationStatus.PROVEN,
        law="l2-Laplace on the minimiser, then exp(-rate times the sum) on a ball around it",
        scales=(scale, rate),
        settings=(("ridge", ridge), ("accuracy", accuracy), ("radius", radius)),
        conditions=(ACCURACY_CONDITION, ENDS),
        total_variation=2 * public.dimension * TAIL,
    )


@prepared_first
def localization(
    rows: Rows,
    public: ConvexPublic,
    *,
    ridge: float,
    entropy: EntropySource,
    confidence: float = 0.99,
    radius_rule: Radius = "quantile",
    ledger: Ledger | None = None,
) -> Prepared[ConvexRelease]:
    """Half of epsilon finds a small ball, the other half samples in it (B14 Algorithm 4).

    Parameters
    ----------
    rows, public, entropy, ledger
        As in :func:`exponential_sampling`; the loss must also be smooth.
    ridge : float
        Strong convexity of the sum in both halves: ``(ridge/2)|theta|^2`` is added.
    confidence : float
        Chance that the ball holds the exact minimiser; affects accuracy only.
    radius_rule : str
        "quantile", or B14's "published" radius ``zeta 4 L p / (nu epsilon n)``, zeta = 3 ln n.
        Either is public, so the guarantee is the same.

    Notes
    -----
    **Guarantee.** Pure epsilon-DP by basic composition, both relations: the ball's centre is
    released by output perturbation, its radius is public, and the sampler's diameter is that of
    the ball. The ridge is public, so it adds nothing to the sensitivity.
    """
    if public.is_noiseless:
        return noiseless_minimum("localization", rows, public, ridge=ridge, entropy=entropy)
    ridge = require_ridge(ridge)
    plan = plan_localization(public, ridge=ridge, confidence=confidence, radius_rule=radius_rule)
    domain = public.require_domain("localization")

    def solved(data: Rows) -> FloatArray:
        return minimise_on(
            data,
            public.loss,
            domain,
            ridge=ridge,
            smoothness=public.loss.curvature_bound() * row_spectrum(data) + ridge,
            accuracy=plan.setting("accuracy"),
        )

    def compute() -> FloatArray:
        found = solved(rows)
        centre = domain.project(found + l2_laplace(public.dimension, plan.scales[0], entropy))
        ball = LocalBall(domain=domain, centre_point=centre, radius=plan.setting("radius"))
        return sample_density(ConvexSum.of(rows, public, ridge), ball, plan.scales[1], entropy)

    pure = replace(public, params=PrivacyParams(epsilon=public.params.epsilon, delta=0.0))
    return prepare(plan, rows, pure, compute, entropy=entropy, solver=solved)
