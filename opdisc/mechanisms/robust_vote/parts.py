"""Parts of a table: which rows a part holds, and in which order a learner sees them.

A part is drawn for every row, and a part's rows are sorted by value, so that ballots depend on
*which* rows a table has and never on their order (docs/robust.md, "The statement").
"""

from __future__ import annotations

import math

import numpy as np

from opdisc.errors import CalibrationError
from opdisc.mechanisms.robust_vote.learners import Part
from opdisc.noise import integers
from opdisc.privacy import EntropySource
from oracles.arithmetic import IntArray

_KINDS = (np.dtype(np.int64), np.dtype(np.float64))


def part_numbers(n_rows: int, n_parts: int, entropy: EntropySource) -> IntArray:
    """Return the part of every row, independent, uniform and secret, shape (n_rows,) int64.

    Parameters
    ----------
    n_rows : int
        Rows of the table.
    n_parts : int
        Number of parts.
    entropy : EntropySource
        Random bits.
    """
    return integers(n_parts, n_rows, entropy)


def rows_of(table: Part, rows: IntArray) -> Part:
    """Return some rows of a table in their canonical order: sorted by the bytes of their values.

    Parameters
    ----------
    table : tuple of ndarray
        From :func:`check_table`.
    rows : ndarray of shape (m,), int64
        Positions in the table.
    """
    kept = [np.ascontiguousarray(array[rows]) for array in table]
    widths = [array.dtype.itemsize * math.prod(array.shape[1:]) for array in kept]
    keys = np.hstack(
        [
            array.view(np.uint8).reshape(len(rows), width)
            for array, width in zip(kept, widths, strict=True)
        ]
    )
    # Rows with equal bytes are the same row, so their order is nobody's.
    order = keys.view(np.dtype((np.void, sum(widths)))).ravel().argsort()
    return tuple(array[order] for array in kept)


def check_table(table: Part) -> None:
    """Refuse arrays whose type could tell one part something about the rows of another.

    Text is as wide as the widest row's, and an object's bytes are its address.
    """
    if not table or any(array.dtype not in _KINDS or array.ndim < 1 for array in table):
        raise CalibrationError(
            "the arrays of a table must be int64 or float64, which one chosen without the rows; "
            "encode them first."
        )
    if len({len(array) for array in table}) != 1:
        raise CalibrationError("the arrays of a table must have one entry per row each.")
