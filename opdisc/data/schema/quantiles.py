"""A number whose thresholds a fit finds: declared by how many, between which public bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from opdisc.data.cells import plain_number
from opdisc.data.schema.checks import (
    as_tuple,
    check_keys,
    check_name,
    check_sign,
    checked_names,
    finite_number,
    missing_texts,
    refuse_coded_numbers,
    stated,
)
from opdisc.data.schema.limits import PointLimits, both_limits, parse_limits, stored_limits
from opdisc.errors import SchemaError, quoted

if TYPE_CHECKING:
    from opdisc.data.schema.checks import (
        Kind,
        Sign,
    )

MOST_CANDIDATES = 100_000

MOST_QUANTILES = 64

_LEAST_STEPS = 50
"""Steps that the range holds at least, where no step is declared."""

_KEYS = frozenset({"quantiles", "range", "step"})


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileFeature:
    """A number, encoded as one column 1[x >= t] for each of some thresholds that a fit draws.

    The k-th of m thresholds is meant to have a share of k / (m + 1) of the rows below it. Where it
    can lie is public: the points ``low + step``, ``low + 2 step``, ... up to ``high``.

    Parameters
    ----------
    column : str
        Raw column.
    quantiles : int
        Number of thresholds, from 1 to 64; they will be distinct.
    range : (float, float)
        Public bounds to which numbers are clipped.
    step : float or None
        Distance of the points, > 0, read as the decimal number it is written as. None takes the
        largest power of ten that fits into the range 50 times.
    names : tuple of str
        Display names, one per threshold; empty for "column >= t".
    sign : {"positive", "negative"} or None
        Which points its statements may have, besides 0; None for both.
    points : PointLimits, mapping or None
        Least and largest points of each of its statements, beside the sign; None for any.
    missing_codes : tuple of str
        Cell values which are a missing value in this feature, besides those of the schema.

    Examples
    --------
    >>> age = QuantileFeature(column="age", quantiles=3, range=(0, 120))
    >>> age.step, len(age.candidates), age.candidates[0]
    (1.0, 120, 1.0)
    """

    column: str
    quantiles: int
    range: tuple[float, float]
    step: float | None = None
    missing_codes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    sign: Sign | None = None
    points: PointLimits | None = None

    def __post_init__(self) -> None:
        """Canonicalise and validate."""
        check_name(self.column, "a feature's column")
        check_sign(self.sign, self.column)
        object.__setattr__(self, "points", parse_limits(self.points, self.sign, self.column))
        if type(self.quantiles) is not int or not 1 <= self.quantiles <= MOST_QUANTILES:
            raise SchemaError(
                f"quantiles of {quoted(self.column)} must be an integer from 1 to "
                f"{MOST_QUANTILES}, got {quoted(self.quantiles)}"
            )
        what = f"range and step of {quoted(self.column)}"
        bounds = tuple(finite_number(bound, what) for bound in as_tuple(self.range, "range"))
        if len(bounds) != 2 or not bounds[0] < bounds[1]:
            raise SchemaError(f"range of {quoted(self.column)} must be two increasing numbers")
        object.__setattr__(self, "range", bounds)
        step = _default_step(*bounds) if self.step is None else finite_number(self.step, what)
        object.__setattr__(self, "step", step)
        if not step > 0:
            raise SchemaError(f"step of {quoted(self.column)} must be > 0, got {step:g}")
        self._check_candidates()
        codes = missing_texts(self.missing_codes, self.column)
        refuse_coded_numbers(self.candidates, codes, self.column)
        object.__setattr__(self, "missing_codes", codes)
        names = checked_names(self.names, self.quantiles, self.column)
        object.__setattr__(self, "names", names)

    def _check_candidates(self) -> None:
        count = self.n_candidates
        if not self.quantiles <= count <= MOST_CANDIDATES:
            raise SchemaError(
                f"the range of {quoted(self.column)} must hold from {self.quantiles} (its number "
                f"of quantiles) to {MOST_CANDIDATES:,} steps, got {_count(count)}; choose another "
                "step"
            )
        found = self.candidates
        if not found[0] > self.range[0] or any(
            b <= a for a, b in zip(found, found[1:], strict=False)
        ):
            raise SchemaError(
                f"step of {quoted(self.column)} must be large enough to tell numbers of its range "
                "apart"
            )

    @property
    def n_candidates(self) -> int:
        """How many points a threshold can be."""
        low, high, step = self._exact()
        return int((high - low) // step)

    @property
    def candidates(self) -> tuple[float, ...]:
        """Every point that a threshold can be, increasing: the nearest doubles."""
        low, _, step = self._exact()
        whole = low.denominator * step.denominator
        first, more = low.numerator * step.denominator, step.numerator * low.denominator
        # The quotient of two integers is rounded once.
        return tuple((first + k * more) / whole for k in range(1, self.n_candidates + 1))

    def _exact(self) -> tuple[Fraction, Fraction, Fraction]:
        assert self.step is not None
        low, high, step = (Fraction(repr(number)) for number in (*self.range, self.step))
        return low, high, step

    @property
    def kind(self) -> Kind:
        """Kind of the encoded columns: nested."""
        return "thresholds"

    @property
    def column_names(self) -> tuple[str, ...]:
        """What each encoded column is called before its threshold is known."""
        return self.names or tuple(
            f"{self.column} >= private threshold {k} of {self.quantiles}"
            for k in range(1, self.quantiles + 1)
        )

    @property
    def stand_ins(self) -> tuple[float, ...]:
        """Public thresholds of the same number, evenly spaced: to try a fit without a draw."""
        found, size = self.candidates, self.n_candidates
        return tuple(
            found[k * (size + 1) // (self.quantiles + 1) - 1] for k in range(1, self.quantiles + 1)
        )

    @property
    def limits(self) -> PointLimits:
        """Which points each of its statements may have: by sign and limits."""
        return both_limits(self.points, self.sign)

    def to_dict(self) -> dict[str, object]:
        """Return the JSON-able form that a schema file has."""
        assert self.step is not None
        thresholds = {
            "quantiles": self.quantiles,
            "range": [plain_number(bound) for bound in self.range],
            "step": plain_number(self.step),
        }
        out: dict[str, object] = {"column": self.column, "thresholds": thresholds}
        return out | stated(
            missing=list(self.missing_codes),
            names=list(self.names),
            sign=self.sign,
            points=stored_limits(self.points),
        )


def quantile_feature(
    raw: Mapping[str, object], column: str, names: Sequence[str]
) -> QuantileFeature:
    """Read a ``[[feature]]`` table whose ``thresholds`` are a table.

    Raises
    ------
    SchemaError
        For an unknown or missing key, or a value that breaks a rule.
    """
    inner = raw["thresholds"]
    assert isinstance(inner, Mapping)
    check_keys(inner, _KEYS, f"thresholds of {quoted(column)}")
    for key in ("quantiles", "range"):
        if key not in inner:
            raise SchemaError(
                f"private thresholds of {quoted(column)} must have {key}, but it is missing, as "
                "in thresholds = { quantiles = 4, range = [0, 120] }"
            )
    if "range" in raw:
        raise SchemaError(
            f"the range of {quoted(column)} must stand inside its thresholds, where they are "
            "private"
        )
    return QuantileFeature(
        column=column,
        quantiles=inner["quantiles"],
        range=inner["range"],
        step=inner.get("step"),
        missing_codes=raw.get("missing", ()),  # type: ignore[arg-type]
        names=tuple(names),
        sign=raw.get("sign"),  # type: ignore[arg-type]
        points=raw.get("points"),  # type: ignore[arg-type]
    )


def _default_step(low: float, high: float) -> float:
    """Return the largest power of ten that fits into a range 50 times."""
    largest = (Fraction(repr(high)) - Fraction(repr(low))) / _LEAST_STEPS
    power = math.floor(math.log10(largest.numerator) - math.log10(largest.denominator)) + 1
    while Fraction(10) ** power > largest:
        power -= 1
    return float(Fraction(10) ** power)


def _count(number: int) -> str:
    return f"{number:,}" if number < 10**9 else "more than a billion"
