"""Closed convex parameter sets: projection, gauge and widths, all public."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opdisc.errors import CalibrationError
from opdisc.losses import RowBounds

FloatArray = NDArray[np.float64]


class Domain(ABC):
    """A closed, bounded, convex set of parameters in R^p.

    Attributes
    ----------
    dimension : int
        p.
    """

    dimension: int

    @abstractmethod
    def project(self, theta: FloatArray) -> FloatArray:
        """Return the nearest point of the domain in Euclidean distance, shape (p,)."""

    @abstractmethod
    def gauge(self, theta: FloatArray) -> float:
        """Return the least r >= 0 with theta in r times the domain; infinite if there is none."""

    @abstractmethod
    def minimise_linear(self, direction: FloatArray) -> FloatArray:
        """Return a point of the domain with the least ``<direction, theta>``, shape (p,)."""

    @property
    @abstractmethod
    def lower(self) -> FloatArray:
        """Smallest value of each coordinate, shape (p,)."""

    @property
    @abstractmethod
    def upper(self) -> FloatArray:
        """Largest value of each coordinate, shape (p,)."""

    @property
    @abstractmethod
    def diameter_l2(self) -> float:
        """Largest Euclidean distance between two points."""

    @property
    @abstractmethod
    def diameter_l1(self) -> float:
        """Largest l1 distance between two points."""

    @property
    @abstractmethod
    def radius_l2(self) -> float:
        """Largest Euclidean norm of a point."""

    @property
    @abstractmethod
    def radius_l1(self) -> float:
        """Largest l1 norm of a point."""

    @property
    def widths(self) -> FloatArray:
        """Extent of each coordinate, shape (p,)."""
        return self.upper - self.lower

    @property
    def diameter_linf(self) -> float:
        """Largest coordinate distance between two points."""
        return float(self.widths.max())

    @property
    def centre(self) -> FloatArray:
        """A public point of the domain to start from, shape (p,)."""
        return self.project((self.lower + self.upper) / 2)

    def score_bound(self, bounds: RowBounds) -> float:
        """Return a bound on ``|<x, theta>|`` over rows within ``bounds`` and the domain."""
        return min(bounds.l2 * self.radius_l2, bounds.largest_coordinate * self.radius_l1)

    def contains(self, theta: FloatArray, *, tolerance: float = 1e-9) -> bool:
        """Return whether theta is within ``tolerance`` of the domain."""
        return bool(np.linalg.norm(self.project(theta) - theta) <= tolerance)


@dataclass(frozen=True, slots=True, kw_only=True)
class L2Ball(Domain):
    """Euclidean ball around the origin.

    Parameters
    ----------
    dimension : int
        p >= 1.
    radius : float
        > 0.
    """

    dimension: int
    radius: float

    def __post_init__(self) -> None:
        """Refuse an empty set."""
        _check(self.dimension, self.radius)

    def project(self, theta: FloatArray) -> FloatArray:
        """Return theta, shortened to the radius if it is longer."""
        length = float(np.linalg.norm(theta))
        return np.array(theta if length <= self.radius else theta * (self.radius / length))

    def gauge(self, theta: FloatArray) -> float:
        """Return ``|theta|_2 / radius``."""
        return float(np.linalg.norm(theta)) / self.radius

    def minimise_linear(self, direction: FloatArray) -> FloatArray:
        """Return the boundary point opposite to ``direction``."""
        length = float(np.linalg.norm(direction))
        return np.zeros(self.dimension) if length == 0 else -direction * (self.radius / length)

    @property
    def lower(self) -> FloatArray:
        """Smallest value of each coordinate."""
        return np.full(self.dimension, -self.radius)

    @property
    def upper(self) -> FloatArray:
        """Largest value of each coordinate."""
        return np.full(self.dimension, self.radius)

    @property
    def diameter_l2(self) -> float:
        """Twice the radius."""
        return 2 * self.radius

    @property
    def diameter_l1(self) -> float:
        """Twice the largest l1 norm."""
        return 2 * self.radius_l1

    @property
    def radius_l2(self) -> float:
        """The radius."""
        return self.radius

    @property
    def radius_l1(self) -> float:
        """``sqrt(p)`` radii."""
        return math.sqrt(self.dimension) * self.radius


@dataclass(frozen=True, slots=True, kw_only=True)
class L1Ball(Domain):
    """Cross-polytope around the origin.

    Parameters
    ----------
    dimension : int
        p >= 1.
    radius : float
        Largest l1 norm, > 0.
    """

    dimension: int
    radius: float

    def __post_init__(self) -> None:
        """Refuse an empty set."""
        _check(self.dimension, self.radius)

    def project(self, theta: FloatArray) -> FloatArray:
        """Return theta with its absolute values lowered by one common amount, cut at 0."""
        sizes = np.abs(theta)
        if sizes.sum() <= self.radius:
            return np.array(theta, dtype=np.float64)
        return np.asarray(np.sign(theta) * _onto_simplex(sizes, self.radius))

    def gauge(self, theta: FloatArray) -> float:
        """Return ``|theta|_1 / radius``."""
        return float(np.abs(theta).sum()) / self.radius

    def minimise_linear(self, direction: FloatArray) -> FloatArray:
        """Return a vertex."""
        best = int(np.argmax(np.abs(direction)))
        vertex = np.zeros(self.dimension)
        vertex[best] = -self.radius if direction[best] > 0 else self.radius
        return vertex

    @property
    def lower(self) -> FloatArray:
        """Smallest value of each coordinate."""
        return np.full(self.dimension, -self.radius)

    @property
    def upper(self) -> FloatArray:
        """Largest value of each coordinate."""
        return np.full(self.dimension, self.radius)

    @property
    def diameter_l2(self) -> float:
        """Twice the radius, between opposite vertices."""
        return 2 * self.radius

    @property
    def diameter_l1(self) -> float:
        """Twice the radius."""
        return 2 * self.radius

    @property
    def radius_l2(self) -> float:
        """The radius, at a vertex."""
        return self.radius

    @property
    def radius_l1(self) -> float:
        """The radius."""
        return self.radius


@dataclass(frozen=True, slots=True, kw_only=True)
class Simplex(Domain):
    """Vectors with non-negative coordinates that sum to 1.

    Parameters
    ----------
    dimension : int
        p >= 1.
    """

    dimension: int

    def __post_init__(self) -> None:
        """Refuse an empty set."""
        _check(self.dimension, 1.0)

    def project(self, theta: FloatArray) -> FloatArray:
        """Return theta with all coordinates lowered by one common amount, cut at 0."""
        return _onto_simplex(np.asarray(theta, dtype=np.float64), 1.0)

    def gauge(self, theta: FloatArray) -> float:
        """Return the sum of the coordinates, or infinity if one is negative."""
        return math.inf if float(np.min(theta)) < 0 else float(np.sum(theta))

    def minimise_linear(self, direction: FloatArray) -> FloatArray:
        """Return a vertex."""
        vertex = np.zeros(self.dimension)
        vertex[int(np.argmin(direction))] = 1.0
        return vertex

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


class Box(Domain):
    """An interval for each coordinate.

    Parameters
    ----------
    lower, upper : array-like of shape (p,)
        Ends of the intervals, finite, ``lower <= upper``.
    """

    def __init__(self, lower: ArrayLike, upper: ArrayLike) -> None:
        low, high = (np.array(end, dtype=np.float64).reshape(-1) for end in (lower, upper))
        if len(low) != len(high) or not np.all(np.isfinite(low) & np.isfinite(high)):
            raise CalibrationError(
                "a box needs one finite lower and upper end for each coordinate; declare them."
            )
        if not np.all(low <= high):
            raise CalibrationError("a box needs lower <= upper in every coordinate.")
        _check(len(low), 1.0)
        low.setflags(write=False)
        high.setflags(write=False)
        self._lower, self._upper = low, high
        self.dimension = len(low)

    @classmethod
    def cube(cls, dimension: int, radius: float) -> Box:
        """Return ``[-radius, radius]`` in every coordinate."""
        _check(dimension, radius)
        return cls(np.full(dimension, -radius), np.full(dimension, radius))

    def __repr__(self) -> str:
        """Return the ends."""
        return f"Box(lower={self._lower.tolist()}, upper={self._upper.tolist()})"

    def project(self, theta: FloatArray) -> FloatArray:
        """Return theta with each coordinate clipped."""
        return np.asarray(np.clip(theta, self._lower, self._upper))

    def gauge(self, theta: FloatArray) -> float:
        """Return the least common factor; infinite for a box without 0."""
        if np.any(self._lower > 0) or np.any(self._upper < 0):
            return math.inf
        ends = np.where(theta > 0, self._upper, self._lower)
        moved = theta != 0
        if np.any(ends[moved] == 0):
            return math.inf
        return float(np.max(theta[moved] / ends[moved], initial=0.0))

    def minimise_linear(self, direction: FloatArray) -> FloatArray:
        """Return a corner."""
        return np.where(direction > 0, self._lower, self._upper)

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


def _onto_simplex(theta: FloatArray, total: float) -> FloatArray:
    """Project on the simplex of the given total by sorting (Duchi et al. 2008, Figure 1)."""
    ordered = np.sort(theta)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, len(theta) + 1)
    last = np.flatnonzero(ordered > excess)[-1]
    return np.asarray(np.maximum(theta - excess[last], 0.0))


def _check(dimension: int, radius: float) -> None:
    if isinstance(dimension, bool) or not isinstance(dimension, int) or dimension < 1:
        raise CalibrationError(f"a domain's dimension must be an integer >= 1, got {dimension!r}.")
    if not 0 < radius < math.inf:
        raise CalibrationError(f"a domain's radius must be finite and > 0, got {radius!r}.")
