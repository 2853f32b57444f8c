"""OPSamp: stability, draw count and tilt rate, from public inputs only (docs/opsamp.md).

Symbols: k = coordinates of the search space, G' = l1-Lipschitz constant of the difference of two
neighbouring losses, eta = rate of the exponential tilts, alpha = allowance of each solve, S =
bound on the expected l1 distance of the minimisers on neighbouring tables under the same tilt.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from opdisc.domains import Box, Domain, L1Ball, L2Ball, Simplex
from opdisc.errors import CalibrationError
from opdisc.losses import LossConstants

ROUND_UP = 1 + 1e-9
_SHIFT_FACTORS = tuple(2.0 ** (i / 4) for i in range(-4, 33))
_SHIFT_BITS = 20


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
    mean_tilt : float
        Bound on the mean of ``max <sigma - 1, u>`` for tilts sigma of rate 1.
    stretch : float
        l1 distances of parameters are at most this times l1 distances here.
    lifted : bool
        Whether parameters are ``stretch * (u_plus - u_minus)`` of a simplex twice as long.
    """

    dimension: int
    total_width: float
    excess: float
    diameter: float
    mean_tilt: float
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
        mean_tilt=_mean_tilt(domain),
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
        mean_tilt=_harmonic(2 * d) - 1.0,
        stretch=domain.radius * ROUND_UP,
        lifted=True,
    )


def _mean_tilt(domain: Domain) -> float:
    """Return a bound on ``E max <sigma - 1, w>`` for independent exponentials sigma of mean 1.

    Box: ``E |sigma - 1| = 2 / e`` in each coordinate. L1 ball: the largest ``|sigma_j - 1|`` is at
    most ``max(1, max sigma - 1)``. L2 ball: unit variances. Simplex: the mean of the maximum.
    """
    d = domain.dimension
    if isinstance(domain, L1Ball):
        kept = 1.0 - math.exp(-2.0)
        return domain.radius * (1.0 + math.fsum((1.0 - kept**k) / k for k in range(1, d + 1)))
    if isinstance(domain, L2Ball):
        return domain.radius * math.sqrt(d)
    if isinstance(domain, Simplex):
        return _harmonic(d) - 1.0
    return float(domain.widths.sum()) / math.e


def _harmonic(size: int) -> float:
    return math.fsum(1.0 / k for k in range(1, size + 1))


@functools.lru_cache(maxsize=4096)
def proven_stability(
    space: SearchSpace, *, difference: float, rate: float, allowance: float
) -> float:
    """Return S in the search space, as proven (docs/opsamp.md, "Stability").

    Parameters
    ----------
    space : SearchSpace
        Where the minimisers live.
    difference : float
        G', l1-Lipschitz constant of the difference between neighbouring losses, search units.
    rate : float
        eta.
    allowance : float
        alpha, objective units.

    Returns
    -------
    float
        Rounded up; at most the diameter.

    Notes
    -----
    For every shift c > k G' e^(-eta c), with ``p = exp(-eta c)``, T = total width, A = excess:

        S <= [(1 - p) T + 3 p k alpha / c] / [1 - p k G' / c]
        S <= [(1 - p) A + 3 p k alpha / c] / [1 - (1 - p) / 2 - p k G' / c].

    The least over a fixed set of shifts is taken, each a float with few bits, hence a multiple of
    the tilts' lattice spacing (:func:`tilt_spacing`).
    """
    best = space.diameter
    for shift in _shifts(space.dimension, difference):
        moved = -math.expm1(-rate * shift)
        kept = 1.0 - moved
        pull = kept * space.dimension * difference / shift
        slack = 3.0 * kept * space.dimension * allowance / shift
        for reach, rest in (
            (space.total_width, 1.0 - pull),
            (space.excess, 1.0 - 0.5 * moved - pull),
        ):
            if rest > 1e-6:
                best = min(best, (moved * reach + slack) / rest * ROUND_UP)
    return best


def _shifts(dimension: int, difference: float) -> list[float]:
    """Return the shifts c that are tried, k G' / 2 to 256 k G', each with 20 significant bits."""
    return [_few_bits(factor * dimension * difference) for factor in _SHIFT_FACTORS]


def _few_bits(value: float) -> float:
    mantissa, exponent = math.frexp(value)
    return math.ldexp(math.ceil(mantissa * 2**_SHIFT_BITS), exponent - _SHIFT_BITS)


def tilt_spacing(space: SearchSpace, *, difference: float, rate: float) -> float:
    """Return the lattice spacing of the tilts: a power of two that divides every shift tried.

    It is also at most ``2^-16 / rate``, so that the lattice law is close to the exponential for
    utility; privacy does not need that.
    """
    smallest = min(_shifts(space.dimension, difference))
    shift_exponent = math.frexp(smallest)[1] - _SHIFT_BITS
    return math.ldexp(1.0, min(shift_exponent, math.floor(math.log2(1.0 / rate)) - 16))


def published_stability(
    *, dimension: int, width: float, lipschitz: float, rate: float, allowance: float
) -> float:
    """Return ``S = 250 eta G d^2 D + alpha / (10 G)`` as published for replace-one.

    Parameters
    ----------
    dimension : int
        d.
    width : float
        D, the largest width of a coordinate.
    lipschitz : float
        G, l1-Lipschitz constant of one row's loss.
    rate, allowance : float
        eta and alpha.

    References
    ----------
    .. [1] Suggala, Netrapalli (2019), doubled as in Neel, Roth, Vietri, Wu (2019), Algorithm 2.
    """
    return 250 * rate * lipschitz * dimension**2 * width + allowance / (10 * lipschitz)


def published_draws(total_width: float, stability: float, delta: float) -> int:
    """Return ``m = ceil(3 (sum_i D_i / S) ln(1/delta))``."""
    return math.ceil(3 * total_width / stability * math.log(1 / delta) * ROUND_UP)


def chernoff_draws(share: float, inflation: float, delta: float) -> int:
    """Return how many draws keep a mean of variables in [0, 1] below ``inflation * share``.

    Parameters
    ----------
    share : float
        Bound on the mean of each, given the ones before: ``S / diameter``.
    inflation : float
        Above 1; the paper's 2.
    delta : float
        Allowed failure probability.

    Returns
    -------
    int
        The least m with ``exp(-m KL(inflation * share, share)) <= delta``; 1 where
        ``inflation * share >= 1``, which cannot fail.

    Raises
    ------
    CalibrationError
        If ``inflation <= 1`` or delta is 0 and a failure is possible.

    References
    ----------
    .. [1] Hoeffding (1963), Theorem 1, whose proof needs conditional means only.
    """
    if not inflation > 1:
        raise CalibrationError(f"inflation must be > 1, got {inflation}.")
    level = inflation * share
    if level >= 1:
        return 1
    if not delta > 0:
        raise CalibrationError(
            f"OPSamp needs delta > 0, got delta={delta}; give a delta such as 1 / n^2."
        )
    divergence = level * math.log(inflation) + (1 - level) * (
        math.log1p(-level) - math.log1p(-share)
    )
    draws = math.ceil(math.log(1 / delta) / divergence * ROUND_UP)
    while math.exp(-draws * divergence * (1 - 1e-9)) > delta:
        draws += 1
    return draws


def default_allowance(
    space: SearchSpace, *, difference: float, rate: float, share: float
) -> float:
    """Return the alpha whose term is about ``share`` of the stability; rounded to few bits."""
    first_order = 4 * space.dimension * difference * rate * min(space.total_width, space.excess)
    return _few_bits(share * difference * min(first_order, space.diameter) / 3)


def release_error(domain: Domain, constants: LossConstants, scale: float, spacing: float) -> float:
    """Return a bound on one row's mean excess loss from the release noise.

    Parameters
    ----------
    domain : Domain
        What the release is projected on.
    constants : LossConstants
        Of the loss.
    scale, spacing : float
        Of the discrete Laplace noise, parameter units.

    Notes
    -----
    A Euclidean projection moves no point of the domain further than the noise did in l2, and one
    on a box in l1 neither. Means: ``E |z|_1 <= d scale``, ``E |z|_2 <= scale sqrt(2 d)``.
    """
    d = domain.dimension
    euclidean = constants.lipschitz_l2 * math.sqrt(d) * (math.sqrt(2) * scale + 0.5 * spacing)
    if not isinstance(domain, Box):
        return euclidean
    return min(euclidean, constants.lipschitz_l1 * d * (scale + 0.5 * spacing))
