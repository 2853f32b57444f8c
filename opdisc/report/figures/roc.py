"""The figures of mean ROC and calibration curves: a panel for each epsilon."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from opdisc.report import MeanCurve
from opdisc.report.figures.axes import FONT, WIDE, WIDTHS
from opdisc.report.figures.curves import shortened
from opdisc.report.figures.drawing import MUTED, REFERENCE_DASH, Drawing, Point
from opdisc.report.figures.marks import draw_mark
from opdisc.report.figures.style import Style

_NAME_LINE, _NAMES_ACROSS = 22.0, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class RocPanel:
    """The curves at one epsilon, references included.

    Parameters
    ----------
    title : str
        Which epsilon.
    curves : tuple of (MeanCurve, Style)
        What is drawn.
    """

    title: str
    curves: tuple[tuple[MeanCurve, Style], ...]


def roc_panels(drawn: Sequence[MeanCurve], looks: dict[int, Style]) -> tuple[RocPanel, ...]:
    """Return a panel for each epsilon; methods that are not private are in all of them.

    Parameters
    ----------
    drawn : sequence of MeanCurve
        All curves.
    looks : dict of int to Style
        By index of the series.
    """
    found = sorted({c.cell.epsilon for c in drawn if c.cell.epsilon is not None})
    epsilons: list[float | None] = [*found] if found else [None]
    return tuple(
        RocPanel(
            title="no privacy" if epsilon is None else f"ε = {epsilon:g}",
            curves=tuple(
                (curve, looks[curve.cell.series.index])
                for curve in drawn
                if curve.cell.epsilon in (None, epsilon)
            ),
        )
        for epsilon in epsilons
    )


ROC_AXES = "false positive rate", "true positive rate"

CHANCE_AXES = "stated chance", "share of positive rows"


def draw_roc(
    panels: Sequence[RocPanel], *, size: str, in_page: bool, axes: tuple[str, str] = ROC_AXES
) -> Drawing:
    """Draw curves of shares against shares.

    Parameters
    ----------
    panels : sequence of RocPanel
        By epsilon.
    axes : (str, str)
        What lies across and up.
    size : str
        "wide" (with the names below) or "narrow" (without).
    in_page : bool
        Whether it is for a page, else for a file.
    """
    width, wide = WIDTHS[size], size == WIDE
    columns = min(len(panels), 3 if wide else 2)
    left, right, gap = (78.0, 30.0, 46.0) if wide else (64.0, 22.0, 36.0)
    side = min((width - left - right - gap * (columns - 1)) / columns, 420.0)
    above, below = 30.0, 52.0
    rows = math.ceil(len(panels) / columns)
    names = list({c.cell.series.index: (c, s) for p in panels for c, s in p.curves}.values())
    lines = math.ceil(len(names) / _NAMES_ACROSS) if wide else 0
    bottom = rows * (side + above) + below
    drawing = Drawing(width, bottom + _NAME_LINE * lines + 6, in_page=in_page)
    for number, panel in enumerate(panels):
        row, column = divmod(number, columns)
        x, y = left + column * (side + gap), above + row * (side + above)
        _draw_panel(drawing, panel, (x, y), side, axes[1] if column == 0 else "")
        if number + columns >= len(panels):
            for share, words in ((0.0, "0%"), (0.5, "50%"), (1.0, "100%")):
                place = (x + share * side, y + side + 14)
                drawing.text(place, words, size=FONT, anchor="middle")
            label = (x + side / 2, y + side + 34)
            drawing.text(label, axes[0], size=FONT, anchor="middle")
    if lines:
        _draw_names(drawing, names, bottom)
    return drawing


def _draw_panel(
    drawing: Drawing, panel: RocPanel, corner: Point, side: float, upright: str
) -> None:
    """Draw the panel whose upper left corner is given; ``upright`` names its axis, if any."""
    x, y = corner
    drawing.text((x, y - 12), panel.title, size=FONT, color=MUTED)
    drawing.strokes([[(x, y), (x, y + side), (x + side, y + side)]], MUTED)
    drawing.line([(x, y + side), (x + side, y)], MUTED, width=0.8, dash="1 3")
    if upright:
        for share, words in ((0.0, "0%"), (0.5, "50%"), (1.0, "100%")):
            drawing.text((x - 7, y + (1 - share) * side), words, size=FONT, anchor="end")
        label = (x - 50, y + side / 2)
        drawing.text(label, upright, size=FONT, anchor="middle", upright=True)
    for number, (curve, style) in enumerate(panel.curves):
        steps = len(curve.rates)
        points = [
            (x + side * across, y + side * (1 - rate))
            for across, rate in zip(curve.across.tolist(), curve.rates.tolist(), strict=True)
        ]
        # Marks at other places of each curve, so that they do not hide each other.
        start = (max(1, steps // 20) + number * max(1, steps // 33)) % steps
        _draw_line(drawing, points, points[start :: max(1, steps // 3)], curve, style)


def _draw_line(
    drawing: Drawing,
    points: Sequence[Point],
    marked: Sequence[Point],
    curve: MeanCurve,
    style: Style,
) -> None:
    private = curve.cell.series.private
    with drawing.series(curve.cell.series.index, "line"):
        dash = style.dash if private else REFERENCE_DASH
        drawing.line(points, style.light, width=1.6, dash=dash)
        for point in marked if private else ():
            draw_mark(drawing, point, style.marker, style.light, filled=style.filled, radius=3.6)


def _draw_names(drawing: Drawing, names: Sequence[tuple[MeanCurve, Style]], top: float) -> None:
    """Write the names below the panels, each after a piece of its line."""
    lines = math.ceil(len(names) / _NAMES_ACROSS)
    for number, (curve, style) in enumerate(names):
        column, row = divmod(number, lines)
        x = 16 + column * (drawing.width - 16) / _NAMES_ACROSS
        y = top + (row + 0.5) * _NAME_LINE
        piece = [(x, y), (x + 15, y), (x + 30, y)]
        _draw_line(drawing, piece, piece[1:2], curve, style)
        with drawing.series(curve.cell.series.index, "label"):
            words = shortened(curve.cell.series.title)
            drawing.text((x + 38, y), words, size=12.5, color=style.light)
