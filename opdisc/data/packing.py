"""Encoded rows packed into 64-bit words, so that equal rows are found by sorting numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from oracles.arithmetic import IntArray

CellArray: TypeAlias = npt.NDArray[np.int8]

WordArray: TypeAlias = npt.NDArray[np.uint64]

WORD_BITS = 64

_CHUNK = 1 << 24


def pack_rows(rows: CellArray) -> WordArray:
    """Return rows of 0 and 1, shape (n, d), as words whose order is that of the rows."""
    n_words = -(-rows.shape[1] // WORD_BITS)
    packed = np.zeros((len(rows), 8 * n_words), dtype=np.uint8)
    step = max(1, _CHUNK // max(1, rows.shape[1]))
    for first in range(0, len(rows), step):
        part = np.packbits(rows[first : first + step].astype(bool), axis=1)
        packed[first : first + step, : part.shape[1]] = part
    return packed.view(">u8").astype(np.uint64)


def unpack_rows(words: WordArray, n_columns: int) -> CellArray:
    """Return what :func:`pack_rows` packed, with its number of columns."""
    packed = np.ascontiguousarray(words.astype(">u8")).view(np.uint8)
    return np.unpackbits(packed, axis=1, count=n_columns).astype(np.int8)


def group_rows(words: WordArray) -> tuple[IntArray, IntArray]:
    """Return the order that sorts the rows, and where in it each distinct row begins."""
    order = np.lexsort(words.T[::-1]).astype(np.int64)
    ordered = words[order]
    starts = np.ones(len(words), dtype=bool)
    starts[1:] = np.any(ordered[1:] != ordered[:-1], axis=1)
    return order, np.flatnonzero(starts).astype(np.int64)


def sum_groups(values: npt.NDArray[Any], order: IntArray, starts: IntArray) -> IntArray:
    """Return the sum over each group that :func:`group_rows` found, int64."""
    if not len(starts):
        return np.zeros(0, dtype=np.int64)
    return np.add.reduceat(values[order].astype(np.int64), starts)


def set_column(words: WordArray, position: int, ones: npt.NDArray[np.bool_]) -> None:
    """Set one column of packed rows, given as all 0, where it is 1."""
    shift = np.uint64(WORD_BITS - 1 - position % WORD_BITS)
    words[:, position // WORD_BITS] |= ones.astype(np.uint64) << shift
