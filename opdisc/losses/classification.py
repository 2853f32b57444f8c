"""Losses of labels -1 and +1."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from opdisc.errors import CalibrationError
from opdisc.losses.loss import LinearLoss, RowBounds
from oracles.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class LogisticLoss(LinearLoss):
    """``log(1 + exp(-y <x, theta>))``: slope at most 1, curvature at most 1/4."""

    name = "logistic"

    def of_scores(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return the loss of each score."""
        return np.asarray(np.logaddexp(0.0, -y * scores))

    def slopes(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return ``-y / (1 + exp(y score))``."""
        return np.asarray(-y * special.expit(-y * scores))

    def curvatures(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return ``p (1 - p)``, the same for both labels."""
        return np.asarray(special.expit(scores) * special.expit(-scores))

    def slope_bound(self, bounds: RowBounds, score_bound: float) -> float:
        """Return the slope at the worst score."""
        return float(special.expit(score_bound))

    def curvature_bound(self) -> float:
        """Return 1/4."""
        return 0.25


@dataclass(frozen=True, slots=True)
class HingeLoss(LinearLoss):
    """``max(0, 1 - y <x, theta>)``: slope at most 1, a kink at margin 1."""

    name = "hinge"

    def of_scores(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return the loss of each score."""
        return np.maximum(0.0, 1.0 - y * scores)

    def slopes(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return ``-y`` below margin 1, else 0."""
        return np.where(y * scores < 1.0, -y, 0.0)

    def slope_bound(self, bounds: RowBounds, score_bound: float) -> float:
        """Return 1."""
        return 1.0

    def curvature_bound(self) -> float:
        """Return infinity."""
        return math.inf


@dataclass(frozen=True, slots=True)
class HuberisedHingeLoss(LinearLoss):
    """The hinge with its kink replaced by a parabola of half-width h (C11, section 3.4.2).

    Parameters
    ----------
    width : float
        h > 0. Above margin ``1 + h`` the loss is 0, below ``1 - h`` it is the hinge, between them
        ``(1 + h - margin)^2 / (4 h)``: slope at most 1, curvature at most ``1 / (2 h)``.
    """

    width: float = 0.5
    name = "huberised hinge"

    def __post_init__(self) -> None:
        """Refuse a width that is not positive."""
        _require_width(self.width)

    def of_scores(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return the loss of each score."""
        short = 1.0 + self.width - y * scores
        bent = np.clip(short, 0.0, 2 * self.width)
        return np.asarray(bent**2 / (4 * self.width) + np.maximum(short - 2 * self.width, 0.0))

    def slopes(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return the derivative in the score."""
        short = 1.0 + self.width - y * scores
        return np.asarray(-y * np.clip(short / (2 * self.width), 0.0, 1.0))

    def curvatures(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return ``1 / (2 h)`` on the parabola, else 0."""
        return np.where(np.abs(1.0 - y * scores) <= self.width, 0.5 / self.width, 0.0)

    def slope_bound(self, bounds: RowBounds, score_bound: float) -> float:
        """Return 1."""
        return 1.0

    def curvature_bound(self) -> float:
        """Return ``1 / (2 h)``."""
        return 0.5 / self.width


@dataclass(frozen=True, slots=True)
class RampLoss(LinearLoss):
    """A bounded, non-convex surrogate: 1 below margin -h, 0 above h, linear between.

    Parameters
    ----------
    width : float
        h > 0; the slope is at most ``1 / (2 h)``.
    """

    width: float = 1.0
    name = "ramp"
    is_convex = False

    def __post_init__(self) -> None:
        """Refuse a width that is not positive."""
        _require_width(self.width)

    def of_scores(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return the loss of each score, in [0, 1]."""
        return np.asarray(np.clip((self.width - y * scores) / (2 * self.width), 0.0, 1.0))

    def slopes(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return ``-y / (2 h)`` between the kinks, else 0."""
        return np.where(np.abs(scores) < self.width, -y / (2 * self.width), 0.0)

    def slope_bound(self, bounds: RowBounds, score_bound: float) -> float:
        """Return ``1 / (2 h)``."""
        return 0.5 / self.width

    def curvature_bound(self) -> float:
        """Return infinity."""
        return math.inf


@dataclass(frozen=True, slots=True)
class SigmoidLoss(LinearLoss):
    """``1 / (1 + exp(y <x, theta>))``: bounded, smooth, not convex.

    The slope is at most 1/4 and the curvature at most ``1 / (6 sqrt 3)``, at sigmoid values of
    ``1/2 +- 1 / (2 sqrt 3)``.
    """

    name = "sigmoid"
    is_convex = False

    def of_scores(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return the loss of each score, in (0, 1)."""
        return np.asarray(special.expit(-y * scores))

    def slopes(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return ``-y s (1 - s)`` with s the sigmoid of the score."""
        return np.asarray(-y * special.expit(scores) * special.expit(-scores))

    def curvatures(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return ``-y s (1 - s)(1 - 2 s)``; negative on one side."""
        s = special.expit(scores)
        return np.asarray(-y * s * (1 - s) * (1 - 2 * s))

    def slope_bound(self, bounds: RowBounds, score_bound: float) -> float:
        """Return 1/4."""
        return 0.25

    def curvature_bound(self) -> float:
        """Return ``1 / (6 sqrt 3)``, rounded up."""
        return 1 / (6 * math.sqrt(3)) * (1 + 1e-12)


def _require_width(width: float) -> None:
    if not 0 < width < math.inf:
        raise CalibrationError(f"the width of a loss must be finite and > 0, got {width!r}.")
