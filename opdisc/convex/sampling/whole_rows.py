"""Rows in whole numbers, whose gradients are sums of whole numbers, row by row.

What a row adds is a function of this row and of public numbers, whatever stands around it: it is
bounded by a public whole number, and sums are exact in any order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opdisc.convex.hull import sigmoid
from opdisc.convex.public import ConvexPublic
from opdisc.convex.rows import Rows
from opdisc.errors import CalibrationError
from oracles.arithmetic import FloatArray, IntArray
from oracles.convex import LinearLoss

CELL = 2**13
"""The largest coordinate of a row is so many units."""

SLOPE = 2**13
"""The largest slope of a row's loss is so many units."""

MOST_ROWS = 2**53 // (CELL * SLOPE) - 1
"""So many rows add up exactly in doubles."""

_CHUNK = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeRows:
    """Rows in units of ``largest coordinate / CELL``.

    Parameters
    ----------
    points : int16 array, shape (m, p)
        Cells, from ``-CELL`` to ``CELL``.
    y : float64 array, shape (m,)
        Labels.
    counts : float64 array, shape (m,)
        How many raw rows are equal to each: whole numbers.
    """

    points: NDArray[np.int16]
    y: FloatArray
    counts: FloatArray

    @classmethod
    def of(cls, rows: Rows, public: ConvexPublic) -> WholeRows:
        """Return rows whose cells are rounded, each by itself.

        Raises
        ------
        CalibrationError
            If there are too many rows to add up, or one counts for a part.
        """
        if rows.n_rows > MOST_ROWS:
            raise CalibrationError(
                f"private Frank-Wolfe adds up at most {MOST_ROWS:,} rows; use another mechanism."
            )
        points = np.empty(rows.X.shape, dtype=np.int16)
        widest = public.bounds.largest_coordinate
        for part in _parts(len(points)):
            points[part] = np.clip(np.rint(rows.X[part] / widest * CELL), -CELL, CELL)
        counts = np.ones(len(rows.y)) if rows.counts is None else rows.counts
        if (counts != np.rint(counts)).any():
            raise CalibrationError(
                "private Frank-Wolfe adds up whole rows, but some count for a part of one; give "
                "whole counts."
            )
        return cls(points=points, y=rows.y, counts=counts)

    def column(self, j: int) -> IntArray:
        """Return one coordinate of each row, shape (m,)."""
        return self.points[:, j].astype(np.int64)

    def sums(self) -> IntArray:
        """Return the sum of each row's coordinates, shape (m,)."""
        return np.asarray(self.points.sum(axis=1, dtype=np.int64))

    def gradient(self, slopes: IntArray) -> IntArray:
        """Return the sum over raw rows of slope times cells, shape (p,)."""
        weighed = slopes.astype(np.float64) * self.counts
        total = np.zeros(self.points.shape[1])
        for part in _parts(len(self.points)):
            # Whole numbers below 2^53: every order of adding them gives the same doubles.
            total += weighed[part] @ self.points[part].astype(np.float64)
        return total.astype(np.int64)


def whole_slopes(loss: LinearLoss, scores: FloatArray, y: FloatArray, steepest: float) -> IntArray:
    """Return slopes in units of ``steepest / SLOPE``, each rounded by itself, shape (m,).

    That of the logistic loss is made of the four operations alone.
    """
    if loss.name == "logistic":
        costs = np.where(y > 0, float(loss.costs.false_negative), float(loss.costs.false_positive))
        slopes = costs * -y * sigmoid(-y * scores)
    else:
        slopes = loss.slopes(scores, y)
    return np.clip(np.rint(slopes / steepest * SLOPE), -SLOPE, SLOPE).astype(np.int64)


def _parts(size: int) -> Iterator[Any]:
    return (slice(start, start + _CHUNK) for start in range(0, size, _CHUNK))
