"""Vectorised draws in double precision from an entropy source's words.

The words are the operating system's, but the transforms are rounded: receipts of mechanisms that
use them carry :data:`FLOATING_POINT` as a condition.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from opdisc.noise import EntropySource

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

FLOATING_POINT = (
    "floating point: noise and arithmetic are double precision, the release is rounded, and the "
    "proof is for real numbers"
)
_CHUNK = 1 << 20


def uniforms(size: int, entropy: EntropySource) -> FloatArray:
    """Draw numbers in (0, 1), shape (size,): a 64-bit word plus one half, over 2^64.

    Small values keep their relative precision, so that tails reach about ``2**-65``.
    """
    values = (entropy.words(size).astype(np.float64) + 0.5) * 2.0**-64
    return np.asarray(np.minimum(values, 1.0 - 2.0**-54))


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

    def take(self, size: int) -> FloatArray:
        """Return ``size`` fresh normals, shape (size,)."""
        if len(self._rest) < size:
            more = normals(max(size, 4096), self._entropy)
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
    limit = np.uint64((2**64 // below) * below - 1)
    found = np.empty(0, dtype=np.uint64)
    while len(found) < size:
        words = entropy.words(size - len(found))
        found = np.concatenate([found, words[words <= limit]])
    return (found % np.uint64(below)).astype(np.int64)


def poisson_sample(n_rows: int, rate: float, entropy: EntropySource) -> IntArray:
    """Draw a subset that takes each row independently with chance ``rate``, rounded down."""
    if rate >= 1:
        return np.arange(n_rows)
    threshold = np.uint64(math.floor(rate * 2.0**53) << 11)
    chosen = [
        start + np.flatnonzero(entropy.words(min(_CHUNK, n_rows - start)) < threshold)
        for start in range(0, n_rows, _CHUNK)
    ]
    return np.concatenate(chosen) if chosen else np.empty(0, dtype=np.int64)


def fixed_sample(n_rows: int, size: int, entropy: EntropySource) -> IntArray:
    """Draw a uniform subset of ``size`` distinct rows, in no order."""
    if size >= n_rows:
        return np.arange(n_rows)
    if size == 1:
        return integers(n_rows, 1, entropy)
    # Uniform ranks: the rows with the smallest keys form a uniform subset; equal 64-bit keys among
    # n rows have chance n^2 2^-65 and are then broken by position.
    keys = entropy.words(n_rows)
    return np.array(np.argpartition(keys, size)[:size], dtype=np.int64)


def categorical(probabilities: FloatArray, size: int, entropy: EntropySource) -> IntArray:
    """Draw indices with the given probabilities, shape (size,)."""
    edges = np.cumsum(probabilities)
    found = np.searchsorted(edges, uniforms(size, entropy) * edges[-1], side="right")
    return np.array(np.minimum(found, len(probabilities) - 1), dtype=np.int64)
