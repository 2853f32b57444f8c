"""Hull noise for other smooth losses of bounded slope than the logistic one, in doubles."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from opdisc.convex import (
    ACCURACY_CONDITION,
    OUTPUT_SHARE,
    RELATIVE_ACCURACY,
    TAIL,
    l2_draw,
    minimise,
    output_noise_scale,
    predicted_choice,
    pure_scale,
    require_ridge,
)
from opdisc.convex.features import LinearFeatures
from opdisc.convex.hull.noise import HullNoise
from opdisc.convex.hull.release import transform_of
from opdisc.convex.hull.shape import HullShape, mean_square
from opdisc.convex.hull.table import mapped_into
from opdisc.convex.noise_plan import ConvexRelease, NoisePlan, prepare
from opdisc.convex.public import ConvexPublic
from opdisc.convex.rows import Rows
from opdisc.data import EncodedTable
from opdisc.errors import CalibrationError
from opdisc.privacy import (
    CalibrationStatus,
    EntropySource,
    Ledger,
    Prepared,
    PrivacyParams,
    prepared_first,
)
from opdisc.privacy.receipts import HULL
from opdisc.tuned import TYPICAL_MARGIN
from oracles.arithmetic import FloatArray
from oracles.convex import RowBounds


@prepared_first
def smooth_hull_perturbation(
    table: EncodedTable,
    shape: HullShape,
    public: ConvexPublic,
    *,
    entropy: EntropySource,
    ridge: float | None = None,
    ledger: Ledger | None = None,
) -> Prepared[tuple[FloatArray, ConvexRelease]]:
    """Minimise the sum of losses plus a ridge and a tilt with hull noise; add a little noise.

    Parameters
    ----------
    table : EncodedTable
        Private rows as the schema encodes them, equal ones merged.
    shape : HullShape
        What the schema says about its columns.
    public : ConvexPublic
        Public facts; the loss must be convex and smooth. Delta is not spent.
    entropy : EntropySource
        Random bits.
    ridge : float or None
        Lambda of ``(Lambda/2)|w|^2`` in the sum scale, columns centred; None takes the least
        predicted error.
    ledger : Ledger or None
        Where the budget is recorded first.

    Returns
    -------
    (float64 array of shape (1 + d,), ConvexRelease)
        Weights of the constant and of the columns as they are; the release of centred ones.

    Notes
    -----
    **Guarantee.** Pure but for cut tails, both relations, several rows per unit, error costs;
    docs/convex.md, entry "hull", other losses. Rounding of doubles is a condition.
    """
    features, params = centred_features(shape), replace(public.params, delta=0.0)
    public = replace(public, bounds=features.bounds, domain=None, params=params)
    plan = plan_smooth_hull(shape, public, ridge=ridge)
    rows = features.merged_rows(
        replace(table, points=mapped_into(table.points, shape).astype(np.int8))
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
        tilt = plan.scales[0] * centred_draw(shape, entropy)
        return solved(rows, tilt) + l2_draw(public.dimension, plan.scales[1], entropy)

    def weighed(released: ConvexRelease) -> tuple[FloatArray, ConvexRelease]:
        coefficients, intercept = features.weights(released.parameters)
        return np.append(intercept, coefficients), released

    charge = prepare(plan, rows, public, compute, entropy=entropy, solver=solved)
    return charge.then(weighed)


def centred_features(shape: HullShape) -> LinearFeatures:
    """Return the map that centres the columns of a hull."""
    return LinearFeatures(
        centre=np.array([float(at) for at in shape.centre]),
        scale=1.0,
        bounds=RowBounds(l2=math.sqrt(shape.squared_radius), linf=1.0),
    )


def plan_smooth_hull(
    shape: HullShape, public: ConvexPublic, *, ridge: float | None = None
) -> NoisePlan:
    """Calibrate; see the mechanism for the arguments."""
    public.require_convex("hull noise")
    public.require_smooth("hull noise")
    if public.is_noiseless:
        raise CalibrationError("hull noise needs a finite epsilon; choose another mechanism.")
    constants, units = public.unbounded_constants, public.rows_per_unit
    slope = constants.lipschitz_l2 / public.bounds.l2  # of the loss: the gauge of a row is 1
    each = PrivacyParams(epsilon=public.params.epsilon * (1 - OUTPUT_SHARE), delta=0.0)

    def scale_at(ridge: float) -> float:
        return pure_scale(
            each,
            public.relation,
            lipschitz=slope,
            smoothness=constants.smoothness_l2,
            ridge=ridge,
            units=units,
        )

    def length(ridge: float) -> float:
        try:
            return scale_at(ridge) * math.sqrt(mean_square(shape))
        except CalibrationError:
            return math.inf

    if ridge is None:
        norm = TYPICAL_MARGIN / public.bounds.l2
        _, ridge = predicted_choice(each.epsilon / units, constants.smoothness_l2, norm, length)
    else:
        ridge = require_ridge(ridge)
    accuracy = RELATIVE_ACCURACY * constants.lipschitz_l2 / ridge
    spent = PrivacyParams(epsilon=public.params.epsilon * OUTPUT_SHARE, delta=0.0)
    return NoisePlan(
        mechanism=HULL,
        theorem="hull perturbation of other losses (docs/convex.md, hull)",
        status=CalibrationStatus.PROVEN,
        law="tilt with density exp(-|b|_K / s), K the hull of the schema's rows, and output noise",
        scales=(scale_at(ridge), output_noise_scale(2 * accuracy, spent)),
        settings=(("ridge", ridge), ("accuracy", accuracy), ("output share", OUTPUT_SHARE)),
        conditions=(ACCURACY_CONDITION,),
        total_variation=4 * public.dimension * TAIL,
    )


def centred_draw(shape: HullShape, entropy: EntropySource) -> FloatArray:
    """Draw the noise at scale 1 in centred coordinates, to the nearest doubles."""
    noise = HullNoise(shape, entropy)
    while (balls := noise.enclosure()) is None:
        noise.refine()
    plain = np.array([float(ball.mid()) for ball in balls])
    return np.asarray(np.linalg.solve(transform_of(shape).T, plain))
