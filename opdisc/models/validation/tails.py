"""How far a sum of several cells of discrete Laplace noise reaches: no normal approximation."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from oracles.arithmetic import FloatArray

_GUARD = 1e-10
"""What rounding may add to a probability below; it is taken off the chance that was asked for."""

_LARGEST_SCALE = 1_000.0
"""Scale of the noise, rows, up to which its law is convolved on whole rows."""


@lru_cache(maxsize=4096)
def reach(cells: int, rate: float, missed: float) -> int:
    """Return a whole t that a sum of noise exceeds with probability at most ``missed``.

    Parameters
    ----------
    cells : int
        How many independent variables are added, each with ``P[k]`` proportional to
        ``exp(-rate |k|)``.
    rate : float
        Decay per row.
    missed : float
        In (0, 1); of both sides together.

    Returns
    -------
    int
        The least if ``1 / rate`` is at most 1,000 rows; else at most ``2 * cells + 1`` more.

    Notes
    -----
    docs/theory.md, entry "validation".
    """
    if cells == 0:
        return 0
    allowed = missed - _GUARD
    if allowed <= 0:
        raise ValueError("a chance must be larger than what rounding may add.")
    if 1 / rate <= _LARGEST_SCALE:
        return _least(_tails(cells, rate), allowed)
    # A variable is a difference of two exponentials, both cut to whole rows: less than 1 off.
    return _least_beyond(cells, rate, allowed) + cells


@lru_cache(maxsize=256)
def _tails(cells: int, rate: float) -> FloatArray:
    """Return P(|sum| > t) for t = 0, 1, ...: the law is convolved by its Fourier transform.

    The values run around a circle so long that the mass which laps it is below 1e-13.
    """
    reached = (36 + math.log(4 / 3) * cells) * 2 / rate
    size = 2 ** math.ceil(math.log2(2 * reached + 8))
    angles = 2 * math.pi * np.arange(size // 2 + 1) / size
    # (1 - q)^2 / (1 - 2 q cos + q^2) with q = exp(-rate), without cancellation.
    ratio = math.sinh(rate / 2) if rate < 1_000 else math.inf
    transform = 1 / (1 + (np.sin(angles / 2) / ratio) ** 2)
    law = np.fft.irfft(transform**cells, size)
    both = law[1 : size // 2] + law[:0:-1][: size // 2 - 1]
    # Summed from the far end, where the terms are small.
    tails: FloatArray = np.cumsum(both[::-1])[::-1]
    return tails


def _least(tails: FloatArray, allowed: float) -> int:
    """Return the first t whose tail is small enough."""
    return int(np.argmax(tails <= allowed)) if (tails <= allowed).any() else len(tails)


def _least_beyond(cells: int, rate: float, allowed: float) -> int:
    """Return the least whole t that a sum of real Laplace variables exceeds so seldom."""
    high = 1
    while laplace_tail(cells, rate * high) > allowed:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if laplace_tail(cells, rate * middle) > allowed:
            low = middle
        else:
            high = middle
    return high


def laplace_tail(cells: int, beyond: float) -> float:
    """Return P(|sum| > beyond) of so many standard Laplace variables.

    The sum is positive or negative with equal chance, and its size is a Gamma variable of shape i
    with the chance that a fair match to ``cells`` wins ends i wins ahead.
    """
    term, below, total = 1.0, 0.0, 0.0
    for shape in range(1, cells + 1):
        below += term  # sum over j < shape of beyond^j / j!
        term *= beyond / shape
        ahead = math.comb(2 * cells - 1 - shape, cells - 1) * 2.0 ** -(2 * cells - 1 - shape)
        total += ahead * below
    return total * math.exp(-beyond)
