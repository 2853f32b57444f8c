"""Losses of numeric targets, and linear losses."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from oracles.arithmetic import FloatArray
from oracles.convex.constants import RowBounds
from oracles.convex.linear_losses import LinearLoss


@dataclass(frozen=True, slots=True)
class SquaredLoss(LinearLoss):
    """``(<x, theta> - y)^2 / 2``: curvature 1; the slope needs a bound on the score."""

    name = "squared"
    is_classification = False
    is_certifiable = True

    def of_scores(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return the loss of each score."""
        return np.asarray(0.5 * (scores - y) ** 2)

    def slopes(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return the residual."""
        return np.asarray(scores - y)

    def curvatures(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return 1."""
        return np.ones_like(scores)

    def slope_range(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the whole line."""
        return np.full_like(y, -np.inf), np.full_like(y, np.inf)

    def conjugates(self, slopes: FloatArray, y: FloatArray) -> FloatArray:
        """Return ``a^2 / 2 + a y``."""
        return np.asarray(0.5 * slopes * slopes + slopes * y)

    def slope_bound(self, bounds: RowBounds, score_bound: float) -> float:
        """Return the largest residual, ``score_bound + |y|``."""
        return score_bound + bounds.label

    def curvature_bound(self) -> float:
        """Return 1."""
        return 1.0


@dataclass(frozen=True, slots=True)
class AbsoluteLoss(LinearLoss):
    """``|<x, theta> - y|``, median regression: slope at most 1, a kink at 0."""

    name = "absolute"
    is_classification = False
    is_certifiable = True

    def of_scores(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return the loss of each score."""
        return np.asarray(np.abs(scores - y))

    def slopes(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return the sign of the residual."""
        return np.asarray(np.sign(scores - y))

    def slope_range(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return -1 and 1."""
        return np.full_like(y, -1.0), np.full_like(y, 1.0)

    def conjugates(self, slopes: FloatArray, y: FloatArray) -> FloatArray:
        """Return ``a y``."""
        return np.asarray(slopes * y)

    def slope_bound(self, bounds: RowBounds, score_bound: float) -> float:
        """Return 1."""
        return 1.0

    def curvature_bound(self) -> float:
        """Return infinity."""
        return math.inf


@dataclass(frozen=True, slots=True)
class ScoreLoss(LinearLoss):
    """The score itself, ``<x, theta>``: the linear losses of online learning; no curvature."""

    name = "score"
    is_classification = False

    def of_scores(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return the scores."""
        return np.array(scores)

    def slopes(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return 1."""
        return np.ones_like(scores)

    def slope_bound(self, bounds: RowBounds, score_bound: float) -> float:
        """Return 1."""
        return 1.0

    def curvature_bound(self) -> float:
        """Return 0."""
        return 0.0
