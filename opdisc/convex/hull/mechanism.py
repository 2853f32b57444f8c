"""Hull perturbation: objective perturbation whose noise has the shape of the schema's rows."""

from __future__ import annotations

import functools
import math
import sys
from dataclasses import replace
from fractions import Fraction
from importlib.metadata import version

import numpy as np

from opdisc.arguments import is_number
from opdisc.convex import plan_objective_perturbation
from opdisc.convex.hull.noise import HullNoise
from opdisc.convex.hull.release import HullObjective, released_weights
from opdisc.convex.hull.shape import HullShape, mean_square
from opdisc.convex.hull.table import HullTable
from opdisc.convex.noise_plan import ConvexRelease, NoisePlan, charge_of, receipt_of
from opdisc.convex.public import ConvexPublic
from opdisc.convex.start import PublicStart
from opdisc.data import EncodedTable
from opdisc.errors import CalibrationError, rehearse
from opdisc.privacy import (
    CalibrationStatus,
    EntropySource,
    Ledger,
    Prepared,
    Reason,
    SeededEntropy,
    prepared_first,
)
from opdisc.privacy.receipts import HULL, ConvexReceipt
from opdisc.tuned import LARGEST_SCORE, SCORE_FROM_START
from oracles.arithmetic import FloatArray
from oracles.convex import RowBounds
from oracles.problem import ErrorCosts

RESOLUTION = 256
"""Released weights are whole multiples of 1 / 256."""


MOST_EPSILON = 1e6
"""Beyond it, where nothing is hidden any more, doubles could be too coarse to end in time."""


@prepared_first
def hull_perturbation(
    table: EncodedTable,
    shape: HullShape,
    public: ConvexPublic,
    *,
    entropy: EntropySource,
    ridge: float | None = None,
    start: PublicStart | None = None,
    unit: int = 1,
    ledger: Ledger | None = None,
    choice: Reason | None = None,
) -> Prepared[ConvexRelease]:
    """Minimise the sum of logistic losses plus a ridge and a tilt, and release rounded weights.

    Parameters
    ----------
    table : EncodedTable
        Private rows as the schema encodes them, equal ones merged.
    shape : HullShape
        What the schema says about its columns.
    public : ConvexPublic
        Public facts; the loss must be logistic.
    entropy : EntropySource
        Random bits.
    ridge : float or None
        Lambda of ``(Lambda/2)|w|^2`` in the sum scale, columns centred; None takes the least
        predicted error. At least ``scale R^2``, R the largest length of a centred row.
    start : PublicStart or None
        Public weights that the ridge pulls towards, ``(Lambda/2)|w - w0|^2``; None: 0.
    unit : int
        The points are multiples of ``1 / unit``; more than 1 for a box of single columns.
    ledger : Ledger or None
        Where the budget is recorded first.
    choice : Reason or None
        Why this mechanism, for the receipt, where it was chosen automatically.

    Returns
    -------
    ConvexRelease
        Weights of constant and columns as they are, not centred, in multiples of 1 / 256.

    Raises
    ------
    CalibrationError
        If the loss, the ridge or the number of rows does not suit; nothing is spent.

    Notes
    -----
    **Guarantee.** Pure, both relations, several rows per unit, error costs. The released integers
    have exactly the law of real arithmetic. docs/convex.md, entry "hull"; the noise is that of
    Awan and Slavkovic 2021, section 4.
    """
    plan = plan_hull(shape, public, ridge=ridge, start=start, unit=unit)
    public = _own_public(shape, public)
    if public.n_rows is not None and public.n_rows != table.n_rows:
        raise CalibrationError("n_rows must be the number of rows of the table; correct it.")
    if not shape.n_columns + 1 == table.points.shape[1] == public.dimension:
        raise CalibrationError(
            f"a table must have the {shape.n_columns} columns of its hull and the constant; "
            "encode it by the same schema."
        )
    costs = public.loss.costs or ErrorCosts()
    objective = HullObjective(
        shape=shape,
        ridge=Fraction(plan.setting("ridge")),
        scale=exact_scale(public),
        resolution=RESOLUTION,
        start=() if start is None else start.weights,
    )

    def weights(rows: EncodedTable, source: EntropySource) -> FloatArray:
        private = HullTable.of(rows, shape, costs, unit)
        return (
            np.array(
                released_weights(private, objective, HullNoise(shape, source)), dtype=np.float64
            )
            / RESOLUTION
        )

    rehearse("hull perturbation", lambda: weights(_toy(shape, unit), SeededEntropy(0)))

    def compute() -> FloatArray:
        return weights(table, entropy)

    return charge_of(plan, public, compute, entropy=entropy, packages=_versions(), choice=choice)


def hull_receipt(
    shape: HullShape,
    public: ConvexPublic,
    entropy: EntropySource,
    choice: Reason | None = None,
    start: PublicStart | None = None,
) -> ConvexReceipt:
    """Return the receipt of a release that does not happen; arguments as for the release."""
    plan = plan_hull(shape, public, start=start)
    return receipt_of(plan, _own_public(shape, public), entropy, _versions(), choice)


def _own_public(shape: HullShape, public: ConvexPublic) -> ConvexPublic:
    """Return the facts that the receipt states: a row as it is centred, no domain, no delta."""
    bounds = RowBounds(l2=math.sqrt(shape.squared_radius), linf=1.0)
    params = replace(public.params, delta=0.0)
    return replace(public, domain=None, bounds=bounds, params=params)


def plan_hull(
    shape: HullShape,
    public: ConvexPublic,
    *,
    ridge: float | None = None,
    start: PublicStart | None = None,
    unit: int = 1,
) -> NoisePlan:
    """Calibrate hull perturbation; see its function for the arguments."""
    if start is not None and len(start.weights) != shape.n_columns + 1:
        raise CalibrationError(
            f"a start must have a weight for the constant and {shape.n_columns} columns; make it "
            "by the same schema."
        )
    if not _is_logistic(public):
        raise CalibrationError(
            f"hull noise is calibrated for the logistic loss, got the {public.loss.name} loss; "
            "choose another mechanism."
        )
    if not public.params.epsilon <= MOST_EPSILON:
        raise CalibrationError(
            f"hull noise takes an epsilon of at most {MOST_EPSILON:,.0f}, got "
            f"{public.params.epsilon:g}; choose another mechanism."
        )
    scale = exact_scale(public)
    least = scale * shape.squared_radius
    if ridge is None:
        length = float(scale) * math.sqrt(mean_square(shape))
        guess = largest_score(public.typical_rows, length, is_started=start is not None)
        wanted = length * math.sqrt(shape.squared_radius) / guess
        ridge = _above(max(least, Fraction(wanted)))
    elif not _is_enough(ridge, least):  # as a double, which is what is minimised with
        raise CalibrationError(
            f"the ridge of hull noise must be finite and at least {_above(least)!r} at this "
            f"epsilon and these error costs, got {ridge!r}; leave it out."
        )
    settings = [("ridge", float(ridge)), ("resolution", float(RESOLUTION))]
    if unit > 1:
        settings.append(("steps of a range", float(unit)))
    rows = "the schema's rows" if unit == 1 else "all rows in the box of the ranges"
    return NoisePlan(
        mechanism=HULL,
        theorem="hull perturbation (docs/convex.md, hull)",
        status=CalibrationStatus.PROVEN,
        law=f"tilt with density exp(-|b|_K / s), K the hull of {rows}, drawn exactly",
        scales=(float(scale),),
        settings=tuple(settings),
        conditions=() if start is None else start.conditions,
        grid=1 / RESOLUTION,
        is_exact=True,
        start="" if start is None else start.source,
    )


def suits_hull(shape: HullShape, public: ConvexPublic, ridge: float | None) -> bool:
    """Return whether hull noise can be had and is no longer than that of objective perturbation.

    With delta = 0 it never is: both are pure, and this one has the best shape.
    """
    if not _is_logistic(public) or not public.params.epsilon <= MOST_EPSILON:
        return False
    scale = exact_scale(public)
    if ridge is not None and not _is_enough(ridge, scale * shape.squared_radius):
        return False
    if public.params.delta == 0:
        return True
    other = plan_objective_perturbation(public, ridge=ridge)
    if other.setting("pure"):
        return True
    length = other.scales[0] * math.sqrt(public.dimension)
    return float(scale) * math.sqrt(mean_square(shape)) <= length


def _is_enough(ridge: object, least: Fraction) -> bool:
    return is_number(ridge) and ridge <= sys.float_info.max and least <= float(ridge)


def _is_logistic(public: ConvexPublic) -> bool:
    return public.loss.name == "logistic"


def exact_scale(public: ConvexPublic) -> Fraction:
    """Return the scale s of the noise: changed rows times the largest cost over epsilon."""
    costs = public.loss.costs or ErrorCosts()
    epsilon = float(public.params.epsilon)
    # Below epsilon both as it is printed and as it is stored.
    promised = min(Fraction(epsilon), Fraction(repr(epsilon)))
    return public.changed_rows * costs.largest / promised


def largest_score(rows: int | None, length: float, *, is_started: bool) -> float:
    """Return the public guess g of the largest score, or of how far the noise may move one.

    A ridge pulls by ``Lambda g^2 / (2 R^2)``, noise of a length by ``length^2 / (2 Lambda)``; so
    the ridge of least error is ``length R / g``. The guess grows with the rows beside the length.
    From a start it begins at 0, so that a few rows under much noise leave the start as it is, and
    is that without one from 11 rows for each unit of length on.
    """
    each = None if rows is None else max(rows, 1) / length
    if not is_started:
        return LARGEST_SCORE if each is None else 2 * each ** (1 / 3)
    return SCORE_FROM_START if each is None else min(SCORE_FROM_START * each, 2 * each ** (1 / 3))


def _above(number: Fraction) -> float:
    """Return the least double from a number on."""
    found = float(number)
    return found if Fraction(found) >= number else math.nextafter(found, math.inf)


def _toy(shape: HullShape, unit: int) -> EncodedTable:
    """Return two rows of zeros, one with each label."""
    points = np.zeros((1, shape.n_columns + 1), dtype=np.int8 if unit == 1 else np.int16)
    points[0, 0] = unit
    one = np.ones(1, dtype=np.int64)
    return EncodedTable(points=points, positives=one, negatives=one, n_rows=2)


@functools.cache
def _versions() -> dict[str, str]:
    return {name: version(name) for name in ("numpy", "python-flint")}
