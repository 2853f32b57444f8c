"""Whether the noise of a fit leaves the rows a say: a bound on it beside the number of rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

LARGE_SHARE = 0.1
"""Share of the rows from which on the noise is called large."""

TINY_SHARE = 0.01
"""Share up to which there is hardly anything to gain."""

_SMALL = "noise is small"

MOST_ROWS, MOST_EPSILON = 10**12, 1000.0
"""Where the search for enough rows, or for enough of a budget, ends."""

Excess = Callable[[float, int | None], float]
"""``excess(epsilon, rows)``: bound on the extra errors, rows; infinite where nothing can run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseVerdict:
    """What the predicted extra errors of a fit mean for a table of so many rows.

    Parameters
    ----------
    epsilon : float
        The privacy loss.
    rows : int or None
        Rows of the table; None where their number is not public.
    extra : float
        Bound on the extra errors, rows.
    level : float
        Probability with which it holds.
    beside : str
        What they are counted from; empty: the best scorecard of the grid.
    over_constants : float or None
        Bound on the errors beyond those of the better constant answer, at the same level; None
        where none is known.
    rows_needed : int or None
        Fewest rows that noise does not dominate at this epsilon; None if there are enough, or no
        number is.
    epsilon_needed : float or None
        Smallest epsilon, to three digits, at which it does not dominate these rows; None likewise.
    typical : float
        Twice the most that the better constant answer can cost a row; 1 where all errors cost the
        same. Extra errors are then counted at their cost.
    n_classes : int
        How many answers there are: the most frequent one is right on one row in so many at least.
    """

    epsilon: float
    rows: int | None
    extra: float
    level: float
    beside: str = ""
    over_constants: float | None = None
    rows_needed: int | None = None
    epsilon_needed: float | None = None
    typical: float = 1.0
    n_classes: int = 2

    @property
    def dominates(self) -> bool:
        """Whether the bound exceeds half of the rows, or of their typical cost.

        Always giving the more frequent answer errs on at most half of them: with such a bound no
        table is promised better. Of K answers that is all but one row in K.
        """
        if self.rows is None:
            return False
        return _drowns(self.extra, self.rows, self.typical, self.n_classes)

    @property
    def share(self) -> float:
        """The bound as a share of the rows, at most 1; NaN where their number is not public."""
        if self.rows is None:
            return math.nan
        return min(1.0, self.extra / (self.rows * self.typical)) if self.rows else 1.0

    @property
    def word(self) -> str:
        """The verdict in two or three words."""
        if self.rows is None:
            return "rows not public"
        if self.dominates:
            return "noise dominates"
        return "noise is large" if self.share > LARGE_SHARE else _SMALL

    @property
    def is_small(self) -> bool:
        """Whether it is known to be small: good news, where all else is a warning."""
        return self.word == _SMALL

    def __str__(self) -> str:
        """Return the verdict as one sentence, or two."""
        if self.rows is None:
            if self.rows_needed is None:
                return "Noise dominates whatever the number of rows, which is not public."
            return (
                f"Noise dominates a table of fewer than {self.rows_needed:,} rows at epsilon "
                f"{self.epsilon:g}; the number of rows is not public."
            )
        if self.dominates:
            most = f"half of the {self.rows:,} rows"
            if self.n_classes > 2:
                most = f"{self.n_classes - 1}/{self.n_classes} of the {self.rows:,} rows"
            if self.typical != 1:
                most = f"{self.rows * self.typical / 2:,.0f} on {self.rows:,} rows"
            return (
                f"Noise dominates: it may cost more than {most}, and always giving "
                f"{self._constant} never does; {self._needed()}."
            )
        beside = f" beside {self.beside}" if self.beside else ""
        what = "extra errors" if self.typical == 1 else "extra cost"
        cost = (
            f"with probability {self.level:.0%} at most {math.ceil(self.extra):,} {what} "
            f"on {self.rows:,} rows ({self.share:.1%}){beside}"
        )
        if self.share > LARGE_SHARE:
            cards = "card" if self.n_classes == 2 else "cards"
            return (
                f"Noise is large: {cost}. The {cards} may do worse than always giving "
                f"{self._constant}{self._by_how_much()}."
            )
        return f"Noise is small: {cost}."

    @property
    def _constant(self) -> str:
        if self.typical != 1:
            return "the cheaper answer"
        return f"the {'more' if self.n_classes == 2 else 'most'} frequent answer"

    def _by_how_much(self) -> str:
        if self.over_constants is None or self.over_constants >= self.extra:
            return ""
        unit = "errors" if self.typical == 1 else "in cost"
        most = math.ceil(self.over_constants)
        return f", by at most {most:,} {unit} with the same probability"

    def _needed(self) -> str:
        ways = []
        if self.rows_needed is not None:
            ways.append(f"at least {self.rows_needed:,} rows")
        if self.epsilon_needed is not None:
            ways.append(f"epsilon at least {self.epsilon_needed:g}")
        return f"needs {', or '.join(ways)}" if ways else "no number of rows would do"


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
        return not _drowns(excess(epsilon, rows), rows, typical, n_classes)

    if rows is None:
        rows_needed = least_rows(lambda n: not _drowns(extra, n, typical, n_classes), 1)
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
    share : float
        The bound on the extra errors as a share of the rows; NaN where their number is not public.
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
    share: float
    small_rows: int | None = None
    small_epsilon: float | None = None
    twice_rows: float | None = None
    twice_epsilon: float | None = None

    def __str__(self) -> str:
        """Return it in a few words."""
        if self.share <= TINY_SHARE:
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

    found = NoiseOutlook(epsilon=epsilon, rows=rows, share=verdict.share)
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


def _drowns(extra: float, rows: int, typical: float, n_classes: int) -> bool:
    # Whole numbers first, so that two classes are divided as before.
    return n_classes * extra > (n_classes - 1) * rows * typical


def _three_digits(number: float, rounding: Callable[[float], int]) -> float:
    exponent = math.floor(math.log10(number)) - 2
    return float(f"{rounding(number / 10.0**exponent)}e{exponent}")
