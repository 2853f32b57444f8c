"""A card as a picture, for slides and papers."""

from __future__ import annotations

import io
import textwrap
import warnings
from collections.abc import Iterator
from typing import Any

from opdisc.errors import OPDiscError, shortened
from opdisc.models.card.content import Card, card_content
from opdisc.models.card.parts import CardPart
from opdisc.models.card.source import CardSource, CardsSource, plain, signed

_LINE = 0.27
"""Inches from one line to the next."""

_WIDTH = 6.4

_LONGEST = {14: 42, 12: 50, 10: 58, 8: 90}
"""Characters of a line by size of the font.

A longer text loses its middle; a longer line of the receipt goes on below.
"""

_MOST_LINES = 400

_INK, _MUTED = "#1b2026", "#56606c"

_FOR, _AGAINST, _GOOD = "#0b5cad", "#a3341f", "#1d6b39"


def card_picture(model: CardSource | CardsSource) -> bytes:
    """Return a card as a PNG file.

    Parameters
    ----------
    model : SavedModel or SavedMulticlassModel
        Scorecards with their schema and receipt.

    Returns
    -------
    bytes
        Points, threshold and the first lines of the receipt.

    Raises
    ------
    OPDiscError
        If matplotlib is not installed, or the card is too long for a picture.
    """
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise OPDiscError(
            "a picture needs matplotlib, which is not installed; install opdisc[pictures], or "
            "write the page instead."
        ) from None
    lines = _lines(card_content(model))
    if len(lines) > _MOST_LINES:
        raise OPDiscError(
            "a picture holds a few hundred lines, but this card has more; write the page."
        )
    height = _LINE * (len(lines) + 1)
    figure = Figure(figsize=(_WIDTH, height), dpi=150, facecolor="white")
    for i, (left, right, look) in enumerate(lines):
        y = 1 - _LINE * (i + 1) / height
        for x, text, side in ((0.04, left, "left"), (0.96, right, "right")):
            figure.text(x, y, text, ha=side, va="center", parse_math=False, fontdict=look)
    out = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a glyph that the font lacks is a box
        figure.savefig(out, format="png", metadata={"Software": None})
    return out.getvalue()


_USUAL: dict[str, Any] = {"fontsize": 10, "color": _INK}

_STRONG: dict[str, Any] = {**_USUAL, "fontweight": "bold"}

_QUIET: dict[str, Any] = {"fontsize": 8, "color": _MUTED}


def _lines(card: Card) -> list[tuple[str, str, dict[str, Any]]]:
    lines = [(card.title, "", {**_STRONG, "fontsize": 14}), (card.subtitle, "", _QUIET)]
    for sentence in card.verdict:
        color = _GOOD if sentence == card.good_news else _AGAINST
        lines += _wrapped(sentence, {**_STRONG, "color": color})
    for part in () if card.is_only_constant else card.parts:
        lines += _part_lines(part)
    if not card.parts[0].outcomes and not card.is_only_constant:
        lines.append(("The highest total gives the answer.", "", _STRONG))
    for name, text in card.receipt:  # of a promise no part may be left out
        lines += _wrapped(f"{name}: {text}", _QUIET)
    return [
        (shortened(plain(left), _LONGEST[look["fontsize"]]), right, look)
        for left, right, look in lines
    ]


def _wrapped(text: str, look: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(line, "", look) for line in textwrap.wrap(plain(text), _LONGEST[look["fontsize"]])]


def _part_lines(part: CardPart) -> Iterator[tuple[str, str, dict[str, Any]]]:
    if part.name:
        yield "", "", _QUIET
        yield part.name, "", {**_STRONG, "fontsize": 12}
    yield "Start with", signed(part.start), _STRONG
    for group in part.groups:
        if group.is_yes_or_no:
            ((_, points),) = group.lines
            yield group.column, signed(points), {**_STRONG, "color": _color(points)}
            continue
        yield group.column, "", _STRONG
        for word, points in group.lines:
            yield f"    {word}", signed(points), {**_USUAL, "color": _color(points)}
    for totals, answer in part.outcomes:
        yield f"{totals}: {answer}", "", _STRONG
    yield from _wrapped(part.odds, _QUIET)


def _color(points: int) -> str:
    return _FOR if points > 0 else _AGAINST
