"""A table as the exact release sees it: rows of whole multiples, and what both labels weigh."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from opdisc.convex.hull.logistic_function import sigmoid
from opdisc.convex.hull.shape import HullShape
from opdisc.data import EncodedTable
from oracles.arithmetic import FloatArray, IntArray
from oracles.problem import ErrorCosts

_CHUNK = 10_000

_SMALL = 2**23
"""Cells of a table that is kept in doubles too."""


@dataclass(frozen=True, eq=False)
class HullTable:
    """Distinct rows within the hull, and what they weigh.

    Parameters
    ----------
    points : integer array, shape (m, 1 + d)
        Rows in multiples of ``1 / unit``, each from 0 to ``unit``; column 0 is the constant 1.
    weights : float64 array of shape (m,)
        Sum of the costs of the rows at each point: whole numbers.
    positives : float64 array of shape (m,)
        What of it is that of positive rows.
    unit : int
        A power of 2; 1 where cells are 0 and 1.
    """

    points: NDArray[np.integer[Any]]
    weights: FloatArray
    positives: FloatArray
    unit: int = 1

    @classmethod
    def of(
        cls, table: EncodedTable, shape: HullShape, costs: ErrorCosts, unit: int = 1
    ) -> HullTable:
        """Return a table whose rows are each mapped into the hull by themselves."""
        positives = table.positives.astype(np.float64) * costs.false_negative
        negatives = table.negatives.astype(np.float64) * costs.false_positive
        points = mapped_into(table.points, shape, unit)
        return cls(points, positives + negatives, positives, unit)

    @functools.cached_property
    def _unit_bits(self) -> int:
        return self.unit.bit_length() - 1

    @functools.cached_property
    def total(self) -> int:
        """Sum of all weights."""
        return int(self.weights.sum())

    @functools.cached_property
    def _doubles(self) -> FloatArray | None:
        return self.points / self.unit if self.points.size <= _SMALL else None

    def _chunks(self) -> Iterator[tuple[slice, NDArray[np.integer[Any]]]]:
        for start in range(0, len(self.points), _CHUNK):
            part = slice(start, start + _CHUNK)
            yield part, self.points[part]

    def scores(self, theta: FloatArray) -> FloatArray:
        """Return the score of each point in doubles, shape (m,)."""
        if self._doubles is not None:
            return np.asarray(self._doubles @ theta)
        parts = [points.astype(np.float64) @ theta for _, points in self._chunks()]
        return np.concatenate([np.empty(0), *parts]) / self.unit

    def slope(self, chances: FloatArray) -> FloatArray:
        """Return the gradient of the sum of losses in doubles, shape (1 + d,)."""
        residuals = self.weights * chances - self.positives
        if self._doubles is not None:
            return np.asarray(residuals @ self._doubles)
        found = np.zeros(self.points.shape[1])
        for part, points in self._chunks():
            found += residuals[part] @ points.astype(np.float64)
        return found / self.unit

    def curvature(self, chances: FloatArray) -> FloatArray:
        """Return the Hessian of the sum of losses; it only steers, so singles will do."""
        small = self._doubles is not None
        found = np.zeros((self.points.shape[1],) * 2)
        roots = np.sqrt(self.weights * chances * (1 - chances))
        for part, points in self._chunks():
            half: NDArray[Any] = points.astype(np.float64 if small else np.float32)
            half = half * roots[part, None].astype(half.dtype)
            found += half.T @ half
        return found / self.unit**2

    def slope_balls(self, whole: list[int], digits: int) -> list[arb]:
        """Return balls around the exact gradient where theta is ``whole / 2^digits``.

        The sum of ``unit |whole|`` must be below 2^53: then every score is a double, exactly.
        Residuals are cut into two whole digits whose sums are too.
        """
        scores = self._product(np.array(whole, dtype=np.int64))
        chances = sigmoid(np.ldexp(scores.astype(np.float64), -digits - self._unit_bits))
        residuals = self.weights * chances - self.positives
        bits = 51 - math.ceil(math.log2(self.total + 1))
        scaled = np.ldexp(residuals, bits)
        high = np.rint(scaled)
        low = np.rint(np.ldexp(scaled - high, bits))
        sums = self._transposed_product(np.stack([high, low], axis=1).astype(np.int64))
        # sigmoid 2^-50, product and difference 2^-51 each, of the weight; the last digit cut.
        error = arb(self.total) * arb(2) ** -48 + arb(len(self.points)) * arb(2) ** (-2 * bits - 1)
        with ctx.workprec(128):
            spread = arb(0, error.upper())
            return [
                (arb(int(a) << bits) + int(b)) * arb(2) ** (-2 * bits - self._unit_bits) + spread
                for a, b in sums
            ]

    def deep_slope_balls(self, whole: list[int], digits: int) -> list[arb]:
        """Return the same to any number of digits, slowly."""
        theta = np.array(whole, dtype=object)
        found = [0] * self.points.shape[1]
        with ctx.workprec(digits + 64):
            for part, points in self._chunks():
                rows = points.astype(object)
                scores = rows @ theta
                chances = [_whole_chance(int(score), digits, self._unit_bits) for score in scores]
                weights, positives = (
                    np.array([int(value) for value in values[part]], dtype=object)
                    for values in (self.weights, self.positives)
                )
                residuals = weights * np.array(chances, dtype=object) - positives * 2**digits
                found = [a + int(b) for a, b in zip(found, residuals @ rows, strict=True)]
            spread = arb(0, 2 * self.total)
            return [(arb(value) / self.unit + spread) * arb(2) ** -digits for value in found]

    def _product(self, vector: IntArray) -> IntArray:
        """Return points times whole numbers in 64-bit integers: no rounding, no library."""
        parts = [points.astype(np.int64) @ vector for _, points in self._chunks()]
        return np.concatenate([np.empty(0, dtype=np.int64), *parts])

    def _transposed_product(self, vectors: IntArray) -> IntArray:
        found = np.zeros((self.points.shape[1], vectors.shape[1]), dtype=np.int64)
        for part, points in self._chunks():
            found += points.astype(np.int64).T @ vectors[part]
        return found


def _whole_chance(score: int, digits: int, more: int = 0) -> int:
    """Return the logistic function of ``score / 2^(digits + more)``, within 2 units of the truth.

    It is in units of ``1 / 2^digits``. All threads share the precision of balls: it is worked out
    until no other one lowered it.
    """
    far = (digits + 10) << (digits + more)
    if abs(score) > far:  # 0 or 1, to more digits than are asked for
        return 0 if score < 0 else 1 << digits
    while True:
        with ctx.workprec(digits + 64 + score.bit_length()):
            exponential = (-arb(score) * arb(2) ** (-digits - more)).exp()
            chance = arb(1) / (1 + exponential) * arb(2) ** digits
            whole = nearby_whole(chance)
            if whole is not None and (chance - whole).abs_upper() <= 2:
                return whole


def nearby_whole(ball: arb) -> int | None:
    """Return the whole number below a ball's middle; None where the ball does not tell it."""
    whole = ball.mid().floor().unique_fmpz()
    return None if whole is None else int(whole)


MOST_WEIGHT = 2**41
"""Sum of weights above which two digits of a residual are too few."""


def mapped_into(
    points: NDArray[np.integer[Any]], shape: HullShape, unit: int = 1
) -> NDArray[np.integer[Any]]:
    """Return rows within the hull: each cell 0 or 1, each group as its kind has it.

    A cell above 0 counts as 1. Of an exclusive group the first 1 stays, of a nested one those
    before the first 0. With a unit above 1 all columns stand alone, and cells are clipped.
    """
    if unit > 1:
        clipped: NDArray[np.integer[Any]] = np.clip(points, 0, unit)
        clipped[:, 0] = unit
        return clipped
    found = (points > 0).astype(np.int8)
    found[:, 0] = 1
    for group in shape.groups:
        columns = list(group.columns)
        part = found[:, columns]
        if group.kind == "nested":
            found[:, columns] = np.minimum.accumulate(part, axis=1)
        elif group.kind == "exclusive":
            found[:, columns] = part * (np.cumsum(part, axis=1) == 1)
    return found
