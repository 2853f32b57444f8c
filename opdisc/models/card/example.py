"""A made-up row that shows how a card is used; nobody's row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from opdisc.data import (
    BinaryFeature,
    CategoryFeature,
    ThresholdFeature,
    format_number,
    parse_number,
)
from opdisc.models.card.source import used_features

if TYPE_CHECKING:
    from opdisc.data import (
        Schema,
    )
    from opdisc.models.card.explanation import ClassExplanation
    from opdisc.models.card.source import CardsSource
    from opdisc.models.scorecard import Scorecard

_LONGEST_EXAMPLE = 6
"""Used columns that the made-up row fills; the others are left blank."""


def longest_way(model: CardsSource) -> tuple[dict[str, str], ClassExplanation]:
    """Return the made-up row that meets most cards and statements, of some, and its way.

    Tried are, for each card, the row of its statements with most points, with fewest, and with
    most either way.
    """
    signs: tuple[Callable[[int], int], ...] = (abs, lambda p: max(p, 0), lambda p: max(-p, 0))
    rows = [made_up_row(card, model.schema, worth) for card in model.scorecards for worth in signs]
    ways = [(row, model.explain(row)) for row in rows]
    return max(ways, key=lambda found: _length(found[1]))


def _length(way: ClassExplanation) -> tuple[int, int]:
    return len(way.cards), sum(len(one.statements) for _, one in way.cards)


def made_up_row(
    card: Scorecard, schema: Schema, worth: Callable[[int], int] = abs
) -> dict[str, str]:
    """Return cells by column, of the statements whose points are worth most."""
    row = dict.fromkeys(schema.columns, "")
    filled = 0
    excluded: set[str] = set()
    for feature, named in used_features(card, schema):
        points = [worth(p) for _, p in named]
        taken = row[feature.column] or feature.column in excluded
        if not any(points) or taken or filled == _LONGEST_EXAMPLE:
            continue
        best, filled = points.index(max(points)), filled + 1
        missing = {parse_number(text) for text in schema.missing_texts(feature)}
        if isinstance(feature, ThresholdFeature):
            row[feature.column] = _number_from(feature.thresholds[best:], missing)
        elif isinstance(feature, CategoryFeature):
            row[feature.column] = feature.categories[best].values[0]
        elif isinstance(feature, BinaryFeature):
            row[feature.column] = feature.one[0]
            excluded.update(*(group for group in schema.exclusive if feature.column in group))
    return row


def _number_from(cuts: Sequence[float], missing: set[float | None]) -> str:
    """Return a number that reaches the first of some cuts, not the next, and is not missing."""
    low = cuts[0]
    step = (cuts[1] - low) / 2 if len(cuts) > 1 else 1.0
    tried = (low, *(low + step / 2**k for k in range(len(missing) + 1)))
    return format_number(next(number for number in tried if number not in missing))
