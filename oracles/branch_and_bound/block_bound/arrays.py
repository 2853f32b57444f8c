"""Arrays of one block: its states, and the points it has shares of, context by context."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from oracles.arithmetic import IntArray

ShortArray = NDArray[np.int16]
MediumArray = NDArray[np.int32]
FloatArray = NDArray[np.float64]

CHUNK = 256
"""States are priced in chunks of so many; arrays of states are padded to a multiple."""

PADDING = np.int32(2**30)
"""Own cost of a padding state: above every true sum."""

LARGEST_SUM = 2**28
"""Shares and own costs of a block stay below this, so that 32 bits suffice."""

UNREACHED = 2**29
"""Charge for a threshold that no hypothesis of the node makes."""

MOST_LEVELS = 64
"""Thresholds told apart in a context; points of a context with more get no share."""


class BlockArrays(NamedTuple):
    """One block ``U`` of free coordinates.

    Parameters
    ----------
    weights : ndarray of shape (k, n) int16
        Weights of the block's coordinates in every state, padded.
    own : ndarray of shape (n,) int32
        Cost of every state apart from columns' own costs, in share units, rounded down;
        ``PADDING`` in padding states.
    pattern_at, pattern_coord, pattern_coef : ndarray
        Entries of pattern ``p``, a point's part inside the block, from ``pattern_at[p]`` onwards:
        place of the coordinate in the block, and the point's entry.
    context_at, first_level, n_levels : ndarray of int64
        Cells of context ``c`` are at ``context_at[c]`` onwards; its outside score ``t`` makes a
        threshold ``1 - t`` of ``first_level[c]`` onwards.
    point, pattern, offset : ndarray of int64
        Each cell's point in the node, its pattern, and the score of its fixed columns.
    """

    weights: ShortArray
    own: MediumArray
    pattern_at: IntArray
    pattern_coord: IntArray
    pattern_coef: IntArray
    context_at: IntArray
    first_level: IntArray
    n_levels: IntArray
    point: IntArray
    pattern: IntArray
    offset: IntArray


class LinkArrays(NamedTuple):
    """Free columns outside a block that its contexts charge for their values.

    Parameters
    ----------
    at : ndarray of shape (contexts + 1,) int64
        Links of context ``c`` are at ``at[c]`` onwards, columns ascending.
    coord, coef : ndarray of int64
        Each link's column, and the entry that the context's points have there.
    """

    at: IntArray
    coord: IntArray
    coef: IntArray


class PricingScratch(NamedTuple):
    """Working memory for pricing blocks of one node."""

    scores: ShortArray
    lowest: IntArray
    highest: IntArray
    sums: MediumArray
    best: MediumArray


def new_pricing_scratch(n_patterns: int) -> PricingScratch:
    """Return working memory for blocks of up to so many patterns."""
    n = max(1, n_patterns)
    return PricingScratch(
        scores=np.zeros((n, CHUNK), dtype=np.int16),
        lowest=np.zeros(n, dtype=np.int64),
        highest=np.zeros(n, dtype=np.int64),
        sums=np.zeros(CHUNK, dtype=np.int32),
        best=np.zeros(CHUNK, dtype=np.int32),
    )


def padded_size(n: int) -> int:
    """Return the least multiple of the chunk that holds so many states."""
    return max(1, -(-n // CHUNK)) * CHUNK
