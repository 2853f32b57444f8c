"""The smallest noise that meets a target, where only its delta is known."""

from __future__ import annotations

import math
from collections.abc import Callable

from opdisc.errors import CalibrationError

_ROUND_UP = 1 + 1e-9

_LARGEST_MULTIPLIER = 1e9


def smallest_noise(
    delta: Callable[[float], float], target: float, *, tolerance: float, start: float = 1.0
) -> float:
    """Return a noise level with ``delta(level) <= target``, by bisection on a falling function.

    Parameters
    ----------
    delta : callable
        Upper bound on delta at a noise level.
    target : float
        Largest acceptable delta, > 0.
    tolerance : float
        Relative width at which bisection stops; the upper end is returned.
    start : float
        First guess.

    Raises
    ------
    CalibrationError
        If no level up to 1e9 meets the target.
    """
    high = start
    while delta(high) > target:
        high *= 2
        if high > _LARGEST_MULTIPLIER * start:
            raise CalibrationError(
                "no finite noise meets this epsilon and delta; use a larger epsilon or delta."
            )
    low = high / 2
    while delta(low) <= target:
        high, low = low, low / 2
        if low < 1e-9 * start:
            return high
    while high > low * (1 + tolerance):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if delta(middle) <= target else (middle, high)
    rounded = high * _ROUND_UP
    return rounded if delta(rounded) <= target else high
