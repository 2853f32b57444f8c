"""How far the totals of two validations of one card are apart."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from opdisc.errors import CalibrationError
from opdisc.models.validation.figures import MISSED, Figure, share
from opdisc.models.validation.report import ValidationReport

FLOOR = 0.001
"""Smaller shares count as this much in the population stability index, which so stays finite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """What changed between the tables of two reports.

    Parameters
    ----------
    difference : Figure
        Largest difference of the shares of rows up to any group's end.
    index : Figure
        Population stability index of the groups; shares below 0.1% count as 0.1%.
    moved : bool
        Whether it is larger than noise and chance explain.
    """

    difference: Figure
    index: Figure
    moved: bool

    @property
    def verdict(self) -> str:
        """The finding in a sentence."""
        if self.moved:
            return "The totals moved: noise and chance alone show this at most once in 20 times."
        return "No shift is shown: noise and chance alone could do this."


def shift_between(earlier: ValidationReport, later: ValidationReport) -> Shift:
    """Return how far the totals of two tables are apart, each figure with its 95% interval.

    Raises
    ------
    CalibrationError
        If the reports are not of one card and the same groups.
    """
    check_comparable(earlier, later)
    return Shift(
        difference=_largest_difference(earlier, later, MISSED),
        index=_index(earlier, later),
        moved=_has_moved(earlier, later),
    )


def check_comparable(earlier: ValidationReport, later: ValidationReport) -> None:
    """Refuse reports of two cards, or of other groups of totals."""
    ends = [[(g.lowest, g.highest) for g in each.groups] for each in (earlier, later)]
    if earlier.receipt.card != later.receipt.card or ends[0] != ends[1]:
        raise CalibrationError(
            "a shift is measured between two reports of one card and the same groups, but these "
            "differ; validate the same card with since= the earlier report."
        )


def _largest_difference(
    earlier: ValidationReport, later: ValidationReport, missed: float
) -> Figure:
    cuts = range(1, len(earlier.groups))
    least = most = seen = 0.0
    for cut in cuts:
        each = missed / (2 * len(cuts))  # for each report at each cut
        before = share(earlier.rows_between(0, cut), earlier.rows_outside(0, cut), each)
        after = share(later.rows_between(0, cut), later.rows_outside(0, cut), each)
        low, high = _distance(before, after)
        least, most = max(least, low), max(most, high)
        seen = max(seen, abs(before.estimate - after.estimate))
    return Figure(estimate=min(max(seen, least), most), low=least, high=most)


def _distance(one: Figure, other: Figure) -> tuple[float, float]:
    """Return the least and the largest distance of two numbers within their intervals."""
    return (
        max(0.0, one.low - other.high, other.low - one.high),
        max(one.high - other.low, other.high - one.low),
    )


def _index(earlier: ValidationReport, later: ValidationReport) -> Figure:
    groups = len(earlier.groups)
    if groups == 1:
        return Figure(estimate=0.0, low=0.0, high=0.0)
    least = most = seen = 0.0
    for first, last in pairwise(range(groups + 1)):
        before, after = (
            share(
                report.rows_between(first, last),
                report.rows_outside(first, last),
                MISSED / (2 * groups),
            )
            for report in (earlier, later)
        )
        ends = (_term(before.low, after.high), _term(before.high, after.low))
        apart = before.low > after.high or after.low > before.high
        least += min(ends) if apart else 0.0
        most += max(ends)
        seen += _term(before.estimate, after.estimate)
    return Figure(estimate=min(max(seen, least), most), low=least, high=most)


def _term(one: float, other: float) -> float:
    """Return what a group adds to the index; it grows as the two shares move apart."""
    one, other = max(one, FLOOR), max(other, FLOOR)
    return (one - other) * math.log(one / other)


def _has_moved(earlier: ValidationReport, later: ValidationReport) -> bool:
    """Return whether two samples of one population would seldom look like this.

    Half of the 5% goes to the noise of the cuts, a quarter to the noise of the two numbers of
    rows, and a quarter to chance: at each cut two samples' shares differ as Hoeffding bounds it.
    """
    cuts, spread = len(earlier.groups) - 1, 0.0
    for report in (earlier, later):
        rows, _ = report.rows_between(0, len(report.groups)).bounds(MISSED / 8)
        if rows == 0 or cuts == 0:
            return False
        spread += 1 / rows
    allowed = math.sqrt(math.log(2 * cuts / (MISSED / 4)) * spread / 2)
    return _largest_difference(earlier, later, MISSED / 2).low > allowed
