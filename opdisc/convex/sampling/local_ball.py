"""The part of a domain near a point."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from opdisc.errors import CalibrationError
from oracles.arithmetic import FloatArray
from oracles.convex import Domain


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalBall(Domain):
    """The part of a domain within a radius of a point; projections by Dykstra's method.

    Parameters
    ----------
    domain : Domain
        The whole domain.
    centre_point : ndarray of shape (p,)
        A point of the domain, parameter units.
    radius : float
        Euclidean radius, parameter units.
    """

    domain: Domain
    centre_point: FloatArray
    radius: float

    @property
    def dimension(self) -> int:  # type: ignore[override]
        """Number of coordinates."""
        return self.domain.dimension

    def project(self, parameters: FloatArray) -> FloatArray:
        """Return the nearest point of the intersection, to about 1e-12."""
        point, first, second = (
            np.array(parameters),
            np.zeros_like(parameters),
            np.zeros_like(parameters),
        )
        for _ in range(500):
            near = self.domain.project(point + first)
            first = point + first - near
            moved = near + second - self.centre_point
            length = float(np.linalg.norm(moved))
            onto = self.centre_point + moved * min(1.0, self.radius / max(length, 1e-300))
            second = near + second - onto
            if float(np.abs(onto - near).max()) <= 1e-13:
                return onto
            point = onto
        return point

    def contains(self, parameters: FloatArray, *, tolerance: float = 1e-9) -> bool:
        """Return whether theta is in both sets."""
        close = float(np.linalg.norm(parameters - self.centre_point)) <= self.radius + tolerance
        return close and self.domain.contains(parameters, tolerance=tolerance)

    def misses_ball(self, centre: FloatArray, reach: float) -> bool:
        """Return True only if no point within ``reach`` of ``centre`` is in both sets."""
        far = float(np.linalg.norm(centre - self.centre_point)) > self.radius + reach
        return far or self.domain.misses_ball(centre, reach)

    def gauge(self, parameters: FloatArray) -> float:
        """Return the gauge of the whole domain, a lower bound."""
        return self.domain.gauge(parameters)

    def minimise_linear(self, direction: FloatArray) -> FloatArray:
        """Refuse: not needed here."""
        raise CalibrationError("a local ball has no linear minimiser; use its domain's.")

    @property
    def lower(self) -> FloatArray:
        """Smallest values of the surrounding box."""
        return np.maximum(self.domain.lower, self.centre_point - self.radius)

    @property
    def upper(self) -> FloatArray:
        """Largest values of the surrounding box."""
        return np.minimum(self.domain.upper, self.centre_point + self.radius)

    @property
    def diameter_l2(self) -> float:
        """Public bound: twice the radius, or the domain's diameter."""
        return min(2 * self.radius, self.domain.diameter_l2)

    @property
    def diameter_l1(self) -> float:
        """Public bound on the l1 diameter."""
        return min(self.domain.diameter_l1, math.sqrt(self.dimension) * self.diameter_l2)

    @property
    def radius_l2(self) -> float:
        """Bound of the whole domain."""
        return self.domain.radius_l2

    @property
    def radius_l1(self) -> float:
        """Bound of the whole domain."""
        return self.domain.radius_l1
