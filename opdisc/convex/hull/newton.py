"""The search for the minimiser, in doubles: whatever it finds, the law does not depend on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from opdisc.convex.hull.logistic_function import sigmoid
from opdisc.convex.hull.table import HullTable
from oracles.arithmetic import FloatArray

_STEPS = 100

_ENOUGH = 2.0**-44
"""Slope at which the search stops, over that of the whole table."""


@dataclass(frozen=True, slots=True)
class Found:
    """Where a search ended, and the inverse of a Hessian near there."""

    theta: FloatArray
    inverse: FloatArray


def search(table: HullTable, tilt: FloatArray, quadratic: FloatArray) -> Found:
    """Minimise the sum of losses plus ``tilt @ theta`` plus half a quadratic form, from 0.

    A Hessian serves as long as it shrinks the slope well: large tables have one or a few. Where
    doubles fail the search ends at 0, and the release goes on from there.
    """
    start = Found(np.zeros(len(tilt)), np.asarray(np.linalg.inv(quadratic)))
    with np.errstate(all="ignore"):
        try:
            found = _search(table, tilt, quadratic)
        except (np.linalg.LinAlgError, IndexError):
            return start  # a Hessian without an inverse, or scores beyond doubles
    is_finite = np.isfinite(found.theta).all() and np.isfinite(found.inverse).all()
    return found if is_finite else start


def _search(table: HullTable, tilt: FloatArray, quadratic: FloatArray) -> Found:
    theta = np.zeros(len(tilt))

    def at(point: FloatArray) -> tuple[FloatArray, FloatArray]:
        chances = sigmoid(table.scores(point))
        return chances, table.slope(chances) + tilt + quadratic @ point

    def inverse() -> FloatArray:
        return np.asarray(np.linalg.inv(table.curvature(chances) + quadratic))

    chances, slope = at(theta)
    steep = _ENOUGH * (table.total + np.abs(tilt).max())
    factor, is_fresh = inverse(), True
    for _ in range(_STEPS):
        size = np.abs(slope).max()
        if not size > steep:
            break
        step, length = -factor @ slope, 1.0
        new_chances, new_slope = at(theta + step)
        while abs(new_slope @ step) > 0.9 * abs(slope @ step) and length > 1e-9:
            length /= 2
            new_chances, new_slope = at(theta + length * step)
        theta = theta + length * step
        chances, slope = new_chances, new_slope
        gain = np.abs(slope).max() / size
        if is_fresh and gain > 0.5 and np.abs(slope).max() < 1000 * steep:
            break  # as far as doubles go
        is_fresh = gain > 0.05
        if is_fresh:
            factor = inverse()
    return Found(theta, factor)
