"""A card as Markdown: tables that any viewer shows."""

from __future__ import annotations

import re
from collections.abc import Sequence

from opdisc.models.card.content import CardSource, card_content, plain, signed

_SPECIAL = re.compile(r"[\\`*_\[\]#|~!$]")

_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;"}


def card_markdown(model: CardSource) -> str:
    """Return a card as Markdown.

    Parameters
    ----------
    model : SavedModel
        A scorecard with its schema and receipt.

    Returns
    -------
    str
        GitHub's dialect. No name or label becomes markup, a link or HTML.
    """
    card = card_content(model)
    parts = [f"# {_safe(card.title)}", _safe(card.subtitle)]
    parts += [f"**{_safe(sentence)}**" for sentence in card.verdict]
    rows = [("", "start with", signed(card.start))]
    rows += [(g.column, word, signed(p)) for g in card.groups for word, p in g.lines]
    parts += [_table(("Column", "What is true", "Points"), rows), _safe(card.rule)]
    parts += ["\n".join(f"- {_safe(note)}" for note in card.notes), "## A made-up row"]
    explained = card.explanation
    if card.example:
        parts.append(_table(("Column", "Cell"), card.example))
    steps = [signed(explained.start), *(f"{signed(p)} ({n})" for n, p in explained.statements)]
    parts.append(
        f"{_safe(', '.join(steps))}: total {signed(explained.total)}, "
        f"so the answer is “{_safe(explained.answer)}”."
    )
    if card.risks:
        parts.append(f"## Share of rows that are “{_safe(card.positive)}”")
        parts.append(
            _table(
                ("Total", "Share", "What the noise leaves open"),
                [(line.totals, line.rate, line.between) for line in card.risks],
            )
        )
    parts += ["## Receipt", _table(("", ""), card.receipt)]
    receipt = "\n".join(f"    {line}" for line in card.whole_receipt.splitlines())
    parts += ["The whole receipt:", receipt]
    if card.unused:
        parts.append(f"Not used (0 points): {_safe(', '.join(card.unused))}")
    return "\n\n".join(parts) + "\n"


def _safe(text: object) -> str:
    """Return a text as itself: no markup, no address that a viewer would turn into a link."""
    shown = "".join(_ENTITIES.get(c, c) for c in plain(text))
    shown = _SPECIAL.sub(lambda found: "\\" + found[0], shown.replace("&#64;", "\0"))
    shown = shown.replace("\0", "&#64;").replace("://", ":&#47;&#47;")
    return re.sub(r"(?i)www\.", lambda found: found[0][:3] + "&#46;", shown)


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, *(tuple(map(_safe, row)) for row in rows)]
    texts = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([texts[0], "|" + "---|" * len(head), *texts[1:]])
