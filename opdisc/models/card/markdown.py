"""A card as Markdown: tables that any viewer shows."""

from __future__ import annotations

import re
from collections.abc import Sequence

from opdisc.models.card.content import Card, card_content
from opdisc.models.card.parts import CardPart
from opdisc.models.card.source import CardSource, CardsSource, plain, signed

_SPECIAL = re.compile(r"[\\`*_\[\]#|~!$]")

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;"}


def card_markdown(model: CardSource | CardsSource) -> str:
    """Return a card as Markdown.

    Parameters
    ----------
    model : SavedModel or SavedMulticlassModel
        Scorecards with their schema and receipt.

    Returns
    -------
    str
        GitHub's dialect. No name or label becomes markup, a link or HTML.
    """
    card = card_content(model)
    several = len(card.parts) > 1
    parts = [f"# {prose(card.title)}", prose(card.subtitle)]
    parts += [
        prose(said) if said == card.good_news else f"**{prose(said)}**" for said in card.verdict
    ]
    parts += [] if card.is_only_constant else _card(card)
    parts += ["## Receipt", _table(("", ""), card.receipt)]
    receipt = "\n".join(f"    {line}" for line in card.whole_receipt.splitlines())
    parts += ["The whole receipt:", receipt]
    for part in () if card.is_only_constant else card.parts:
        if part.unused:
            of = f"Not used by {part.label.lower()}" if several else "Not used"
            parts.append(f"{of} (0 points): {prose(', '.join(part.unused))}")
    return "\n\n".join(parts) + "\n"


def _card(card: Card) -> list[str]:
    """Return the points, a row's sum and the rates."""
    several = len(card.parts) > 1
    parts = [prose(card.rule)] if card.rule else []
    notes = "\n".join(f"- {prose(note)}" for note in card.notes)
    parts += [notes] if several else []
    for part in card.parts:
        parts += _points(part)
        parts += _risks(part, "###") if several else []
    parts += [] if several else [notes]
    parts += ["## A made-up row", *_example(card)]
    parts += [] if several else _risks(card.parts[0], "##")
    return parts


def _points(part: CardPart) -> list[str]:
    rows = [("", "start with", signed(part.start))]
    rows += [(g.column, word, signed(p)) for g in part.groups for word, p in g.lines]
    title = [f"## {prose(part.name)}"] if part.name else []
    return [*title, _table(("Column", "What is true", "Points"), rows), prose(part.rule)]


def _example(card: Card) -> list[str]:
    parts = [_table(("Column", "Cell"), card.example)] if card.example else []
    for name, explained in card.sums:
        steps = [signed(explained.start), *(f"{signed(p)} ({n})" for n, p in explained.statements)]
        of = f"{name}: " if name else ""
        parts.append(f"{of}{prose(', '.join(steps))}: total {signed(explained.total)}.")
    return [*parts, f"The answer is “{prose(card.answer)}”."]


def _risks(part: CardPart, level: str) -> list[str]:
    if not part.risks:
        return []
    if any(line.between for line in part.risks):
        lines = [(line.totals, line.rate, line.between) for line in part.risks]
        table = _table(("Total", part.risk_word, "What the noise leaves open"), lines)
    else:
        table = _table(("Total", part.risk_word), [(one.totals, one.rate) for one in part.risks])
    return [f"{level} {prose(part.risk_title)}", table]


def prose(text: object) -> str:
    """Return a text as itself: no markup, no address that a viewer would turn into a link."""
    shown = "".join(_ENTITIES.get(c, c) for c in plain(text))
    shown = _SPECIAL.sub(lambda found: "\\" + found[0], shown.replace("&#64;", "\0"))
    shown = shown.replace("\0", "&#64;").replace("://", ":&#47;&#47;")
    return re.sub(r"(?i)www\.", lambda found: found[0][:3] + "&#46;", shown)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, *(tuple(map(prose, row)) for row in rows)]
    texts = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([texts[0], "|" + "---|" * len(head), *texts[1:]])
