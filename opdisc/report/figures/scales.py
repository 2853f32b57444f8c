"""Scales of an axis: where a number stands, and which numbers are written there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Kind = Literal["linear", "log", "signed"]

_LINEAR_PART = 0.6
"""Of a signed scale: what lies between 0 and 1, in units of a power of ten beyond."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """A scale.

    Parameters
    ----------
    kind : str
        "linear"; "log", of positive numbers; or "signed", linear from -1 to 1 and logarithmic
        beyond on both sides.
    low, high : float
        Numbers at its ends.
    start, end : float
        Where these are drawn, pixels.
    """

    kind: Kind
    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return where a number is drawn; numbers beyond the ends at the ends."""
        first, last = self._stretched(self.low), self._stretched(self.high)
        share = (self._stretched(min(max(value, self.low), self.high)) - first) / (last - first)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Return a few round numbers on the scale."""
        match self.kind:
            case "linear":
                found = _round_steps(self.low, self.high)
            case "log":
                found = _powers(self.low, self.high)
            case _:
                beyond = _powers(1.0, max(self.high, -self.low, 1.0))
                found = [*(-value for value in beyond), 0.0, *beyond]
        return [value for value in sorted(found) if self.low <= value <= self.high]

    def _stretched(self, value: float) -> float:
        if self.kind == "linear":
            return value
        if self.kind == "log":
            return math.log10(value)
        size = abs(value)
        return math.copysign(
            _LINEAR_PART * size if size <= 1 else _LINEAR_PART + math.log10(size), value
        )


def _round_steps(low: float, high: float) -> list[float]:
    step = 10.0 ** math.floor(math.log10((high - low) / 4))
    step *= max(factor for factor in (1, 2, 2.5, 5) if 4 * factor * step <= high - low + 1e-12)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


def _powers(low: float, high: float) -> list[float]:
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    powers = [10.0**power for power in range(first, last + 1)]
    if last - first > 1:
        return powers
    return [factor * power for power in powers for factor in (1, 2, 5)]
