"""The losses of one point by name; see oracles/point_loss.py for what each of them is."""

from __future__ import annotations

import math

import numpy as np

from oracles.arrays import FloatArray
from oracles.bent_losses import huberised_hinge, ramp
from oracles.errors import InvalidProblem
from oracles.point_loss import PointLoss, decreasing_range, loss_of


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
        return huberised_hinge(width)
    if name == "ramp":
        return ramp(width)
    raise InvalidProblem(f"loss must be one of {', '.join(LOSS_NAMES)}, got '{name}'.")


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


_FIXED: dict[str, PointLoss] = {
    loss.name: loss
    for loss in (
        loss_of(
            name="hinge",
            shape="piecewise-linear",
            signed=True,
            value=_hinge,
            subgradient=_hinge_slope,
            multiplier_range=decreasing_range,
            conjugate=_linear_conjugate,
        ),
        loss_of(
            name="absolute",
            shape="piecewise-linear",
            signed=False,
            value=_absolute,
            subgradient=_absolute_slope,
            multiplier_range=_unit_range,
            conjugate=_linear_conjugate,
        ),
        loss_of(
            name="logistic",
            shape="smooth",
            signed=True,
            value=_logistic,
            subgradient=_logistic_slope,
            multiplier_range=decreasing_range,
            conjugate=_logistic_conjugate,
            curvature=_logistic_curvature,
        ),
        loss_of(
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
