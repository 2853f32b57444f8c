"""What every form of a card says, from the released model and public facts alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opdisc.data import CategoryFeature
from opdisc.models.card.example import longest_way, made_up_row
from opdisc.models.card.explanation import explain_row
from opdisc.models.card.parts import only_part, several_parts
from opdisc.models.card.source import CardsSource, used_features

if TYPE_CHECKING:
    from opdisc.data import Schema
    from opdisc.models.card.explanation import Explanation
    from opdisc.models.card.parts import CardPart
    from opdisc.models.card.source import CardSource
    from opdisc.models.scorecard import Scorecard


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """All that a card shows; texts are not escaped for any format yet.

    Parameters
    ----------
    title, subtitle : str
        What is predicted, and by which card.
    verdict : tuple of str
        What an honest colleague would say first, in sentences; empty if nothing is known.
    good_news : str
        The one of these sentences that is no warning; empty if there is none.
    rule : str
        How several cards go together; empty of a single one.
    is_only_constant : bool
        Whether everyone gets one answer and no rates were bought: then nothing is added up.
    parts : tuple of CardPart
        The scorecard, or several in the order in which they are asked.
    notes : tuple of str
        What missing values and exclusive columns do.
    example : tuple of (str, str)
        Cells of a made-up row, by column.
    sums : tuple of (str, Explanation)
        How that row's points add up, by the name of each card that it meets.
    answer : str
        The label of that row.
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
    good_news: str
    rule: str
    is_only_constant: bool
    parts: tuple[CardPart, ...]
    notes: tuple[str, ...]
    example: tuple[tuple[str, str], ...]
    sums: tuple[tuple[str, Explanation], ...]
    answer: str
    receipt: tuple[tuple[str, str], ...]
    guarantee: str
    whole_receipt: str


def card_content(model: CardSource | CardsSource) -> Card:
    """Return what a card says of a released model.

    Parameters
    ----------
    model : SavedModel or SavedMulticlassModel
        Everything shown is post-processing of it: no private row takes part.

    Returns
    -------
    Card
    """
    schema, receipt = model.schema, model.receipt
    verdict = getattr(model, "verdict_", None)  # a model may carry one, a sentence on each line
    if isinstance(model, CardsSource):
        cards, parts, rule = model.scorecards, several_parts(model), model.rule()
        subtitle = f"{len(cards)} scorecards “{schema.name}”, used together"
        example, way = longest_way(model)
        sums = tuple((f"Card {number}", one) for number, one in way.cards)
        answer = way.answer
    else:
        cards, parts, rule = (model.scorecard,), (only_part(model),), ""
        subtitle = f"Scorecard “{schema.name}”"
        example = made_up_row(model.scorecard, schema)
        explanation = explain_row(model.scorecard, schema, example)
        sums, answer = (("", explanation),), explanation.answer
    return Card(
        title=f"Predict {schema.target.column}",
        subtitle=subtitle,
        verdict=() if verdict is None else tuple(str(verdict).splitlines()),
        good_news=getattr(verdict, "good_news", ""),
        rule=rule,
        is_only_constant=getattr(model, "is_only_constant", False),
        parts=parts,
        notes=_notes(cards, schema),
        example=tuple((name, cell) for name, cell in example.items() if cell),
        sums=sums,
        answer=str(answer),
        receipt=_receipt_lines(model),
        guarantee=receipt.guarantee,
        whole_receipt=str(receipt),
    )


def _notes(cards: Sequence[Scorecard], schema: Schema) -> tuple[str, ...]:
    notes = ["A missing value makes none of its lines true."]
    features = [pair for card in cards for pair in used_features(card, schema)]
    with_points = {feature.column for feature, named in features if any(p for _, p in named)}
    if marks := [text for text in schema.missing_values if text]:
        notes.append(f"A cell that is {_or(marks)} is missing.")
    notes += dict.fromkeys(
        f"{feature.column} is {'missing' if feature.kind == 'binary' else 'no number'} where it "
        f"is {_or(feature.missing_codes)}."
        for feature in schema.features
        if feature.missing_codes and feature.column in with_points and feature.kind != "categories"
    )
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


def _or(texts: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))


def _receipt_lines(model: CardSource | CardsSource) -> tuple[tuple[str, str], ...]:
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
        ("Protects", f"{receipt.protected_unit}, {relation} neighbours"),
        ("Mechanism", f"{receipt.mechanism} ({receipt.calibration})"),
        (
            "Spent",
            f"epsilon {receipt.epsilon:g} of the table's budget; a ledger names this model by "
            f"sha256 {digest[:16]}",
        ),
    )
