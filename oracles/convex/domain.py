"""What every closed, bounded, convex set of parameters offers.

Projection, gauge, widths and linear minimisation serve first-order methods. Exact membership and
the smallest value of a linear form serve proofs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from oracles.arithmetic import FloatArray
from oracles.convex.constants import RowBounds
from oracles.errors import InvalidProblem

INSIDE = 1 - 2.0**-40
"""Sums are trusted to this relative precision, coarser than any rounding error here."""


class Domain(ABC):
    """A closed, bounded, convex set of parameters in R^p.

    Attributes
    ----------
    dimension : int
        p.
    """

    dimension: int

    @abstractmethod
    def project(self, parameters: FloatArray) -> FloatArray:
        """Return the nearest point of the domain in Euclidean distance, to rounding."""

    @abstractmethod
    def gauge(self, parameters: FloatArray) -> float:
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
        """A point of the domain to start from, shape (p,)."""
        return self.project((self.lower + self.upper) / 2)

    def score_bound(self, bounds: RowBounds) -> float:
        """Return a bound on ``|<x, theta>|`` over rows within ``bounds`` and the domain."""
        return min(bounds.l2 * self.radius_l2, bounds.largest_coordinate * self.radius_l1)

    def contains(self, parameters: FloatArray, *, tolerance: float = 1e-9) -> bool:
        """Return whether theta is within ``tolerance`` of the domain."""
        return bool(np.linalg.norm(self.project(parameters) - parameters) <= tolerance)

    def misses_ball(self, centre: FloatArray, reach: float) -> bool:
        """Return True only if no point within ``reach`` of ``centre`` is in the domain."""
        return float(np.linalg.norm(self.project(centre) - centre)) > reach


class ExactDomain(Domain):
    """A domain over which a minimum can be proved: membership and linear forms are exact."""

    @abstractmethod
    def contains_exactly(self, parameters: FloatArray) -> bool:
        """Return whether theta is in the domain; sums are correctly rounded."""

    @abstractmethod
    def smallest(self, direction: FloatArray) -> float:
        """Return the minimum of ``<direction, theta>`` over the domain."""

    def nearest_inside(self, parameters: FloatArray) -> FloatArray:
        """Return the nearest point of the domain, to rounding, never outside, shape (p,)."""
        if self.contains_exactly(parameters):
            return np.array(parameters, dtype=np.float64)
        return self._pulled_inside(self.project(parameters))

    def _pulled_inside(self, parameters: FloatArray) -> FloatArray:
        """Return theta pulled toward 0 until rounding leaves it inside."""
        while not self.contains_exactly(parameters):
            parameters = parameters * INSIDE
        return parameters


def onto_simplex(parameters: FloatArray, total: float) -> FloatArray:
    """Project on the simplex of the given total by sorting (Duchi et al. 2008, Figure 1)."""
    # All coordinates may be moved alike; beside a large one, the total would be rounded away.
    parameters = parameters - parameters.max()
    ordered = np.sort(parameters)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, len(parameters) + 1)
    last = np.flatnonzero(ordered > excess)[-1]
    return np.asarray(np.maximum(parameters - excess[last], 0.0))


def rescaled(parameters: FloatArray, total: float) -> FloatArray:
    """Return theta >= 0 with its sum mended to the total, up to one rounding per coordinate."""
    return np.asarray(parameters * (total / math.fsum(parameters)))


def check_size(dimension: int, radius: float) -> None:
    """Refuse an empty set."""
    if isinstance(dimension, bool) or not isinstance(dimension, int) or dimension < 1:
        raise InvalidProblem(f"a domain's dimension must be an integer >= 1, got {dimension!r}.")
    if not 0 < radius < math.inf:
        raise InvalidProblem(f"a domain's radius must be finite and > 0, got {radius!r}.")
