"""Declared categories of a feature: names and the cell values that belong to them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from opdisc.cells import canonical_text
from opdisc.checks import as_tuple, check_keys, check_name, refuse_repeats
from opdisc.errors import SchemaError


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """One declared category: a display name and the cell values that belong to it.

    Parameters
    ----------
    name : str
        Name shown on a scorecard.
    values : tuple of str
        Cell values (compared by :func:`opdisc.cells.canonical_text`), at least one, all distinct.
    """

    name: str
    values: tuple[str, ...]

    def __post_init__(self) -> None:
        """Canonicalise and validate."""
        check_name(self.name, "a category name")
        values = tuple(_category_value(value) for value in as_tuple(self.values, "values"))
        if not values:
            raise SchemaError(f"a category needs at least one value, but {self.name!r} has none")
        refuse_repeats(values, f"values of category {self.name!r}")
        object.__setattr__(self, "values", values)


def _category_value(value: object) -> str:
    if not isinstance(value, str | int | float) or canonical_text(value) == "":
        raise SchemaError(f"a category value must be non-empty text or a number, got {value!r}")
    if isinstance(value, float) and not math.isfinite(value):
        raise SchemaError(f"a category value must be finite, got {value!r}")
    return canonical_text(value)


def read_category(entry: object, column: str) -> Category:
    """Return a category from any accepted form: itself, a group, or a single value."""
    if isinstance(entry, Category):
        return entry
    if isinstance(entry, Mapping):
        check_keys(entry, ("name", "values"), f"a category group of {column!r}")
        if "name" not in entry or "values" not in entry:
            raise SchemaError(f"a category group of {column!r} must have a name and values")
        return Category(name=entry["name"], values=entry["values"])
    value = _category_value(entry)
    return Category(name=entry.strip() if isinstance(entry, str) else value, values=(value,))
