"""What the noise of a fit means for its rows: public facts, stored with the card."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, TypeAlias

import msgspec

from opdisc.privacy import Amount, Count, Record

LARGE_SHARE = 0.1
"""Share of the rows from which on the noise is called large."""

_SMALL = "noise is small"

Positive = Annotated[float, msgspec.Meta(gt=0, le=sys.float_info.max)]
"""A finite number above 0."""


class _Judged(Record, frozen=True, kw_only=True):
    """What a verdict on noise says, however the noise is measured: beside how many rows."""

    rows: Count | None

    @property
    def share(self) -> float:
        """What the noise weighs as a share of the rows; NaN where their number is not public."""
        raise NotImplementedError

    @property
    def dominates(self) -> bool:
        """Whether no table is promised better than one answer for everyone."""
        raise NotImplementedError

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


class NoiseVerdict(_Judged, frozen=True, kw_only=True):
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

    may_be_infinite: ClassVar[tuple[str, ...]] = ("extra",)

    epsilon: Positive
    rows: Count | None
    extra: Annotated[float, msgspec.Meta(ge=0)]
    level: Annotated[float, msgspec.Meta(gt=0, lt=1)]
    beside: str = ""
    over_constants: Annotated[float, msgspec.Meta(ge=0)] | None = None
    rows_needed: Count | None = None
    epsilon_needed: Positive | None = None
    typical: Positive = 1.0
    n_classes: Annotated[int, msgspec.Meta(ge=2)] = 2

    @property
    def dominates(self) -> bool:
        """Whether the bound exceeds half of the rows, or of their typical cost.

        Always giving the more frequent answer errs on at most half of them: with such a bound no
        table is promised better. Of K answers that is all but one row in K.
        """
        if self.rows is None:
            return False
        return drowns(self.extra, self.rows, self.typical, self.n_classes)

    @property
    def share(self) -> float:
        """The bound as a share of the rows, at most 1; NaN where their number is not public."""
        if self.rows is None:
            return math.nan
        return min(1.0, self.extra / (self.rows * self.typical)) if self.rows else 1.0

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


class TiltVerdict(_Judged, frozen=True, kw_only=True):
    """What the noise of a logistic card amounts to beside the rows.

    Parameters
    ----------
    epsilon : float
        The privacy loss.
    rows : int or None
        Rows of the table; None where their number is not public.
    moved : float
        How many rows, each as far from the middle as a row can be, the tilt is as long as.
    """

    epsilon: Positive
    rows: Count | None
    moved: Amount

    rows_needed: ClassVar[None] = None
    epsilon_needed: ClassVar[None] = None

    @property
    def share(self) -> float:
        """The tilt's rows as a share of all, at most 1; NaN where their number is not public."""
        if self.rows is None:
            return math.nan
        return min(1.0, self.moved / self.rows) if self.rows else 1.0

    @property
    def dominates(self) -> bool:
        """Whether the tilt is as long as half of the rows."""
        return self.share > 0.5

    def __str__(self) -> str:
        """Return the verdict as a sentence."""
        few = math.ceil(self.moved)
        weighs = f"it weighs as much as {few:,} {'row' if few == 1 else 'rows'} that are not there"
        if self.rows is None:
            return f"Noise: {weighs}; the number of rows is not public."
        begins = f"{self.word[0].upper()}{self.word[1:]}"
        return f"{begins}: {weighs}, beside {self.rows:,} ({self.share:.1%})."


class NoBound(Record, frozen=True, kw_only=True):
    """No bound on what the noise costs is known for the mechanism of a card."""


Noise: TypeAlias = NoiseVerdict | TiltVerdict | NoBound
"""What a card's file says of its noise."""

_KINDS: dict[str, type[NoiseVerdict] | type[TiltVerdict] | type[NoBound]] = {
    "errors": NoiseVerdict,
    "tilt": TiltVerdict,
    "none": NoBound,
}


def noise_record(noise: Noise) -> dict[str, Any]:
    """Return plain JSON types, with the kind of verdict that it is."""
    kind = next(name for name, one in _KINDS.items() if type(noise) is one)
    return {"kind": kind, **noise.to_dict()}


def read_noise(record: Mapping[str, Any]) -> Noise:
    """Return what :func:`noise_record` wrote.

    Raises
    ------
    ValueError, LookupError, TypeError
        If a field is missing, unknown, or of the wrong type or range.
    """
    kind = _KINDS[record["kind"]]
    found = kind.from_dict({name: value for name, value in record.items() if name != "kind"})
    try:
        str(found)
    except ArithmeticError:
        raise ValueError("its numbers are beyond what can be compared") from None
    return found


def drowns(extra: float, rows: int, typical: float, n_classes: int) -> bool:
    """Return whether extra errors exceed what the better constant answer errs at most."""
    # Whole numbers first, so that two classes are divided as before.
    return n_classes * extra > (n_classes - 1) * rows * typical
