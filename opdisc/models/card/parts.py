"""What a page shows of one scorecard: its points, what a total means, the rates it bought."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from opdisc.data import (
    BinaryFeature,
    CategoryFeature,
    ThresholdFeature,
    format_number,
)
from opdisc.models.attainable import attainable_totals
from opdisc.models.card.source import signed, used_features
from opdisc.models.odds import chance_text
from opdisc.privacy import TREE, card_that_tells

if TYPE_CHECKING:
    from opdisc.data import (
        Feature,
        Schema,
    )
    from opdisc.models.card.source import CardSource, CardsSource
    from opdisc.models.odds import OddsScale
    from opdisc.models.scorecard import Scorecard

_YES = "yes"
"""What is true of a column that holds yes or no."""


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
class CardPart:
    """What is shown of one scorecard.

    Parameters
    ----------
    label, name : str
        Which of several cards it is, "Card 1", and what it tells apart; empty of a single one.
    start : int
        Points that everyone starts with.
    groups : tuple of PointsGroup
        Statements with points, by raw column.
    footer : str
        What a total means, in a few words.
    rule : str
        How to use it, in one sentence or two.
    outcomes : tuple of (str, str)
        Totals in words and what follows from them; empty where totals of cards are compared.
    unused : tuple of str
        Statements without points.
    risk_title : str
        What is shared out over the totals.
    risks : tuple of RiskLine
        Empty where no odds are known and no rates were bought.
    risk_word : str
        What a rate is: "Share" of rows that were counted, or "Chance" by the odds.
    odds : str
        What a total stands for, of a logistic card; the rule ends with it.
    """

    label: str
    name: str
    start: int
    groups: tuple[PointsGroup, ...]
    footer: str
    rule: str
    outcomes: tuple[tuple[str, str], ...]
    unused: tuple[str, ...]
    risk_title: str
    risks: tuple[RiskLine, ...]
    risk_word: str = "Share"
    odds: str = ""


def only_part(model: CardSource) -> CardPart:
    """Return what is shown of a single scorecard."""
    card = model.scorecard
    negative, positive = map(str, card.classes)
    odds = getattr(model, "odds", None)
    rates: dict[str, Any] = {
        "risk_title": f"Share of rows that are “{positive}”",
        "risks": _risks(getattr(model, "risk_table", None)),
    }
    if odds is not None:
        rates = {
            "risk_title": f"Chance of “{positive}”",
            "risks": _chances(odds, card, model.schema),
            "risk_word": "Chance",
            "odds": odds.text(f"“{positive}”"),
        }
    return CardPart(
        label="",
        name="",
        footer=f"Total: {card.threshold} or more is “{positive}”",
        rule=(
            f"Start with {signed(card.start)}, add the points of every line that is true, and "
            f"answer “{positive}” if the total is {card.threshold} or more, otherwise "
            f"“{negative}”. {rates.get('odds', '')}".strip()
        ),
        outcomes=((f"Total of {card.threshold} or more", positive), ("Otherwise", negative)),
        **rates,
        **_points(card, model.schema),
    )


def several_parts(model: CardsSource) -> tuple[CardPart, ...]:
    """Return what is shown of each of several scorecards."""
    tables = getattr(model, "risk_tables", ()) or (None,) * len(model.scorecards)
    make = _tree_part if model.receipt.strategy == TREE else _rival_part
    return tuple(make(model, position, _risks(table)) for position, table in enumerate(tables))


def _tree_part(model: CardsSource, position: int, risks: tuple[RiskLine, ...]) -> CardPart:
    """Return a card that leads to an answer or to another card."""
    card, question = model.scorecards[position], model.questions[position]
    negative, positive = map(str, card.classes)
    then = {}
    for said, classes in ((positive, question.yes), (negative, question.no)):
        follower = card_that_tells(model.questions, classes)
        then[said] = "" if follower is None else f"go on with card {follower + 1}"
    told = {
        said: f"it is “{said}”: {more}" if more else f"the answer is “{said}”"
        for said, more in then.items()
    }
    labels = [str(model.schema.labels[k]) for k in sorted(question.no + question.yes)]
    of = "" if position == 0 else f", of those that are {', '.join(labels[:-1])} or {labels[-1]}"
    return CardPart(
        label=f"Card {position + 1}",
        name=f"Card {position + 1}: “{negative}” or “{positive}”?",
        footer=f"Total: {card.threshold} or more is “{positive}”",
        rule=(
            f"Start with {signed(card.start)} and add the points of every line that is true. If "
            f"the total is {card.threshold} or more, {told[positive]}. Otherwise "
            f"{told[negative]}."
        ),
        outcomes=tuple(
            (words, f"{said} ({then[said]})" if then[said] else said)
            for words, said in (
                (f"Total of {card.threshold} or more", positive),
                ("Otherwise", negative),
            )
        ),
        risk_title=f"Share of rows that are “{positive}”{of}",
        risks=risks,
        **_points(card, model.schema),
    )


def _rival_part(model: CardsSource, position: int, risks: tuple[RiskLine, ...]) -> CardPart:
    """Return a card whose total is compared with those of the others."""
    card = model.scorecards[position]
    return CardPart(
        label=f"Card {position + 1}",
        name=f"Card {position + 1}: “{card.classes[1]}”",
        footer=f"Total for “{card.classes[1]}”",
        rule=(
            f"Start with {signed(card.start)} and add the points of every line that is true: the "
            f"total speaks for “{card.classes[1]}”."
        ),
        outcomes=(),
        risk_title="",
        risks=risks,
        **_points(card, model.schema),
    )


def _points(card: Scorecard, schema: Schema) -> dict[str, Any]:
    return {
        "start": card.start,
        "groups": _groups(card, schema),
        "unused": tuple(n for n, p in zip(card.columns, card.points, strict=True) if not p),
    }


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
        said = _YES if feature.has_plain_values else " or ".join(feature.one)
        return (said,) if feature.name is None else (feature.name,)
    if feature.names:
        return feature.names
    if isinstance(feature, ThresholdFeature):
        return tuple(f"{format_number(cut)} or more" for cut in feature.thresholds)
    if isinstance(feature, CategoryFeature):
        return tuple(category.name for category in feature.categories)
    raise TypeError("a released card has no thresholds left to find.")


def _risks(table: Any) -> tuple[RiskLine, ...]:
    """Return the rates that were bought, if any."""
    if table is None:
        return ()
    return tuple(
        RiskLine(
            totals=_span(row),
            rate=f"{row.rate:.0%}",
            between=f"{row.low:.0%} to {row.high:.0%}" if hasattr(row, "low") else "",
        )
        for row in table.rows
    )


def _chances(odds: OddsScale, card: Scorecard, schema: Schema) -> tuple[RiskLine, ...]:
    """Return the chance of some totals of a logistic card."""
    return tuple(
        RiskLine(totals=f"{total:d}".replace("-", "−"), rate=chance_text(chance), between="")
        for total, chance in odds.listed(*attainable_totals(card, schema))
    )


def _span(row: Any) -> str:
    ends = f"{row.lowest:d}" if row.lowest == row.highest else f"{row.lowest:d} to {row.highest:d}"
    return ends.replace("-", "−")
