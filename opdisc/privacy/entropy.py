"""Where random bits come from."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def parse_entropy(random_state: int | np.random.RandomState | None) -> EntropySource:
    """Return the operating system's entropy, or a seeded source for tests."""
    if random_state is None:
        return SystemEntropy()
    if isinstance(random_state, np.random.RandomState):
        return SeededEntropy(int(random_state.randint(2**31)))
    return SeededEntropy(int(random_state))


class EntropySource(Protocol):
    """Where random bits come from.

    Attributes
    ----------
    is_secure : bool
        Whether the bits are the operating system's. If not, no privacy is promised.
    """

    is_secure: bool

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return ``count`` independent uniform 64-bit words."""
        ...


class SystemEntropy:
    """The operating system's cryptographic generator: the only source that protects anyone."""

    is_secure = True

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return ``count`` independent uniform 64-bit words."""
        # Writable, as those of a seeded source are: compiled code is then compiled once for both.
        return np.frombuffer(bytearray(os.urandom(8 * count)), dtype=np.uint64)


class SeededEntropy:
    """A reproducible source for tests. Every receipt made with it is VOID.

    Parameters
    ----------
    seed : int
        Seed of the generator.
    """

    is_secure = False

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Generator(np.random.PCG64(seed))

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return ``count`` pseudo-random 64-bit words."""
        return self._generator.integers(0, 2**64, size=count, dtype=np.uint64)
