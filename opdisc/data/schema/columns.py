"""Encoded columns: which come from one feature, and which exclude each other.

Yes/no columns of which at most one is true are declared in public and enforced row by row. Columns
of which at most one has points are declared in public too, and no card breaks it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opdisc.data.schema.categories import BinaryFeature
from opdisc.data.schema.checks import as_tuple, did_you_mean, refuse_repeats
from opdisc.errors import SchemaError, quoted

if TYPE_CHECKING:
    from opdisc.data.schema.checks import Kind
    from opdisc.data.schema.features import Feature
    from oracles.problem import Alternatives


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """The encoded columns that come from one feature.

    Parameters
    ----------
    column : str
        Raw column.
    kind : {"thresholds", "categories", "binary"}
        Columns of "thresholds" are nested (a later 1 implies every earlier 1); of "categories"
        exclusive (at most one 1); "binary" is a single column.
    indices : tuple of int
        Positions in an encoded row, where 0 is the intercept: position i is shown as
        ``schema.column_names[i - 1]``.
    """

    column: str
    kind: Kind
    indices: tuple[int, ...]


def exclusive_groups(raw: object, features: Sequence[Feature]) -> tuple[tuple[str, ...], ...]:
    """Check and canonicalise the groups of a schema's ``exclusive``.

    Parameters
    ----------
    raw : list of list of str
        Raw columns, each of exactly one binary feature, none twice.
    features : sequence of Feature
        The schema's.

    Raises
    ------
    SchemaError
        If a group has fewer than two columns, or a column is not of that kind.
    """
    groups = tuple(as_tuple(group, "a group of exclusive") for group in as_tuple(raw, "exclusive"))
    binary = [f.column for f in features if isinstance(f, BinaryFeature)]
    for group in groups:
        if len(group) < 2:
            raise SchemaError(
                f"a group of exclusive must name two columns or more, got {quoted(group)}"
            )
        for column in group:
            if binary.count(column) != 1:  # type: ignore[arg-type]
                raise SchemaError(
                    f"exclusive must name columns of one binary feature each, got {quoted(column)}"
                    f"{did_you_mean(column, [b for b in binary if b != column])}"
                )
    refuse_repeats((str(c) for group in groups for c in group), "columns of exclusive")
    return tuple(tuple(str(column) for column in group) for group in groups)


def exclusive_positions(
    groups: Sequence[Sequence[str]], features: Sequence[Feature]
) -> tuple[tuple[int, ...], ...]:
    """Return the positions of each group's columns in an encoded row, where 0 is the intercept."""
    place, position = {}, 1
    for feature in features:
        if isinstance(feature, BinaryFeature):
            place[feature.column] = position
        position += len(feature.column_names)
    return tuple(tuple(place[column] for column in group) for group in groups)


def alternative_groups(raw: object, features: Sequence[Feature]) -> tuple[tuple[str, ...], ...]:
    """Check and canonicalise the groups of a schema's ``alternatives``.

    Parameters
    ----------
    raw : list of list of str
        Raw columns of features, none twice.
    features : sequence of Feature
        The schema's.

    Raises
    ------
    SchemaError
        If a group has fewer than two columns, a column is no feature's, or one is named twice.
    """
    groups = tuple(
        as_tuple(group, "a group of alternatives") for group in as_tuple(raw, "alternatives")
    )
    known = tuple(dict.fromkeys(feature.column for feature in features))
    for group in groups:
        if len(group) < 2:
            raise SchemaError(
                f"a group of alternatives must name two columns or more, got {quoted(group)}"
            )
        for column in group:
            if column not in known:
                raise SchemaError(
                    f"alternatives must name columns of features, got {quoted(column)}"
                    f"{did_you_mean(column, known)}"
                )
    refuse_repeats((str(c) for group in groups for c in group), "columns of alternatives")
    return tuple(tuple(str(column) for column in group) for group in groups)


def alternative_positions(
    groups: Sequence[Sequence[str]], attributes: Sequence[Attribute]
) -> Alternatives:
    """Return for each column of each group the positions of its statements in an encoded row."""
    place: dict[str, tuple[int, ...]] = {}
    for attribute in attributes:
        place[attribute.column] = place.get(attribute.column, ()) + attribute.indices
    return tuple(tuple(place[column] for column in group) for group in groups)
