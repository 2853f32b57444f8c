"""Declared features whose cells are compared as texts: categories, and yes or no.

A category has a name and the cell values that belong to it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opdisc.data.cells import canonical_text
from opdisc.data.schema.checks import (
    as_tuple,
    check_keys,
    check_name,
    check_sign,
    checked_names,
    did_you_mean,
    missing_texts,
    refuse_repeats,
    stated,
)
from opdisc.data.schema.limits import PointLimits, both_limits, parse_limits, stored_limits
from opdisc.data.spelling import plain_text
from opdisc.errors import SchemaError, quoted

if TYPE_CHECKING:
    from opdisc.data.schema.checks import (
        Kind,
        Sign,
    )


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
        values = tuple(_value(value, self.text) for value in as_tuple(self.values, "values"))
        if not values:
            raise SchemaError(
                f"a category needs at least one value, but {quoted(self.name)} has none"
            )
        refuse_repeats(values, f"values of category {quoted(self.name)}")
        object.__setattr__(self, "values", values)


def _value(value: object, text: bool = False) -> str:
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
    value = _value(entry, text)
    name = entry.strip() if isinstance(entry, str) else value
    return Category(name=name, values=(value,), text=text)


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
    points : PointLimits, mapping or None
        Least and largest points of each of its statements, beside the sign; None for any.
    missing_codes : tuple of str
        Cell values which are a missing value in this feature, besides those of the schema; no
        category has one.
    """

    column: str
    categories: tuple[Category, ...]
    missing: str | None = None
    text: bool = False
    missing_codes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    sign: Sign | None = None
    points: PointLimits | None = None

    def __post_init__(self) -> None:
        """Validate."""
        check_name(self.column, "a feature's column")
        check_sign(self.sign, self.column)
        object.__setattr__(self, "points", parse_limits(self.points, self.sign, self.column))
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
        if self.missing is not None and self.missing_codes:
            raise SchemaError(
                f"missing of {quoted(self.column)} must be a category or a list of codes, not "
                "both; give the category these codes as values"
            )
        if self.missing is not None and self.missing not in [c.name for c in checked]:
            raise SchemaError(
                f"missing of {quoted(self.column)} must name one of its declared categories, "
                f"got {quoted(self.missing)}"
                f"{did_you_mean(self.missing, [c.name for c in checked])}"
            )
        codes = missing_texts(self.missing_codes, self.column)
        for value in (v for c in checked for v in c.values):
            if value in codes:
                raise SchemaError(
                    f"a category cannot be a missing value, but {quoted(value)} of "
                    f"{quoted(self.column)} is both; leave one of them out"
                )
        object.__setattr__(self, "missing_codes", codes)
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

    @property
    def limits(self) -> PointLimits:
        """Which points each of its statements may have: by sign and limits."""
        return both_limits(self.points, self.sign)

    def to_dict(self) -> dict[str, object]:
        """Return the JSON-able form that :func:`features_from_dict` reads."""
        entries: list[object] = [
            c.name if c.values == (c.name,) else {"name": c.name, "values": list(c.values)}
            for c in self.categories
        ]
        out: dict[str, object] = {"column": self.column, "categories": entries}
        if self.missing is not None:
            out["missing"] = self.missing
        elif self.missing_codes:
            out["missing"] = list(self.missing_codes)
        return out | stated(
            text=self.text or None,
            names=list(self.names),
            sign=self.sign,
            points=stored_limits(self.points),
        )

    @property
    def values(self) -> tuple[str, ...]:
        """Declared cell values."""
        return tuple(value for category in self.categories for value in category.values)

    def spell(self, value: object) -> str:
        """Return the text under which a cell is compared with the categories."""
        return plain_text(value) if self.text else canonical_text(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class BinaryFeature:
    """A yes/no column: true of the values of one side, false of the other's; no third is read.

    Parameters
    ----------
    column : str
        Raw column.
    one, zero : tuple of str
        Cell values that say yes, and that say no, none of them both; 1 and 0 by default, which
        true and false are too. The empty text may be among those that say no.
    name : str or None
        Display name; None for the column's, with the first value that says yes if it is not 1.
    sign : {"positive", "negative"} or None
        Which points its statements may have, besides 0; None for both.
    points : PointLimits, mapping or None
        Least and largest points of each of its statements, beside the sign; None for any.
    missing_codes : tuple of str
        Cell values which are a missing value in this feature, besides those of the schema.
    """

    column: str
    one: tuple[str, ...] = ("1",)
    zero: tuple[str, ...] = ("0",)
    missing_codes: tuple[str, ...] = ()
    name: str | None = None
    sign: Sign | None = None
    points: PointLimits | None = None

    def __post_init__(self) -> None:
        """Canonicalise and validate."""
        check_name(self.column, "a feature's column")
        check_sign(self.sign, self.column)
        object.__setattr__(self, "points", parse_limits(self.points, self.sign, self.column))
        if self.name is not None:
            check_name(self.name, f"the name of {quoted(self.column)}")
        one = tuple(_value(value) for value in as_tuple(self.one, "one"))
        zero = tuple(
            "" if isinstance(value, str) and not value.strip() else _value(value)
            for value in as_tuple(self.zero, "zero")
        )
        if not one or not zero:
            raise SchemaError(
                f"binary of {quoted(self.column)} must have values that say yes and values that "
                "say no, but one side has none"
            )
        codes = missing_texts(self.missing_codes, self.column)
        refuse_repeats((*one, *zero, *codes), f"values of {quoted(self.column)}")
        for key, value in (("one", one), ("zero", zero), ("missing_codes", codes)):
            object.__setattr__(self, key, value)

    @property
    def kind(self) -> Kind:
        """Kind of the encoded column."""
        return "binary"

    @property
    def values(self) -> tuple[str, ...]:
        """Declared cell values."""
        return (*self.one, *self.zero)

    @property
    def has_plain_values(self) -> bool:
        """Whether 1 says yes and 0 says no."""
        return (self.one, self.zero) == (("1",), ("0",))

    @property
    def column_names(self) -> tuple[str, ...]:
        """Display name of the encoded column."""
        if self.name is not None:
            return (self.name,)
        return (self.column if self.has_plain_values else f"{self.column} = {self.one[0]}",)

    @property
    def limits(self) -> PointLimits:
        """Which points each of its statements may have: by sign and limits."""
        return both_limits(self.points, self.sign)

    def to_dict(self) -> dict[str, object]:
        """Return the JSON-able form that :func:`features_from_dict` reads."""
        values: object = True
        if not self.has_plain_values:
            values = {"one": list(self.one), "zero": list(self.zero)}
        out: dict[str, object] = {"column": self.column, "binary": values}
        return out | stated(
            missing=list(self.missing_codes),
            name=self.name,
            sign=self.sign,
            points=stored_limits(self.points),
        )


def binary_values(raw: object, column: str) -> dict[str, tuple[object, ...]]:
    """Return what ``binary`` declares: nothing if it is true, else the values of both sides."""
    if raw is True:
        return {}
    if not isinstance(raw, Mapping) or set(raw) != {"one", "zero"}:
        raise SchemaError(
            f"binary of feature {quoted(column)} must be true, or a table of the values that say "
            'yes and no, such as { one = "Yes", zero = "No" }'
        )
    return {
        side: tuple(values) if isinstance(values, list | tuple) else (values,)
        for side, values in raw.items()
    }
