"""What a loss of one linear score offers: values, slopes, constants, and what a proof needs.

A loss is ``l(theta; x, y) = phi(<x, theta>, y)`` for one row (x, y). A bound on the derivative of
``phi`` and bounds on ``x`` give Lipschitz and smoothness constants. The conjugate
``phi*(a) = sup_s a s - phi(s, y)`` of a convex loss gives lower bounds by weak duality, a line
below ``phi`` on an interval gives them for any loss.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from oracles.arithmetic import FloatArray
from oracles.convex.constants import LossConstants, RowBounds
from oracles.errors import InvalidProblem
from oracles.problem import ErrorCosts


class LinearLoss(ABC):
    """A loss of one score, ``l(theta; x, y) = phi(<x, theta>, y)``.

    Subclasses give ``phi``, its derivative and bounds on its derivatives. At a kink the derivative
    is any subgradient. A loss whose minimum the oracles certify gives conjugates or minorants too.

    Attributes
    ----------
    name : str
        How callers refer to it.
    is_convex : bool
        Whether ``phi`` is convex in the score.
    is_classification : bool
        Whether labels must be -1 or +1.
    is_certifiable : bool
        Whether the oracles can prove a minimum: conjugates if convex, minorants in any case.
    width : float
        Half-width of the stretch on which the loss bends; 1 for a loss without such a setting.
    costs : ErrorCosts
        What a mistake costs; the loss is then in units of cost.
    """

    name: str
    is_convex: bool = True
    is_classification: bool = True
    is_certifiable: bool = False
    width: float = 1.0
    costs: ErrorCosts = ErrorCosts()

    @abstractmethod
    def of_scores(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return ``phi(score, y)`` elementwise."""

    @abstractmethod
    def slopes(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return the derivative of ``phi`` in the score, elementwise."""

    def curvatures(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return the second derivative of ``phi`` in the score, elementwise; 0 where it jumps."""
        return np.zeros_like(scores)

    @abstractmethod
    def slope_bound(self, bounds: RowBounds, score_bound: float) -> float:
        """Return a bound on ``|phi'|`` for scores of at most ``score_bound`` in size."""

    @abstractmethod
    def curvature_bound(self) -> float:
        """Return a bound on ``|phi''|``; infinite where ``phi'`` jumps."""

    @property
    def is_smooth(self) -> bool:
        """Whether the slope never jumps."""
        return math.isfinite(self.curvature_bound())

    def slope_range(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the lowest and highest ``a`` with a finite conjugate, for each label."""
        raise InvalidProblem("weak duality needs a convex loss; use the 'global' oracle.")

    def conjugates(self, slopes: FloatArray, y: FloatArray) -> FloatArray:
        """Return ``phi*(a)`` elementwise, for slopes ``a`` in :meth:`slope_range`."""
        raise InvalidProblem("weak duality needs a convex loss; use the 'global' oracle.")

    def minorant(
        self, lower: FloatArray, upper: FloatArray, y: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return a line below the loss on each interval of scores.

        Parameters
        ----------
        lower, upper : ndarray of shape (..., n)
            Ends of the intervals.
        y : ndarray of shape (n,)
            Labels.

        Returns
        -------
        slope, height : ndarray of shape (..., n)
            ``slope * s + height <= phi(s, y)`` for all s in ``[lower, upper]``. A convex loss
            takes the tangent in the middle.
        """
        if not self.is_convex:
            raise InvalidProblem(f"the {self.name} loss has no minorant; choose another loss.")
        middle = 0.5 * (lower + upper)
        labels = np.broadcast_to(y, middle.shape)
        slope = self.slopes(middle, labels)
        return slope, self.of_scores(middle, labels) - slope * middle

    def value(self, X: FloatArray, y: FloatArray, parameters: FloatArray) -> FloatArray:
        """Return each row's loss.

        Parameters
        ----------
        X : ndarray of shape (n, p)
            Rows, the constant column included.
        y : ndarray of shape (n,)
            Labels: -1 or +1 for classification, numbers for regression.
        parameters : ndarray of shape (p,)
            Parameter.

        Returns
        -------
        ndarray of shape (n,)
        """
        return self.of_scores(X @ parameters, y)

    def gradient(self, X: FloatArray, y: FloatArray, parameters: FloatArray) -> FloatArray:
        """Return each row's gradient in theta, shape (n, p)."""
        return np.asarray(self.slopes(X @ parameters, y)[:, None] * X)

    def sum_gradient(
        self,
        X: FloatArray,
        y: FloatArray,
        parameters: FloatArray,
        weights: FloatArray | None = None,
    ) -> FloatArray:
        """Return the gradient of the (weighted) sum of losses, shape (p,)."""
        slopes = self.slopes(X @ parameters, y)
        return np.asarray((slopes if weights is None else slopes * weights) @ X)

    def sum_value(
        self,
        X: FloatArray,
        y: FloatArray,
        parameters: FloatArray,
        weights: FloatArray | None = None,
    ) -> float:
        """Return the (weighted) sum of losses."""
        values = self.value(X, y, parameters)
        return float(values.sum() if weights is None else values @ weights)

    def constants(self, bounds: RowBounds, *, score_bound: float = math.inf) -> LossConstants:
        """Return the constants of one row's loss.

        Parameters
        ----------
        bounds : RowBounds
            Bounds on one row.
        score_bound : float
            Largest ``|<x, theta>|`` over the domain (``domain.score_bound(bounds)``); the squared
            loss needs it, the logistic loss gains a little by it, the others ignore it.

        Raises
        ------
        InvalidProblem
            If the loss has no bounded derivative without a bound on the score.
        """
        slope = self.slope_bound(bounds, score_bound)
        if not math.isfinite(slope):
            raise InvalidProblem(
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
