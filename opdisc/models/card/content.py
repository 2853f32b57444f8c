"""What every form of a card says, from the released model and public facts alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from opdisc.data import (
    BinaryFeature,
    CategoryFeature,
    Feature,
    Schema,
    ThresholdFeature,
    format_number,
)
from opdisc.errors import escaped
from opdisc.models.card.explanation import Explanation, explain_row
from opdisc.models.scorecard import Scorecard
from opdisc.privacy import GridReceipt

_YES = "yes"
"""What is true of a column that holds yes or no."""

_LONGEST_EXAMPLE = 6
"""Used columns that the made-up row fills; the others are left blank."""


class CardSource(Protocol):
    """A released scorecard with its schema and receipt: a saved model."""

    @property
    def scorecard(self) -> Scorecard:
        """The points."""

    @property
    def schema(self) -> Schema:
        """How a row is encoded."""

    @property
    def receipt(self) -> GridReceipt:
        """What was promised."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields of its file, the digest ``sha256`` included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PointsGroup:
    """The statements about one raw column that have points.

    Parameters
    ----------
    column : str
        Its name.
    lines : tuple of (str, int)
        What is true, in words that follow the column's name, and its points.
    """

    column: str
    lines: tuple[tuple[str, int], ...]

    @property
    def is_yes_or_no(self) -> bool:
        """Whether its only line says yes: the column's name alone would do."""
        return [word for word, _ in self.lines] == [_YES]


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskLine:
    """What some totals stand for.

    Parameters
    ----------
    totals : str
        The totals, in words.
    rate : str
        Share of such rows that are positive.
    between : str
        What the noise leaves open; empty if that is not known.
    """

    totals: str
    rate: str
    between: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """All that a card shows; texts are not escaped for any format yet.

    Parameters
    ----------
    title, subtitle : str
        What is predicted, and by which card.
    verdict : tuple of str
        What an honest colleague would say first, in sentences; empty if nothing is known.
    start : int
        Points that everyone starts with.
    groups : tuple of PointsGroup
        Statements with points, by raw column.
    rule : str
        How to use it, in one sentence.
    notes : tuple of str
        What missing values and exclusive columns do.
    unused : tuple of str
        Statements without points.
    positive, negative : str
        The two labels.
    example : tuple of (str, str)
        Cells of a made-up row, by column.
    explanation : Explanation
        Of that row.
    risks : tuple of RiskLine
        Empty if no rates were bought.
    receipt : tuple of (str, str)
        The receipt in five lines.
    guarantee : str
        HOLDS, CONDITIONAL or VOID.
    whole_receipt : str
        All of it.
    """

    title: str
    subtitle: str
    verdict: tuple[str, ...]
    start: int
    groups: tuple[PointsGroup, ...]
    rule: str
    notes: tuple[str, ...]
    unused: tuple[str, ...]
    positive: str
    negative: str
    example: tuple[tuple[str, str], ...]
    explanation: Explanation
    risks: tuple[RiskLine, ...]
    receipt: tuple[tuple[str, str], ...]
    guarantee: str
    whole_receipt: str


def card_content(model: CardSource) -> Card:
    """Return what a card says of a released model.

    Parameters
    ----------
    model : SavedModel
        Everything shown is post-processing of it: no private row takes part.

    Returns
    -------
    Card
    """
    card, schema = model.scorecard, model.schema
    negative, positive = map(str, card.classes)
    example = _made_up_row(card, schema)
    return Card(
        title=f"Predict {card.target}",
        subtitle=f"Scorecard “{schema.name}”",
        verdict=_verdict(model),
        start=card.start,
        groups=_groups(card, schema),
        rule=(
            f"Start with {signed(card.start)}, add the points of every line that is true, and "
            f"answer “{positive}” if the total is {card.threshold} or more, otherwise "
            f"“{negative}”."
        ),
        notes=_notes(card, schema),
        unused=tuple(n for n, p in zip(card.columns, card.points, strict=True) if not p),
        positive=positive,
        negative=negative,
        example=tuple((name, cell) for name, cell in example.items() if cell),
        explanation=explain_row(card, schema, example),
        risks=_risks(getattr(model, "risk_table", None)),
        receipt=_receipt_lines(model),
        guarantee=model.receipt.guarantee,
        whole_receipt=str(model.receipt),
    )


def used_features(
    card: Scorecard, schema: Schema
) -> tuple[tuple[Feature, tuple[tuple[str, int], ...]], ...]:
    """Return each feature with its statements, (name, points); features without points too."""
    named = list(zip(card.columns, map(int, card.points), strict=True))
    return tuple(
        (feature, tuple(named[i - 1] for i in attribute.indices))
        for feature, attribute in zip(schema.features, schema.attributes, strict=True)
    )


def signed(points: int) -> str:
    """Return points with their sign, a true minus."""
    return f"{points:+d}".replace("-", "−") if points else "0"


def _verdict(model: CardSource) -> tuple[str, ...]:
    """Return what is said first: a model may carry a verdict, with a sentence on each line."""
    verdict = getattr(model, "verdict_", None)
    return () if verdict is None else tuple(str(verdict).splitlines())


def _groups(card: Scorecard, schema: Schema) -> tuple[PointsGroup, ...]:
    lines: dict[str, list[tuple[str, int]]] = {}
    for feature, named in used_features(card, schema):
        words = _statements(feature)
        found = [(word, points) for word, (_, points) in zip(words, named, strict=True) if points]
        if found:
            lines.setdefault(feature.column, []).extend(found)
    return tuple(PointsGroup(column=name, lines=tuple(found)) for name, found in lines.items())


def _statements(feature: Feature) -> tuple[str, ...]:
    """Return each statement in words that follow the column's name."""
    if isinstance(feature, BinaryFeature):
        return (_YES,) if feature.name is None else (feature.name,)
    if feature.names:
        return feature.names
    if isinstance(feature, ThresholdFeature):
        return tuple(f"{format_number(cut)} or more" for cut in feature.thresholds)
    if isinstance(feature, CategoryFeature):
        return tuple(category.name for category in feature.categories)
    raise TypeError("a released card has no thresholds left to find.")


def _notes(card: Scorecard, schema: Schema) -> tuple[str, ...]:
    notes = ["A missing value makes none of its lines true."]
    features = used_features(card, schema)
    with_points = {feature.column for feature, named in features if any(p for _, p in named)}
    notes += [
        f"A missing value of {feature.column} counts as {feature.missing}."
        for feature in schema.features
        if isinstance(feature, CategoryFeature)
        and feature.missing is not None
        and feature.column in with_points
    ]
    notes += [
        f"Of {', '.join(group)} only the first that is true counts."
        for group in schema.exclusive
        if with_points.intersection(group)
    ]
    return tuple(notes)


def _made_up_row(card: Scorecard, schema: Schema) -> dict[str, str]:
    """Return cells by column, of the statements with most points; nobody's row."""
    row = dict.fromkeys(schema.columns, "")
    filled = 0
    excluded: set[str] = set()
    for feature, named in used_features(card, schema):
        points = [abs(p) for _, p in named]
        taken = row[feature.column] or feature.column in excluded
        if not any(points) or taken or filled == _LONGEST_EXAMPLE:
            continue
        best, filled = points.index(max(points)), filled + 1
        if isinstance(feature, ThresholdFeature):
            row[feature.column] = format_number(feature.thresholds[best])
        elif isinstance(feature, CategoryFeature):
            row[feature.column] = feature.categories[best].values[0]
        else:
            row[feature.column] = "1"
            excluded.update(*(group for group in schema.exclusive if feature.column in group))
    return row


def _risks(table: Any) -> tuple[RiskLine, ...]:
    """Return the rates that were bought, if any."""
    if table is None:
        return ()
    return tuple(
        RiskLine(
            totals=f"{row.lowest:d}" if row.lowest == row.highest else _span(row),
            rate=f"{row.rate:.0%}",
            between=f"{row.low:.0%} to {row.high:.0%}" if hasattr(row, "low") else "",
        )
        for row in table.rows
    )


def _span(row: Any) -> str:
    return f"{row.lowest:d} to {row.highest:d}".replace("-", "−")


def _receipt_lines(model: CardSource) -> tuple[tuple[str, str], ...]:
    receipt = model.receipt
    count = len(receipt.conditions)
    more = {
        "HOLDS": "no condition",
        "CONDITIONAL": f"{count} {'condition' if count == 1 else 'conditions'}",
        "VOID": "nothing is promised",
    }[receipt.guarantee]
    relation = receipt.relation.replace("_", "-")
    digest = str(model.to_dict()["sha256"])
    return (
        ("Guarantee", f"{receipt.guarantee}: {more}"),
        ("Privacy loss", f"epsilon {receipt.epsilon:g}, delta {receipt.delta:g}"),
        ("Protects", f"{receipt.privacy_unit}, {relation} neighbours"),
        ("Mechanism", f"{receipt.mechanism} ({receipt.calibration})"),
        (
            "Spent",
            f"epsilon {receipt.epsilon:g} of the table's budget; a ledger names this model by "
            f"sha256 {digest[:16]}",
        ),
    )


def plain(text: object) -> str:
    """Return a text on one line, with what is not printable escaped."""
    return escaped(str(text))
