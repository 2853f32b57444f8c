"""Losses of labels -1 and +1."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from oracles.arithmetic import FloatArray
from oracles.convex.constants import RowBounds
from oracles.convex.linear_losses import LinearLoss
from oracles.errors import InvalidProblem


class MarginLoss(LinearLoss):
    """A loss that falls with the margin ``y s``, by at most 1 per unit of it."""

    is_certifiable = True

    def slope_range(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the ends of ``-y b`` for b in [0, 1]."""
        return np.minimum(-y, 0.0), np.maximum(-y, 0.0)


@dataclass(frozen=True, slots=True)
class LogisticLoss(MarginLoss):
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

    def conjugates(self, slopes: FloatArray, y: FloatArray) -> FloatArray:
        """Return ``b log b + (1 - b) log(1 - b)`` with ``b = -a y``."""
        b = np.clip(-slopes * y, 0.0, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            low = np.where(b > 0, b * np.log(b), 0.0)
            high = np.where(b < 1, (1 - b) * np.log1p(-b), 0.0)
        return np.asarray(low + high)

    def slope_bound(self, bounds: RowBounds, score_bound: float) -> float:
        """Return the slope at the worst score."""
        return float(special.expit(score_bound))

    def curvature_bound(self) -> float:
        """Return 1/4."""
        return 0.25


@dataclass(frozen=True, slots=True)
class HingeLoss(MarginLoss):
    """``max(0, 1 - y <x, theta>)``: slope at most 1, a kink at margin 1."""

    name = "hinge"

    def of_scores(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return the loss of each score."""
        return np.maximum(0.0, 1.0 - y * scores)

    def slopes(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return ``-y`` below margin 1, else 0."""
        return np.where(y * scores < 1.0, -y, 0.0)

    def conjugates(self, slopes: FloatArray, y: FloatArray) -> FloatArray:
        """Return ``-b`` with ``b = -a y``, which is ``a y``."""
        return np.asarray(slopes * y)

    def slope_bound(self, bounds: RowBounds, score_bound: float) -> float:
        """Return 1."""
        return 1.0

    def curvature_bound(self) -> float:
        """Return infinity."""
        return math.inf


@dataclass(frozen=True, slots=True)
class HuberisedHingeLoss(MarginLoss):
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

    def conjugates(self, slopes: FloatArray, y: FloatArray) -> FloatArray:
        """Return ``h b^2 - (1 + h) b`` with ``b = -a y``."""
        b = -slopes * y
        return np.asarray(self.width * b * b - (1.0 + self.width) * b)

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
    is_certifiable = True

    def __post_init__(self) -> None:
        """Refuse a width that is not positive."""
        _require_width(self.width)

    def of_scores(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return the loss of each score, in [0, 1]."""
        return np.asarray(np.clip((self.width - y * scores) / (2 * self.width), 0.0, 1.0))

    def slopes(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return ``-y / (2 h)`` between the kinks, else 0."""
        return np.where(np.abs(scores) < self.width, -y / (2 * self.width), 0.0)

    def minorant(
        self, lower: FloatArray, upper: FloatArray, y: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the better of a constant and a line below the ramp on each interval.

        In ``t = (y s + h) / (2 h)`` the ramp is ``r(t) = min(1, max(0, 1 - t))``. It decreases,
        so its value at the far end is a minorant. It is concave up to ``t = 1``, so the chord
        from the near end to ``min(far end, 1)`` is one there, and beyond 1 the chord is below 0.
        """
        width = self.width
        flipped = np.broadcast_to(y, lower.shape) < 0
        near = (np.where(flipped, -upper, lower) + width) / (2 * width)
        far = (np.where(flipped, -lower, upper) + width) / (2 * width)
        end = np.minimum(far, 1.0)
        span = np.maximum(end - near, 0.0)
        at_near, at_end = np.clip(1.0 - near, 0.0, 1.0), np.clip(1.0 - end, 0.0, 1.0)
        slope = np.divide(at_end - at_near, span, out=np.zeros_like(span), where=span > 0)
        constant = np.clip(1.0 - far, 0.0, 1.0)
        # The line loses at the far end what the constant loses at the near end: take the smaller.
        line_wins = constant - (at_near + slope * (far - near)) < at_near - constant
        slope = np.where(line_wins, slope, 0.0)
        height = np.where(line_wins, at_near - slope * near, constant)
        # Back to s: t = (y s + h) / (2 h).
        return slope * np.where(flipped, -0.5, 0.5) / width, height + 0.5 * slope

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
        raise InvalidProblem(f"the width of a loss must be finite and > 0, got {width!r}.")
