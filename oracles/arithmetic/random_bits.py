"""Uniform random bits, and the exact decisions that are made with them.

Nothing here rounds: a decision that the bits drawn so far leave open draws more bits.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from oracles.errors import InvalidOption

_WORD_BITS = 64

_BUFFER_WORDS = 64

_FIRST_BITS = 64


class EntropySource(Protocol):
    """Anything that delivers independent uniform 64-bit words."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return ``count`` fresh words, shape (count,) uint64."""
        ...


class SeededEntropy:
    """Words of a seeded pseudo-random generator, for tests and benchmarks only.

    Parameters
    ----------
    seed : int
        Seed of ``numpy.random.default_rng``.
    """

    def __init__(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return ``count`` pseudo-random words, shape (count,) uint64."""
        return self._generator.integers(0, 2**64, size=count, dtype=np.uint64)


class RandomBits:
    """Reads an entropy source bit by bit, and decides events of exactly stated probability.

    Parameters
    ----------
    source : EntropySource
        Where the words come from; fetched a few at a time, and never used twice.
    """

    def __init__(self, source: EntropySource) -> None:
        self._source = source
        self._pool = 0
        self._pooled = 0

    def integer(self, bits: int) -> int:
        """Return a uniform integer in ``0 .. 2**bits - 1``."""
        while self._pooled < bits:
            words = self.words(_BUFFER_WORDS).astype("<u8")
            self._pool |= int.from_bytes(words.tobytes(), "little") << self._pooled
            self._pooled += _BUFFER_WORDS * _WORD_BITS
        value = self._pool & ((1 << bits) - 1)
        self._pool >>= bits
        self._pooled -= bits
        return value

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return fresh uniform words straight from the source, shape (count,) uint64."""
        words = np.ascontiguousarray(self._source.words(count), dtype=np.uint64)
        if words.shape != (count,):
            raise InvalidOption(
                f"an entropy source must return the words asked for ({count}), "
                f"got shape {words.shape}."
            )
        return words

    def below(self, bound: int) -> int:
        """Return a uniform integer in ``0 .. bound - 1``, exactly, by rejection."""
        if bound < 1:
            raise InvalidOption("the bound of a uniform integer must be at least 1.")
        bits = (bound - 1).bit_length()
        while (value := self.integer(bits)) >= bound:
            pass
        return value

    def exponential_trial(self, exponent: Fraction) -> bool:
        """Return True with probability exactly ``exp(-exponent)``, for an exponent >= 0."""
        if exponent < 0:
            raise InvalidOption("the exponent of a trial must be at least 0.")
        if exponent == 0:
            return True
        bits, drawn = _FIRST_BITS, self.integer(_FIRST_BITS)
        while True:
            low, high = exponential_enclosure(exponent, bits)
            if drawn + 1 <= low:
                return True
            if drawn >= high:
                return False
            drawn = (drawn << bits) | self.integer(bits)
            bits *= 2


def exponential_enclosure(exponent: Fraction, bits: int) -> tuple[int, int]:
    """Enclose ``exp(-exponent)`` in fixed point, by integer arithmetic rounded outwards.

    Parameters
    ----------
    exponent : Fraction
        At least 0.
    bits : int
        Fractional bits of the result.

    Returns
    -------
    (int, int)
        ``low, high`` with ``low <= 2**bits * exp(-exponent) <= high``.

    Notes
    -----
    **Guarantee.** ``high - low <= 2`` (the guard bits absorb every rounding).
    """
    if exponent >= bits:  # e > 2, so this is below half a unit
        return 0, 1
    halvings = max(0, exponent.numerator.bit_length() - exponent.denominator.bit_length() + 2)
    reduced = exponent / (1 << halvings)
    guard = halvings + bits.bit_length() + 16
    low, high = _alternating_series(reduced, bits + guard)
    for _ in range(halvings):
        low = (low * low) >> (bits + guard)
        high = -((-high * high) >> (bits + guard))
    return low >> guard, -((-high) >> guard)


def _alternating_series(exponent: Fraction, bits: int) -> tuple[int, int]:
    """Enclose ``exp(-exponent)`` for an exponent in [0, 1/2], whose terms decrease."""
    one = 1 << bits
    low, high = one, one
    term_low = term_high = one
    k = 0
    while term_high > 1:
        k += 1
        step = exponent.denominator * k
        term_low = term_low * exponent.numerator // step
        term_high = -((-term_high * exponent.numerator) // step)
        low, high = (
            (low - term_high, high - term_low) if k % 2 else (low + term_low, high + term_high)
        )
    # What is left of an alternating series is smaller than its last term.
    return max(0, low - term_high), min(one, high + term_high)
