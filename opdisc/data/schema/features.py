"""Declared features: how one raw column becomes 0/1 columns, from public facts alone.

A category has a name and the cell values that belong to it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from opdisc.data.cells import canonical_text, format_number, plain_number
from opdisc.data.schema.checks import (
    Kind,
    Sign,
    as_tuple,
    check_keys,
    check_name,
    check_sign,
    checked_names,
    did_you_mean,
    finite_number,
    refuse_repeats,
    stated,
)
from opdisc.data.schema.quantiles import QuantileFeature, quantile_feature
from opdisc.data.spelling import plain_text
from opdisc.errors import SchemaError, quoted


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """One declared category: a display name and the cell values that belong to it.

    Parameters
    ----------
    name : str
        Name shown on a scorecard.
    values : tuple of str
        Cell values (compared by :func:`opdisc.data.canonical_text`), at least one, all distinct.
    text : bool
        Whether values are texts that are compared as they stand, without white space around.
    """

    name: str
    values: tuple[str, ...]
    text: bool = False

    def __post_init__(self) -> None:
        """Canonicalise and validate."""
        check_name(self.name, "a category name")
        values = tuple(
            _category_value(value, self.text) for value in as_tuple(self.values, "values")
        )
        if not values:
            raise SchemaError(
                f"a category needs at least one value, but {quoted(self.name)} has none"
            )
        refuse_repeats(values, f"values of category {quoted(self.name)}")
        object.__setattr__(self, "values", values)


def _category_value(value: object, text: bool) -> str:
    if text and not isinstance(value, str):
        raise SchemaError(
            f"a category value of a column with text = true must be text in quotes, got "
            f"{quoted(value)}"
        )
    if not isinstance(value, str | int | float) or canonical_text(value) == "":
        raise SchemaError(
            f"a category value must be non-empty text or a number, got {quoted(value)}"
        )
    if isinstance(value, float) and not math.isfinite(value):
        raise SchemaError(f"a category value must be finite, got {quoted(value)}")
    return plain_text(value) if text else canonical_text(value)


def read_category(entry: object, column: str, text: bool = False) -> Category:
    """Return a category from any accepted form: itself, a group, or a single value."""
    if isinstance(entry, Category):
        if entry.text != text:
            raise SchemaError(
                f"text of {quoted(column)} must be that of its categories, but is not"
            )
        return entry
    if isinstance(entry, Mapping):
        check_keys(entry, ("name", "values"), f"a category group of {quoted(column)}")
        if "name" not in entry or "values" not in entry:
            raise SchemaError(f"a category group of {quoted(column)} must have a name and values")
        return Category(name=entry["name"], values=entry["values"], text=text)
    value = _category_value(entry, text)
    name = entry.strip() if isinstance(entry, str) else value
    return Category(name=name, values=(value,), text=text)


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
    """

    column: str
    thresholds: tuple[float, ...]
    range: tuple[float, float] | None = None
    names: tuple[str, ...] = ()
    sign: Sign | None = None

    def __post_init__(self) -> None:
        """Canonicalise and validate."""
        check_name(self.column, "a feature's column")
        check_sign(self.sign, self.column)
        cuts = tuple(self._number(t) for t in as_tuple(self.thresholds, "thresholds"))
        if not cuts:
            raise SchemaError(f"{quoted(self.column)} needs at least one threshold, but has none")
        if any(b <= a for a, b in zip(cuts, cuts[1:], strict=False)):
            raise SchemaError(f"thresholds of {quoted(self.column)} must be strictly increasing")
        object.__setattr__(self, "thresholds", cuts)
        if self.range is not None:
            object.__setattr__(self, "range", self._checked_range(cuts))
        object.__setattr__(self, "names", checked_names(self.names, len(cuts), self.column))

    @property
    def kind(self) -> Kind:
        """Kind of the encoded columns: nested."""
        return "thresholds"

    @property
    def column_names(self) -> tuple[str, ...]:
        """Display name of each encoded column."""
        return self.names or tuple(
            f"{self.column} >= {format_number(cut)}" for cut in self.thresholds
        )

    def to_dict(self) -> dict[str, object]:
        """Return the JSON-able form that :func:`feature_from_dict` reads."""
        out: dict[str, object] = {
            "column": self.column,
            "thresholds": [plain_number(cut) for cut in self.thresholds],
        }
        if self.range is not None:
            out["range"] = [plain_number(bound) for bound in self.range]
        return out | stated(names=list(self.names), sign=self.sign)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryFeature:
    """A category, encoded as one column per declared category (exclusive columns).

    Parameters
    ----------
    column : str
        Raw column.
    categories : tuple of Category
        At least one; no value and no name twice. Any other value encodes to all zeros.
    missing : str or None
        Name of the category which a missing cell counts as; None encodes it to all zeros.
    text : bool
        Whether cells are texts that are compared as they stand, so that "5", "05" and "5.0" are
        three; a column of numbers is then refused.
    names : tuple of str
        Display names, one per category; empty for "column = category".
    sign : {"positive", "negative"} or None
        Which points its statements may have, besides 0; None for both.
    """

    column: str
    categories: tuple[Category, ...]
    missing: str | None = None
    text: bool = False
    names: tuple[str, ...] = ()
    sign: Sign | None = None

    def __post_init__(self) -> None:
        """Validate."""
        check_name(self.column, "a feature's column")
        check_sign(self.sign, self.column)
        categories = as_tuple(self.categories, "categories")
        if not categories:
            raise SchemaError(f"{quoted(self.column)} needs at least one category, but has none")
        if not isinstance(self.text, bool):
            raise SchemaError(
                f"text of {quoted(self.column)} must be true or false, got {quoted(self.text)}"
            )
        checked = tuple(read_category(entry, self.column, self.text) for entry in categories)
        refuse_repeats((c.name for c in checked), f"category names of {quoted(self.column)}")
        refuse_repeats(
            (v for c in checked for v in c.values), f"categories of {quoted(self.column)}"
        )
        if self.missing is not None and self.missing not in [c.name for c in checked]:
            raise SchemaError(
                f"missing of {quoted(self.column)} must name one of its declared categories, "
                f"got {quoted(self.missing)}"
                f"{did_you_mean(self.missing, [c.name for c in checked])}"
            )
        object.__setattr__(self, "categories", checked)
        object.__setattr__(self, "names", checked_names(self.names, len(checked), self.column))

    @property
    def kind(self) -> Kind:
        """Kind of the encoded columns: exclusive."""
        return "categories"

    @property
    def column_names(self) -> tuple[str, ...]:
        """Display name of each encoded column."""
        return self.names or tuple(f"{self.column} = {c.name}" for c in self.categories)

    def to_dict(self) -> dict[str, object]:
        """Return the JSON-able form that :func:`feature_from_dict` reads."""
        entries: list[object] = [
            c.name if c.values == (c.name,) else {"name": c.name, "values": list(c.values)}
            for c in self.categories
        ]
        out: dict[str, object] = {"column": self.column, "categories": entries}
        if self.missing is not None:
            out["missing"] = self.missing
        return out | stated(text=self.text or None, names=list(self.names), sign=self.sign)

    def spell(self, value: object) -> str:
        """Return the text under which a cell is compared with the categories."""
        return plain_text(value) if self.text else canonical_text(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class BinaryFeature:
    """A 0/1 column, encoded as 1[x >= 1] and shown by its own name.

    Parameters
    ----------
    column : str
        Raw column.
    name : str or None
        Display name; None for the column's.
    sign : {"positive", "negative"} or None
        Which points its statements may have, besides 0; None for both.
    """

    column: str
    name: str | None = None
    sign: Sign | None = None

    def __post_init__(self) -> None:
        """Validate."""
        check_name(self.column, "a feature's column")
        check_sign(self.sign, self.column)
        if self.name is not None:
            check_name(self.name, f"the name of {quoted(self.column)}")

    @property
    def kind(self) -> Kind:
        """Kind of the encoded column."""
        return "binary"

    @property
    def column_names(self) -> tuple[str, ...]:
        """Display name of the encoded column."""
        return (self.column if self.name is None else self.name,)

    def to_dict(self) -> dict[str, object]:
        """Return the JSON-able form that :func:`feature_from_dict` reads."""
        out: dict[str, object] = {"column": self.column, "binary": True}
        return out | stated(name=self.name, sign=self.sign)


Feature: TypeAlias = ThresholdFeature | QuantileFeature | CategoryFeature | BinaryFeature

_KEYS: dict[str, frozenset[str]] = {
    "thresholds": frozenset({"column", "thresholds", "range", "name", "names", "sign"}),
    "categories": frozenset({"column", "categories", "missing", "text", "name", "names", "sign"}),
    "binary": frozenset({"column", "binary", "name", "sign"}),
}


def feature_from_dict(raw: object) -> Feature:
    """Read one ``[[feature]]`` table.

    Parameters
    ----------
    raw : mapping
        ``column`` and exactly one of ``thresholds``, ``categories`` and ``binary = true``;
        thresholds are numbers, or a table that says how many a fit is to find.

    Returns
    -------
    Feature

    Raises
    ------
    SchemaError
        For an unknown key, a missing key or a value that breaks the rules of its kind.
    """
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
        if raw["binary"] is not True:
            raise SchemaError(f"binary of feature {quoted(column)} must be true")
        return BinaryFeature(column=str(column), name=raw.get("name"), sign=raw.get("sign"))
    names = _names_from(raw, str(column))
    if kinds[0] == "thresholds" and isinstance(raw["thresholds"], Mapping):
        return quantile_feature(raw, str(column), names)
    if kinds[0] == "thresholds":
        return ThresholdFeature(
            column=str(column),
            thresholds=raw["thresholds"],
            range=raw.get("range"),
            names=names,
            sign=raw.get("sign"),
        )
    return CategoryFeature(
        column=str(column),
        categories=raw["categories"],
        missing=raw.get("missing"),
        text=raw.get("text", False),
        names=names,
        sign=raw.get("sign"),
    )


def _names_from(raw: Mapping[str, object], column: str) -> tuple[str, ...]:
    if "name" in raw and "names" in raw:
        raise SchemaError(f"feature {quoted(column)} must have name or names, not both")
    if "name" in raw:
        check_name(raw["name"], f"the name of {quoted(column)}")
        return (str(raw["name"]),)
    return as_tuple(raw.get("names", ()), f"names of {quoted(column)}")  # type: ignore[return-value]
