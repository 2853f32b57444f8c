"""Running sums under normal noise, by binary counting: each vector is in few noisy sums."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from opdisc.noise import normals
from opdisc.privacy import EntropySource
from oracles.arithmetic import FloatArray


def tree_levels(rounds: int) -> int:
    """Return how many noisy sums hold one vector at most; the last round's is never summed."""
    return max(1, (rounds - 1).bit_length())


@dataclass(slots=True, kw_only=True)
class NoisySums:
    """Sums of blocks of 1, 2, 4, ... vectors, exact and noisy; the exact ones are private.

    Parameters
    ----------
    exact, noisy : float64 array, shape (levels, p)
        Sum of the open block of each length; of a length without one, zeros.
    count : int
        Vectors so far: its binary digits say which lengths have a block.
    """

    exact: FloatArray
    noisy: FloatArray
    count: int = 0

    def add(self, x: FloatArray, scale: float, entropy: EntropySource) -> None:
        """Add a vector, shape (p,); only the block that it closes gets fresh noise."""
        after = self.count + 1
        level = (after & -after).bit_length() - 1
        closed = self.exact[:level].sum(axis=0) + x
        fresh = closed + scale * normals(len(x), entropy)
        self.exact[level], self.noisy[level] = closed, fresh
        self.exact[:level], self.noisy[:level] = 0.0, 0.0
        self.count = after

    def total(self) -> FloatArray:
        """Return the noisy sum of all vectors so far, shape (p,)."""
        return np.asarray(self.noisy.sum(axis=0))


def no_sums(levels: int, dimension: int) -> NoisySums:
    """Return the sums of no vectors."""
    return NoisySums(exact=np.zeros((levels, dimension)), noisy=np.zeros((levels, dimension)))
