"""The page: everything the template shows, as text and markup.

Every file of a report is written whole or not at all, the page last.
"""

from __future__ import annotations

import base64
import hashlib
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from opdisc.data import atomic_write_text, write_table
from opdisc.report import evidence, formats
from opdisc.report.cells import Evaluation, ResultCell, evaluations, find_cells
from opdisc.report.error_costs import cost_lines
from opdisc.report.figures import (
    DARK_BACKGROUND,
    GRID,
    INK,
    LIGHT_BACKGROUND,
    MUTED,
    PAPER,
    REFERENCE_DASH,
    Drawing,
    Plate,
    Style,
    color_rules,
    draw_mark,
    plates,
    styles,
)
from opdisc.report.majority import majority_sentences
from opdisc.report.outcomes import missing_sentences
from opdisc.report.places import FIGURES, PAGE, SUMMARY
from opdisc.report.ranking import Ranking, rank
from opdisc.report.results import Results, read_results
from opdisc.report.series import Series, find_series
from opdisc.report.sweep import sweep_lines, sweep_sentences, swept_methods
from opdisc.report.tables import (
    area_sentence,
    best_lines,
    metric_heads,
    number_lines,
    outcome_lines,
    seconds_lines,
    summary_table,
)

_TEMPLATES = "templates"

_SECTIONS = (
    ("leads", "Leads"),
    ("charts", "More figures"),
    ("numbers", "All numbers"),
    ("time", "Running times"),
    ("promises", "Guarantees"),
    ("cards", "Scorecards"),
    ("receipts", "Receipts"),
    ("appendix", "How this was done"),
)

_CAPTIONS = {
    "accuracy-held-out": (
        "Share of held-out rows classified correctly. Dashed level lines have no privacy."
    ),
    "accuracy-training": (
        "Share of training rows classified correctly: what the mechanisms optimise, and what the "
        "paper of Neel, Roth, Vietri and Wu (2019) plots."
    ),
    "roc-held-out": (
        "Whom a method finds (true positive rate) against whom it alarms in vain (false positive "
        "rate), for every threshold on its scores, on the held-out rows: at each false positive "
        "rate the mean over the splits. A curve further up and left is better; the dotted "
        "diagonal is any constant answer."
    ),
    "roc-training": (
        "Whom a method finds (true positive rate) against whom it alarms in vain (false positive "
        "rate), for every threshold on its scores, on the training rows: at each false positive "
        "rate the mean over the repeats. A curve further up and left is better; the dotted "
        "diagonal is any constant answer."
    ),
    "calibration-held-out": (
        "Rows in ten groups of equal size by the chance that a method states: the mean chance "
        "against the share of positive rows, on the held-out rows, mean over the splits. A curve "
        "near the dotted diagonal states chances that come true."
    ),
    "calibration-training": (
        "Rows in ten groups of equal size by the chance that a method states: the mean chance "
        "against the share of positive rows, on the training rows, mean over the repeats. A curve "
        "near the dotted diagonal states chances that come true."
    ),
    "regret": (
        "What privacy costs on the training rows, beside the best scorecard of the same split "
        "(lower is better). The scale is linear between -1 and 1 and logarithmic beyond; bars may "
        "end at the lower edge."
    ),
}


_SWEPT = (
    "None is ranked: the oracles were given the same noise on purpose, so that their answers and "
    "times can be compared. Known noise protects nobody, so the receipts are VOID."
)


def page(
    results: Results,
    views: tuple[tuple[Evaluation, tuple[ResultCell, ...]], ...],
    rankings: tuple[Ranking, ...],
    series: tuple[Series, ...],
    looks: dict[int, Style],
    plates: tuple[Plate, ...],
) -> str:
    """Return the report as HTML that needs no other file and no network.

    Parameters
    ----------
    results : Results
        Runs with a column ``series``.
    views : tuple of (Evaluation, tuple of ResultCell)
        The view that ranks first.
    rankings : tuple of Ranking
        By epsilon.
    series : tuple of Series
        Every method.
    looks : dict of int to Style
        By index of the series.
    plates : tuple of Plate
        The figures.
    """
    environment = Environment(
        loader=PackageLoader("opdisc.report", _TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    script, style = _asset("script.js"), _asset("style.css")
    return environment.get_template("report.html").render(
        script=Markup(script),  # nosec B704 # shipped with the package
        script_digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        style=Markup(style),  # nosec B704
        light=Markup(_variables(looks, dark=False)),  # nosec B704 # our own colours
        dark=Markup(_variables(looks, dark=True)),  # nosec B704
        plates={plate.name: plate for plate in plates},
        legend=[
            (one, Markup(swatch(looks[one.index], line=not one.private)))  # nosec B704
            for one in series
        ],
        **_content(results, views, rankings, series),
    )


def _content(
    results: Results,
    views: tuple[tuple[Evaluation, tuple[ResultCell, ...]], ...],
    rankings: tuple[Ranking, ...],
    series: tuple[Series, ...],
) -> dict[str, Any]:
    evaluation, cells = views[0]
    swept = swept_methods(results.runs)
    repeat, cards = evidence.card_tables(results.runs, series)
    fits, epsilon_sum = evidence.spent(results)
    settings = results.settings
    return {
        "dataset": str(settings.get("dataset") or results.runs["dataset"].iloc[0] or "a table"),
        "started": _date(settings.get("started")),
        "results": results,
        "evaluation": evaluation,
        "views": views,
        "verdict": majority_sentences(evaluation, rankings)[:1]
        if rankings or not swept
        else (_SWEPT, *sweep_sentences(results.runs)),
        "first": f"accuracy-{evaluation.name}",
        "costs": cost_lines(evaluation, cells),
        "missing": missing_sentences(results),
        "rankings": rankings,
        "best": best_lines(evaluation, rankings),
        "numbers": [
            (view, metric_heads(view), number_lines(view, found), area_sentence(view, found))
            for view, found in views
        ],
        "seconds": seconds_lines(results.runs, series),
        "outcomes": outcome_lines(results.failures, series),
        "repeat": repeat,
        "cards": cards,
        "receipts": evidence.receipts(results.runs, series),
        "promises": evidence.promises(results.runs, series),
        "fits": fits,
        "epsilon_sum": f"{epsilon_sum:g}",
        "swept": swept,
        "sweep": sweep_lines(results.runs),
        "machine": formats.flattened(settings.get("machine") or {}),
        "versions": formats.flattened(settings.get("versions") or {}),
        "plan": formats.flattened(
            {k: v for k, v in settings.items() if k not in ("machine", "versions", "schema")}
        ),
        "level": f"{100 * rankings[0].leads[0].strict.level:.2f}%"
        if rankings and rankings[0].leads
        else "",
        "overlap": f"{evaluation.overlap:.2f}",
        "sections": _SECTIONS,
        "captions": _CAPTIONS,
    }


def swatch(style: Style, *, line: bool = False) -> str:
    """Return a small drawing of a line and its mark; of the line of a reference if ``line``."""
    drawing = Drawing(28, 14, in_page=True)
    ends = [(0.0, 7.0), (28.0, 7.0)]
    drawing.line(ends, style.light, width=1.8, dash=REFERENCE_DASH if line else style.dash)
    if not line:
        draw_mark(drawing, (14, 7), style.marker, style.light, filled=style.filled, radius=5)
    return drawing.swatch()


def _date(started: object) -> str:
    """Return the date and time that a plan says, without a guess at what cannot be read."""
    try:
        return datetime.fromisoformat(str(started)).astimezone(UTC).strftime("%d %B %Y, %H:%M UTC")
    except ValueError:
        return ""


def _variables(looks: dict[int, Style], *, dark: bool) -> str:
    pairs = [(look.light, look.dark if dark else look.light) for look in looks.values()]
    pairs += (
        [(INK, "#e8ebef"), (MUTED, "#a3adb9"), (GRID, "#2c323b"), (PAPER, DARK_BACKGROUND)]
        if dark
        else [(INK, INK), (MUTED, MUTED), (GRID, GRID), (PAPER, LIGHT_BACKGROUND)]
    )
    return color_rules(pairs)


def _asset(name: str) -> str:
    return (resources.files("opdisc.report") / _TEMPLATES / name).read_text(encoding="utf-8")


def write_report_files(directory: Path) -> Path:
    """Write the report of a comparison; see :func:`opdisc.report.write_report`."""
    results = read_results(directory)
    series, runs = find_series(results.runs)
    results = replace(results, runs=runs)
    looks = styles(series)
    views = tuple((view, find_cells(view, series)) for view in evaluations(runs))
    drawn = plates(views, runs, series, looks)
    text = page(results, views, rank(*views[0]), series, looks, drawn)
    write_table(summary_table(views), directory / SUMMARY)
    with suppress(OSError):  # where it cannot be, writing a file says why
        (directory / FIGURES).mkdir(exist_ok=True)
    for plate in drawn:
        for name, content in plate.files:
            atomic_write_text(directory / FIGURES / name, content)
    atomic_write_text(directory / PAGE, text)
    return directory / PAGE
