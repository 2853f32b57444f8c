"""Exact samplers on a lattice.

A geometric variable's binary digits are independent: with ``P[k]`` proportional to
``exp(-rate * k)``, digit ``i`` is 1 with probability ``1 / (1 + exp(rate * 2**i))``. Each digit is
one comparison of fresh random bits with that threshold, refined until it is decided. Nothing is
computed in double precision, so the only departures from the law are the truncation of the
highest digits and of the thresholds; both are bounded and reported as a total-variation distance.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import mpmath
import numpy as np
from numpy.typing import NDArray

from opdisc.errors import CalibrationError
from opdisc.privacy import EntropySource

THRESHOLD_BITS = 136
"""Bits of a digit's probability that are compared: one byte, then two 64-bit words."""

MOST_NOISE = 2.0**54
"""Most lattice steps of all noise together, so that no exact sum can overflow after the spend."""

_LARGEST_DIGITS = 60

_SMALLEST_RATE = Fraction(1, 2**1000)

_CHUNK = 1 << 22

_WORKING_BITS = 400

_UNIFORM_WORDS = 5

SPHERE_BITS = 128
"""Sphere noise differs from its law with probability about ``2**-SPHERE_BITS`` per draw."""


def check_noise_fits(steps: float) -> None:
    """Refuse noise that could be too large to be added up with losses in 64 bits.

    Parameters
    ----------
    steps : float
        What all tables of noise together reach at most, lattice steps.

    Raises
    ------
    CalibrationError
        If that is more than :data:`MOST_NOISE`.
    """
    if not steps <= MOST_NOISE:
        raise CalibrationError(
            "epsilon must be larger: all noise together must stay below 2**54 lattice steps; "
            "raise it, or use fewer columns or a coarser lattice."
        )


def largest_geometric(rate: Fraction) -> int:
    """Return the largest value that :func:`geometric` draws, lattice steps."""
    return int(2 ** _digits(rate) - 1)


def _digits(rate: Fraction) -> int:
    """Return how many binary digits keep the truncation below ``2**-THRESHOLD_BITS``."""
    if rate <= 0:
        raise CalibrationError(f"a decay rate must be > 0, got {float(rate)}.")
    bounded = max(min(rate, Fraction(10**6)), _SMALLEST_RATE)  # a double, and not 0 as one
    needed = max(1.0, THRESHOLD_BITS * math.log(2) * 1.001 / float(bounded))
    digits = math.ceil(math.log2(needed)) + 1
    if digits > _LARGEST_DIGITS:
        raise CalibrationError(
            f"the noise must fit in {_LARGEST_DIGITS} bits, but it needs {digits}; use a larger "
            "epsilon or a coarser lattice."
        )
    return digits


def geometric_total_variation(rate: Fraction, count: int) -> float:
    """Return a bound on the total variation between ``count`` draws and their exact law.

    Parameters
    ----------
    rate : Fraction
        Decay per lattice step.
    count : int
        Number of variables.

    Notes
    -----
    Each digit's threshold is rounded down, which costs at most one unit of its last bit. With
    ``I`` digits the law is cut at ``2**I`` steps, which costs ``exp(-rate 2**I) <= 2**-272``. Two
    units for each digit are more than both.
    """
    return 2.0 * count * _digits(rate) * 2.0**-THRESHOLD_BITS


def geometric(rate: Fraction, size: int, entropy: EntropySource) -> NDArray[np.int64]:
    """Draw one-sided geometric noise, ``P[k]`` proportional to ``exp(-rate * k)``, ``k >= 0``.

    Parameters
    ----------
    rate : Fraction
        Decay per lattice step: spacing over the mean of the exponential it discretises.
    size : int
        How many independent draws.
    entropy : EntropySource
        Random bits.

    Returns
    -------
    ndarray of shape (size,), int64
        Lattice steps. Equal in law to the floor of an exponential of mean ``1 / rate``, up to
        :func:`geometric_total_variation`.

    Raises
    ------
    CalibrationError
        If the noise does not fit in 60 bits.
    """
    thresholds = _thresholds(rate)
    values = np.empty(size, dtype=np.int64)
    for start in range(0, size, _CHUNK):
        part = values[start : start + _CHUNK]
        part[:] = 0
        for digit, threshold in enumerate(thresholds):
            part |= _bernoulli(threshold, len(part), entropy).astype(np.int64) << digit
    return values


def discrete_laplace(rate: Fraction, size: int, entropy: EntropySource) -> NDArray[np.int64]:
    """Draw two-sided geometric noise, ``P[k]`` proportional to ``exp(-rate * |k|)``.

    Parameters and errors are those of :func:`geometric`; the distance bound is that of
    ``2 * size`` geometric draws, because the difference of two has exactly this law.
    """
    both = geometric(rate, 2 * size, entropy)
    return both[:size] - both[size:]


@functools.lru_cache(maxsize=256)
def _thresholds(rate: Fraction) -> tuple[int, ...]:
    """Return the digits' probabilities times ``2**THRESHOLD_BITS``, rounded down."""
    found = []
    with mpmath.workprec(_WORKING_BITS):
        exact_rate = mpmath.mpf(rate.numerator) / rate.denominator
        for digit in range(_digits(rate)):
            probability = 1 / (1 + mpmath.exp(exact_rate * 2**digit))
            found.append(int(mpmath.floor(mpmath.ldexp(probability, THRESHOLD_BITS))))
    return tuple(found)


def _bernoulli(threshold: int, size: int, entropy: EntropySource) -> NDArray[np.bool_]:
    """Return ``U < threshold / 2**136`` for ``size`` uniform U; draw bits while undecided."""
    first = entropy.words(-(-size // 8)).view(np.uint8)[:size]
    top = np.uint8(threshold >> 128)
    outcome = np.asarray(first < top)
    undecided = np.flatnonzero(first == top)
    for shift in (64, 0):
        if not len(undecided):
            return outcome
        part = np.uint64((threshold >> shift) & (2**64 - 1))
        words = entropy.words(len(undecided))
        outcome[undecided[words < part]] = True
        undecided = undecided[words == part]
    return outcome


def _uniforms(count: int, entropy: EntropySource) -> list[mpmath.mpf]:
    """Return uniforms on (0, 1) with 320 random bits each, at the current working precision."""
    words = entropy.words(_UNIFORM_WORDS * count).reshape(count, _UNIFORM_WORDS)
    bits = 64 * _UNIFORM_WORDS
    found = []
    for row in words:
        whole = 0
        for word in row:
            whole = (whole << 64) | int(word)
        found.append((mpmath.mpf(whole) + mpmath.mpf("0.5")) / mpmath.mpf(2) ** bits)
    return found


def gaussian_vector(dimension: int, stddev: float, entropy: EntropySource) -> list[mpmath.mpf]:
    """Draw a vector of independent normals by Box and Muller's transform, to about 128 bits.

    Parameters
    ----------
    dimension : int
        Length of the vector.
    stddev : float
        Standard deviation of each coordinate, rows.
    entropy : EntropySource
        Random bits.
    """
    with mpmath.workprec(_WORKING_BITS):
        radii = _uniforms(dimension, entropy)
        angles = _uniforms(dimension, entropy)
        return [
            stddev * mpmath.sqrt(-2 * mpmath.log(u)) * mpmath.cospi(2 * v)
            for u, v in zip(radii, angles, strict=True)
        ]


def l2_laplace_vector(dimension: int, scale: float, entropy: EntropySource) -> list[mpmath.mpf]:
    """Draw a vector with density proportional to ``exp(-|eta|_2 / scale)``, to about 128 bits.

    The direction is uniform and the radius is a sum of ``dimension`` exponentials of mean
    ``scale`` (a Gamma variable with shape ``dimension``).
    """
    direction = gaussian_vector(dimension, 1.0, entropy)
    with mpmath.workprec(_WORKING_BITS):
        length = mpmath.sqrt(mpmath.fsum(z * z for z in direction))
        radius = -scale * mpmath.fsum(mpmath.log(u) for u in _uniforms(dimension, entropy))
        return [radius * z / length for z in direction]


def sphere_total_variation(dimension: int) -> float:
    """Return a bound on the probability that a sphere draw is off by more than its allowance.

    Valid below 1,024 dimensions, on lattices no finer than ``2**-28`` rows.

    Couple every 320-bit uniform with the continuous one in its cell. A logarithm is then off by
    at most ``2**-192`` unless the uniform is below ``2**-128``, a normal by at most ``2**-150``,
    and the direction by at most ``2**-80`` unless the normals' length is below ``2**-64``
    (probability at most ``2**-128`` in two or more dimensions).
    """
    return (3 * dimension + 4) * 2.0**-SPHERE_BITS
