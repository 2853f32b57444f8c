"""The simplex and boxes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from oracles.arithmetic import FloatArray
from oracles.convex.domain import INSIDE, ExactDomain, check_size, onto_simplex, rescaled
from oracles.errors import InvalidProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class Simplex(ExactDomain):
    """Vectors with non-negative coordinates that sum to 1.

    Parameters
    ----------
    dimension : int
        p >= 1.
    """

    dimension: int

    def __post_init__(self) -> None:
        """Refuse an empty set."""
        check_size(self.dimension, 1.0)

    def project(self, parameters: FloatArray) -> FloatArray:
        """Return theta with all coordinates lowered by one common amount, cut at 0."""
        return onto_simplex(np.asarray(parameters, dtype=np.float64), 1.0)

    def gauge(self, parameters: FloatArray) -> float:
        """Return the sum of the coordinates, or infinity if one is negative."""
        return math.inf if float(np.min(parameters)) < 0 else float(np.sum(parameters))

    def minimise_linear(self, direction: FloatArray) -> FloatArray:
        """Return a vertex."""
        vertex = np.zeros(self.dimension)
        vertex[int(np.argmin(direction))] = 1.0
        return vertex

    def contains_exactly(self, parameters: FloatArray) -> bool:
        """Return whether theta is in the simplex, the sum to 2^-40: few floats sum to 1."""
        off = abs(math.fsum(parameters) - 1.0)
        return bool((parameters >= 0).all()) and off <= 1 - INSIDE

    def nearest_inside(self, parameters: FloatArray) -> FloatArray:
        """Return the nearest point of the simplex, to rounding."""
        if self.contains_exactly(parameters):
            return np.array(parameters, dtype=np.float64)
        return rescaled(onto_simplex(parameters, 1.0), 1.0)

    def smallest(self, direction: FloatArray) -> float:
        """Return the smallest coordinate, less what the 2^-40 of the sum can change."""
        least = float(direction.min())
        return least - abs(least) * (1 - INSIDE)

    @property
    def lower(self) -> FloatArray:
        """Smallest value of each coordinate."""
        return np.full(self.dimension, 1.0 if self.dimension == 1 else 0.0)

    @property
    def upper(self) -> FloatArray:
        """Largest value of each coordinate."""
        return np.ones(self.dimension)

    @property
    def diameter_l2(self) -> float:
        """``sqrt(2)``, between two vertices."""
        return 0.0 if self.dimension == 1 else math.sqrt(2.0)

    @property
    def diameter_l1(self) -> float:
        """2, between two vertices."""
        return 0.0 if self.dimension == 1 else 2.0

    @property
    def radius_l2(self) -> float:
        """1, at a vertex."""
        return 1.0

    @property
    def radius_l1(self) -> float:
        """1."""
        return 1.0


class Box(ExactDomain):
    """An interval for each coordinate.

    Parameters
    ----------
    lower, upper : array-like of shape (p,)
        Ends of the intervals, finite, ``lower <= upper``.
    """

    def __init__(self, lower: ArrayLike, upper: ArrayLike) -> None:
        low, high = (np.array(end, dtype=np.float64).reshape(-1) for end in (lower, upper))
        if len(low) != len(high) or not np.all(np.isfinite(low) & np.isfinite(high)):
            raise InvalidProblem(
                "a box needs one finite lower and upper end for each coordinate; declare them."
            )
        if not np.all(low <= high):
            raise InvalidProblem("a box needs lower <= upper in every coordinate.")
        check_size(len(low), 1.0)
        low.setflags(write=False)
        high.setflags(write=False)
        self._lower, self._upper = low, high
        self.dimension = len(low)

    @classmethod
    def cube(cls, dimension: int, radius: float) -> Box:
        """Return ``[-radius, radius]`` in every coordinate."""
        check_size(dimension, radius)
        return cls(np.full(dimension, -radius), np.full(dimension, radius))

    def __repr__(self) -> str:
        """Return the ends."""
        return f"Box(lower={self._lower.tolist()}, upper={self._upper.tolist()})"

    def project(self, parameters: FloatArray) -> FloatArray:
        """Return theta with each coordinate clipped."""
        return np.asarray(np.clip(parameters, self._lower, self._upper))

    def gauge(self, parameters: FloatArray) -> float:
        """Return the least common factor; infinite for a box without 0."""
        if np.any(self._lower > 0) or np.any(self._upper < 0):
            return math.inf
        ends = np.where(parameters > 0, self._upper, self._lower)
        moved = parameters != 0
        if np.any(ends[moved] == 0):
            return math.inf
        return float(np.max(parameters[moved] / ends[moved], initial=0.0))

    def minimise_linear(self, direction: FloatArray) -> FloatArray:
        """Return a corner."""
        return np.where(direction > 0, self._lower, self._upper)

    def contains_exactly(self, parameters: FloatArray) -> bool:
        """Return whether every coordinate is in its interval."""
        return bool((parameters >= self._lower).all() and (parameters <= self._upper).all())

    def nearest_inside(self, parameters: FloatArray) -> FloatArray:
        """Return the nearest point; clipping does not round."""
        return self.project(parameters)

    def smallest(self, direction: FloatArray) -> float:
        """Return the value at the best corner."""
        return float(np.minimum(direction * self._lower, direction * self._upper).sum())

    @property
    def lower(self) -> FloatArray:
        """Smallest value of each coordinate."""
        return self._lower

    @property
    def upper(self) -> FloatArray:
        """Largest value of each coordinate."""
        return self._upper

    @property
    def diameter_l2(self) -> float:
        """Length of the diagonal."""
        return float(np.linalg.norm(self.widths))

    @property
    def diameter_l1(self) -> float:
        """Sum of the widths."""
        return float(self.widths.sum())

    @property
    def radius_l2(self) -> float:
        """Norm of the furthest corner."""
        return float(np.linalg.norm(self._furthest))

    @property
    def radius_l1(self) -> float:
        """Largest l1 norm of a corner."""
        return float(self._furthest.sum())

    @property
    def _furthest(self) -> FloatArray:
        return np.maximum(np.abs(self._lower), np.abs(self._upper))
