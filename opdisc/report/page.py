"""The page: everything the template shows, as text and markup.

Every file of a report is written whole or not at all, the page last.
"""

from __future__ import annotations

import base64
import hashlib
import os
import secrets
import stat
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.markers import MarkerStyle

from opdisc.data import atomic_write_text, write_table
from opdisc.errors import TableError
from opdisc.report import evidence, formats, narrative
from opdisc.report.analysis import (
    Evaluation,
    Ranking,
    ResultCell,
    Results,
    Series,
    evaluations,
    find_cells,
    find_series,
    rank,
    read_results,
)
from opdisc.report.figures import (
    DARK_BACKGROUND,
    GRID,
    INK,
    LIGHT_BACKGROUND,
    MUTED,
    PAPER,
    Plate,
    Style,
    color_rules,
    plates,
    styles,
)
from opdisc.report.sweep import sweep_lines, swept_methods
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
    ("charts", "Figures"),
    ("time", "Running times"),
    ("numbers", "All numbers"),
    ("promises", "Guarantees"),
    ("cards", "Scorecards"),
    ("receipts", "Receipts"),
    ("appendix", "How this was done"),
)

_CAPTIONS = (
    (
        "accuracy-held-out",
        "Share of held-out rows classified correctly. Horizontal lines need no ε: they have no "
        "privacy.",
    ),
    (
        "accuracy-training",
        "Share of training rows classified correctly: what the mechanisms optimise, and what the "
        "paper of Neel, Roth, Vietri and Wu (2019) plots.",
    ),
    (
        "roc-held-out",
        "Whom a method finds (true positive rate) against whom it alarms in vain (false positive "
        "rate), for every threshold on its scores, on the held-out rows: at each false positive "
        "rate the mean over the splits. A curve further up and left is better; the dotted "
        "diagonal is any constant answer.",
    ),
    (
        "roc-training",
        "Whom a method finds (true positive rate) against whom it alarms in vain (false positive "
        "rate), for every threshold on its scores, on the training rows: at each false positive "
        "rate the mean over the repeats. A curve further up and left is better; the dotted "
        "diagonal is any constant answer.",
    ),
    (
        "regret",
        "What privacy costs on the training rows, beside the best scorecard of the same split "
        "(lower is better). The scale is linear between -1 and 1 and logarithmic beyond; bars may "
        "end at the lower edge.",
    ),
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
        "answers": narrative.answers(results, evaluation, cells, rankings, swept=bool(swept)),
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
    """Return a small drawing of a line and its marker; of the line of a reference if ``line``."""
    marker = MarkerStyle(style.marker)
    path = marker.get_path().transformed(marker.get_transform())
    rings = [
        "M" + "L".join(f"{14 + 8.5 * x:.2f},{7 - 8.5 * y:.2f}" for x, y in np.asarray(ring)) + "Z"
        for ring in path.to_polygons(closed_only=True)
    ]
    color = f"var(--c-{style.light[1:]})"
    dashes = "6 3" if line else {"dashed": "5 3", "dotted": "1.5 2.5"}.get(style.dash, "none")
    stroke = f"stroke:{color};stroke-dasharray:{dashes}"
    fill = color if style.filled else "var(--paper)"
    shape = f'<path d="{"".join(rings)}" style="stroke:{color};fill:{fill};stroke-width:1.5"/>'
    return (
        '<svg class="swatch" viewBox="0 0 28 14" aria-hidden="true">'
        f'<path d="M0,7H28" style="{stroke}"/>{"" if line else shape}</svg>'
    )


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


PAGE = "report.html"

SUMMARY = "summary.csv"

FIGURES = "figures"


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
    for plate in drawn:
        for name, content in plate.files:
            _write_bytes(directory / FIGURES / name, content)
    atomic_write_text(directory / PAGE, text)
    return directory / PAGE


def _write_bytes(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        path.parent.mkdir(exist_ok=True)
        try:
            temporary.write_bytes(content)
            with suppress(FileNotFoundError):
                temporary.chmod(stat.S_IMODE(path.stat().st_mode))
            os.replace(temporary, path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise TableError(
            f"figures must go to a writable place, but {path} is not: {reason}."
        ) from None
