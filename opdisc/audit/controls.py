"""Facts and losses that claim too little: mistakes that a good audit refutes."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from opdisc.convex import ConvexPublic
from opdisc.privacy import PublicInputs
from oracles.arithmetic import FloatArray
from oracles.convex import LinearLoss, RowBounds

_Facts = TypeVar("_Facts", bound=PublicInputs)


class UnderstatedLoss(LinearLoss):
    """A loss that claims a fraction of its Lipschitz constant: a mistake to be caught.

    Parameters
    ----------
    loss : LinearLoss
        The loss itself.
    divisor : float
        What its slope bound is divided by.
    """

    def __init__(self, loss: LinearLoss, divisor: float) -> None:
        self._loss, self._divisor = loss, divisor
        self.name = f"{loss.name}, understated"
        self.is_convex, self.is_classification = loss.is_convex, loss.is_classification
        self.is_certifiable = loss.is_certifiable

    def of_scores(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return the loss of each score."""
        return self._loss.of_scores(scores, y)

    def slopes(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return the true slopes."""
        return self._loss.slopes(scores, y)

    def curvatures(self, scores: FloatArray, y: FloatArray) -> FloatArray:
        """Return the true curvatures."""
        return self._loss.curvatures(scores, y)

    def slope_range(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the true range."""
        return self._loss.slope_range(y)

    def conjugates(self, slopes: FloatArray, y: FloatArray) -> FloatArray:
        """Return the true conjugates."""
        return self._loss.conjugates(slopes, y)

    def slope_bound(self, bounds: RowBounds, score_bound: float) -> float:
        """Return less than the slope bound."""
        return self._loss.slope_bound(bounds, score_bound) / self._divisor

    def curvature_bound(self) -> float:
        """Return the true curvature bound."""
        return self._loss.curvature_bound()


def understated(public: ConvexPublic, divisor: float) -> ConvexPublic:
    """Return public facts with the loss's Lipschitz constant divided."""
    return replace(public, loss=UnderstatedLoss(public.loss, divisor))


def overspent(public: _Facts, divisor: float) -> _Facts:
    """Return public facts with epsilon multiplied: a pure noise is divided."""
    params = replace(public.params, epsilon=public.params.epsilon * divisor)
    return replace(public, params=params)
