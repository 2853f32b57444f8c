"""Draws from one block's law, with their exact probabilities."""

from __future__ import annotations

import bisect
import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oracles.arrays import FloatArray, IntArray
from oracles.entropy import RandomBits


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockDraw:
    """Weights drawn from a block's law, with their exact probability.

    Parameters
    ----------
    weights : ndarray of shape (columns,), int64
        One weight per column of the block.
    chances : tuple of (int, int)
        The probability of the draw is the product of ``p / q`` over these pairs.
    """

    weights: IntArray
    chances: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockDraws:
    """Many draws from one block's law.

    Parameters
    ----------
    states : ndarray of shape (n, variables), int64
        State of every variable, numbered within it.
    weights : ndarray of shape (n, 2 * cliques), uint64
        Pairs ``(p, q)``: the states' exact probability is the product of ``p / q``.
    """

    states: IntArray
    weights: NDArray[np.uint64]


def settled(weights: FloatArray, bits: RandomBits) -> tuple[int, tuple[int, int]]:
    """Draw one of several assignments and return its exact probability, near its weight's share.

    Parameters
    ----------
    weights : ndarray of shape (n,), float64
        Weights of the assignments, > 0, no unit.
    bits : RandomBits
        What decides.

    Returns
    -------
    (int, (int, int))
        The place drawn, and ``(p, q)``: its probability is ``p / q``.
    """
    shares = weights / weights.max()
    if (shares == 1.0).all():
        return bits.below(len(shares)), (1, len(shares))
    tickets = [int(share * 2.0**52) + 1 for share in shares]
    ends = list(itertools.accumulate(tickets))
    place = bisect.bisect_right(ends, bits.below(ends[-1]))
    return place, (tickets[place], ends[-1])
