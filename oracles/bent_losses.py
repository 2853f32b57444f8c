"""Losses of the margin with a bend of a given width: huberised hinge and ramp."""

from __future__ import annotations

import numpy as np

from oracles.arrays import FloatArray
from oracles.errors import InvalidProblem
from oracles.point_loss import PointLoss, decreasing_range, loss_of


def huberised_hinge(width: float) -> PointLoss:
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

    return loss_of(
        name="huberised hinge",
        shape="smooth",
        signed=True,
        value=value,
        subgradient=subgradient,
        multiplier_range=decreasing_range,
        conjugate=conjugate,
        curvature=curvature,
    )


def ramp(width: float) -> PointLoss:
    """Return the loss that falls from 1 at margin -h to 0 at margin h."""

    def value(s: FloatArray, y: FloatArray) -> FloatArray:
        return np.asarray(np.clip((width - y * s) / (2 * width), 0.0, 1.0))

    def subgradient(s: FloatArray, y: FloatArray) -> FloatArray:
        return np.where(np.abs(s) < width, -y / (2 * width), 0.0)

    def minorant(
        lower: FloatArray, upper: FloatArray, y: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        return _ramp_minorant(lower, upper, y, width)

    return loss_of(
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
