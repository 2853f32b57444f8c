"""Where OPSamp's tilted minimisers live, and what noise costs there (docs/opsamp.md)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from opdisc.calibration import harmonic_number
from oracles.convex import Box, Domain, L1Ball, L2Ball, LossConstants, Simplex

ROUND_UP = 1 + 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSpace:
    """Where the tilted minimisers live, and how they become parameters.

    Parameters
    ----------
    dimension : int
        k, number of tilted coordinates.
    total_width : float
        Sum of the coordinates' widths.
    excess : float
        Largest value of ``sum_i (u_i - lowest u_i)`` over the space; at most ``total_width``.
    diameter : float
        l1 diameter.
    mean_tilts : tuple of float
        Bounds on the mean of ``max <sigma, u>`` for centred tilts sigma of scale 1, exponential
        and uniform.
    stretch : float
        l1 distances of parameters are at most this times l1 distances here.
    lifted : bool
        Whether parameters are ``stretch * (u_plus - u_minus)`` of a simplex twice as long.
    """

    dimension: int
    total_width: float
    excess: float
    diameter: float
    mean_tilts: tuple[float, float]
    stretch: float
    lifted: bool


def search_space(domain: Domain) -> SearchSpace:
    """Return the search space of a domain itself.

    Parameters
    ----------
    domain : Domain
        Public parameter set.
    """
    d, widths = domain.dimension, domain.widths
    ones = np.ones(d)
    highest = float(ones @ domain.minimise_linear(-ones))
    return SearchSpace(
        dimension=d,
        total_width=float(widths.sum()) * ROUND_UP,
        excess=(highest - float(domain.lower.sum())) * ROUND_UP,
        diameter=domain.diameter_l1 * ROUND_UP,
        mean_tilts=_mean_tilts(domain),
        stretch=1.0,
        lifted=False,
    )


def lifted_space(domain: L1Ball) -> SearchSpace:
    """Return the simplex of ``2 d`` coordinates that maps onto an l1 ball.

    Notes
    -----
    ``w = R (u_plus - u_minus)`` with u on the unit simplex covers the ball of radius R, and
    ``|w - w'|_1 <= R |u - u'|_1``. The simplex has excess 1 whatever its dimension, which takes a
    factor d out of the stability of the ball (docs/opsamp.md, "Lifting an l1 ball").
    """
    d = domain.dimension
    return SearchSpace(
        dimension=2 * d,
        total_width=2.0 * d * ROUND_UP,
        excess=ROUND_UP,
        diameter=2.0 * ROUND_UP,
        mean_tilts=_simplex_tilts(2 * d),
        stretch=domain.radius * ROUND_UP,
        lifted=True,
    )


def _mean_tilts(domain: Domain) -> tuple[float, float]:
    """Return bounds on ``E max <sigma, w>`` for centred tilts of scale 1, both laws.

    Exponential minus its mean: box, ``E |sigma| = 2 / e``; l1 ball, the largest ``|sigma_j|`` is
    at most ``max(1, max sigma)``; l2 ball, unit variances; simplex, the mean of the maximum.
    Uniform on [-1, 1]: ``E |sigma| = 1/2``, ``E max |sigma_j| = d / (d + 1)``, variances 1/3,
    ``E max sigma_j = (d - 1) / (d + 1)``.
    """
    d = domain.dimension
    if isinstance(domain, L1Ball):
        kept = 1.0 - math.exp(-2.0)
        largest = 1.0 + math.fsum((1.0 - kept**k) / k for k in range(1, d + 1))
        return domain.radius * largest, domain.radius * d / (d + 1)
    if isinstance(domain, L2Ball):
        return domain.radius * math.sqrt(d), domain.radius * math.sqrt(d / 3)
    if isinstance(domain, Simplex):
        return _simplex_tilts(d)
    return float(domain.widths.sum()) / math.e, float(domain.widths.sum()) / 4


def _simplex_tilts(dimension: int) -> tuple[float, float]:
    return harmonic_number(dimension) - 1.0, (dimension - 1) / (dimension + 1)


def release_error(
    domain: Domain, constants: LossConstants, scale: float, spacing: float, *, project: bool
) -> float:
    """Return a bound on one row's mean excess loss from the release noise.

    Parameters
    ----------
    domain : Domain
        Where the average is.
    constants : LossConstants
        Of the loss.
    scale, spacing : float
        Of the discrete Laplace noise z, parameter units.
    project : bool
        Whether the release is moved to the nearest point of the domain.

    Notes
    -----
    Without a projection, z is independent of the rows: ``E |<x, z>| <= |x|_2 scale sqrt(2)``. A
    Euclidean projection moves no point of the domain further than the noise did in l2, and one on
    a box in l1 neither: ``E |z|_2 <= scale sqrt(2 d)``, ``E |z|_1 <= d scale``. Rounding adds at
    most half a step per coordinate.
    """
    d = domain.dimension
    rounding = constants.lipschitz_l2 * math.sqrt(d) * 0.5 * spacing
    if not project:
        return constants.lipschitz_l2 * math.sqrt(2) * scale + rounding
    euclidean = constants.lipschitz_l2 * math.sqrt(2 * d) * scale + rounding
    if not isinstance(domain, Box):
        return euclidean
    return min(euclidean, constants.lipschitz_l1 * d * (scale + 0.5 * spacing))
