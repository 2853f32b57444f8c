"""Numbers on a public range as rows of a box, in whole steps of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from opdisc.convex.hull.shape import HullShape
from opdisc.data import EncodedTable
from oracles.arithmetic import FloatArray
from oracles.problem import ColumnGroup

BOX_STEPS = 256
"""Steps of each column's range that a number is rounded to: a power of 2."""


def box_shape(columns: int) -> HullShape:
    """Return the hull of rows ``(1, x)``, x in the unit box: that of so many single columns."""
    named = tuple(range(1, columns + 1))
    return HullShape.of_groups((ColumnGroup(columns=named, kind="free"),))


def box_table(parts: FloatArray, signs: NDArray[np.int8]) -> EncodedTable:
    """Return each row rounded by itself, as multiples of ``1 / BOX_STEPS``.

    Parameters
    ----------
    parts : float64 array, shape (n, d)
        Numbers from 0 to 1, as parts of their range.
    signs : int8 array, shape (n,)
        +1, -1, or 0 where the label is missing.
    """
    steps = np.rint(BOX_STEPS * parts).astype(np.int16)
    constant = np.full((len(parts), 1), BOX_STEPS, dtype=np.int16)
    return EncodedTable(
        points=np.hstack([constant, steps]),
        positives=(signs > 0).astype(np.int64),
        negatives=(signs < 0).astype(np.int64),
        n_rows=len(parts),
    )
