"""Losses of one point as functions of its score, with what a duality gap needs of them.

A loss ``phi(s, y)`` has score ``s = <theta, x>`` and target ``y`` (-1 or +1 for classification,
any number for ``absolute`` and ``squared``). Convex ones come with their conjugate
``phi*(a) = sup_s a s - phi(s)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from oracles.errors import InvalidProblem

FloatArray: TypeAlias = NDArray[np.float64]
Elementwise: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True, slots=True, kw_only=True)
class PointLoss:
    """One loss; every function is elementwise in (scores or multipliers, targets).

    Parameters
    ----------
    name : str
        How problems refer to it.
    shape : str
        ``"piecewise-linear"`` (convex), ``"smooth"`` (convex) or ``"non-convex"``.
    signed : bool
        Whether targets must be -1 or +1.
    value, subgradient : callable
        ``phi(s, y)`` and a subgradient in ``s`` (any slope if non-convex).
    multiplier_range : callable
        ``y -> (lower, upper)``: where the conjugate is finite.
    conjugate : callable
        ``phi*(a)`` for ``a`` in that range.
    curvature : callable
        Second derivative in ``s`` of a smooth loss, else 0.
    minorant : callable
        ``(lower, upper, y) -> (slope, height)`` with ``slope * s + height <= phi(s, y)`` for all
        ``s`` in ``[lower, upper]``.
    """

    name: str
    shape: str
    signed: bool
    value: Elementwise
    subgradient: Elementwise
    multiplier_range: Callable[[FloatArray], tuple[FloatArray, FloatArray]]
    conjugate: Elementwise
    curvature: Elementwise
    minorant: Callable[[FloatArray, FloatArray, FloatArray], tuple[FloatArray, FloatArray]]

    @property
    def is_convex(self) -> bool:
        """Whether weak duality certifies minimisers of this loss."""
        return self.shape != "non-convex"


def get_loss(name: str, width: float = 1.0) -> PointLoss:
    """Return the loss of that name.

    Parameters
    ----------
    name : str
        One of :data:`LOSS_NAMES`.
    width : float
        Half-width h of the bend of ``huberised hinge`` and of the slope of ``ramp``.

    Raises
    ------
    InvalidProblem
        If there is none, or the width is not positive.
    """
    if not 0 < width < math.inf:
        raise InvalidProblem(f"width must be finite and > 0, got {width}.")
    if name in _FIXED:
        return _FIXED[name]
    if name == "huberised hinge":
        return _huberised_hinge(width)
    if name == "ramp":
        return _ramp_loss(width)
    raise InvalidProblem(f"loss must be one of {', '.join(LOSS_NAMES)}, got '{name}'.")


def _zero(s: FloatArray, y: FloatArray) -> FloatArray:
    return np.zeros_like(s)


def _signed_range(y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the multipliers of a decreasing loss of the margin ``y s``: ``-y b``, b in [0, 1]."""
    return np.minimum(-y, 0.0), np.maximum(-y, 0.0)


def _tangent(
    value: Elementwise, subgradient: Elementwise
) -> Callable[[FloatArray, FloatArray, FloatArray], tuple[FloatArray, FloatArray]]:
    """Return the minorant of a convex loss that touches it in the middle of the interval."""

    def minorant(
        lower: FloatArray, upper: FloatArray, y: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        middle = 0.5 * (lower + upper)
        slope = subgradient(middle, np.broadcast_to(y, middle.shape))
        return slope, value(middle, np.broadcast_to(y, middle.shape)) - slope * middle

    return minorant


# --- hinge: max(0, 1 - y s) ----------------------------------------------------------------------


def _hinge(s: FloatArray, y: FloatArray) -> FloatArray:
    return np.maximum(0.0, 1.0 - y * s)


def _hinge_slope(s: FloatArray, y: FloatArray) -> FloatArray:
    return np.where(y * s < 1.0, -y, 0.0)


def _linear_conjugate(a: FloatArray, y: FloatArray) -> FloatArray:
    # Hinge: -b with a = -y b and y in {-1, +1}. Absolute: a y. Both are a y.
    return a * y


# --- absolute: |s - y| ---------------------------------------------------------------------------


def _absolute(s: FloatArray, y: FloatArray) -> FloatArray:
    return np.abs(s - y)


def _absolute_slope(s: FloatArray, y: FloatArray) -> FloatArray:
    return np.sign(s - y)


def _unit_range(y: FloatArray) -> tuple[FloatArray, FloatArray]:
    return np.full_like(y, -1.0), np.full_like(y, 1.0)


# --- logistic: log(1 + exp(-y s)) ----------------------------------------------------------------


def _logistic(s: FloatArray, y: FloatArray) -> FloatArray:
    out: FloatArray = np.logaddexp(0.0, -y * s)
    return out


def _sigmoid(z: FloatArray) -> FloatArray:
    out: FloatArray = np.exp(-np.logaddexp(0.0, -z))
    return out


def _logistic_slope(s: FloatArray, y: FloatArray) -> FloatArray:
    return -y * _sigmoid(-y * s)


def _logistic_curvature(s: FloatArray, y: FloatArray) -> FloatArray:
    return _sigmoid(s) * _sigmoid(-s)


def _logistic_conjugate(a: FloatArray, y: FloatArray) -> FloatArray:
    b = np.clip(-a * y, 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.where(b > 0, b * np.log(b), 0.0)
        high = np.where(b < 1, (1 - b) * np.log1p(-b), 0.0)
    return low + high


# --- squared: (s - y)^2 / 2 ----------------------------------------------------------------------


def _squared(s: FloatArray, y: FloatArray) -> FloatArray:
    return np.asarray(0.5 * (s - y) ** 2)


def _residual(s: FloatArray, y: FloatArray) -> FloatArray:
    return s - y


def _squared_conjugate(a: FloatArray, y: FloatArray) -> FloatArray:
    return 0.5 * a * a + a * y


def _whole_line(y: FloatArray) -> tuple[FloatArray, FloatArray]:
    return np.full_like(y, -np.inf), np.full_like(y, np.inf)


def _one(s: FloatArray, y: FloatArray) -> FloatArray:
    return np.ones_like(s)


def _loss(**fields: object) -> PointLoss:
    value, subgradient = fields["value"], fields["subgradient"]
    fields.setdefault("minorant", _tangent(value, subgradient))  # type: ignore[arg-type]
    fields.setdefault("curvature", _zero)
    return PointLoss(**fields)  # type: ignore[arg-type]


_FIXED: dict[str, PointLoss] = {
    loss.name: loss
    for loss in (
        _loss(
            name="hinge",
            shape="piecewise-linear",
            signed=True,
            value=_hinge,
            subgradient=_hinge_slope,
            multiplier_range=_signed_range,
            conjugate=_linear_conjugate,
        ),
        _loss(
            name="absolute",
            shape="piecewise-linear",
            signed=False,
            value=_absolute,
            subgradient=_absolute_slope,
            multiplier_range=_unit_range,
            conjugate=_linear_conjugate,
        ),
        _loss(
            name="logistic",
            shape="smooth",
            signed=True,
            value=_logistic,
            subgradient=_logistic_slope,
            multiplier_range=_signed_range,
            conjugate=_logistic_conjugate,
            curvature=_logistic_curvature,
        ),
        _loss(
            name="squared",
            shape="smooth",
            signed=False,
            value=_squared,
            subgradient=_residual,
            multiplier_range=_whole_line,
            conjugate=_squared_conjugate,
            curvature=_one,
        ),
    )
}

LOSS_NAMES = (*_FIXED, "huberised hinge", "ramp")
"""Every loss."""


def _huberised_hinge(width: float) -> PointLoss:
    """Return the hinge with a parabola of half-width h around margin 1."""

    def value(s: FloatArray, y: FloatArray) -> FloatArray:
        short = 1.0 + width - y * s
        bent = np.clip(short, 0.0, 2 * width)
        return np.asarray(bent * bent / (4 * width) + np.maximum(short - 2 * width, 0.0))

    def subgradient(s: FloatArray, y: FloatArray) -> FloatArray:
        return np.asarray(-y * np.clip((1.0 + width - y * s) / (2 * width), 0.0, 1.0))

    def conjugate(a: FloatArray, y: FloatArray) -> FloatArray:
        b = -a * y
        return np.asarray(width * b * b - (1.0 + width) * b)

    def curvature(s: FloatArray, y: FloatArray) -> FloatArray:
        return np.where(np.abs(1.0 - y * s) <= width, 0.5 / width, 0.0)

    return _loss(
        name="huberised hinge",
        shape="smooth",
        signed=True,
        value=value,
        subgradient=subgradient,
        multiplier_range=_signed_range,
        conjugate=conjugate,
        curvature=curvature,
    )


def _ramp_loss(width: float) -> PointLoss:
    """Return the loss that falls from 1 at margin -h to 0 at margin h."""

    def value(s: FloatArray, y: FloatArray) -> FloatArray:
        return np.asarray(np.clip((width - y * s) / (2 * width), 0.0, 1.0))

    def subgradient(s: FloatArray, y: FloatArray) -> FloatArray:
        return np.where(np.abs(s) < width, -y / (2 * width), 0.0)

    def minorant(
        lower: FloatArray, upper: FloatArray, y: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        return _ramp_minorant(lower, upper, y, width)

    return _loss(
        name="ramp",
        shape="non-convex",
        signed=True,
        value=value,
        subgradient=subgradient,
        multiplier_range=_no_range,
        conjugate=_no_conjugate,
        minorant=minorant,
    )


def _no_range(y: FloatArray) -> tuple[FloatArray, FloatArray]:
    raise InvalidProblem("weak duality needs a convex loss; use the 'global' oracle.")


def _no_conjugate(a: FloatArray, y: FloatArray) -> FloatArray:
    raise InvalidProblem("weak duality needs a convex loss; use the 'global' oracle.")


def _ramp_minorant(
    lower: FloatArray, upper: FloatArray, y: FloatArray, width: float
) -> tuple[FloatArray, FloatArray]:
    """Return the better of a constant and a line below the ramp on each interval.

    In ``t = (y s + h) / (2 h)`` the ramp is ``r(t) = min(1, max(0, 1 - t))``. It decreases, so
    its value at the far end is a minorant. It is concave up to ``t = 1``, so the chord from the
    near end to ``min(far end, 1)`` is one there, and beyond 1 the chord is below 0.
    """
    flipped = np.broadcast_to(y, lower.shape) < 0
    near = (np.where(flipped, -upper, lower) + width) / (2 * width)
    far = (np.where(flipped, -lower, upper) + width) / (2 * width)
    end = np.minimum(far, 1.0)
    span = np.maximum(end - near, 0.0)
    at_near, at_end = np.clip(1.0 - near, 0.0, 1.0), np.clip(1.0 - end, 0.0, 1.0)
    slope = np.divide(at_end - at_near, span, out=np.zeros_like(span), where=span > 0)
    constant = np.clip(1.0 - far, 0.0, 1.0)
    # The line loses at the far end what the constant loses at the near end: take the smaller loss.
    line_wins = constant - (at_near + slope * (far - near)) < at_near - constant
    slope = np.where(line_wins, slope, 0.0)
    height = np.where(line_wins, at_near - slope * near, constant)
    # Back to s: t = (y s + h) / (2 h).
    return slope * np.where(flipped, -0.5, 0.5) / width, height + 0.5 * slope
