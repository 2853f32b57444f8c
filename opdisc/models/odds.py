"""What a total of a logistic scorecard stands for, and how weights become whole points."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np

from opdisc.data import Label, canonical_text
from opdisc.errors import CalibrationError, escaped
from opdisc.models.scorecard import Scorecard
from opdisc.privacy import Record

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from opdisc.data import Schema
    from oracles.arithmetic import FloatArray
    from oracles.problem import ErrorCosts

LARGEST_POINTS = 10
"""Points of a statement at most, where nobody chose a scale."""

MOST_POINTS = 2**31
"""Where points are cut off."""

_FARTHEST, _ODDS, _DOUBLING = 1e6, (1e-6, 1e6), (0.1, 1e5)
"""Largest total, and least and largest odds and points that double them, of a chosen scale: what
follows from them is finite whatever the weights are, for nothing may fail after the spend."""

LARGEST_LOG_ODDS = 700.0
"""Beyond it an exponential would leave the doubles; the chance is 0 or 1 long before."""

_CHANCES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99)
"""Chances whose totals a card lists."""

_KEYS = ("points0", "odds0", "pdo", "high")

Positive = Annotated[float, msgspec.Meta(gt=0, le=1e9)]
"""A finite number above 0."""


class OddsScale(Record, frozen=True, kw_only=True):
    """Odds that double every so many points.

    Parameters
    ----------
    points0 : float
        The total at which the odds are ``odds0`` to 1.
    odds0 : float
        Odds of the label that scores high, > 0.
    pdo : float
        Points that double the odds, > 0.

    Examples
    --------
    >>> scale = OddsScale(points0=600, odds0=50, pdo=20)
    >>> scale.chances([600, 620]).round(3).tolist()
    [0.98, 0.99]
    >>> scale.text("good")
    'A total of 600 is odds of 50 to 1 for good; every 20 points more double them.'
    """

    points0: Annotated[float, msgspec.Meta(ge=-_FARTHEST, le=_FARTHEST)]
    odds0: Positive
    pdo: Positive

    def __post_init__(self) -> None:
        """Take whole numbers as floats: a file says the same before and after it is read."""
        for name in ("points0", "odds0", "pdo"):
            msgspec.structs.force_setattr(self, name, float(getattr(self, name)))

    @property
    def per_point(self) -> float:
        """What one point adds to the logarithm of the odds."""
        return math.log(2) / self.pdo

    def log_odds(self, totals: ArrayLike) -> FloatArray:
        """Return the logarithm of the odds of each total."""
        away = np.asarray(totals, dtype=np.float64) - self.points0
        return np.asarray(math.log(self.odds0) + away * self.per_point)

    def chances(self, totals: ArrayLike) -> FloatArray:
        """Return the probability of the label that scores high, of each total."""
        odds = np.clip(self.log_odds(totals), -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
        return np.asarray(1 / (1 + np.exp(-odds)))

    def total_of(self, odds: float) -> int:
        """Return the smallest total with at least such odds."""
        away = self.pdo * math.log2(odds / self.odds0)
        return math.ceil(self.points0 + away)

    def text(self, high: object) -> str:
        """Return the scale as a sentence, for the label that scores high."""
        odds = "even odds" if self.odds0 == 1 else f"odds of {self.odds0:.10g} to 1"
        return (
            f"A total of {self.points0:.10g} is {odds} for {escaped(str(high))}; every "
            f"{self.pdo:.10g} points more double them."
        )

    def listed(self, lowest: int, highest: int) -> list[tuple[int, float]]:
        """Return the ends of a range of totals and some between, with their chances, in order."""
        found = {lowest, highest}
        for chance in _CHANCES:
            found.add(min(max(self.total_of(chance / (1 - chance)), lowest), highest))
        totals = sorted(found)
        return list(zip(totals, self.chances(totals).tolist(), strict=True))


class ChosenScale(OddsScale, frozen=True, kw_only=True):
    """A scale as a caller asks for it.

    Parameters
    ----------
    high : str, int, float, bool or None
        The label that scores high; None: the positive one.
    """

    high: Label | None = None


ScaleLike = ChosenScale | OddsScale | Mapping[str, Any]


def parse_scale(raw: ScaleLike | None, schema: Schema) -> ChosenScale | None:
    """Return a scale that was asked for; None where the points are to be small.

    Raises
    ------
    CalibrationError
        If it is none.
    """
    if raw is None:
        return None
    fields = raw.to_dict() if isinstance(raw, OddsScale) else raw
    what = "odds_scale must be such as {'points0': 600, 'odds0': 50, 'pdo': 20, 'high': 'good'}"
    if not isinstance(fields, Mapping) or not set(_KEYS[:3]) <= set(fields) <= set(_KEYS):
        raise CalibrationError(f"{what}, with 'high' or without; correct it.")
    try:
        scale = ChosenScale.from_dict(fields)
    except ValueError:
        raise CalibrationError(
            f"{what}: finite numbers, odds0 and pdo above 0; correct it."
        ) from None
    for name, (least, largest) in (("odds0", _ODDS), ("pdo", _DOUBLING)):
        if not least <= getattr(scale, name) <= largest:
            raise CalibrationError(
                f"{name} of odds_scale must be from {least:g} to {largest:g}, got "
                f"{getattr(scale, name):g}; correct it."
            )
    if scale.high is not None:
        known = {canonical_text(label): label for label in schema.classes}
        if canonical_text(scale.high) not in known:
            raise CalibrationError(
                "the label that scores high must be one of the target's, "
                f"{' or '.join(map(repr, schema.classes))}; correct it."
            )
        scale = msgspec.structs.replace(scale, high=known[canonical_text(scale.high)])
    return scale


def odds_text(scale: OddsScale, high: Label, lowest: int, highest: int) -> str:
    """Return what totals of a range stand for, for the label that scores high."""
    lines = [scale.text(high), f"Chance of {escaped(str(high))}"]
    lines += [
        f"  {f'total {total}':<18}{chance_text(chance):>7}"
        for total, chance in scale.listed(lowest, highest)
    ]
    return "\n".join(lines)


def chance_text(chance: float) -> str:
    """Return a chance as a card prints it: never as certain."""
    if chance < 0.001:
        return "<0.1%"
    return ">99.9%" if chance > 0.999 else f"{chance:.{0 if 0.1 <= chance <= 0.9 else 1}%}"


def points_of(
    weights: Sequence[float],
    schema: Schema,
    *,
    scale: ChosenScale | None = None,
    largest: int = LARGEST_POINTS,
) -> tuple[Scorecard, OddsScale]:
    """Return the whole points that released weights stand for, and what a total means.

    Parameters
    ----------
    weights : sequence of float
        Of constant and statements, towards the positive label, in units of log-odds.
    schema : Schema
        Of these statements. A weight against the sign that it declares counts as 0; its error
        costs decide the total from which a label is answered.
    scale : ChosenScale or None
        None: a total of 1 is even odds, and the largest points are ``largest``.
    largest : int
        Points of a statement at most, where no scale is given.

    Notes
    -----
    **Guarantee.** Post-processing: a function of released weights and public facts.
    """
    negative, positive = schema.classes
    kept = within_limits(weights[1:], schema)
    high = positive if scale is None or scale.high is None else scale.high
    towards = 1 if high == positive else -1
    if scale is None:
        used = OddsScale(points0=1, odds0=1, pdo=_doubling(kept, largest))
    else:
        used = OddsScale(points0=scale.points0, odds0=scale.odds0, pdo=scale.pdo)
    points = tuple(_whole(towards * weight / used.per_point) for weight in kept)
    even = used.points0 - math.log(used.odds0) / used.per_point  # the total of even odds
    start = _whole(towards * weights[0] / used.per_point + even)
    card = Scorecard(
        target=schema.target.column,
        classes=(negative, positive) if towards == 1 else (positive, negative),
        columns=schema.column_names,
        points=points,
        start=start,
    )
    return with_threshold(card, used, schema.error_costs, positive), used


def with_threshold(
    card: Scorecard, scale: OddsScale, costs: ErrorCosts, positive: Label
) -> Scorecard:
    """Return a card that answers the label which costs less, by the odds of each total."""
    least = Fraction(costs.false_positive, costs.false_negative)
    odds = least if card.classes[1] == positive else 1 / least
    return msgspec.structs.replace(card, threshold=scale.total_of(float(odds)))


def within_limits(weights: Sequence[float], schema: Schema) -> list[float]:
    """Return the weights of statements; one that the schema does not allow is the nearest."""
    return [one.nearest(w) for w, one in zip(weights, schema.point_limits, strict=True)]


def _doubling(weights: Sequence[float], largest: int) -> float:
    """Return the points that double the odds, two digits, so that no statement has too many."""
    most = max(map(abs, weights), default=0.0) or 1.0
    exact = largest * math.log(2) / most
    step = 10.0 ** (math.floor(math.log10(exact)) - 1)
    return float(f"{math.floor(exact / step) * step:.2g}")


def _whole(points: float) -> int:
    return max(-MOST_POINTS, min(MOST_POINTS, math.floor(points + 0.5)))
