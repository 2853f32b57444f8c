"""Whether the noise of a fit leaves the rows a say: a bound on it beside the number of rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from opdisc.data import Schema, column_structure
from opdisc.errors import CalibrationError, OPDiscError
from opdisc.mechanisms import ScorecardMechanism, StagedMechanism
from opdisc.models import LARGE_SHARE, NoBound, NoiseVerdict, drowns
from opdisc.planning.named import MechanismSettings
from opdisc.planning.request import CardRequest
from opdisc.planning.utility import predict_error
from opdisc.planning.weight_rule import settle_fit
from opdisc.privacy import GridPublic, PrivacyParams
from opdisc.tuned import FIT_SECONDS, TINY_SHARE
from oracles.errors import OracleError

MOST_ROWS, MOST_EPSILON = 10**12, 1000.0
"""Where the search for enough rows, or for enough of a budget, ends."""

Excess = Callable[[float, int | None], float]
"""``excess(epsilon, rows)``: bound on the extra errors, rows; infinite where nothing can run."""


def judge_noise(
    excess: Excess,
    epsilon: float,
    rows: int | None,
    *,
    level: float,
    beside: str = "",
    over_constants: float | None = None,
    typical: float = 1.0,
    n_classes: int = 2,
) -> NoiseVerdict:
    """Compare a bound on the extra errors with the rows, and invert it where it is too large.

    Parameters
    ----------
    excess : callable
        The bound at an epsilon and a number of rows.
    epsilon : float
        What would be spent.
    rows : int or None
        Rows, where their number is public.
    level : float
        Level of the bound.
    beside : str
        What the extra errors are counted from.
    over_constants : float or None
        Bound on the errors beyond those of the better constant answer.
    typical : float
        Twice the most that the better constant answer can cost a row.
    n_classes : int
        How many answers there are.

    Notes
    -----
    **Guarantee.** A function of public facts. The bound's own sense: at ``rows_needed`` and at
    ``epsilon_needed`` it is at most half of the rows, one row or one unit of the third digit below
    it is more.
    """
    extra = excess(epsilon, rows)
    rows_needed = epsilon_needed = None

    def suffices(epsilon: float, rows: int) -> bool:
        return not drowns(excess(epsilon, rows), rows, typical, n_classes)

    if rows is None:
        rows_needed = least_rows(lambda n: not drowns(extra, n, typical, n_classes), 1)
    elif not suffices(epsilon, rows):
        rows_needed = least_rows(lambda n: suffices(epsilon, n), rows)
        epsilon_needed = least_epsilon(lambda e: suffices(e, rows), epsilon)
    return NoiseVerdict(
        epsilon=epsilon,
        rows=rows,
        extra=extra,
        level=level,
        beside=beside,
        over_constants=over_constants,
        rows_needed=rows_needed,
        epsilon_needed=epsilon_needed,
        typical=typical,
        n_classes=n_classes,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseOutlook:
    """What more rows, or a larger epsilon, would make of the noise.

    Parameters
    ----------
    epsilon : float
        The privacy loss of the plan.
    rows : int or None
        Its rows; None where their number is not public.
    share : float or None
        The bound on the extra errors as a share of the rows; None where their number is not
        public.
    small_rows : int or None
        Fewest rows at this epsilon on which noise is small; None if it is, or on no number.
    small_epsilon : float or None
        Smallest epsilon, to three digits, at which it is small on these rows; None likewise, where
        the number of rows is not public, or where such a receipt would promise nothing.
    twice_rows, twice_epsilon : float or None
        The share with twice the rows, or twice the epsilon; None where noise is not small yet,
        where the share is at most 1% already, or as above.
    """

    epsilon: float
    rows: int | None
    share: float | None
    small_rows: int | None = None
    small_epsilon: float | None = None
    twice_rows: float | None = None
    twice_epsilon: float | None = None

    def __str__(self) -> str:
        """Return it in a few words."""
        if self.share is not None and self.share <= TINY_SHARE:
            return f"hardly anything: the bound is at most {TINY_SHARE:.0%} already"
        if self.twice_rows is not None:
            assert self.rows is not None
            ways = [f"with {2 * self.rows:,} rows at most {self.twice_rows:.1%} of them"]
            if self.twice_epsilon is not None:
                ways.append(f"with epsilon {2 * self.epsilon:g} at most {self.twice_epsilon:.1%}")
            return ", ".join(ways)
        ways = []
        if self.small_rows is not None:
            ways.append(f"from {self.small_rows:,} rows on")
        if self.small_epsilon is not None:
            ways.append(f"from epsilon {self.small_epsilon:g} on")
        if not ways:
            return "no number of rows would make the noise small"
        return f"noise is small (at most {LARGE_SHARE:.0%}) {', or '.join(ways)}"


def noise_outlook(
    excess: Excess, verdict: NoiseVerdict, is_kept: Callable[[float], bool]
) -> NoiseOutlook:
    """Return what more rows or a larger epsilon would bring, by the bound of a verdict.

    Parameters
    ----------
    excess : callable
        The bound at an epsilon and a number of rows.
    verdict : NoiseVerdict
        What it means now.
    is_kept : callable
        Whether a receipt of that epsilon promises anything.

    Notes
    -----
    **Guarantee.** A function of public facts, in the bound's own sense.
    """
    epsilon, rows, typical = verdict.epsilon, verdict.rows, verdict.typical

    def share(epsilon: float, rows: int) -> float:
        return min(1.0, excess(epsilon, rows) / (rows * typical)) if rows else 1.0

    known = None if rows is None else verdict.share
    found = NoiseOutlook(epsilon=epsilon, rows=rows, share=known)
    if rows is None:
        enough = least_rows(lambda n: verdict.extra <= LARGE_SHARE * n * typical, 1)
        return replace(found, small_rows=enough)
    if verdict.share <= TINY_SHARE:
        return found
    if verdict.is_small:
        more = share(2 * epsilon, rows) if is_kept(2 * epsilon) else None
        return replace(found, twice_rows=share(epsilon, 2 * rows), twice_epsilon=more)
    larger = least_epsilon(lambda e: share(e, rows) <= LARGE_SHARE, epsilon)
    return replace(
        found,
        small_rows=least_rows(lambda n: share(epsilon, n) <= LARGE_SHARE, rows),
        small_epsilon=larger if larger is not None and is_kept(larger) else None,
    )


def least_rows(suffices: Callable[[int], bool], below: int) -> int | None:
    """Return the smallest number of rows that suffices, at least ``below``; None if none does."""
    low, high = below - 1, max(below, 1)
    while not suffices(high):
        low, high = high, 2 * high
        if high > MOST_ROWS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high


def least_epsilon(suffices: Callable[[float], bool], below: float) -> float | None:
    """Return the smallest epsilon of three digits that suffices; None if none up to 1,000 does.

    It is above ``below``, which does not suffice.
    """
    low, high = below, 2 * below
    while not suffices(high):
        low, high = high, 2 * high
        if low >= MOST_EPSILON:
            return None
    while high / low > 1.0001:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if suffices(middle) else (middle, high)
    # Up to three digits, and down again as long as the next smaller one suffices too.
    rounded = _three_digits(high, math.ceil)
    while (smaller := _three_digits(rounded * (1 - 1e-6), math.floor)) > below and suffices(
        smaller
    ):
        rounded = smaller
    return rounded


def _three_digits(number: float, rounding: Callable[[float], int]) -> float:
    exponent = math.floor(math.log10(number)) - 2
    return float(f"{rounding(number / 10.0**exponent)}e{exponent}")


_LEVEL = 0.95
"""Level of the bound on a card's file."""


def noise_of_card(
    mechanism: ScorecardMechanism,
    public: GridPublic,
    schema: Schema,
    *,
    whole: float,
    by_default: bool = False,
    patience: float = FIT_SECONDS,
) -> NoiseVerdict | NoBound:
    """Return what the noise of a card may cost, as its file says it.

    Parameters
    ----------
    mechanism : ScorecardMechanism
        What draws the card.
    public : GridPublic
        What it is calibrated with, for the card's own share of epsilon.
    schema : Schema
        Public facts.
    whole : float
        Epsilon of the whole release.
    by_default : bool
        Whether nobody named the mechanism: at another epsilon it may be another one.
    patience : float
        Seconds that a fit may take, where it is chosen.

    Notes
    -----
    **Guarantee.** A function of public facts. It never fails: without a bound it says so.
    """
    # The bound is for any table of the grid, also where a schema leaves fewer points.
    public = replace(public, most_points=None)
    try:
        stump = by_default and _is_stump(mechanism, public)
        return _judged(mechanism, public, whole, _Defaults(schema, patience) if stump else None)
    except (OPDiscError, OracleError, ArithmeticError):
        return NoBound()  # a law without a bound, or beyond a double


def _judged(
    mechanism: ScorecardMechanism, public: GridPublic, whole: float, defaults: _Defaults | None
) -> NoiseVerdict:
    """Judge a card that was drawn with its share of all that was spent."""
    share = public.params.epsilon / whole
    prediction = predict_error(mechanism, public, _LEVEL)

    def excess(epsilon: float, rows: int | None) -> float:
        if (epsilon, rows) == (whole, public.n_rows) and defaults is None:
            return prediction.quantile
        params = PrivacyParams(epsilon=share * epsilon, delta=public.params.delta)
        asked = replace(public, params=params, n_rows=rows)
        if defaults is not None:
            return defaults.error(asked)
        return predict_error(mechanism, asked, _LEVEL).quantile

    return judge_noise(
        excess,
        whole,
        public.n_rows,
        level=_LEVEL,
        beside=prediction.beside,
        over_constants=prediction.over_constants,
        typical=float(public.error_costs.typical),
    )


def _is_stump(mechanism: ScorecardMechanism, public: GridPublic) -> bool:
    """Return whether a decision stump was all that was drawn."""
    if not isinstance(mechanism, StagedMechanism):
        return False
    return mechanism.calibrate(public).is_stump


@dataclass(frozen=True, slots=True)
class _Defaults:
    """What the defaults would draw, which have other points than a stump."""

    schema: Schema
    patience: float

    def error(self, asked: GridPublic) -> float:
        """Return the bound of its error."""
        settings = MechanismSettings(
            structure=column_structure(self.schema), patience=self.patience
        )
        request = CardRequest(
            schema=self.schema, norm_budget=asked.grid.norm_budget, settings=settings
        )
        try:
            found = settle_fit(request, asked)
            return predict_error(found.mechanism, found.public, _LEVEL).quantile
        except (CalibrationError, OracleError):
            return math.inf
