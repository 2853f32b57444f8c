"""A scorecard as tests of single cells: which add up, of which the first counts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from opdisc.data import (
    BOOLEAN_TEXTS,
    BinaryFeature,
    CategoryFeature,
    Feature,
    Schema,
    ThresholdFeature,
    exclusive_positions,
    format_number,
    is_kept_by_a_number,
    parse_number,
    spellings,
)
from opdisc.errors import ModelFileError, quoted
from opdisc.models.card.source import CardSource, CardsSource, used_features
from opdisc.models.scorecard import Scorecard

_DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")

NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""A character that XML cannot hold."""

_MOST = 2**53
"""Whole numbers below it are doubles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AtLeast:
    """True of a number from a cut on.

    Parameters
    ----------
    column : str
        Raw column.
    cut : float
        The least such number.
    absent : tuple of float
        Numbers from the cut on that stand for a missing value.
    """

    column: str
    cut: float
    absent: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOf:
    """True of some texts.

    Parameters
    ----------
    column : str
        Raw column.
    values : tuple of str
        The texts, as the schema has them.
    blank : bool
        Whether it is true of an empty cell.
    is_text : bool
        Whether cells are compared as they stand: no number is one of the texts.
    """

    column: str
    values: tuple[str, ...]
    blank: bool = False
    is_text: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What may be true of a row, and its points.

    Parameters
    ----------
    name : str
        The statement in words.
    points : int
        Points if it is true.
    test : AtLeast or OneOf
        When it is true.
    """

    name: str
    points: int
    test: AtLeast | OneOf


@dataclass(frozen=True, slots=True, kw_only=True)
class Characteristic:
    """Statements that depend on each other.

    Parameters
    ----------
    columns : tuple of str
        Raw columns: one, or those that exclude each other.
    statements : tuple of Statement
        Those of thresholds by rising cut.
    adds_up : bool
        Whether all that are true count, as of thresholds; else the first that is true.
    """

    columns: tuple[str, ...]
    statements: tuple[Statement, ...]
    adds_up: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """What a cell of one raw column may hold.

    Parameters
    ----------
    name : str
        Its name.
    is_number : bool
        Whether a statement compares it with a number.
    allowed : tuple of str or None
        The values of a yes/no column, of which others but missing ones are refused; else None.
    missing : tuple of str
        Texts that count as missing where numbers, or yes and no, are read; never the empty one.
    needs_text : bool
        Whether a declared value is a code, such as 007, or a date: a number would lose it.
    """

    name: str
    is_number: bool
    allowed: tuple[str, ...] | None
    missing: tuple[str, ...]
    needs_text: bool


def single_card(model: CardSource | CardsSource, form: str) -> CardSource:
    """Return the model if it is one scorecard of totals that are exact in doubles.

    Raises
    ------
    ModelFileError
        If it is none.
    """
    if isinstance(model, CardsSource):
        raise ModelFileError(
            f"{form} holds one scorecard, but this model has several for its classes; write "
            "--python or --sql instead."
        )
    if sum(map(abs, model.scorecard.hypothesis)) + abs(model.scorecard.threshold) >= _MOST:
        raise ModelFileError(
            f"totals of {form} must stay below 2^53, where programs count exactly, but this "
            "card's may not; write --python instead."
        )
    return model


def card_characteristics(card: Scorecard, schema: Schema) -> tuple[Characteristic, ...]:
    """Return what decides a total, in the order of the schema; groups that exclude come last."""
    groups = exclusive_positions(schema.exclusive, schema.features)
    grouped = {position for group in groups for position in group}
    found, by_position = [], {}
    for (feature, named), attribute in zip(
        used_features(card, schema), schema.attributes, strict=True
    ):
        statements = tuple(_statements(feature, named, schema))
        by_position[attribute.indices[0]] = statements
        if any(points for _, points in named) and not grouped.intersection(attribute.indices):
            found.append(
                Characteristic(
                    columns=(feature.column,),
                    statements=statements,
                    adds_up=isinstance(feature, ThresholdFeature),
                )
            )
    for group, columns in zip(groups, schema.exclusive, strict=True):
        statements = tuple(one for position in group for one in by_position[position])
        if any(one.points for one in statements):
            found.append(
                Characteristic(columns=tuple(columns), statements=statements, adds_up=False)
            )
    return tuple(found)


def card_columns(found: tuple[Characteristic, ...], schema: Schema) -> tuple[Column, ...]:
    """Return the raw columns that some characteristics read, in the order of the schema.

    Raises
    ------
    ModelFileError
        If a column is read in two ways of which each refuses cells of the other.
    """
    names = {statement.name for one in found for statement in one.statements}
    read = [feature for feature in schema.features if names.intersection(feature.column_names)]
    return tuple(
        _column(name, [feature for feature in read if feature.column == name], schema)
        for name in dict.fromkeys(feature.column for feature in read)
    )


def spelled(values: tuple[str, ...], *, is_text: bool) -> tuple[str, ...]:
    """Return the usual spellings of texts: 1 is 1.0 and true too, unless they are codes."""
    found: list[str] = []
    for value in values:
        found += spellings(value)
        if is_text:
            continue
        found += [text for text, digit in BOOLEAN_TEXTS.items() if digit == value]
        if is_number_text(value) and "." not in value:
            found.append(f"{value}.0")
    return tuple(dict.fromkeys(found))


def is_number_text(value: str) -> bool:
    """Return whether a text is how a number is written, and no code such as 007."""
    number = parse_number(value)
    return number is not None and format_number(number) == value


def _statements(
    feature: Feature, named: tuple[tuple[str, int], ...], schema: Schema
) -> Iterator[Statement]:
    missing = schema.missing_texts(feature)
    for position, (name, points) in enumerate(named):
        yield Statement(name=name, points=points, test=_test(feature, position, missing))


def _test(feature: Feature, position: int, missing: tuple[str, ...]) -> AtLeast | OneOf:
    column = feature.column
    if isinstance(feature, ThresholdFeature):
        cut = feature.thresholds[position]
        numbers = (parse_number(text) for text in missing)
        absent = tuple(dict.fromkeys(n for n in numbers if n is not None and n >= cut))
        return AtLeast(column=column, cut=cut, absent=absent)
    if isinstance(feature, BinaryFeature):
        return OneOf(column=column, values=feature.one)
    assert isinstance(feature, CategoryFeature)
    category = feature.categories[position]
    if category.name != feature.missing:
        return OneOf(column=column, values=category.values, is_text=feature.text)
    values = tuple(dict.fromkeys((*category.values, *filter(None, missing))))
    return OneOf(column=column, values=values, blank=True, is_text=feature.text)


def _column(name: str, features: list[Feature], schema: Schema) -> Column:
    strict = [feature for feature in features if not isinstance(feature, CategoryFeature)]
    sides = [feature for feature in strict if isinstance(feature, BinaryFeature)]
    if sides and len(strict) > 1:
        raise ModelFileError(
            f"a column of an export must be numbers or yes and no, but {quoted(name)} is both; "
            "write --python or --sql-text instead."
        )
    texts = [set(schema.missing_texts(feature)) for feature in strict]
    missing = set.intersection(*texts) if texts else set()
    return Column(
        name=name,
        is_number=bool(strict) and not sides,
        allowed=sides[0].values if sides else None,
        missing=tuple(sorted(missing.difference([""]))),
        needs_text=any(_has_codes(feature, schema) for feature in features),
    )


def _has_codes(feature: Feature, schema: Schema) -> bool:
    if isinstance(feature, CategoryFeature | BinaryFeature):
        texts = (*feature.values, *schema.missing_texts(feature))
        is_text = isinstance(feature, CategoryFeature) and feature.text
        return is_text or any(_DATE.match(t) or not is_kept_by_a_number(t) for t in texts)
    return False
