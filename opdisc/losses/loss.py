"""What a loss of linear scores offers, and the constants that public bounds give it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from opdisc.errors import CalibrationError
from oracles.arrays import FloatArray


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
