"""A card as one HTML page to print, and as a fragment for a notebook.

No script, no address, no other file: the page's policy allows its own style sheet only.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from html import escape
from importlib import resources
from typing import TYPE_CHECKING

from opdisc.models.card.content import card_content
from opdisc.models.card.source import plain, signed

if TYPE_CHECKING:
    from opdisc.models.card.content import Card
    from opdisc.models.card.explanation import Explanation
    from opdisc.models.card.parts import CardPart, PointsGroup
    from opdisc.models.card.source import CardSource, CardsSource

_MANY = 12
"""Statements without points that are listed at once; more are shown on request."""


def card_page(model: CardSource | CardsSource) -> str:
    """Return a card as a self-contained HTML page.

    Parameters
    ----------
    model : SavedModel or SavedMulticlassModel
        Scorecards with their schema and receipt.

    Returns
    -------
    str
        HTML that loads nothing; light and dark, for a phone and for A4 paper.
    """
    card = card_content(model)
    style = _style()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}; form-action 'none'">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{_text(card.title)}</title>
<style>{style}</style>
</head>
<body>
<main class="opdisc-card">
{_body(card)}
</main>
</body>
</html>
"""


def card_fragment(model: CardSource | CardsSource) -> str:
    """Return a card as HTML that a notebook shows, with its own style.

    Parameters
    ----------
    model : SavedModel or SavedMulticlassModel
        Scorecards with their schema and receipt.
    """
    body = _body(card_content(model))
    return f'<style>{_style()}</style>\n<div class="opdisc-card">\n{body}\n</div>\n'


def _body(card: Card) -> str:
    several = len(card.parts) > 1
    shown = [
        f"<header><h1>{_text(card.title)}</h1>"
        f'<p class="quiet">{_text(card.subtitle)}</p></header>',
        *(_said(said, is_good=said == card.good_news) for said in card.verdict),
    ]
    parts = [
        f"<p>{_text(card.rule)}</p>" if card.rule else "",
        _items(card.notes) if several else "",
        *(_part(part) for part in card.parts),
        "" if several else _items(card.notes),
        "" if several else _unused(card.parts[0]),
        _example(card),
        "" if several else _risks(card.parts[0], "h2"),
    ]
    shown += ["" if card.is_only_constant else "\n".join(filter(None, parts)), _receipt(card)]
    return "\n".join(part for part in shown if part)


def _said(sentence: str, *, is_good: bool) -> str:
    """Return a sentence of the verdict: a warning in a box, good news with a mark."""
    look = "verdict good" if is_good else "verdict"
    return f'<p class="{look}" role="note">{_text(sentence)}</p>'


def _part(part: CardPart) -> str:
    """Return a card's points and rule; of several, with all that belongs to it."""
    shown = f'{_points(part)}\n<p class="rule">{_text(part.rule)}</p>'
    if not part.name:
        return shown
    return f"""<section class="part"><h2>{_text(part.name)}</h2>
{shown}
{_risks(part, "h3")}
{_unused(part)}
</section>"""


def _points(part: CardPart) -> str:
    groups = "".join(_group(group) for group in part.groups)
    return f"""<table class="points">
<thead><tr><th scope="col">What is true</th><th scope="col" class="number">Points</th>\
<th scope="col" class="number paper">Yours</th></tr></thead>
<tbody><tr class="start"><th scope="row">Start with</th>\
<td class="number">{signed(part.start)}</td>\
<td class="number paper">{signed(part.start)}</td></tr></tbody>
{groups}<tfoot><tr><th scope="row" colspan="2">{_text(part.footer)}</th>\
<td class="paper box"></td></tr></tfoot>
</table>"""


def _group(group: PointsGroup) -> str:
    if group.is_yes_or_no:
        ((_, points),) = group.lines
        return f'<tbody class="single">{_line(group.column, points)}</tbody>\n'
    head = f'<tr class="group"><th colspan="3" scope="rowgroup">{_text(group.column)}</th></tr>'
    lines = "".join(_line(word, points) for word, points in group.lines)
    return f"<tbody>{head}{lines}</tbody>\n"


def _line(words: str, points: int) -> str:
    side = "for" if points > 0 else "against"
    return (
        f'<tr><th scope="row">{_text(words)}</th>'
        f'<td class="number {side}">{signed(points)}</td><td class="paper box"></td></tr>'
    )


def _example(card: Card) -> str:
    cells = "".join(
        f"<div><dt>{_text(column)}</dt><dd>{_text(cell)}</dd></div>"
        for column, cell in card.example
    )
    row = f"<dl>{cells or '<div><dd>every cell is missing</dd></div>'}</dl>"
    sums = "\n".join(_sum(name, explained) for name, explained in card.sums)
    shown = f'<div class="columns">{row}\n{sums}</div>'
    if len(card.parts) > 1:
        shown = f'{row}\n<div class="columns">{sums}</div>'
    return f"""<section><h2>A made-up row</h2>
{shown}
<p>The answer is “{_text(card.answer)}”. This is nobody's row: it was made from the card.</p>
</section>"""


def _sum(name: str, explained: Explanation) -> str:
    title = f"<caption>{_text(name)}</caption>" if name else ""
    rows = [("start with", explained.start), *explained.statements]
    total = f"<tr><th scope='row'>Total</th><td class='number'>{signed(explained.total)}</td></tr>"
    return f"""<table class="sum">{title}\
<tbody>{_number_rows((n, signed(p)) for n, p in rows)}</tbody>
<tfoot>{total}</tfoot></table>"""


def _risks(part: CardPart, heading: str) -> str:
    if not part.risks:
        return ""
    between = any(line.between for line in part.risks)
    more = '<th scope="col" class="number">What the noise leaves open</th>' if between else ""
    rows = "".join(
        f'<tr><th scope="row">{_text(line.totals)}</th><td class="number">{_text(line.rate)}</td>'
        + (f'<td class="number">{_text(line.between)}</td>' if between else "")
        + "</tr>"
        for line in part.risks
    )
    return f"""<section><{heading}>{_text(part.risk_title)}</{heading}>
<table class="risks"><thead><tr><th scope="col">Total</th>\
<th scope="col" class="number">{_text(part.risk_word)}</th>{more}</tr></thead>\
<tbody>{rows}</tbody></table>
</section>"""


def _receipt(card: Card) -> str:
    lines = "".join(
        f"<div><dt>{_text(name)}</dt><dd>{_text(value)}</dd></div>" for name, value in card.receipt
    )
    return f"""<section><h2>Receipt</h2>
<dl class="receipt {_text(card.guarantee)}">{lines}</dl>
<details><summary>The whole receipt</summary><pre>{escape(card.whole_receipt)}</pre></details>
</section>"""


def _unused(part: CardPart) -> str:
    if not part.unused:
        return ""
    listed = _text(", ".join(part.unused))
    if len(part.unused) <= _MANY:
        return f'<p class="quiet">Not used (0 points): {listed}</p>'
    return (
        f"<details><summary>Not used (0 points): {len(part.unused)} statements</summary>"
        f"<p>{listed}</p></details>"
    )


def _items(texts: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{_text(text)}</li>" for text in texts) + "</ul>"


def _number_rows(rows: Iterable[tuple[str, str]]) -> str:
    return "".join(
        f'<tr><th scope="row">{_text(name)}</th><td class="number">{_text(value)}</td></tr>'
        for name, value in rows
    )


def _text(value: object) -> str:
    """Return a text that is neither markup nor a control sequence."""
    return escape(plain(value))


def _style() -> str:
    place = resources.files("opdisc.models.card") / "templates" / "card.css"
    return place.read_text(encoding="utf-8")
