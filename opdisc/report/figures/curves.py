"""Curves of a figure, and their names beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from opdisc.report import Interval, ResultCell, Series
from opdisc.report.figures.drawing import Drawing
from opdisc.report.figures.style import Style

_LINE = 16.0
"""From one name to the next, pixels."""


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


def label_lines(
    drawing: Drawing,
    drawn: Sequence[Curve],
    ends: Sequence[float],
    *,
    left: float,
    span: tuple[float, float],
) -> None:
    """Write each series' name right of its last point, apart from each other.

    Parameters
    ----------
    drawing : Drawing
        With room right of the axes.
    drawn : sequence of Curve
        Whose names.
    ends : sequence of float
        The height of each last point, pixels from the top.
    left : float
        Where the axes end.
    span : (float, float)
        Their top and bottom.
    """
    top, bottom = span
    shares = [(end - top) / (bottom - top) for end in ends]
    gap = min(_LINE / (bottom - top), 1.0 / max(1, len(drawn)))
    for curve, end, share in zip(drawn, ends, spread_out(shares, gap=gap), strict=True):
        height, color = top + share * (bottom - top), curve.style.light
        with drawing.series(curve.series.index, "label"):
            pointer = [(left, end), (left + 6, end), (left + 22, height), (left + 28, height)]
            drawing.line(pointer, color, width=0.8)
            name = shortened(curve.series.title)
            drawing.text((left + 33, height), name, size=12.5, color=color)


def shortened(title: str) -> str:
    """Return a title that fits beside a figure."""
    return title if len(title) <= 42 else title[:41].rstrip() + "…"


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
