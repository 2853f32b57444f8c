"""Balls around the origin."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from oracles.arithmetic import FloatArray
from oracles.convex.domain import ExactDomain, check_size, onto_simplex, rescaled


class _Ball(ExactDomain):
    """What the balls around the origin share."""

    radius: float

    def __post_init__(self) -> None:
        """Refuse an empty set."""
        check_size(self.dimension, self.radius)

    @property
    def lower(self) -> FloatArray:
        """Smallest value of each coordinate."""
        return np.full(self.dimension, -float(self.radius))

    @property
    def upper(self) -> FloatArray:
        """Largest value of each coordinate."""
        return np.full(self.dimension, float(self.radius))

    @property
    def diameter_l2(self) -> float:
        """Twice the radius, between opposite points."""
        return 2 * self.radius

    @property
    def diameter_l1(self) -> float:
        """Twice the largest l1 norm."""
        return 2 * self.radius_l1

    @property
    def radius_l2(self) -> float:
        """The radius."""
        return self.radius


@dataclass(frozen=True, slots=True, kw_only=True)
class L2Ball(_Ball):
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

    def project(self, parameters: FloatArray) -> FloatArray:
        """Return theta, shortened to the radius if it is longer."""
        length = float(np.linalg.norm(parameters))
        return np.array(
            parameters if length <= self.radius else parameters * (self.radius / length)
        )

    def gauge(self, parameters: FloatArray) -> float:
        """Return ``|theta|_2 / radius``."""
        return float(np.linalg.norm(parameters)) / self.radius

    def minimise_linear(self, direction: FloatArray) -> FloatArray:
        """Return the boundary point opposite to ``direction``."""
        length = float(np.linalg.norm(direction))
        return np.zeros(self.dimension) if length == 0 else -direction * (self.radius / length)

    def contains_exactly(self, parameters: FloatArray) -> bool:
        """Return whether ``|theta|_2 <= radius``; the sum of squares is correctly rounded."""
        return math.sqrt(math.fsum(parameters * parameters)) <= self.radius

    def smallest(self, direction: FloatArray) -> float:
        """Return ``-radius |direction|_2``."""
        return -self.radius * float(np.linalg.norm(direction))

    @property
    def radius_l1(self) -> float:
        """``sqrt(p)`` radii."""
        return math.sqrt(self.dimension) * self.radius


@dataclass(frozen=True, slots=True, kw_only=True)
class L1Ball(_Ball):
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

    def project(self, parameters: FloatArray) -> FloatArray:
        """Return theta with its absolute values lowered by one common amount, cut at 0."""
        sizes = np.abs(parameters)
        if sizes.sum() <= self.radius:
            return np.array(parameters, dtype=np.float64)
        return np.asarray(np.sign(parameters) * onto_simplex(sizes, self.radius))

    def gauge(self, parameters: FloatArray) -> float:
        """Return ``|theta|_1 / radius``."""
        return float(np.abs(parameters).sum()) / self.radius

    def minimise_linear(self, direction: FloatArray) -> FloatArray:
        """Return a vertex."""
        best = int(np.argmax(np.abs(direction)))
        vertex = np.zeros(self.dimension)
        vertex[best] = -self.radius if direction[best] > 0 else self.radius
        return vertex

    def contains_exactly(self, parameters: FloatArray) -> bool:
        """Return whether ``|theta|_1 <= radius``; the sum is correctly rounded."""
        return math.fsum(np.abs(parameters)) <= self.radius

    def nearest_inside(self, parameters: FloatArray) -> FloatArray:
        """Return the nearest point of the ball, to rounding, never outside."""
        if self.contains_exactly(parameters):
            return np.array(parameters, dtype=np.float64)
        sizes = rescaled(onto_simplex(np.abs(parameters), self.radius), self.radius)
        return self._pulled_inside(np.sign(parameters) * sizes)

    def smallest(self, direction: FloatArray) -> float:
        """Return minus the radius times the largest coordinate."""
        return -self.radius * float(np.abs(direction).max())

    @property
    def radius_l1(self) -> float:
        """The radius."""
        return self.radius
