"""Round thresholds and round bounds for public numbers."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal

_SHARES = (1, 2, 3, 4)
"""Fifths of the rows below a threshold."""

_FIFTHS = 5

_LEVELS = tuple(
    (digits, step) for digits in range(1, 18) for step in ((5, 1) if digits > 1 else (1,))
)
"""Significant digits and the multiple of the last one, the roundest first."""

_MOST_MOVED = 0.1
"""Share of the rows that rounding may move to the other side of a threshold."""


def round_cuts(numbers: Sequence[float]) -> tuple[float, ...]:
    """Return thresholds near the quintiles of numbers, as round as keeps them apart.

    Parameters
    ----------
    numbers : sequence of float
        Finite, of at least two different values.

    Returns
    -------
    tuple of float
        From 1 to 4, increasing, above the smallest number and not above the largest.
    """
    ordered = sorted(numbers)
    exact = _quintiles(ordered)
    for digits, step in _LEVELS:
        cuts = tuple(_rounded(cut, digits, step) for cut in exact)
        if _are_near(cuts, exact, ordered):
            return cuts
    return exact


def round_range(numbers: Sequence[float]) -> tuple[float, float] | None:
    """Return round bounds that hold all numbers; None where no double is one.

    Parameters
    ----------
    numbers : sequence of float
        Finite, of at least two different values.
    """
    low, high = (Decimal(repr(end)) for end in (min(numbers), max(numbers)))
    unit = Decimal(1).scaleb(((high - low) / 2).adjusted())
    bounds = (
        float((low / unit).to_integral_value(ROUND_FLOOR) * unit),
        float((high / unit).to_integral_value(ROUND_CEILING) * unit),
    )
    fits = bounds[0] <= min(numbers) and max(numbers) <= bounds[1]
    return bounds if fits and all(map(math.isfinite, bounds)) else None


def _quintiles(ordered: Sequence[float]) -> tuple[float, ...]:
    """Return those that tell rows apart, or the second value where none does."""
    at = (ordered[share * len(ordered) // _FIFTHS] for share in _SHARES)
    above = sorted({cut for cut in at if cut > ordered[0]})
    return tuple(above) or (next(number for number in ordered if number > ordered[0]),)


def _rounded(number: float, digits: int, step: int) -> float:
    exact = Decimal(repr(number))
    unit = Decimal(step).scaleb(exact.adjusted() - digits + 1)
    return float((exact / unit).to_integral_value(ROUND_HALF_UP) * unit)


def _are_near(cuts: Sequence[float], exact: Sequence[float], ordered: Sequence[float]) -> bool:
    """Return whether cuts are increasing, inside the numbers and each near the one it is for."""
    inside = ordered[0] < cuts[0] and cuts[-1] <= ordered[-1]
    apart = all(a < b for a, b in zip(cuts, cuts[1:], strict=False))
    return inside and apart and all(moved <= _MOST_MOVED for moved in _moves(cuts, exact, ordered))


def _moves(
    cuts: Sequence[float], exact: Sequence[float], ordered: Sequence[float]
) -> Iterator[float]:
    for cut, place in zip(cuts, exact, strict=True):
        yield abs(bisect_left(ordered, cut) - bisect_left(ordered, place)) / len(ordered)
