"""The lowest and the highest total of a scorecard over every row that its schema allows."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from opdisc.data import (
    BinaryFeature,
    CategoryFeature,
    ThresholdFeature,
    encode_cell,
    parse_number,
)

if TYPE_CHECKING:
    from opdisc.data import (
        Feature,
        Schema,
    )
    from opdisc.models.scorecard import Scorecard


def attainable_totals(card: Scorecard, schema: Schema) -> tuple[int, int]:
    """Return the lowest and the highest total that any possible row gets.

    Parameters
    ----------
    card : Scorecard
        Its columns are the schema's.
    schema : Schema
        Which statements can be true together: thresholds of one number are nested, categories
        exclude each other, and so do the columns that the schema declares exclusive.

    Returns
    -------
    (lowest, highest) : tuple of int
        Both are attained.

    Notes
    -----
    Raw columns are independent of each other, but for groups that the schema declares exclusive.
    Each column is encoded, as in a table, for one cell of every kind that its features tell apart;
    so features that share a raw column are seen together.
    """
    columns = _column_totals(card, schema)
    lowest = highest = card.start
    grouped = {name for group in schema.exclusive for name in group}
    for name, totals in columns.items():
        if name not in grouped:
            lowest += min(total.others for total in totals)
            highest += max(total.others for total in totals)
    for group in schema.exclusive:
        low, high = _group_range([columns[name] for name in group])
        lowest, highest = lowest + low, highest + high
    return lowest, highest


@dataclass(frozen=True, slots=True, kw_only=True)
class _CellTotal:
    """What one cell adds to a total.

    Parameters
    ----------
    yes : bool
        Whether the cell says yes to a column of an exclusive group.
    points : int
        Points of that column's statement.
    others : int
        Points of all other statements about the cell that are true.
    """

    yes: bool
    points: int
    others: int


def _column_totals(card: Scorecard, schema: Schema) -> dict[str, list[_CellTotal]]:
    """Return what each kind of cell adds, by raw column."""
    grouped = {name for group in schema.exclusive for name in group}
    asked = list(zip(schema.features, schema.attributes, strict=True))
    found: dict[str, list[_CellTotal]] = {name: [] for name in schema.columns}
    for name, cell in ((each, cell) for each in schema.columns for cell in _cells(schema, each)):
        yes, own, others = False, 0, 0
        for feature, attribute in asked:
            if feature.column != name:
                continue
            bits = encode_cell(cell, feature, schema.missing_texts(feature))
            points = [card.hypothesis[position] for position in attribute.indices]
            if name in grouped and isinstance(feature, BinaryFeature):
                yes, own = bool(bits[0]), points[0]
            else:
                others += sum(bit * point for bit, point in zip(bits, points, strict=True))
        found[name].append(_CellTotal(yes=yes, points=own, others=others))
    return found


def _cells(schema: Schema, column: str) -> list[str]:
    """Return a cell of each kind that the features of a raw column tell apart, a blank one too."""
    features = [feature for feature in schema.features if feature.column == column]
    named = [
        value
        for feature in features
        if isinstance(feature, CategoryFeature | BinaryFeature)
        for value in feature.values
    ]
    if any(isinstance(feature, BinaryFeature) for feature in features):
        told = [*named, *chain.from_iterable(map(schema.missing_texts, features))]
        return ["", *(text for text in told if all(_reads(schema, f, text) for f in features))]
    if all(isinstance(feature, CategoryFeature) for feature in features):
        other = "another"
        while any(other in (*named, *schema.missing_texts(feature)) for feature in features):
            other += "_"
        return ["", other, *named]
    # A column that is read as numbers has no other text but codes: of looks or declared.
    numbers = [feature for feature in features if not isinstance(feature, CategoryFeature)]
    missing = [schema.missing_texts(feature) for feature in numbers]
    codes = [
        value
        for value in named
        if parse_number(value) is not None or all(value in texts for texts in missing)
    ]
    marks = _numbers([*named, *chain.from_iterable(missing)]) | {
        cut for feature in features for cut in _cuts(feature)
    }
    ordered = sorted(marks)
    between = [a / 2 + b / 2 for a, b in zip(ordered, ordered[1:], strict=False)]
    below, above = ordered[0] - 1 - abs(ordered[0]), ordered[-1] + 1 + abs(ordered[-1])
    ends = [max(below, -sys.float_info.max), min(above, sys.float_info.max)]
    return ["", *codes, *(repr(float(number)) for number in (*ends, *ordered, *between))]


def _reads(schema: Schema, feature: Feature, text: str) -> bool:
    """Return whether a feature does not refuse a cell."""
    if isinstance(feature, CategoryFeature) or text in schema.missing_texts(feature):
        return True
    if isinstance(feature, BinaryFeature):
        return text in feature.values
    return parse_number(text) is not None


def _cuts(feature: Feature) -> tuple[float, ...]:
    return feature.thresholds if isinstance(feature, ThresholdFeature) else ()


def _numbers(texts: Sequence[str]) -> set[float]:
    read = (parse_number(text) for text in texts)
    return {number for number in read if number is not None}


def _group_range(columns: Sequence[list[_CellTotal]]) -> tuple[int, int]:
    """Return the range of an exclusive group: where several say yes, the first one counts."""
    lows: list[int] = []
    highs: list[int] = []
    for end, found in ((min, lows), (max, highs)):
        silent = [end(t.others for t in totals if not t.yes) for totals in columns]
        either = [end(t.others for t in totals) for totals in columns]
        found.append(sum(silent))
        for k, totals in enumerate(columns):
            first = end(t.points + t.others for t in totals if t.yes)
            found.append(sum(silent[:k]) + first + sum(either[k + 1 :]))
    return min(lows), max(highs)
