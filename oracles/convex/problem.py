"""A tilted sum of losses over a convex domain: what the oracles for real parameters minimise."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from oracles.arithmetic import FloatArray
from oracles.convex.costly_losses import CostlyLoss
from oracles.convex.domain import ExactDomain
from oracles.convex.linear_losses import LinearLoss
from oracles.convex.loss_names import CERTIFIABLE_LOSSES
from oracles.errors import InvalidProblem

UNIT_ROUNDOFF = 2.0**-53

_ELEMENTARY_OPERATIONS = 64
"""Rounding errors allowed to one evaluation of a loss or conjugate, the library's log included."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TiltedProblem:
    """Minimise ``sum_i weights_i phi(<theta, x_i>, y_i) - <tilt, theta>`` over a domain.

    Parameters
    ----------
    features : float array, shape (n, d)
        The points x_i.
    targets : float array, shape (n,)
        y_i: -1 or +1 for classification losses, any number for ``absolute`` and ``squared``.
    weights : float array, shape (n,)
        Non-negative multiplicities.
    loss : LinearLoss
        The loss phi, one that ``is_certifiable``. Error costs become weights: a problem keeps
        the loss without them.
    domain : ExactDomain
        Where theta may be.
    tilt : float array, shape (d,)
        Subtracted linear form.

    Raises
    ------
    InvalidProblem
        If shapes disagree or a value is not finite.
    """

    features: FloatArray
    targets: FloatArray
    weights: FloatArray
    loss: LinearLoss
    domain: ExactDomain
    tilt: FloatArray

    def __post_init__(self) -> None:
        """Check and freeze the arrays."""
        for name, dims in (("features", 2), ("targets", 1), ("weights", 1), ("tilt", 1)):
            array = _frozen(getattr(self, name))
            if array.ndim != dims or not np.isfinite(array).all():
                raise InvalidProblem(f"{name} must be a finite array with {dims} dimension(s).")
            object.__setattr__(self, name, array)
        n, d = self.features.shape
        if not (len(self.targets) == len(self.weights) == n and len(self.tilt) == d):
            raise InvalidProblem("features, targets, weights and tilt must agree in length.")
        if self.domain.dimension != d:
            raise InvalidProblem("the domain must have one coordinate per feature.")
        if (self.weights < 0).any():
            raise InvalidProblem("weights must be >= 0.")
        if not self.loss.is_certifiable:
            raise InvalidProblem(
                f"loss must be one of {', '.join(CERTIFIABLE_LOSSES)}, got '{self.loss.name}'."
            )
        if self.loss.is_classification and not np.isin(self.targets, (-1.0, 1.0)).all():
            raise InvalidProblem(f"the {self.loss.name} loss needs targets -1 and +1.")
        if isinstance(self.loss, CostlyLoss):
            costs = self.loss.of_labels(self.targets)
            object.__setattr__(self, "weights", _frozen(self.weights * costs))
            object.__setattr__(self, "loss", self.loss.loss)

    @property
    def dimension(self) -> int:
        """Number d of coordinates."""
        return int(self.features.shape[1])

    def with_tilt(self, tilt: ArrayLike) -> TiltedProblem:
        """Return the same problem under another tilt."""
        array = _frozen(tilt)
        if array.shape != self.tilt.shape or not np.isfinite(array).all():
            raise InvalidProblem("a tilt must be a finite vector with one number per feature.")
        # A shallow copy: everything else was checked when the problem was made.
        other = copy.copy(self)
        object.__setattr__(other, "tilt", array)
        return other

    def loss_at(self, parameters: FloatArray) -> float:
        """Return the weighted sum of losses, without the tilt."""
        return float(self.weights @ self.loss.value(self.features, self.targets, parameters))

    def objective(self, parameters: FloatArray) -> float:
        """Return what is minimised."""
        return self.loss_at(parameters) - float(self.tilt @ parameters)

    def objective_error(self, parameters: FloatArray) -> float:
        """Return a bound on the rounding error of :meth:`objective`.

        Every loss has value and score in the same inner products; with ``k`` operations in a chain
        the standard bound is ``k u / (1 - k u)`` times the sum of absolute terms. A score's error
        moves a loss by at most its slope times it.
        """
        loss, scores = self.loss, self.features @ parameters
        sizes = np.abs(self.features) @ np.abs(parameters)
        slopes = np.maximum(1.0, np.abs(loss.slopes(scores, self.targets)))
        slopes = slopes / min(1.0, loss.width)
        terms = np.abs(loss.of_scores(scores, self.targets)) + slopes * (
            1.0 + sizes + np.abs(self.targets)
        )
        total = float(self.weights @ terms) + float(np.abs(self.tilt) @ np.abs(parameters))
        return self.chain_error * total

    @property
    def chain_error(self) -> float:
        """Relative error of the longest chain of operations here, doubled to be safe."""
        operations = sum(self.features.shape) + _ELEMENTARY_OPERATIONS
        return 2 * operations * UNIT_ROUNDOFF


def _frozen(values: ArrayLike) -> FloatArray:
    out = np.array(values, dtype=np.float64)
    out.setflags(write=False)
    return out
