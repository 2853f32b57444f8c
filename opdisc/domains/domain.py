"""What every convex parameter set offers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from opdisc.errors import CalibrationError
from opdisc.losses import RowBounds
from oracles.arrays import FloatArray


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

    def misses_ball(self, centre: FloatArray, reach: float) -> bool:
        """Return True only if no point within ``reach`` of ``centre`` is in the domain."""
        return float(np.linalg.norm(self.project(centre) - centre)) > reach


def onto_simplex(theta: FloatArray, total: float) -> FloatArray:
    """Project on the simplex of the given total by sorting (Duchi et al. 2008, Figure 1)."""
    ordered = np.sort(theta)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, len(theta) + 1)
    last = np.flatnonzero(ordered > excess)[-1]
    return np.asarray(np.maximum(theta - excess[last], 0.0))


def check_size(dimension: int, radius: float) -> None:
    """Refuse an empty set."""
    if isinstance(dimension, bool) or not isinstance(dimension, int) or dimension < 1:
        raise CalibrationError(f"a domain's dimension must be an integer >= 1, got {dimension!r}.")
    if not 0 < radius < math.inf:
        raise CalibrationError(f"a domain's radius must be finite and > 0, got {radius!r}.")
