"""Public ranges of numbers, and numbers within them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from opdisc.errors import CalibrationError
from oracles.arithmetic import FloatArray

Range = tuple[ArrayLike, ArrayLike]
"""Lowest and highest, numbers or one per column."""


def public_range(declared: Range | None, columns: int, what: str) -> tuple[FloatArray, FloatArray]:
    """Return a declared public range as two arrays, or refuse."""
    if declared is None:
        raise CalibrationError(
            f"{what}_range must be declared, since it sets the noise and may not come from "
            "the table; give a public (lowest, highest)."
        )
    try:
        low, high = (
            np.broadcast_to(np.asarray(end, dtype=np.float64), (columns,)) for end in declared
        )
    except (TypeError, ValueError):
        raise CalibrationError(
            f"{what}_range must be (lowest, highest), numbers or one per column."
        ) from None
    with np.errstate(over="ignore"):
        is_finite = np.isfinite(low) & np.isfinite(high) & np.isfinite(high - low)
    if not is_finite.all() or not (low < high).all():
        raise CalibrationError(f"{what}_range must be finite with lowest < highest.")
    return low, high


def unit_scaled(rows: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Clip to the public range and map it onto [0, 1]: a map of one row and public facts."""
    return np.clip((np.clip(rows, low, high) - low) / (high - low), 0.0, 1.0)
