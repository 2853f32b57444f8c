"""Curves of a figure, and their names beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from opdisc.report.analysis import Interval, ResultCell, Series
from opdisc.report.figures.style import Style


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One series of a figure.

    Parameters
    ----------
    series : Series
        What is drawn.
    style : Style
        How it is drawn.
    epsilons : tuple of float
        Empty for a method that is not private: a horizontal line.
    values : tuple of Interval
        One for each epsilon; a single one without epsilons.
    """

    series: Series
    style: Style
    epsilons: tuple[float, ...]
    values: tuple[Interval, ...]


def curves(
    cells: Sequence[ResultCell], looks: dict[int, Style], value: str, *, references: bool = True
) -> tuple[Curve, ...]:
    """Return the curves of one quantity.

    Parameters
    ----------
    cells : sequence of ResultCell
        In the order of the series.
    looks : dict of int to Style
        By index of the series.
    value : str
        A metric, or "regret".
    references : bool
        Whether methods that are not private are drawn too.
    """
    found: dict[int, list[tuple[ResultCell, Interval]]] = {}
    for cell in cells:
        interval = cell.regret if value == "regret" else cell.metrics.get(value)
        if interval is None or interval.n == 0 or (cell.epsilon is None and not references):
            continue
        found.setdefault(cell.series.index, []).append((cell, interval))
    return tuple(
        Curve(
            series=pairs[0][0].series,
            style=looks[index],
            epsilons=tuple(cell.epsilon for cell, _ in pairs if cell.epsilon is not None),
            values=tuple(interval for _, interval in pairs),
        )
        for index, pairs in found.items()
    )


def label_lines(axes: Axes, drawn: Sequence[Curve], scale: float) -> None:
    """Write each series' name right of its last point, apart from each other."""
    transform = axes.transData + axes.transAxes.inverted()
    low, high = axes.get_ylim()
    ends = [float(np.clip(scale * curve.values[-1].mean, low, high)) for curve in drawn]
    start = axes.get_xlim()[1]
    heights = [float(transform.transform((start, end))[1]) for end in ends]
    placed = spread_out(heights, gap=min(0.043, 1.0 / max(1, len(drawn))))
    for curve, height, place in zip(drawn, heights, placed, strict=True):
        gid, color = f"series-{curve.series.index}-label", curve.style.light
        axes.plot(
            (1.0, 1.012, 1.048, 1.056),
            (height, height, place, place),
            transform=axes.transAxes,
            clip_on=False,
            color=color,
            linewidth=0.8,
            gid=f"{gid}-pointer",
        )
        axes.text(
            1.064,
            place,
            shortened(curve.series.title),
            transform=axes.transAxes,
            va="center",
            ha="left",
            fontsize=9.2,
            color=color,
            gid=gid,
        )


def shortened(title: str) -> str:
    """Return a title that fits beside a figure."""
    return title if len(title) <= 46 else title[:45].rstrip() + "…"


def spread_out(heights: Sequence[float], *, gap: float) -> list[float]:
    """Return places in [0, 1] near the heights, in their order and at least ``gap`` apart.

    The gap must leave room for all of them. Neighbours that are too close share the shift.
    """
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    groups: list[list[float]] = []  # each: wanted places of its first member
    for rank, i in enumerate(order):
        groups.append([heights[i] - gap * rank])
        while len(groups) > 1 and np.mean(groups[-2]) > np.mean(groups[-1]):
            above = groups.pop()
            groups[-1] += above
    offsets = [float(np.mean(group)) for group in groups for _ in group]
    highest = max(0.0, 1.0 - gap * (len(heights) - 1))
    places = [0.0] * len(heights)
    for rank, i in enumerate(order):
        places[i] = min(max(offsets[rank], 0.0), highest) + gap * rank
    return places
