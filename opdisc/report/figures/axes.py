"""Accuracy and regret against epsilon, and histograms of run time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from opdisc.report import Series
from opdisc.report.figures.curves import Curve, label_lines, shortened
from opdisc.report.figures.drawing import GRID, MUTED, REFERENCE_DASH, Drawing
from opdisc.report.figures.marks import draw_mark
from opdisc.report.figures.scales import Kind, Scale
from opdisc.report.figures.style import Style
from opdisc.report.formats import seconds_text

WIDE, NARROW = "wide", "narrow"

WIDTHS = {WIDE: 1040.0, NARROW: 400.0}

FONT = 13.5

_HEIGHT = 300.0

_NAMES = 320.0
"""Room for the names right of a wide figure, pixels."""

_PER_THOUSAND = 1000.0

_PER_DECADE = 12
"""Bins of a histogram from one power of ten to the next."""


def draw_accuracy(
    drawn: Sequence[Curve], *, size: str, in_page: bool, spreads: Sequence[str]
) -> Drawing:
    """Draw accuracy against epsilon.

    Parameters
    ----------
    drawn : sequence of Curve
        Methods and references.
    size : str
        "wide" (names at the lines) or "narrow" (none).
    in_page : bool
        Whether it is for a page, else for a file.
    spreads : sequence of str
        "sd" (one standard deviation of a run) and/or "ci" (95% interval of the mean).
    """
    low, high = _limits(drawn)
    margin = 0.06 * max(high - low, 0.02)
    return _against_epsilon(
        drawn,
        size=size,
        in_page=in_page,
        spreads=spreads,
        kind="linear",
        limits=(max(low - margin, -0.01), min(high + margin, 1.01)),
        label="accuracy",
        text=lambda value: f"{100 * value:g}%",
    )


def draw_regret(
    drawn: Sequence[Curve], *, size: str, in_page: bool, spreads: Sequence[str]
) -> Drawing:
    """Draw training errors beyond the optimum, per 1,000 rows, against epsilon."""
    lowest = min((value.mean for curve in drawn for value in curve.values), default=0.0)
    highest = _limits(drawn)[1]
    return _against_epsilon(
        drawn,
        size=size,
        in_page=in_page,
        spreads=spreads,
        kind="signed",
        limits=(
            1.5 * min(_PER_THOUSAND * lowest, -0.5),
            1.3 * max(_PER_THOUSAND * highest, 1.0),
        ),
        label="extra errors per 1,000 rows",
        text=lambda value: f"{value:,g}".replace("-", "−"),
        factor=_PER_THOUSAND,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """How long the runs of one series took.

    Parameters
    ----------
    series, style : Series, Style
        Whose, and how they are drawn.
    seconds : pandas Series of float64
        Of the runs that ended by themselves.
    stopped : pandas Series of float64
        Time limits of the runs that were stopped: they would have taken longer.
    remark : str
        Counts the runs that gave nothing.
    """

    series: Series
    style: Style
    seconds: pd.Series
    stopped: pd.Series
    remark: str


def draw_seconds(drawn: Sequence[Times], *, size: str, in_page: bool) -> Drawing:
    """Draw a histogram of seconds for each method, one above the other on a logarithmic axis.

    Runs that were stopped are an outlined bar that begins at their limit and is open to the right.

    Parameters
    ----------
    drawn : sequence of Times
        By series.
    size : str
        "wide" (names at the side) or "narrow" (names above).
    in_page : bool
        Whether it is for a page, else for a file.
    """
    wide, each = size == WIDE, 46.0 if size == WIDE else 58.0
    bottom = 8 + each * max(1, len(drawn))
    drawing = Drawing(WIDTHS[size], bottom + 34, in_page=in_page)
    left, right = (350.0, 900.0) if wide else (14.0, 386.0)
    # An open bar is as wide as a bin and begins at its limit.
    shown = [values for t in drawn for values in (t.seconds, t.stopped * 10 ** (1 / _PER_DECADE))]
    bins = _log_bins(np.concatenate([np.empty(0), *shown]))
    x = Scale(kind="log", low=bins[0], high=bins[-1], start=left, end=right)
    for row, times in enumerate(drawn):
        base = 8 + each * (row + 1)
        drawing.line([(left, base), (right, base)], GRID)
        _draw_bars(drawing, times, bins, x, base, (0.72 if wide else 0.5) * each)
        _name_histogram(drawing, base, times, (left, right) if wide else None)
    for tick in x.ticks():
        drawing.line([(x(tick), bottom), (x(tick), bottom + 5)], MUTED)
        drawing.text((x(tick), bottom + 18), f"{tick:g} s", size=FONT, anchor="middle")
    return drawing


def _draw_bars(
    drawing: Drawing, times: Times, bins: Sequence[float], x: Scale, base: float, height: float
) -> None:
    """Draw a bar for each bin, and one for each limit; the highest of them has the height."""
    counts = np.histogram(np.clip(times.seconds, bins[0], bins[-1]), list(bins))[0]
    limits, stopped = np.unique(times.stopped.to_numpy(), return_counts=True)
    tallest = max(1, int(counts.max()), *stopped.tolist())
    for start, end, share in zip(bins, bins[1:], counts / tallest, strict=False):
        if share > 0:
            top = base - height * share
            drawing.area(
                [(x(start), base), (x(start), top), (x(end), top), (x(end), base)],
                times.style.light,
            )
    width = x(bins[1]) - x(bins[0])
    for limit, share in zip(limits.tolist(), (stopped / tallest).tolist(), strict=True):
        start, top = x(limit), base - height * share
        sides = [(start, base), (start, top), (start + width, top)]
        middle = base - height * share / 2
        tip = [
            (start + width - 3, middle - 3),
            (start + width, middle),
            (start + width - 3, middle + 3),
        ]
        arrow = [(start + 2, middle), (start + width, middle)]
        drawing.strokes([sides, arrow, tip], times.style.light, width=1.4)


def _name_histogram(
    drawing: Drawing, base: float, times: Times, sides: tuple[float, float] | None
) -> None:
    """Write whose histogram it is: at its sides, or above it."""
    series, seconds, remark = times.series, times.seconds, times.remark
    median = f"median {seconds_text(float(seconds.median()))}" if len(seconds) else "no result"
    if sides is None:
        text = ", ".join(part for part in (f"{shortened(series.title)}: {median}", remark) if part)
        drawing.text((14, base - 40), text, size=12.5)
        return
    left, right = sides[0] - 14, sides[1] + 10
    above = base - (24 if remark else 11)
    drawing.text((left, above), shortened(series.title), size=FONT, anchor="end")
    if remark:
        drawing.text((left, base - 7), remark, size=12, color=MUTED, anchor="end")
    drawing.text((right, base - 11), median, size=FONT, color=MUTED)


def _log_bins(seconds: np.ndarray) -> list[float]:
    positive = seconds[seconds > 0]
    if not len(positive):
        return [float(value) for value in np.geomspace(1e-3, 1, 11)]
    low, high = math.log10(positive.min()), math.log10(positive.max())
    low, high = math.floor(low * 4) / 4, math.ceil(high * 4 + 1e-9) / 4
    if high - low < 1:
        low, high = low - 0.5, high + 0.5
    return [
        float(value) for value in np.logspace(low, high, round((high - low) * _PER_DECADE) + 1)
    ]


def _limits(drawn: Sequence[Curve]) -> tuple[float, float]:
    """Return the range of means and standard deviations; intervals of few repeats are wider."""
    values = [value for curve in drawn for value in curve.values]
    spreads = [value.stddev if math.isfinite(value.stddev) else 0.0 for value in values]
    low = min(value.mean - spread for value, spread in zip(values, spreads, strict=True))
    high = max(value.mean + spread for value, spread in zip(values, spreads, strict=True))
    return low, high


def _against_epsilon(
    drawn: Sequence[Curve],
    *,
    size: str,
    in_page: bool,
    spreads: Sequence[str],
    kind: Kind,
    limits: tuple[float, float],
    label: str,
    text: Callable[[float], str],
    factor: float = 1.0,
) -> Drawing:
    wide = size == WIDE
    drawing = Drawing(WIDTHS[size], _HEIGHT, in_page=in_page)
    left, right = (72.0, WIDTHS[WIDE] - _NAMES) if wide else (64.0, 392.0)
    top, bottom = 8.0, drawing.height - 50
    epsilons = sorted({e for curve in drawn for e in curve.epsilons}) or [1.0]
    x = Scale(kind="log", low=epsilons[0] / 1.25, high=epsilons[-1] * 1.25, start=left, end=right)
    y = Scale(kind=kind, low=limits[0], high=limits[1], start=bottom, end=top)
    for tick in y.ticks():
        drawing.line([(left, y(tick)), (right, y(tick))], GRID)
        drawing.text((left - 8, y(tick)), text(tick), size=FONT, anchor="end")
    drawing.strokes([[(left, top), (left, bottom), (right, bottom)]], MUTED)
    if kind == "signed":
        drawing.line([(left, y(0)), (right, y(0))], MUTED)
    for epsilon in _apart(epsilons, x):
        drawing.line([(x(epsilon), bottom), (x(epsilon), bottom + 5)], MUTED)
        drawing.text((x(epsilon), bottom + 16), f"{epsilon:g}", size=FONT, anchor="middle")
    middle = ((left + right) / 2, drawing.height - 10)
    drawing.text(middle, "ε (smaller is more private)", size=FONT, anchor="middle")
    upright = (14.0, (top + bottom) / 2)
    drawing.text(upright, label, size=FONT, anchor="middle", upright=True)
    moving = [curve for curve in drawn if curve.epsilons]
    steps = _dodge(epsilons, len(moving))
    for curve in drawn:
        step = steps[moving.index(curve)] if curve.epsilons else 1.0
        _draw_curve(drawing, curve, x, y, step=step, factor=factor, spreads=spreads)
    if wide:
        ends = [y(factor * curve.values[-1].mean) for curve in drawn]
        label_lines(drawing, drawn, ends, left=right, span=(top, bottom))
    return drawing


def _draw_curve(
    drawing: Drawing,
    curve: Curve,
    x: Scale,
    y: Scale,
    *,
    step: float,
    factor: float,
    spreads: Sequence[str],
) -> None:
    style, index = curve.style, curve.series.index
    heights = [y(factor * value.mean) for value in curve.values]
    if not curve.epsilons:
        with drawing.series(index, "line"):
            ends = [(x.start, heights[0]), (x.end, heights[0])]
            drawing.line(ends, style.light, width=1.6, dash=REFERENCE_DASH)
        return
    places = [x(epsilon * step) for epsilon in curve.epsilons]
    points = list(zip(places, heights, strict=True))
    for spread in spreads:
        bars = []
        for place, value in zip(places, curve.values, strict=True):
            half = value.stddev if spread == "sd" else value.high - value.mean
            if math.isfinite(half) and half > 0:
                low, high = (y(factor * (value.mean + sign * half)) for sign in (-1, 1))
                bars += [[(place, low), (place, high)]]
                bars += [[(place - 3, end), (place + 3, end)] for end in (low, high)]
        with drawing.series(index, spread):
            drawing.strokes(bars, style.light, width=1.2)
    with drawing.series(index, "line"):
        drawing.line(points, style.light, width=2, dash=style.dash)
        for point in points:
            draw_mark(drawing, point, style.marker, style.light, filled=style.filled)


def _apart(epsilons: Sequence[float], x: Scale) -> list[float]:
    """Return the epsilons that can be written below the axis without touching."""
    written: list[float] = []
    for epsilon in epsilons:
        room = 5.0 * (len(f"{epsilon:g}") + len(f"{written[-1]:g}")) if written else 0.0
        if not written or x(epsilon) - x(written[-1]) > room:
            written.append(epsilon)
    return written


def _dodge(epsilons: Sequence[float], count: int) -> list[float]:
    """Return factors that set the series apart, so that their error bars do not overlap."""
    distinct = np.log10(list(epsilons))
    gap = float(np.diff(distinct).min()) if len(distinct) > 1 else 0.3
    width = min(0.4 * gap, 0.12)
    return [10 ** (width * (i / max(1, count - 1) - 0.5)) for i in range(count)]
