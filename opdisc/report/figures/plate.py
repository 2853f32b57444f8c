"""Which figures there are: each drawn once for files and twice for the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import pandas as pd
from markupsafe import Markup

from opdisc.report import Evaluation, MeanCurve, ResultCell, Series, area_metric, mean_curves
from opdisc.report.figures.axes import (
    NARROW,
    WIDE,
    Times,
    draw_accuracy,
    draw_regret,
    draw_seconds,
)
from opdisc.report.figures.curves import Curve, curves
from opdisc.report.figures.drawing import Drawing
from opdisc.report.figures.roc import CHANCE_AXES, draw_roc, roc_panels
from opdisc.report.figures.style import Style
from opdisc.report.formats import percent

UNCERTIFIED = "no certificate came within the time limit"
"""How the row of a run begins its error that was stopped while an oracle minimised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plate:
    """One figure of the page and of the directory.

    Parameters
    ----------
    name : str
        Its name in the page and of its files.
    title : str
        What it shows.
    wide, narrow : Markup
        For large and small screens.
    files : tuple of (str, str)
        File names and contents.
    """

    name: str
    title: str
    wide: Markup
    narrow: Markup
    files: tuple[tuple[str, str], ...]


def plates(
    views: Sequence[tuple[Evaluation, Sequence[ResultCell]]],
    runs: pd.DataFrame,
    series: Sequence[Series],
    looks: dict[int, Style],
) -> tuple[Plate, ...]:
    """Return every figure for which there are numbers."""
    found = []
    for evaluation, cells in views:
        drawn = curves(cells, looks, evaluation.metric)
        if drawn:
            title = f"Accuracy against ε, {evaluation.name}"
            name = f"accuracy-{evaluation.name}"
            found.append(_spread_plate(name, title, drawn, draw_accuracy, _accuracy_text(drawn)))
    found += _roc_plates(*views[0], looks)
    found += _calibration_plates(*views[0], looks)
    drawn = curves(views[-1][1], looks, "regret", references=False)
    if drawn:
        title = "Regret: training errors beyond the best scorecard without privacy, against ε"
        text = "Errors per 1,000 training rows; the numbers are in the table of all numbers."
        found.append(_spread_plate("regret", title, drawn, draw_regret, text))
    found.append(_seconds_plate(_times(runs, series, looks, "seconds"), "seconds", "a fit"))
    solving = _times(runs[_minimises(runs)], series, looks, "solve_seconds")
    if solving:
        found.append(_seconds_plate(solving, "solves", "an oracle's solve"))
    return tuple(found)


def _spread_plate(
    name: str,
    title: str,
    drawn: Sequence[Curve],
    draw: Callable[..., Drawing],
    description: str,
) -> Plate:
    files = [
        (f"{name}{end}.svg", draw(drawn, size=WIDE, in_page=False, spreads=(spread,)).file())
        for spread, end in (("sd", ""), ("ci", "-ci95"))
    ]
    return _plate(name, title, partial(draw, drawn, spreads=("sd", "ci")), description, files)


def _roc_plates(
    evaluation: Evaluation, cells: Sequence[ResultCell], looks: dict[int, Style]
) -> list[Plate]:
    """Return the figure of mean ROC curves; none where no run stored one."""
    drawn = mean_curves(evaluation, cells)
    if not drawn:
        return []
    draw = partial(draw_roc, roc_panels(drawn, looks))
    name = f"roc-{evaluation.name}"
    files = [(f"{name}.svg", draw(size=WIDE, in_page=False).file())]
    text = _areas_text(drawn, area_metric(evaluation))
    return [_plate(name, f"Mean ROC curves, {evaluation.name}", draw, text, files)]


def _calibration_plates(
    evaluation: Evaluation, cells: Sequence[ResultCell], looks: dict[int, Style]
) -> list[Plate]:
    """Return the figure of mean calibration curves; none where no run stored one."""
    drawn = mean_curves(evaluation, cells, "calibration")
    if not drawn:
        return []
    draw = partial(draw_roc, roc_panels(drawn, looks), axes=CHANCE_AXES)
    name = f"calibration-{evaluation.name}"
    files = [(f"{name}.svg", draw(size=WIDE, in_page=False).file())]
    text = "The Brier scores are in the table of all numbers."
    title = f"Stated chances and what came, {evaluation.name}"
    return [_plate(name, title, draw, text, files)]


def _areas_text(drawn: Sequence[MeanCurve], area: str) -> str:
    parts = []
    for curve in drawn:
        cell, known = curve.cell, curve.cell.metrics.get(area)
        at = "" if cell.epsilon is None else f" at ε = {cell.epsilon:g}"
        if known is not None:
            parts.append(f"{cell.series.title}{at}: area {known.mean:.3f}.")
    return " ".join(parts)


def _minimises(runs: pd.DataFrame) -> pd.Series:
    """Return which runs had an oracle find points, those that were stopped while it did included.

    A majority class is found by one too, among two answers: that is no search.
    """
    refused = runs["status"].eq("time limit") & runs["error"].str.startswith(UNCERTIFIED, na=False)
    return runs["weight_bound"].notna() & (runs["solve_seconds"].notna() | refused)


def _times(
    runs: pd.DataFrame, series: Sequence[Series], looks: dict[int, Style], column: str
) -> list[Times]:
    """Return the times in a column of every series that has runs."""
    found = []
    for one in series:
        mine = runs[runs["series"] == one.index]
        if len(mine):
            times = Times(
                series=one,
                style=looks[one.index],
                seconds=mine[mine["status"] == "ok"][column].dropna(),
                stopped=mine[mine["status"] == "time limit"]["seconds"].dropna(),
                remark=_stopped(mine),
            )
            found.append(times)
    return found


def _seconds_plate(drawn: Sequence[Times], name: str, what: str) -> Plate:
    draw = partial(draw_seconds, drawn)
    files = [(f"{name}.svg", draw(size=WIDE, in_page=False).file())]
    text = "One histogram per method; medians and maxima are in the table below it."
    return _plate(name, f"Seconds of {what}, on a logarithmic scale", draw, text, files)


def _plate(
    name: str,
    title: str,
    draw: Callable[..., Drawing],
    description: str,
    files: Sequence[tuple[str, str]],
) -> Plate:
    wide, narrow = (
        Markup(  # nosec B704 # drawn here, its texts escaped
            draw(size=size, in_page=True).markup(
                name=f"{name}-{size}", title=title, description=description
            )
        )
        for size in (WIDE, NARROW)
    )
    return Plate(name=name, title=title, wide=wide, narrow=narrow, files=tuple(files))


def _stopped(runs: pd.DataFrame) -> str:
    limited = int((runs["status"] == "time limit").sum())
    failed = int((runs["status"] != "ok").sum()) - limited
    parts = [f"{limited} at the time limit"] * (limited > 0) + [f"{failed} failed"] * (failed > 0)
    return ", ".join(parts)


def _accuracy_text(drawn: Sequence[Curve]) -> str:
    parts = []
    for curve in drawn:
        first, last = percent(curve.values[0].mean), percent(curve.values[-1].mean)
        if curve.epsilons:
            low, high = f"{curve.epsilons[0]:g}", f"{curve.epsilons[-1]:g}"
            parts.append(f"{curve.series.title}: {first} at ε = {low}, {last} at ε = {high}.")
        else:
            parts.append(f"{curve.series.title}: {first}.")
    return " ".join(parts)
