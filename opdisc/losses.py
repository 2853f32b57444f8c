"""Losses of linear scores, with constants derived from public bounds on one row.

Every loss here is ``phi(<x, theta>, y)`` for one row (x, y). The derivative of ``phi`` in the
score is bounded by a number that public facts fix, so Lipschitz and smoothness constants follow
from the public bounds on ``|x|`` alone, and never from a table.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from opdisc.errors import CalibrationError

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowBounds:
    """Public bounds on one row, the constant column included.

    Parameters
    ----------
    l2 : float
        Largest Euclidean norm of x.
    linf : float or None
        Largest absolute coordinate of x; None takes ``l2``.
    label : float
        Largest absolute label; classification losses take labels -1 and +1.

    Raises
    ------
    CalibrationError
        If a bound is missing, negative or infinite.
    """

    l2: float
    linf: float | None = None
    label: float = 1.0

    def __post_init__(self) -> None:
        """Refuse absent bounds: they set the noise, and may not come from the table."""
        for name in ("l2", "linf", "label"):
            value = getattr(self, name)
            if value is None and name == "linf":
                continue
            if not isinstance(value, int | float) or not 0 < value < math.inf:
                raise CalibrationError(
                    f"public bounds must be finite and > 0, got {name}={value!r}; declare one."
                )

    @property
    def largest_coordinate(self) -> float:
        """Largest absolute coordinate of x."""
        return self.l2 if self.linf is None else min(self.linf, self.l2)


@dataclass(frozen=True, slots=True, kw_only=True)
class LossConstants:
    """What calibrations need to know of one row's loss, as a function of theta.

    Parameters
    ----------
    lipschitz_l2 : float
        Bound on the Euclidean norm of the gradient: ``|l(a) - l(b)| <= lipschitz_l2 |a - b|_2``.
    lipschitz_l1 : float
        Bound on its largest coordinate: ``|l(a) - l(b)| <= lipschitz_l1 |a - b|_1``.
    smoothness_l2, smoothness_l1 : float
        Lipschitz constants of the gradient for the same two norms; infinite where the gradient
        jumps.
    strong_convexity : float
        nu with ``l - (nu/2)|theta|_2^2`` convex, on every row; 0 for a loss of one score.
    """

    lipschitz_l2: float
    lipschitz_l1: float
    smoothness_l2: float
    smoothness_l1: float
    strong_convexity: float


class LinearLoss(ABC):
    """A loss of one score, ``l(theta; x, y) = phi(<x, theta>, y)``.

    Subclasses give ``phi``, its derivative and the public bounds on its derivatives. At a kink the
    derivative is any subgradient.
    """

    name: str
    is_convex: bool = True
    is_classification: bool = True

    @abstractmethod
    def of_scores(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return ``phi(score, y)`` elementwise, shape (n,)."""

    @abstractmethod
    def slopes(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return the derivative of ``phi`` in the score, elementwise, shape (n,)."""

    def curvatures(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return the second derivative of ``phi`` in the score, shape (n,); 0 where it jumps."""
        return np.zeros_like(scores)

    @abstractmethod
    def slope_bound(self, bounds: RowBounds, score_bound: float) -> float:
        """Return a bound on ``|phi'|`` for scores of at most ``score_bound`` in size."""

    @abstractmethod
    def curvature_bound(self) -> float:
        """Return a bound on ``|phi''|``; infinite where ``phi'`` jumps."""

    def value(self, X: FloatArray, y: FloatArray, theta: FloatArray) -> FloatArray:
        """Return each row's loss.

        Parameters
        ----------
        X : ndarray of shape (n, p)
            Rows, the constant column included.
        y : ndarray of shape (n,)
            Labels: -1 or +1 for classification, numbers for regression.
        theta : ndarray of shape (p,)
            Parameter.

        Returns
        -------
        ndarray of shape (n,)
        """
        return self.of_scores(X @ theta, y)

    def gradient(self, X: FloatArray, y: FloatArray, theta: FloatArray) -> FloatArray:
        """Return each row's gradient in theta, shape (n, p)."""
        return np.asarray(self.slopes(X @ theta, y)[:, None] * X)

    def sum_gradient(
        self, X: FloatArray, y: FloatArray, theta: FloatArray, weights: FloatArray | None = None
    ) -> FloatArray:
        """Return the gradient of the (weighted) sum of losses, shape (p,)."""
        slopes = self.slopes(X @ theta, y)
        return np.asarray((slopes if weights is None else slopes * weights) @ X)

    def sum_value(
        self, X: FloatArray, y: FloatArray, theta: FloatArray, weights: FloatArray | None = None
    ) -> float:
        """Return the (weighted) sum of losses."""
        values = self.value(X, y, theta)
        return float(values.sum() if weights is None else values @ weights)

    def constants(self, bounds: RowBounds, *, score_bound: float = math.inf) -> LossConstants:
        """Return the constants of one row's loss.

        Parameters
        ----------
        bounds : RowBounds
            Public bounds on one row.
        score_bound : float
            Largest ``|<x, theta>|`` over the domain (``domain.score_bound(bounds)``); the squared
            loss needs it, the others ignore it.

        Raises
        ------
        CalibrationError
            If the loss has no bounded derivative without a bound on the score.
        """
        slope = self.slope_bound(bounds, score_bound)
        if not math.isfinite(slope):
            raise CalibrationError(
                f"the {self.name} loss needs a bounded domain for a Lipschitz constant; declare "
                "one."
            )
        curvature, widest = self.curvature_bound(), bounds.largest_coordinate
        return LossConstants(
            lipschitz_l2=slope * bounds.l2,
            lipschitz_l1=slope * widest,
            smoothness_l2=curvature * bounds.l2**2,
            smoothness_l1=curvature * widest**2,
            strong_convexity=0.0,
        )


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


@dataclass(frozen=True, slots=True)
class SquaredLoss(LinearLoss):
    """``(<x, theta> - y)^2 / 2``: curvature 1; the slope needs a bound on the score."""

    name = "squared"
    is_classification = False

    def of_scores(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return the loss of each score."""
        return np.asarray(0.5 * (scores - y) ** 2)

    def slopes(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return the residual."""
        return np.asarray(scores - y)

    def curvatures(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return 1."""
        return np.ones_like(scores)

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

    def of_scores(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return the loss of each score."""
        return np.asarray(np.abs(scores - y))

    def slopes(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return the sign of the residual."""
        return np.asarray(np.sign(scores - y))

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


def _require_width(width: float) -> None:
    if not 0 < width < math.inf:
        raise CalibrationError(f"the width of a loss must be finite and > 0, got {width!r}.")


_LOSSES: dict[str, type[LinearLoss]] = {
    loss.name: loss
    for loss in (
        LogisticLoss,
        HingeLoss,
        HuberisedHingeLoss,
        RampLoss,
        SigmoidLoss,
        SquaredLoss,
        AbsoluteLoss,
        ScoreLoss,
    )
}


def loss_by_name(name: str) -> LinearLoss:
    """Return the loss of that name with its default shape.

    Raises
    ------
    CalibrationError
        If there is none.
    """
    if name not in _LOSSES:
        raise CalibrationError(f"loss must be one of {', '.join(_LOSSES)}, got {name!r}.")
    return _LOSSES[name]()
