"""Convex regions of parameter vectors: box, l1 ball, l2 ball, simplex."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from oracles.arrays import FloatArray
from oracles.errors import InvalidProblem

_INSIDE = 1 - 2.0**-40


def _vector(values: ArrayLike, name: str) -> FloatArray:
    out = np.array(values, dtype=np.float64)
    if out.ndim != 1 or not len(out) or not np.isfinite(out).all():
        raise InvalidProblem(f"{name} must be a finite vector with at least one coordinate.")
    out.setflags(write=False)
    return out


def _positive(value: float, name: str) -> None:
    if not (value > 0 and math.isfinite(value)):
        raise InvalidProblem(f"{name} must be finite and > 0, got {value}.")


def _dimension(value: int) -> None:
    if value < 1:
        raise InvalidProblem(f"dimension must be >= 1, got {value}.")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoxRegion:
    """All theta with ``lower <= theta <= upper``.

    Parameters
    ----------
    lower, upper : float array, shape (d,)
        Bounds, ``lower <= upper``.
    """

    lower: FloatArray
    upper: FloatArray

    def __post_init__(self) -> None:
        """Check and freeze the arrays."""
        object.__setattr__(self, "lower", _vector(self.lower, "lower"))
        object.__setattr__(self, "upper", _vector(self.upper, "upper"))
        if self.lower.shape != self.upper.shape or not (self.lower <= self.upper).all():
            raise InvalidProblem("a box needs lower <= upper in every coordinate.")

    @property
    def dimension(self) -> int:
        """Number d of coordinates."""
        return len(self.lower)

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Smallest enclosing box."""
        return self.lower, self.upper

    def contains(self, theta: FloatArray) -> bool:
        """Return whether theta is in the region, exactly."""
        return bool((theta >= self.lower).all() and (theta <= self.upper).all())

    def project(self, theta: FloatArray) -> FloatArray:
        """Return the nearest point of the region (Euclidean)."""
        return np.clip(theta, self.lower, self.upper)

    def smallest(self, form: FloatArray) -> float:
        """Return the minimum of ``<form, theta>`` over the region."""
        return float(np.minimum(form * self.lower, form * self.upper).sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class L1Region:
    """All theta with ``sum |theta_j| <= radius``.

    Parameters
    ----------
    dimension : int
        Number d of coordinates.
    radius : float
        Positive.
    """

    dimension: int
    radius: float

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        _dimension(self.dimension)
        _positive(self.radius, "radius")

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Smallest enclosing box."""
        edge = np.full(self.dimension, float(self.radius))
        return -edge, edge

    def contains(self, theta: FloatArray) -> bool:
        """Return whether theta is in the region; the sum is correctly rounded."""
        return math.fsum(np.abs(theta)) <= self.radius

    def project(self, theta: FloatArray) -> FloatArray:
        """Return the nearest point of the region, to rounding, never outside."""
        if self.contains(theta):
            return np.array(theta, dtype=np.float64)
        sizes = _onto_simplex(np.abs(theta), self.radius)
        return _shrunk(np.sign(theta) * sizes, self)

    def smallest(self, form: FloatArray) -> float:
        """Return the minimum of ``<form, theta>`` over the region."""
        return -self.radius * float(np.abs(form).max())


@dataclass(frozen=True, slots=True, kw_only=True)
class L2Region:
    """All theta with ``|theta|_2 <= radius``.

    Parameters
    ----------
    dimension : int
        Number d of coordinates.
    radius : float
        Positive.
    """

    dimension: int
    radius: float

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        _dimension(self.dimension)
        _positive(self.radius, "radius")

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Smallest enclosing box."""
        edge = np.full(self.dimension, float(self.radius))
        return -edge, edge

    def contains(self, theta: FloatArray) -> bool:
        """Return whether theta is in the region; the sum is correctly rounded."""
        return math.sqrt(math.fsum(theta * theta)) <= self.radius

    def project(self, theta: FloatArray) -> FloatArray:
        """Return the nearest point of the region, to rounding, never outside."""
        if self.contains(theta):
            return np.array(theta, dtype=np.float64)
        return _shrunk(theta * (self.radius / float(np.linalg.norm(theta))), self)

    def smallest(self, form: FloatArray) -> float:
        """Return the minimum of ``<form, theta>`` over the region."""
        return -self.radius * float(np.linalg.norm(form))


@dataclass(frozen=True, slots=True, kw_only=True)
class SimplexRegion:
    """All ``theta >= 0`` with ``sum theta_j = total``, to a relative error of 2^-40.

    Parameters
    ----------
    dimension : int
        Number d of coordinates.
    total : float
        Positive.
    """

    dimension: int
    total: float = 1.0

    def __post_init__(self) -> None:
        """Refuse impossible values."""
        _dimension(self.dimension)
        _positive(self.total, "total")

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Smallest enclosing box."""
        return np.zeros(self.dimension), np.full(self.dimension, float(self.total))

    def contains(self, theta: FloatArray) -> bool:
        """Return whether theta is in the region, to the stated relative error."""
        off = abs(math.fsum(theta) - self.total)
        return bool((theta >= 0).all()) and off <= self.total * (1 - _INSIDE)

    def project(self, theta: FloatArray) -> FloatArray:
        """Return the nearest point of the region, to rounding."""
        if self.contains(theta):
            return np.array(theta, dtype=np.float64)
        return _onto_simplex(theta, self.total)

    def smallest(self, form: FloatArray) -> float:
        """Return the minimum of ``<form, theta>`` over the region, its relative error included."""
        least = self.total * float(form.min())
        return least - abs(least) * (1 - _INSIDE)


Region: TypeAlias = BoxRegion | L1Region | L2Region | SimplexRegion


def _onto_simplex(theta: FloatArray, total: float) -> FloatArray:
    """Return the Euclidean projection on ``{u >= 0, sum u = total}`` (sort and threshold)."""
    ordered = np.sort(theta)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, len(theta) + 1)
    last = int(np.flatnonzero(ordered > excess)[-1])
    found = np.maximum(theta - excess[last], 0.0)
    out: FloatArray = found * (total / math.fsum(found))
    return out


def _shrunk(theta: FloatArray, region: L1Region | L2Region) -> FloatArray:
    """Return theta pulled toward 0 until rounding leaves it inside."""
    while not region.contains(theta):
        theta = theta * _INSIDE
    return theta
