"""The figures: accuracy and regret against epsilon, and histograms of run time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from opdisc.report.analysis import Series
from opdisc.report.figures.curves import Curve, label_lines, shortened
from opdisc.report.figures.style import Style
from opdisc.report.formats import seconds_text

INK, MUTED, GRID, PAPER = "#1a1d22", "#5b6470", "#dfe3e8", "#fefefe"

WIDE, NARROW = "wide", "narrow"

WIDTHS = {WIDE: 10.4, NARROW: 4.5}

FONT = {WIDE: 11.0, NARROW: 10.5}

_LABEL_SHARE = 0.33

_PER_THOUSAND = 1000.0


def draw_accuracy(drawn: Sequence[Curve], *, size: str, spreads: Sequence[str]) -> Figure:
    """Draw accuracy against epsilon.

    Parameters
    ----------
    drawn : sequence of Curve
        Methods and references.
    size : str
        "wide" (labels at the lines) or "narrow" (none).
    spreads : sequence of str
        "sd" (one standard deviation of a run) and/or "ci" (95% interval of the mean).
    """
    figure, axes = _canvas(size, height=5.4 if size == WIDE else 4.4)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:g}%"))
    _draw_curves(axes, drawn, spreads, scale=1.0)
    low, high = _limits(drawn)
    margin = 0.05 * max(high - low, 0.02)
    axes.set_ylim(max(low - margin, -0.01), min(high + margin, 1.01))
    axes.set_ylabel("accuracy")
    _finish(axes, drawn, size, scale=1.0)
    return figure


def draw_regret(drawn: Sequence[Curve], *, size: str, spreads: Sequence[str]) -> Figure:
    """Draw training errors beyond the optimum, per 1,000 rows, against epsilon."""
    figure, axes = _canvas(size, height=5.2 if size == WIDE else 4.4)
    axes.set_yscale("symlog", linthresh=1.0, linscale=0.6)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.axhline(0, color=MUTED, linewidth=1)
    _draw_curves(axes, drawn, spreads, scale=_PER_THOUSAND)
    lowest = min((value.mean for curve in drawn for value in curve.values), default=0.0)
    highest = _limits(drawn)[1]
    axes.set_ylim(1.5 * min(_PER_THOUSAND * lowest, -0.5), 1.3 * max(_PER_THOUSAND * highest, 1.0))
    axes.set_ylabel("extra errors per 1,000 rows")
    _finish(axes, drawn, size, scale=_PER_THOUSAND)
    return figure


def draw_seconds(drawn: Sequence[tuple[Series, Style, pd.Series, str]], *, size: str) -> Figure:
    """Draw a histogram of seconds for each method, one above the other on a logarithmic axis.

    Parameters
    ----------
    drawn : sequence of (Series, Style, seconds, remark)
        Seconds of the runs that succeeded; the remark counts those that did not.
    size : str
        "wide" (names at the side) or "narrow" (names above).
    """
    rows = max(1, len(drawn))
    height = 0.5 + (0.5 if size == WIDE else 0.62) * rows
    figure = Figure(figsize=(WIDTHS[size], height))
    figure.patch.set_alpha(0)
    left, right = (0.34, 0.88) if size == WIDE else (0.03, 0.95)
    axes = figure.add_axes((left, 0.4 / height, right - left, 1 - 0.45 / height))
    plain_axes(axes, FONT[size])
    bins = _log_bins(np.concatenate([np.empty(0), *(s.to_numpy() for _, _, s, _ in drawn)]))
    for row, (series, style, seconds, remark) in enumerate(drawn):
        base = float(rows - 1 - row)
        counts = np.histogram(np.clip(seconds, bins[0], bins[-1]), list(bins))[0]
        tallest = int(counts.max()) if len(seconds) else 0
        axes.axhline(base, color=GRID, linewidth=0.8)
        shape = base + (0.78 if size == WIDE else 0.55) * counts / max(1, tallest)
        axes.stairs(shape, list(bins), baseline=base, fill=True, color=style.light)
        _name_histogram(axes, base, series, seconds, remark, size)
    axes.set_xscale("log")
    axes.set_xlim(bins[0], bins[-1])
    axes.set_ylim(-0.05, rows)
    axes.spines["left"].set_visible(False)
    axes.yaxis.set_major_locator(NullLocator())
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} s"))
    return figure


def _name_histogram(
    axes: Axes, base: float, series: Series, seconds: pd.Series, remark: str, size: str
) -> None:
    median = f"median {seconds_text(float(seconds.median()))}" if len(seconds) else "no result"
    across = axes.get_yaxis_transform()
    if size == WIDE:
        name = shortened(series.title)
        height = base + (0.4 if remark else 0.15)
        axes.text(-0.02, height, name, transform=across, ha="right", color=INK, fontsize=10.5)
        axes.text(-0.02, base, remark, transform=across, ha="right", color=MUTED, fontsize=9.5)
        axes.text(1.01, base + 0.15, median, transform=across, color=MUTED, fontsize=10.5)
        return
    text = ", ".join(part for part in (f"{shortened(series.title)}: {median}", remark) if part)
    axes.text(0.0, base + 0.65, text, transform=across, color=INK, fontsize=9.5)


def _log_bins(seconds: np.ndarray) -> np.ndarray:
    positive = seconds[seconds > 0]
    if not len(positive):
        return np.geomspace(1e-3, 1, 11)
    low, high = np.log10(positive.min()), np.log10(positive.max())
    low, high = math.floor(low * 4) / 4, math.ceil(high * 4 + 1e-9) / 4
    if high - low < 1:
        low, high = low - 0.5, high + 0.5
    return np.logspace(low, high, round((high - low) * 12) + 1)


def _limits(drawn: Sequence[Curve]) -> tuple[float, float]:
    """Return the range of means and standard deviations; intervals of few repeats are wider."""
    values = [value for curve in drawn for value in curve.values]
    spreads = [value.stddev if math.isfinite(value.stddev) else 0.0 for value in values]
    low = min(value.mean - spread for value, spread in zip(values, spreads, strict=True))
    high = max(value.mean + spread for value, spread in zip(values, spreads, strict=True))
    return low, high


def _canvas(size: str, *, height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(WIDTHS[size], height))
    figure.patch.set_alpha(0)
    left, right = (0.085, 1 - _LABEL_SHARE) if size == WIDE else (0.17, 0.98)
    axes = figure.add_axes((left, 0.12, right - left, 0.85))
    plain_axes(axes, FONT[size])
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_xscale("log")
    return figure, axes


def plain_axes(axes: Axes, font: float) -> None:
    """Give axes the look of the page: two sides, quiet ticks, text of a size in points."""
    axes.patch.set_alpha(0)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("bottom", "left"):
        axes.spines[side].set_color(MUTED)
    axes.tick_params(which="both", colors=MUTED, labelcolor=INK, labelsize=font)
    axes.title.set_fontsize(font)
    axes.xaxis.label.set_fontsize(font)
    axes.yaxis.label.set_fontsize(font)
    axes.xaxis.label.set_color(INK)
    axes.yaxis.label.set_color(INK)


def _draw_curves(
    axes: Axes, drawn: Sequence[Curve], spreads: Sequence[str], *, scale: float
) -> None:
    epsilons = _epsilons(drawn)
    # First of all: lines across an axis of a single epsilon have no width to go by.
    axes.set_xlim(epsilons[0] / 1.25, epsilons[-1] * 1.25)
    moving = [curve for curve in drawn if curve.epsilons]
    steps = _dodge([e for curve in moving for e in curve.epsilons], len(moving))
    for curve in drawn:
        means = scale * np.array([value.mean for value in curve.values])
        style = curve.style
        if not curve.epsilons:
            line = axes.axhline(means[0], color=style.light, linewidth=1.4, linestyle=(0, (6, 3)))
            line.set_gid(f"series-{curve.series.index}-line")
            continue
        x = np.array(curve.epsilons) * steps[moving.index(curve)]
        (line,) = axes.plot(
            x,
            means,
            color=style.light,
            linestyle=style.dash,
            linewidth=1.8,
            marker=style.marker,
            markersize=6.5,
            markerfacecolor=style.light if style.filled else PAPER,
            markeredgewidth=1.5,
        )
        line.set_gid(f"series-{curve.series.index}-line")
        for spread in spreads:
            _draw_spread(axes, curve, x, means, spread, scale)


def _draw_spread(
    axes: Axes, curve: Curve, x: np.ndarray, means: np.ndarray, spread: str, scale: float
) -> None:
    if spread == "sd":
        half = np.array([value.stddev for value in curve.values])
    else:
        half = np.array([value.high - value.mean for value in curve.values])
    half = scale * np.where(np.isfinite(half), half, 0.0)
    bars = axes.errorbar(
        x, means, yerr=half, fmt="none", ecolor=curve.style.light, elinewidth=1.2, capsize=3
    )
    for number, artist in enumerate([*bars.lines[1], *bars.lines[2]]):
        artist.set_gid(f"series-{curve.series.index}-{spread}-{number}")


def _dodge(epsilons: Sequence[float], count: int) -> list[float]:
    """Return factors that set the series apart, so that their error bars do not overlap."""
    distinct = np.log10(sorted(set(epsilons)))
    gap = float(np.diff(distinct).min()) if len(distinct) > 1 else 0.3
    width = min(0.4 * gap, 0.12)
    return [10 ** (width * (i / max(1, count - 1) - 0.5)) for i in range(count)]


def _epsilons(drawn: Sequence[Curve]) -> list[float]:
    """Return the epsilons of a figure in order; 1 where nothing has any."""
    return sorted({e for curve in drawn for e in curve.epsilons}) or [1.0]


def _finish(axes: Axes, drawn: Sequence[Curve], size: str, *, scale: float) -> None:
    axes.xaxis.set_major_locator(FixedLocator(_epsilons(drawn)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel("ε (smaller is more private)")
    if size == WIDE:
        label_lines(axes, drawn, scale)
