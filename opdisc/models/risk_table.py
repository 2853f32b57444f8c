"""The observed rate of the positive label per total of a released scorecard, bought with noise."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from opdisc.errors import escaped
from opdisc.privacy import Amount, Record
from oracles.arithmetic import FloatArray

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
