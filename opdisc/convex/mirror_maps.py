"""Mirror maps: the geometry in which a first-order method measures its steps.

A map is a convex function psi on a domain, 1-strongly convex in a norm. A step from z along g goes
to ``argmin_x <g, x> + psi(x) - <grad psi(z), x>`` over the domain: the Euclidean map gives a
projected gradient step, the entropy on a simplex multiplicative weights, the squared p-norm on an
l1 ball soft-thresholded dual averages. Maps affect accuracy only, never privacy.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Literal

import numpy as np
from scipy import optimize, special

from opdisc.errors import CalibrationError
from oracles.arithmetic import FloatArray
from oracles.convex import Domain, L1Ball, LossConstants, Simplex

Geometry = Literal["euclidean", "entropy", "p-norm"]


class MirrorMap(ABC):
    """A function psi on a domain, 1-strongly convex in a norm.

    Attributes
    ----------
    width : float
        D with ``psi(x) - psi(start) - <grad psi(start), x - start> <= D^2 / 2`` on the domain.
    """

    width: float

    @abstractmethod
    def start(self) -> FloatArray:
        """Return the public point to start from, shape (p,)."""

    @abstractmethod
    def step(self, z: FloatArray, direction: FloatArray) -> FloatArray:
        """Return ``argmin_x <direction, x> + psi(x) - <grad psi(z), x>`` over the domain."""

    @abstractmethod
    def smoothness(self, constants: LossConstants) -> float:
        """Return the Lipschitz constant of a row's gradient in the map's norm."""

    @abstractmethod
    def gradient_size(self, constants: LossConstants, stddev: float) -> float:
        """Return a typical dual norm of a row's gradient plus normal noise."""


class EuclideanMap(MirrorMap):
    """``|x|_2^2 / 2``: projected gradient steps.

    Parameters
    ----------
    domain : Domain
        Any bounded domain.
    """

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self.width = domain.diameter_l2

    def start(self) -> FloatArray:
        """Return the domain's centre."""
        return self._domain.centre

    def step(self, z: FloatArray, direction: FloatArray) -> FloatArray:
        """Return the projection of ``z - direction``."""
        return self._domain.project(z - direction)

    def smoothness(self, constants: LossConstants) -> float:
        """Return the Euclidean smoothness."""
        return constants.smoothness_l2

    def gradient_size(self, constants: LossConstants, stddev: float) -> float:
        """Return ``L_2 + stddev sqrt(p)``."""
        return constants.lipschitz_l2 + stddev * math.sqrt(self._domain.dimension)


class EntropyMap(MirrorMap):
    """``sum x ln x`` on the simplex, 1-strongly convex in l1: multiplicative weights.

    Parameters
    ----------
    domain : Simplex
        Where the parameters are.
    """

    def __init__(self, domain: Simplex) -> None:
        self._p = domain.dimension
        self.width = math.sqrt(2 * math.log(max(2, self._p)))

    def start(self) -> FloatArray:
        """Return equal weights."""
        return np.full(self._p, 1 / self._p)

    def step(self, z: FloatArray, direction: FloatArray) -> FloatArray:
        """Return ``z exp(-direction)``, normalised; no weight falls to 0."""
        return np.asarray(special.softmax(np.log(np.maximum(z, 1e-300)) - direction))

    def smoothness(self, constants: LossConstants) -> float:
        """Return the smoothness in l1."""
        return constants.smoothness_l1

    def gradient_size(self, constants: LossConstants, stddev: float) -> float:
        """Return ``L_1 + stddev sqrt(2 ln 2p)``: the largest of p normals."""
        return constants.lipschitz_l1 + stddev * math.sqrt(2 * math.log(2 * self._p))


class PNormMap(MirrorMap):
    """``|x|_a^2 / (2 (a - 1))`` with ``a = 1 + 1/ln p`` on an l1 ball; 1-strongly convex in l_a.

    Parameters
    ----------
    domain : L1Ball
        Where the parameters are; at least 3 coordinates make the map differ from l2 usefully.

    Notes
    -----
    ``|x|_a <= |x|_1 <= e |x|_a``: the map is as good as one for l1 up to a constant. The step is
    the gradient of the conjugate at the soft-thresholded dual point; the threshold that meets the
    ball is found by a root search.
    """

    def __init__(self, domain: L1Ball) -> None:
        self._p, self._radius = domain.dimension, domain.radius
        self._a = 1 + 1 / max(1.0, math.log(self._p))
        self.width = domain.radius / math.sqrt(self._a - 1)

    def start(self) -> FloatArray:
        """Return the origin."""
        return np.zeros(self._p)

    def step(self, z: FloatArray, direction: FloatArray) -> FloatArray:
        """Return the mirror step, inside the ball."""
        dual = self._dual_point(z) - direction
        sizes, signs = np.abs(dual), np.sign(dual)

        def point(threshold: float) -> FloatArray:
            return self._primal_point(signs * np.maximum(sizes - threshold, 0.0))

        def beyond(threshold: float) -> float:
            return float(np.abs(point(threshold)).sum()) - self._radius

        if beyond(0.0) <= 0:
            return point(0.0)
        found = point(optimize.brentq(beyond, 0.0, float(sizes.max()), xtol=1e-13, rtol=1e-12))
        return np.asarray(found * min(1.0, self._radius / float(np.abs(found).sum())))

    def _dual_point(self, x: FloatArray) -> FloatArray:
        """Return ``grad psi(x)``."""
        return _power_gradient(x, self._a) / (self._a - 1)

    def _primal_point(self, dual: FloatArray) -> FloatArray:
        """Return the point whose gradient is ``dual``."""
        return _power_gradient(dual, self._a / (self._a - 1)) * (self._a - 1)

    def smoothness(self, constants: LossConstants) -> float:
        """Return the smoothness in l1 times e^2, a bound on that in l_a."""
        return constants.smoothness_l1 * math.e**2

    def gradient_size(self, constants: LossConstants, stddev: float) -> float:
        """Return e times the bound for l1."""
        largest = constants.lipschitz_l1 + stddev * math.sqrt(2 * math.log(2 * self._p))
        return math.e * largest


def _power_gradient(x: FloatArray, power: float) -> FloatArray:
    """Return the gradient of ``|x|_power^2 / 2``."""
    largest = float(np.abs(x).max())
    if largest == 0:
        return np.zeros_like(x)
    # In units of the largest entry, so that no power overflows.
    sizes = np.abs(x) / largest
    norm = float((sizes**power).sum()) ** (1 / power)
    return np.asarray(largest * norm ** (2 - power) * np.sign(x) * sizes ** (power - 1))


def mirror_map(domain: Domain, geometry: Geometry | None) -> MirrorMap:
    """Return the map of a geometry; None takes the domain's own.

    Parameters
    ----------
    domain : Domain
        Bounded set of parameters.
    geometry : str or None
        "euclidean" (any domain), "entropy" (the simplex) or "p-norm" (an l1 ball). None takes the
        entropy for the simplex, the p-norm for an l1 ball, else the Euclidean map.

    Raises
    ------
    CalibrationError
        If the geometry is unknown or not one of this domain.
    """
    chosen = geometry
    if chosen is None:
        chosen = "euclidean"
        if isinstance(domain, Simplex):
            chosen = "entropy"
        elif isinstance(domain, L1Ball):
            chosen = "p-norm"
    match chosen:
        case "euclidean":
            return EuclideanMap(domain)
        case "entropy":
            if isinstance(domain, Simplex):
                return EntropyMap(domain)
            raise CalibrationError("the entropy map needs the simplex as its domain; declare it.")
        case "p-norm":
            if isinstance(domain, L1Ball):
                return PNormMap(domain)
            raise CalibrationError("the p-norm map needs an l1 ball as its domain; declare one.")
    raise CalibrationError(f"geometry must be euclidean, entropy or p-norm, got {geometry!r}.")
