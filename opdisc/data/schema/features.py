"""Declared features: how one raw column becomes 0/1 columns, from public facts alone."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from opdisc.data.cells import format_number, parse_number, plain_number
from opdisc.data.schema.categories import BinaryFeature, Category, CategoryFeature, binary_values
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
from opdisc.data.schema.quantiles import QuantileFeature, quantile_feature
from opdisc.errors import SchemaError, quoted

if TYPE_CHECKING:
    from opdisc.data.schema.checks import (
        Kind,
        Sign,
    )


@functools.lru_cache(maxsize=1024)
def _names_of_cuts(column: str, cuts: tuple[float, ...]) -> tuple[str, ...]:
    """Return "column >= t" for each threshold: public, and asked for again and again in a fit."""
    return tuple(f"{column} >= {format_number(cut)}" for cut in cuts)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdFeature:
    """A number, encoded as one column 1[x >= t] per public threshold (nested columns).

    Parameters
    ----------
    column : str
        Raw column.
    thresholds : tuple of float
        Finite, strictly increasing.
    range : (float, float) or None
        Public bounds to which numbers are clipped; thresholds lie in (low, high].
    names : tuple of str
        Display names, one per threshold; empty for "column >= t".
    sign : {"positive", "negative"} or None
        Which points its statements may have, besides 0; None for both.
    points : PointLimits, mapping or None
        Least and largest points of each of its statements, beside the sign; None for any.
    missing_codes : tuple of str
        Cell values which are a missing value in this feature, besides those of the schema.
    """

    column: str
    thresholds: tuple[float, ...]
    range: tuple[float, float] | None = None
    missing_codes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    sign: Sign | None = None
    points: PointLimits | None = None

    def __post_init__(self) -> None:
        """Canonicalise and validate."""
        check_name(self.column, "a feature's column")
        check_sign(self.sign, self.column)
        object.__setattr__(self, "points", parse_limits(self.points, self.sign, self.column))
        cuts = tuple(self._number(t) for t in as_tuple(self.thresholds, "thresholds"))
        if not cuts:
            raise SchemaError(f"{quoted(self.column)} needs at least one threshold, but has none")
        if any(b <= a for a, b in zip(cuts, cuts[1:], strict=False)):
            raise SchemaError(f"thresholds of {quoted(self.column)} must be strictly increasing")
        object.__setattr__(self, "thresholds", cuts)
        if self.range is not None:
            object.__setattr__(self, "range", self._checked_range(cuts))
        codes = missing_texts(self.missing_codes, self.column)
        refuse_coded_numbers(cuts, codes, self.column)
        object.__setattr__(self, "missing_codes", codes)
        object.__setattr__(self, "names", checked_names(self.names, len(cuts), self.column))

    @property
    def kind(self) -> Kind:
        """Kind of the encoded columns: nested."""
        return "thresholds"

    @property
    def column_names(self) -> tuple[str, ...]:
        """Display name of each encoded column."""
        return self.names or _names_of_cuts(self.column, self.thresholds)

    @property
    def limits(self) -> PointLimits:
        """Which points each of its statements may have: by sign and limits."""
        return both_limits(self.points, self.sign)

    def to_dict(self) -> dict[str, object]:
        """Return the JSON-able form that :func:`features_from_dict` reads."""
        out: dict[str, object] = {
            "column": self.column,
            "thresholds": [plain_number(cut) for cut in self.thresholds],
        }
        if self.range is not None:
            out["range"] = [plain_number(bound) for bound in self.range]
        return out | stated(
            missing=list(self.missing_codes),
            names=list(self.names),
            sign=self.sign,
            points=stored_limits(self.points),
        )

    def _checked_range(self, cuts: tuple[float, ...]) -> tuple[float, float]:
        bounds = tuple(self._number(bound) for bound in as_tuple(self.range, "range"))
        if len(bounds) != 2 or not bounds[0] < bounds[1]:
            raise SchemaError(f"range of {quoted(self.column)} must be two increasing numbers")
        if not (bounds[0] < cuts[0] and cuts[-1] <= bounds[1]):
            raise SchemaError(
                f"thresholds of {quoted(self.column)} must lie above the low end of its range and "
                "not above the high end, because any other column would be constant"
            )
        return bounds[0], bounds[1]

    def _number(self, value: object) -> float:
        return finite_number(value, f"thresholds and range of {quoted(self.column)}")


NumberFeature: TypeAlias = ThresholdFeature | QuantileFeature

Feature: TypeAlias = NumberFeature | CategoryFeature | BinaryFeature

_KEYS: dict[str, frozenset[str]] = {
    "thresholds": frozenset(
        {"column", "thresholds", "range", "missing", "codes", "name", "names", "sign", "points"}
    ),
    "categories": frozenset(
        {"column", "categories", "missing", "text", "name", "names", "sign", "points"}
    ),
    "binary": frozenset({"column", "binary", "missing", "codes", "name", "sign", "points"}),
}


def features_from_dict(raw: object) -> tuple[Feature, ...]:
    """Read one ``[[feature]]`` table, which declares two features if it has ``codes``.

    A code in a column of numbers is no number: it is missing there, and true of the statement that
    it is named after, if that is not "missing".

    Parameters
    ----------
    raw : mapping
        ``column`` and exactly one of ``thresholds``, ``categories`` and ``binary``; thresholds are
        numbers, or a table that says how many a fit is to find.

    Returns
    -------
    tuple of Feature
        One, or before a category of codes the one whose numbers they are none of.

    Raises
    ------
    SchemaError
        For an unknown key, a missing key or a value that breaks the rules of its kind.
    """
    if not isinstance(raw, Mapping) or "codes" not in raw or "categories" in raw:
        return (_feature(raw),)
    column, codes = raw.get("column"), raw["codes"]
    check_name(column, "a feature's column")
    if not isinstance(codes, Mapping) or not codes:
        raise SchemaError(
            f"codes of {quoted(column)} must be a table from codes to what they say, such as "
            '{ "-7" = "never", "-8" = "missing" }'
        )
    for name in codes.values():
        check_name(name, f"what a code of {quoted(column)} says")
    missing = (*as_tuple(raw.get("missing", ()), f"missing of {quoted(column)}"), *codes)
    first = _feature({**raw, "missing": missing})
    if len(missing_texts(missing, str(column))) < len(missing):
        raise SchemaError(f"codes of {quoted(column)} must be distinct, but one occurs twice")
    said: dict[str, list[object]] = {}
    for code, name in codes.items():
        if name != _MISSING:
            said.setdefault(name, []).append(_plain(code))
    categories = [Category(name=name, values=tuple(values)) for name, values in said.items()]  # type: ignore[arg-type]
    if not categories:
        return (first,)
    return first, CategoryFeature(
        column=str(column), categories=tuple(categories), points=first.points
    )


def _plain(code: object) -> object:
    """Return a code as a cell of numbers spells it."""
    number = parse_number(code)
    return code if number is None else format_number(number)


_MISSING = "missing"
"""What a code says that is a missing value."""


def _feature(raw: object) -> Feature:
    """Read one ``[[feature]]`` table but for its ``codes``."""
    if not isinstance(raw, Mapping):
        raise SchemaError("each feature must be a table of keys, such as [[feature]] in TOML")
    kinds = [kind for kind in _KEYS if kind in raw]
    column = raw.get("column")
    check_name(column, "a feature's column")
    if not kinds:  # a mistyped kind is the likeliest reason
        check_keys(raw, frozenset().union(*_KEYS.values()), f"feature {quoted(column)}")
    if len(kinds) != 1:
        raise SchemaError(
            f"feature {quoted(column)} must have exactly one of thresholds, categories, binary"
        )
    check_keys(raw, _KEYS[kinds[0]], f"feature {quoted(column)}")
    if kinds[0] == "binary":
        sides: Any = binary_values(raw["binary"], str(column))
        return BinaryFeature(
            **sides,
            column=str(column),
            missing_codes=raw.get("missing", ()),
            name=raw.get("name"),
            sign=raw.get("sign"),
            points=raw.get("points"),
        )
    names = _names_from(raw, str(column))
    if kinds[0] == "thresholds" and isinstance(raw["thresholds"], Mapping):
        return quantile_feature(raw, str(column), names)
    if kinds[0] == "thresholds":
        return ThresholdFeature(
            column=str(column),
            thresholds=raw["thresholds"],
            range=raw.get("range"),
            missing_codes=raw.get("missing", ()),
            names=names,
            sign=raw.get("sign"),
            points=raw.get("points"),
        )
    missing = raw.get("missing")
    codes: Any = missing if isinstance(missing, list | tuple) else ()
    return CategoryFeature(
        column=str(column),
        categories=raw["categories"],
        missing=None if missing is codes else missing,
        missing_codes=codes,
        text=raw.get("text", False),
        names=names,
        sign=raw.get("sign"),
        points=raw.get("points"),
    )


def _names_from(raw: Mapping[str, object], column: str) -> tuple[str, ...]:
    if "name" in raw and "names" in raw:
        raise SchemaError(f"feature {quoted(column)} must have name or names, not both")
    if "name" in raw:
        check_name(raw["name"], f"the name of {quoted(column)}")
        return (str(raw["name"]),)
    return as_tuple(raw.get("names", ()), f"names of {quoted(column)}")  # type: ignore[return-value]
