"""The figure of mean ROC curves: a panel for each epsilon."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter
from numpy.typing import ArrayLike

from opdisc.report.analysis import MeanCurve
from opdisc.report.figures.axes import FONT, MUTED, PAPER, WIDE, WIDTHS, plain_axes
from opdisc.report.figures.curves import shortened
from opdisc.report.figures.style import Style

_REFERENCE_DASH = (0, (6, 3))

_LEGEND_LINE, _LEGEND_COLUMNS = 0.23, 3  # inches, names beside each other


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


def draw_roc(panels: Sequence[RocPanel], *, size: str) -> Figure:
    """Draw true positive rates against false positive rates.

    Parameters
    ----------
    panels : sequence of RocPanel
        By epsilon.
    size : str
        "wide" (with the names below) or "narrow" (without).
    """
    width, wide = WIDTHS[size], size == WIDE
    columns = min(len(panels), 3 if wide else 2)
    rows = math.ceil(len(panels) / columns)
    left, right, gap = (0.75, 0.35, 0.5) if wide else (0.78, 0.3, 0.46)
    side = min((width - left - right - gap * (columns - 1)) / columns, 4.2)
    above, below = 0.32, 0.62
    names = list({c.cell.series.index: (c, s) for p in panels for c, s in p.curves}.values())
    lines = math.ceil(len(names) / _LEGEND_COLUMNS) if wide else 0
    legend = _LEGEND_LINE * lines + (0.2 if lines else 0.0)
    height = rows * (side + above) + (rows - 1) * 0.3 + below + legend
    figure = Figure(figsize=(width, height))
    figure.patch.set_alpha(0)
    for number, panel in enumerate(panels):
        row, column = divmod(number, columns)
        x = left + column * (side + gap)
        y = height - (row + 1) * (side + above) - row * 0.3
        axes = figure.add_axes((x / width, y / height, side / width, side / height))
        _draw_panel(axes, panel, size)
        if column == 0:
            axes.set_ylabel("true positive rate")
        else:
            axes.yaxis.set_major_formatter(FuncFormatter(lambda *_: ""))
        if number + columns >= len(panels):
            axes.set_xlabel("false positive rate")
    if lines:
        _draw_names(figure, names, width, height)
    return figure


def _draw_panel(axes: Axes, panel: RocPanel, size: str) -> None:
    plain_axes(axes, FONT[size])
    axes.set_xlim(-0.015, 1.015)
    axes.set_ylim(-0.015, 1.015)
    axes.plot((0, 1), (0, 1), color=MUTED, linewidth=0.8, linestyle=(0, (1, 3)))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(FixedLocator([0.0, 0.5, 1.0]))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g}%"))
    axes.set_title(panel.title, loc="left", fontsize=FONT[size], color=MUTED, pad=5)
    for place, (curve, style) in enumerate(panel.curves):
        steps = len(curve.rates)
        line = _plot(axes, np.linspace(0, 1, steps), curve.rates, curve, style)
        # Markers at other places of each curve, so that they do not hide each other.
        first = max(1, steps // 20) + place * max(1, steps // 33)
        line.set_markevery((first % steps, max(1, steps // 3)))
        line.set_gid(f"series-{curve.cell.series.index}-line")


def _plot(axes: Axes, x: ArrayLike, y: ArrayLike, curve: MeanCurve, style: Style) -> Line2D:
    private = curve.cell.series.private
    (line,) = axes.plot(
        x,
        y,
        color=style.light,
        linestyle=style.dash if private else _REFERENCE_DASH,
        linewidth=1.5,
        marker=style.marker if private else None,
        markersize=5,
        markerfacecolor=style.light if style.filled else PAPER,
        markeredgewidth=1.2,
    )
    return line


def _draw_names(
    figure: Figure, names: Sequence[tuple[MeanCurve, Style]], width: float, height: float
) -> None:
    """Write the names below the panels, each after a piece of its line."""
    lines = math.ceil(len(names) / _LEGEND_COLUMNS)
    axes = figure.add_axes((0, 0.1 / height, 1, _LEGEND_LINE * lines / height))
    axes.set_axis_off()
    axes.set_xlim(0, width)
    axes.set_ylim(-lines, 0)
    for number, (curve, style) in enumerate(names):
        column, row = divmod(number, lines)
        x, y = 0.15 + column * (width - 0.15) / _LEGEND_COLUMNS, -row - 0.5
        line = _plot(axes, (x, x + 0.15, x + 0.3), (y, y, y), curve, style)
        line.set_markevery([1])
        line.set_gid(f"series-{curve.cell.series.index}-line")
        axes.text(
            x + 0.4,
            y,
            shortened(curve.cell.series.title),
            va="center",
            fontsize=9.2,
            color=style.light,
            gid=f"series-{curve.cell.series.index}-label",
        )
