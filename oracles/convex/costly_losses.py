"""A loss whose rows count by their true class: what a mistake costs, times the loss itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oracles.arithmetic import FloatArray
from oracles.convex.constants import RowBounds
from oracles.convex.linear_losses import LinearLoss
from oracles.errors import InvalidProblem
from oracles.problem import ErrorCosts


@dataclass(frozen=True, slots=True)
class CostlyLoss(LinearLoss):
    """``c_y phi(<x, theta>, y)``: a loss of labels -1 and +1 times the cost of its class.

    Slopes, curvatures, conjugates and their bounds grow with the cost; the constants, which hold
    for both labels, by the larger one.

    Parameters
    ----------
    loss : LinearLoss
        phi, of labels -1 and +1.
    costs : ErrorCosts
        ``c_y``: what a false negative costs for +1, a false positive for -1.

    Raises
    ------
    InvalidProblem
        If phi has no classes, or weighs its rows already.
    """

    loss: LinearLoss
    costs: ErrorCosts

    def __post_init__(self) -> None:
        """Refuse a loss without classes, and costs of costs."""
        if not self.loss.is_classification:
            raise InvalidProblem(
                f"error costs need a loss of two classes, the {self.loss.name} loss has none; "
                "leave them out."
            )
        if not self.loss.costs.are_equal:
            raise InvalidProblem("a loss takes error costs once; give the loss without any.")

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name of the loss itself."""
        return self.loss.name

    @property
    def is_convex(self) -> bool:  # type: ignore[override]
        """Whether the loss itself is convex."""
        return self.loss.is_convex

    @property
    def is_certifiable(self) -> bool:  # type: ignore[override]
        """Whether the oracles can prove a minimum of the loss itself."""
        return self.loss.is_certifiable

    @property
    def width(self) -> float:  # type: ignore[override]
        """Half-width of the stretch on which the loss itself bends."""
        return self.loss.width

    def of_labels(self, y: FloatArray) -> FloatArray:
        """Return the cost of each label's class."""
        return np.where(y > 0, float(self.costs.false_negative), float(self.costs.false_positive))

    def of_scores(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return the cost of each row's class times its loss."""
        return self.of_labels(y) * self.loss.of_scores(scores, y)

    def slopes(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return the derivative in the score."""
        return self.of_labels(y) * self.loss.slopes(scores, y)

    def curvatures(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return the second derivative in the score."""
        return self.of_labels(y) * self.loss.curvatures(scores, y)

    def slope_bound(self, bounds: RowBounds, score_bound: float) -> float:
        """Return the larger cost times the bound of the loss itself."""
        return self.costs.largest * self.loss.slope_bound(bounds, score_bound)

    def curvature_bound(self) -> float:
        """Return the larger cost times the bound of the loss itself."""
        return self.costs.largest * self.loss.curvature_bound()

    def slope_range(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the loss itself times the costs."""
        low, high = self.loss.slope_range(y)
        return self.of_labels(y) * low, self.of_labels(y) * high

    def conjugates(self, slopes: FloatArray, y: FloatArray) -> FloatArray:
        """Return ``c phi*(a / c)``."""
        cost = self.of_labels(y)
        return cost * self.loss.conjugates(slopes / cost, y)

    def minorant(
        self, lower: FloatArray, upper: FloatArray, y: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return the lines below the loss itself, times the costs."""
        slope, height = self.loss.minorant(lower, upper, y)
        return self.of_labels(y) * slope, self.of_labels(y) * height


def with_costs(loss: LinearLoss, costs: ErrorCosts) -> LinearLoss:
    """Return a loss in units of cost; where both classes cost the same, the loss itself.

    Raises
    ------
    InvalidProblem
        If the loss has no two classes, or has costs already.
    """
    return loss if costs.are_equal else CostlyLoss(loss, costs)
