"""Vectorised draws in double precision from an entropy source's words.

The words are the operating system's, but the transforms are rounded: receipts of mechanisms that
use them carry :data:`opdisc.privacy.FLOATING_POINT` as a condition.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from opdisc.privacy import EntropySource
from oracles.arithmetic import FloatArray, IntArray

_CHUNK = 1 << 20


def uniforms(size: int, entropy: EntropySource) -> FloatArray:
    """Draw numbers in (0, 1), shape (size,): a 64-bit word plus one half, over 2^64.

    Small values keep their relative precision, so that tails reach about ``2**-65``.
    """
    values = (entropy.words(size).astype(np.float64) + 0.5) * 2.0**-64
    return np.asarray(np.minimum(values, 1.0 - 2.0**-53))


def normals(size: int, entropy: EntropySource) -> FloatArray:
    """Draw standard normals by Box and Muller's transform, shape (size,)."""
    pairs = -(-size // 2)
    radii = np.sqrt(-2.0 * np.log(uniforms(pairs, entropy)))
    angles = (2.0 * math.pi) * uniforms(pairs, entropy)
    return np.concatenate([radii * np.cos(angles), radii * np.sin(angles)])[:size]


class NormalStream:
    """Standard normals, drawn many at a time.

    Parameters
    ----------
    entropy : EntropySource
        Random bits.
    """

    def __init__(self, entropy: EntropySource) -> None:
        self._entropy = entropy
        self._rest: FloatArray = np.empty(0)
        self._block = 64

    def take(self, size: int) -> FloatArray:
        """Return ``size`` fresh normals, shape (size,)."""
        if len(self._rest) < size:
            # Small blocks first: a run of few steps should not pay for thousands of numbers.
            more = normals(max(size, self._block), self._entropy)
            self._block = min(4096, 4 * self._block)
            self._rest = np.concatenate([self._rest, more])
        taken, self._rest = self._rest[:size], self._rest[size:]
        return taken


def l2_laplace(dimension: int, scale: float, entropy: EntropySource) -> FloatArray:
    """Draw a vector with density proportional to ``exp(-|b|_2 / scale)``, shape (dimension,).

    The direction is uniform and the radius a sum of ``dimension`` exponentials: a Gamma variable.
    """
    direction = normals(dimension, entropy)
    radius = -scale * float(np.log(uniforms(dimension, entropy)).sum())
    return np.asarray(direction * (radius / float(np.linalg.norm(direction))))


def integers(below: int, size: int, entropy: EntropySource) -> IntArray:
    """Draw integers uniform on ``0 .. below - 1`` by rejection, shape (size,)."""
    # Half a word each is enough for small ranges, and random words are what costs.
    kind: type[np.unsignedinteger[Any]] = np.uint32 if below <= 2**24 else np.uint64
    bits = 8 * np.dtype(kind).itemsize
    limit = kind((2**bits // below) * below - 1)
    found = np.empty(0, dtype=kind)
    while len(found) < size:
        missing = size - len(found)
        words = entropy.words(-(-missing * bits // 64)).view(kind)[:missing]
        found = np.concatenate([found, words[words <= limit]])
    return np.asarray(found % kind(below), dtype=np.int64)


def poisson_sample(n_rows: int, rate: float, entropy: EntropySource) -> IntArray:
    """Draw a subset that takes each row independently with chance ``rate``, rounded down.

    In no order. A row takes part if its random number of 8 + 45 binary digits is below the rate's
    first 53. The first byte decides 255 rows of 256; only where it ties are more digits drawn.
    """
    if rate >= 1:
        return np.arange(n_rows)
    first, rest = divmod(math.floor(rate * 2.0**53), 1 << 45)
    chosen = [np.empty(0, dtype=np.int64)]
    for start in range(0, n_rows, _CHUNK):
        size = min(_CHUNK, n_rows - start)
        digits = entropy.words(-(-size // 8)).view(np.uint8)[:size]
        ties = np.flatnonzero(digits == first)
        low = entropy.words(len(ties)) >> np.uint64(19) < np.uint64(rest)
        chosen += [start + np.flatnonzero(digits < first), start + ties[low]]
    return np.concatenate(chosen)


def fixed_sample(n_rows: int, size: int, entropy: EntropySource) -> IntArray:
    """Draw a uniform subset of ``size`` distinct rows, in no order."""
    if size >= n_rows:
        return np.arange(n_rows)
    # Few rows to draw: distinct values in the order of their appearance. Many: draw the others.
    if 2 * size > n_rows:
        left_out = _distinct(n_rows, n_rows - size, entropy)
        taken = np.ones(n_rows, dtype=bool)
        taken[left_out] = False
        return np.asarray(np.flatnonzero(taken), dtype=np.int64)
    return _distinct(n_rows, size, entropy)


def _distinct(below: int, size: int, entropy: EntropySource) -> IntArray:
    """Return the first ``size`` distinct values of a uniform stream: a uniform subset."""
    drawn = np.empty(0, dtype=np.int64)
    first = np.empty(below, dtype=np.int64)
    while True:
        missing = size - len(drawn)
        fresh = integers(below, missing + missing // 8 + 2 * math.isqrt(missing) + 1, entropy)
        drawn = np.concatenate([drawn, fresh])
        places = np.arange(len(drawn))
        # Of equal values the last assignment stands: backwards, the first appearance.
        first[drawn[::-1]] = places[::-1]
        drawn = drawn[first[drawn] == places]
        if len(drawn) >= size:
            return np.array(drawn[:size], dtype=np.int64)


def categorical(probabilities: FloatArray, size: int, entropy: EntropySource) -> IntArray:
    """Draw indices with the given probabilities, shape (size,)."""
    edges = np.cumsum(probabilities)
    found = np.searchsorted(edges, uniforms(size, entropy) * edges[-1], side="right")
    return np.array(np.minimum(found, len(probabilities) - 1), dtype=np.int64)
