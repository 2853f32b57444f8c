"""The observed rate of the positive label per total of a card, from counts bought with noise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np

from opdisc.errors import escaped
from opdisc.privacy import Amount, Record

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from opdisc.models.totals import Bins
    from oracles.arithmetic import FloatArray, IntArray

SMOOTHING = 0.5
"""Rows of the overall rate that every group is mixed with, in scales of the noise; at least 1.

Measured on four public tables: less makes no difference, more pulls rates near 0 and 1 inwards.
"""

_MISSED = 0.025
"""Chance that the noise of one of a group's two counts leaves its interval."""

Rate = Annotated[float, msgspec.Meta(ge=0, le=1)]
"""A share of rows."""


class RiskRow(Record, frozen=True, kw_only=True):
    """The rate of some neighbouring totals.

    Parameters
    ----------
    lowest, highest : int
        Totals from ``lowest`` to ``highest``.
    rate : float
        Share of such rows that are positive, in [0, 1].
    low, high : float
        About 95% interval of the share in the table, given the noise alone.
    """

    lowest: int
    highest: int
    rate: Rate
    low: Rate
    high: Rate

    def __post_init__(self) -> None:
        """Refuse ends in the wrong order."""
        if self.lowest > self.highest or not self.low <= self.rate <= self.high:
            raise ValueError("a risk row must have its low ends first, and its rate between them.")

    @property
    def totals(self) -> str:
        """The totals, in words."""
        if self.lowest == self.highest:
            return f"total {self.lowest}"
        return f"total {self.lowest} to {self.highest}"


class RiskTable(Record, frozen=True, kw_only=True):
    """Rates that never fall as the total grows.

    Parameters
    ----------
    rows : tuple of RiskRow
        From the lowest total to the highest, without overlap.
    noise_scale : float
        Scale of the discrete Laplace noise on each count, rows; a public fact.

    Examples
    --------
    >>> table = RiskTable(
    ...     rows=(
    ...         RiskRow(lowest=-1, highest=0, rate=0.1, low=0.05, high=0.2),
    ...         RiskRow(lowest=1, highest=1, rate=0.7, low=0.6, high=0.8),
    ...     ),
    ...     noise_scale=10.0,
    ... )
    >>> table.rates([-1, 1]).tolist()
    [0.1, 0.7]
    >>> print(table.text("yes"))
    Share of rows that are yes (in brackets: what the noise leaves open, about 95%)
      total -1 to 0        10%  (5% to 20%)
      total 1              70%  (60% to 80%)
    """

    rows: tuple[RiskRow, ...]
    noise_scale: Amount

    def __post_init__(self) -> None:
        """Refuse rows that overlap, fall, or are missing."""
        if not self.rows:
            raise ValueError("a risk table must have rows.")
        for before, after in zip(self.rows, self.rows[1:], strict=False):
            if before.highest >= after.lowest or before.rate > after.rate:
                raise ValueError("a risk table's totals must grow, and its rates must not fall.")

    def rates(self, totals: ArrayLike) -> FloatArray:
        """Return the rate of each total; those beyond the table have the nearest row's."""
        ends = np.array([row.highest for row in self.rows[:-1]])
        rates: Any = np.array([row.rate for row in self.rows])
        return np.asarray(rates[np.searchsorted(ends, np.asarray(totals))])

    def text(self, positive: object) -> str:
        """Return the table in words, for a positive label."""
        lines = [
            f"Share of rows that are {positive} (in brackets: what the noise leaves open, about "
            "95%)"
        ]
        lines += [
            f"  {row.totals:<18}{row.rate:>6.0%}  ({row.low:.0%} to {row.high:.0%})"
            for row in self.rows
        ]
        return "\n".join(map(escaped, lines))


def fitted_risks(bins: Bins, counts: IntArray, noise_scale: float) -> RiskTable:
    """Return the rates that noisy counts of negatives and positives stand for.

    Parameters
    ----------
    bins : tuple of (lowest, highest)
        Groups of totals.
    counts : ndarray of shape (2, n_bins), int64
        Rows with noise, negatives first.
    noise_scale : float
        Scale of the discrete Laplace noise, rows.

    Notes
    -----
    **Rule.** Counts below 0 count as 0. Each group is mixed with ``SMOOTHING * noise_scale`` rows
    of the overall rate, at least 1. Where rates fall, neighbouring groups are pooled, by weight,
    until none does (pool adjacent violators), and become one row of the table. **Interval.** With
    ``t`` such that the noise of one count is larger with probability at most 0.025, a row of k
    groups takes all rates of counts within ``t sqrt(k)`` of the noisy ones. For k = 1 it misses
    the share of the table's rows with probability at most 5%, for more about that. It says nothing
    of how the table came about.
    """
    negatives, positives = np.maximum(counts, 0).astype(float)
    overall = (positives.sum() + 1) / (positives.sum() + negatives.sum() + 2)
    mixed = max(SMOOTHING * noise_scale, 1.0)
    weights = positives + negatives + mixed
    blocks = _pooled((positives + mixed * overall) / weights, weights)
    rows = []
    for first, last, rate in blocks:
        inside = slice(first, last + 1)
        reach = _reach(noise_scale) * math.sqrt(last + 1 - first)
        few, many = counts[:, inside].sum(axis=1).tolist()
        low, high = _interval(few, many, reach)
        rate = min(max(rate, 0.0), 1.0)
        rows.append(
            RiskRow(
                lowest=bins[first][0],
                highest=bins[last][1],
                rate=rate,
                low=min(low, rate),
                high=max(high, rate),
            )
        )
    return RiskTable(rows=tuple(rows), noise_scale=noise_scale)


def _pooled(rates: FloatArray, weights: FloatArray) -> list[tuple[int, int, float]]:
    """Return (first, last, rate) of blocks of groups whose weighted means grow."""
    blocks: list[tuple[int, int, float, float]] = []
    for k, (rate, weight) in enumerate(zip(rates.tolist(), weights.tolist(), strict=True)):
        first = k
        while blocks and blocks[-1][2] >= rate:
            first, _, before, mass = blocks.pop()
            rate = (before * mass + rate * weight) / (mass + weight)
            weight += mass
        blocks.append((first, k, rate, weight))
    return [(first, last, rate) for first, last, rate, _ in blocks]


def _reach(scale: float) -> float:
    """Return the least whole t with ``P(|noise| > t) <= 0.025``."""
    # P(|K| > t) = 2 q**(t + 1) / (1 + q) with q = exp(-1 / scale).
    q = math.exp(-1 / scale)
    return max(0.0, math.ceil(scale * math.log(2 / (_MISSED * (1 + q))) - 1))


def _interval(negatives: float, positives: float, reach: float) -> tuple[float, float]:
    """Return the least and the largest rate of counts that near."""
    low, high = max(positives - reach, 0.0), max(positives + reach, 0.0)
    few, many = max(negatives - reach, 0.0), max(negatives + reach, 0.0)
    return (
        low / (low + many) if low + many else 0.0,
        high / (high + few) if high + few else 1.0,
    )
