"""Numbers that noisy counts stand for, each with the interval that the noise leaves open."""

from __future__ import annotations

from dataclasses import dataclass

from opdisc.models.validation.tails import reach

MISSED = 0.05
"""Chance at most that the noise moves a figure of these rows out of its interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A number of the table, as far as noisy counts tell it.

    Parameters
    ----------
    estimate : float
        What the noisy counts say; in the interval.
    low, high : float
        The interval.
    """

    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisySum:
    """A sum of independent noisy counts.

    Parameters
    ----------
    value : int
        With the noise; may be below 0.
    cells : int
        How many counts were added.
    rate : float
        Decay of the noise on each, per row.
    most : int or None
        Rows of the table, where their number is public.
    """

    value: int
    cells: int
    rate: float
    most: int | None

    def bounds(self, missed: float) -> tuple[int, int]:
        """Return the least and the largest number of rows that it may stand for."""
        far = reach(self.cells, self.rate, missed)
        return self._possible(self.value - far), self._possible(self.value + far)

    def figure(self) -> Figure:
        """Return the number of rows with its interval."""
        low, high = self.bounds(MISSED)
        return Figure(estimate=self._possible(self.value), low=low, high=high)

    def _possible(self, rows: int) -> int:
        rows = max(rows, 0)
        return rows if self.most is None else min(rows, self.most)


def share(part: NoisySum, rest: NoisySum, missed: float = MISSED) -> Figure:
    """Return part / (part + rest), two sums without a common cell.

    Each bound of the share takes the bounds of both sums at half of ``missed``.
    """
    low, high = part.bounds(missed / 2)
    few, many = rest.bounds(missed / 2)
    least = low / (low + many) if low + many else 0.0
    most = high / (high + few) if high + few else 1.0
    whole = max(part.value, 0) + max(rest.value, 0)
    estimate = max(part.value, 0) / whole if whole else (least + most) / 2
    return Figure(estimate=min(max(estimate, least), most), low=least, high=most)
