"""OPSamp: stability, draw count and tilt rate, from public inputs only (docs/opsamp.md).

Symbols: k = coordinates of the search space, G' = l1-Lipschitz constant of the difference of two
neighbouring losses, eta = rate of the exponential tilts, alpha = allowance of each solve, S =
bound on the expected l1 distance of the minimisers on neighbouring tables under the same tilt.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Literal

from opdisc.arguments import check_delta
from opdisc.errors import CalibrationError
from opdisc.mechanisms.opsamp.parameter_space import ROUND_UP, SearchSpace

_SHIFT_FACTORS = tuple(2.0 ** (i / 4) for i in range(-4, 33))

_SHIFT_BITS = 20

UNIFORM_BITS = 24
"""Uniform tilts take ``2^(UNIFORM_BITS + 1)`` values."""

TiltLaw = Literal["exponential", "uniform"]


@functools.lru_cache(maxsize=4096)
def proven_stability(
    space: SearchSpace,
    *,
    difference: float,
    rate: float,
    allowance: float,
    tilts: TiltLaw = "exponential",
) -> float:
    """Return S in the search space, as proven (docs/opsamp.md, "Stability").

    Parameters
    ----------
    space : SearchSpace
        Where the minimisers live.
    difference : float
        G', l1-Lipschitz constant of the difference between neighbouring losses, search units.
    rate : float
        eta of exponential tilts; uniform ones are on ``[-1 / rate, 1 / rate]``.
    allowance : float
        alpha, objective units.
    tilts : str
        "exponential" or "uniform".

    Returns
    -------
    float
        Rounded up; at most the diameter.

    Notes
    -----
    For every shift c, with ``p = exp(-eta c)``, T = total width, A = excess, a = 1 / eta:

        exponential:  S <= [(1 - p) T + 3 p k alpha / c] / [1 - p k G' / c]
                      S <= [(1 - p) A + 3 p k alpha / c] / [1 - (1 - p) / 2 - p k G' / c]
        uniform:      S <= [c T / (2 a) + 3 k alpha / c] / [1 - k G' / c],  c <= 2 a

    wherever the denominator is positive. The least over a fixed set of shifts is taken, all of
    them multiples of the tilts' lattice spacing (:func:`tilt_lattice`).
    """
    best = space.diameter
    lattice = tilt_lattice(space, difference=difference, rate=rate, tilts=tilts)
    for near in _shifts(space.dimension, difference):
        shift = math.ceil(near / lattice.spacing) * lattice.spacing
        if tilts == "uniform":
            moved, kept = 0.5 * shift / lattice.scale, 1.0
            rests = [(space.total_width, 1.0)]
        else:
            moved, kept = -math.expm1(-shift / lattice.scale), math.exp(-shift / lattice.scale)
            rests = [(space.total_width, 1.0), (space.excess, 1.0 - 0.5 * moved)]
        pull = kept * space.dimension * difference / shift
        slack = 3.0 * kept * space.dimension * allowance / shift
        for reach, whole in rests:
            if moved <= 1.0 and whole - pull > 1e-6:
                best = min(best, (moved * reach + slack) / (whole - pull) * ROUND_UP)
    return best


@functools.lru_cache(maxsize=256)
def _shifts(dimension: int, difference: float) -> tuple[float, ...]:
    """Return the shifts c that are tried, k G' / 2 to 256 k G', each with 20 significant bits."""
    return tuple(_few_bits(factor * dimension * difference) for factor in _SHIFT_FACTORS)


def _few_bits(value: float) -> float:
    mantissa, exponent = math.frexp(value)
    return math.ldexp(math.ceil(mantissa * 2**_SHIFT_BITS), exponent - _SHIFT_BITS)


@dataclass(frozen=True, slots=True, kw_only=True)
class TiltLattice:
    """The lattice that tilts are drawn on; every tilt is an exact float.

    Parameters
    ----------
    scale : float
        Mean of exponential tilts, half-width of uniform ones; 20 significant bits.
    spacing : float
        Distance of neighbouring lattice points.
    """

    scale: float
    spacing: float


def tilt_lattice(
    space: SearchSpace, *, difference: float, rate: float, tilts: TiltLaw
) -> TiltLattice:
    """Return the lattice of the tilts.

    Uniform tilts: ``2^25`` points. Exponential ones: a power of two that divides every shift
    tried, at most ``2^-16 / rate`` (close to the continuous law; privacy does not need that).
    """
    scale = _few_bits(1.0 / rate)
    if tilts == "uniform":
        return TiltLattice(scale=scale, spacing=scale / 2**UNIFORM_BITS)
    shift_exponent = math.frexp(min(_shifts(space.dimension, difference)))[1] - _SHIFT_BITS
    exponent = min(shift_exponent, math.floor(math.log2(scale)) - 16)
    return TiltLattice(scale=scale, spacing=math.ldexp(1.0, exponent))


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
    .. [1] Suggala, Netrapalli (2019), doubled as in Neel, Roth, Vietri, Wu (2019), Lemma 8.
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
    check_delta("OPSamp", delta, "give a delta such as 1 / n^2")
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
