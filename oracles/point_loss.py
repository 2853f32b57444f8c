"""Losses of one point as functions of its score, with what a duality gap needs of them.

A loss ``phi(s, y)`` has score ``s = <theta, x>`` and target ``y`` (-1 or +1 for classification,
any number for ``absolute`` and ``squared``). Convex ones come with their conjugate
``phi*(a) = sup_s a s - phi(s)``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from oracles.arrays import FloatArray

Elementwise: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True, slots=True, kw_only=True)
class PointLoss:
    """One loss; every function is elementwise in (scores or multipliers, targets).

    Parameters
    ----------
    name : str
        How problems refer to it.
    shape : str
        ``"piecewise-linear"`` (convex), ``"smooth"`` (convex) or ``"non-convex"``.
    signed : bool
        Whether targets must be -1 or +1.
    value, subgradient : callable
        ``phi(s, y)`` and a subgradient in ``s`` (any slope if non-convex).
    multiplier_range : callable
        ``y -> (lower, upper)``: where the conjugate is finite.
    conjugate : callable
        ``phi*(a)`` for ``a`` in that range.
    curvature : callable
        Second derivative in ``s`` of a smooth loss, else 0.
    minorant : callable
        ``(lower, upper, y) -> (slope, height)`` with ``slope * s + height <= phi(s, y)`` for all
        ``s`` in ``[lower, upper]``.
    """

    name: str
    shape: str
    signed: bool
    value: Elementwise
    subgradient: Elementwise
    multiplier_range: Callable[[FloatArray], tuple[FloatArray, FloatArray]]
    conjugate: Elementwise
    curvature: Elementwise
    minorant: Callable[[FloatArray, FloatArray, FloatArray], tuple[FloatArray, FloatArray]]

    @property
    def is_convex(self) -> bool:
        """Whether weak duality certifies minimisers of this loss."""
        return self.shape != "non-convex"


def _zero(s: FloatArray, y: FloatArray) -> FloatArray:
    return np.zeros_like(s)


def decreasing_range(y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the multipliers of a decreasing loss of the margin ``y s``: ``-y b``, b in [0, 1]."""
    return np.minimum(-y, 0.0), np.maximum(-y, 0.0)


def _tangent(
    value: Elementwise, subgradient: Elementwise
) -> Callable[[FloatArray, FloatArray, FloatArray], tuple[FloatArray, FloatArray]]:
    """Return the minorant of a convex loss that touches it in the middle of the interval."""

    def minorant(
        lower: FloatArray, upper: FloatArray, y: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        middle = 0.5 * (lower + upper)
        slope = subgradient(middle, np.broadcast_to(y, middle.shape))
        return slope, value(middle, np.broadcast_to(y, middle.shape)) - slope * middle

    return minorant


def loss_of(**fields: object) -> PointLoss:
    """Return a loss; a tangent is its minorant and its curvature is 0 unless they are given."""
    value, subgradient = fields["value"], fields["subgradient"]
    fields.setdefault("minorant", _tangent(value, subgradient))  # type: ignore[arg-type]
    fields.setdefault("curvature", _zero)
    return PointLoss(**fields)  # type: ignore[arg-type]
