"""A card as a picture, for slides and papers."""

from __future__ import annotations

import io
import warnings
from typing import Any

from opdisc.errors import OPDiscError, shortened
from opdisc.models.card.content import Card, CardSource, card_content, plain, signed

_LINE = 0.27
"""Inches from one line to the next."""

_WIDTH = 6.4

_LONGEST = {14: 42, 10: 58, 8: 90}
"""Characters of a line by size of the font; a longer text loses its middle."""

_MOST_LINES = 400

_INK, _MUTED = "#1b2026", "#56606c"

_FOR, _AGAINST = "#0b5cad", "#a3341f"


def card_picture(model: CardSource) -> bytes:
    """Return a card as a PNG file.

    Parameters
    ----------
    model : SavedModel
        A scorecard with its schema and receipt.

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
            "a picture needs matplotlib, which is not installed; install opdisc[report], or write "
            "the page instead."
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


def _lines(card: Card) -> list[tuple[str, str, dict[str, Any]]]:
    usual: dict[str, Any] = {"fontsize": 10, "color": _INK}
    strong: dict[str, Any] = {**usual, "fontweight": "bold"}
    quiet: dict[str, Any] = {"fontsize": 8, "color": _MUTED}
    lines = [(card.title, "", {**strong, "fontsize": 14}), (card.subtitle, "", quiet)]
    lines += [(sentence, "", {**strong, "color": _AGAINST}) for sentence in card.verdict]
    lines.append(("Start with", signed(card.start), strong))
    for group in card.groups:
        if group.is_yes_or_no:
            ((_, points),) = group.lines
            lines.append((group.column, signed(points), {**strong, "color": _color(points)}))
            continue
        lines.append((group.column, "", strong))
        for word, points in group.lines:
            look = {**usual, "color": _color(points)}
            lines.append((f"    {word}", signed(points), look))
    threshold = card.explanation.threshold
    lines.append((f"Total of {threshold} or more: {card.positive}", "", strong))
    lines.append((f"Otherwise: {card.negative}", "", strong))
    lines += [(f"{name}: {text}", "", quiet) for name, text in card.receipt]
    return [
        (shortened(plain(left), _LONGEST[look["fontsize"]]), right, look)
        for left, right, look in lines
    ]


def _color(points: int) -> str:
    return _FOR if points > 0 else _AGAINST
