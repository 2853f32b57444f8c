"""Tables of the report as lines of text, and the table of means as a file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from opdisc.report.cells import COST_METRICS, METRICS, Evaluation, ResultCell
from opdisc.report.error_costs import cost_column
from opdisc.report.formats import (
    UNKNOWN,
    area_interval,
    joined,
    loss_interval,
    per_thousand,
    percent,
    percent_interval,
    points_interval,
    seconds_text,
)
from opdisc.report.ranking import Lead, Ranking
from opdisc.report.roc import area_metric
from opdisc.report.series import FAMILY_SHORT, Series

_MOST_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class BestLine:
    """The leader at one epsilon, as text.

    Parameters
    ----------
    epsilon : str
        The privacy loss.
    title, guarantee : str
        The leading method, and the worst guarantee among its runs.
    accuracy : str
        Its mean accuracy and interval, percent.
    area : str
        Its mean area under the ROC curve and interval; a dash where none is known.
    loss : str
        What it lacks to the non-private optimum, percentage points with an interval.
    rival : str
        The method it is compared with.
    lead : str
        How far that one is behind, percentage points with an interval.
    verdict, mark : str
        Whether the lead is more than chance, in words, and as a key of the page's marks: "clear",
        "here", "likely" or "none".
    tied : str
        Methods that it cannot be told from; "none" without any.
    left_out : tuple of str
        Methods that were not ranked, each with the reason.
    holding : str
        The best method whose guarantee HOLDS, if that is another one; else empty.
    """

    epsilon: str
    title: str
    guarantee: str
    accuracy: str
    area: str
    loss: str
    rival: str
    lead: str
    verdict: str
    mark: str
    tied: str
    left_out: tuple[str, ...]
    holding: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberLine:
    """One method at one epsilon, with what it is sorted by.

    Parameters
    ----------
    index : int
        The method's number in the order of display, from 0.
    title, family : str
        The method, and its family in a word.
    epsilon, epsilon_key : str and float
        The privacy loss as text and as a number; infinite if the method is not private.
    guarantee : str
        The worst among its runs.
    remark : str
        Whether it was tuned on private rows; else empty.
    runs : str
        Runs that succeeded, of all.
    failures : int
        Runs that did not, time limits included.
    metrics : tuple of (str, float)
        Each metric as text (percent, or an area under a curve) and its mean as a share.
    regret, regret_key : str and float
        Training errors beyond the non-private optimum: per 1,000 training rows as text, per
        training row as a number.
    seconds, seconds_key : str and float
        Median time of a fit as text, and in seconds.

    Notes
    -----
    Numbers that are not known are ``-inf``.
    """

    index: int
    title: str
    family: str
    epsilon: str
    epsilon_key: float
    guarantee: str
    remark: str
    runs: str
    failures: int
    metrics: tuple[tuple[str, float], ...]
    regret: str
    regret_key: float
    seconds: str
    seconds_key: float


def best_lines(evaluation: Evaluation, rankings: Sequence[Ranking]) -> list[BestLine]:
    """Return the table of the best private method at each epsilon."""
    return [_best_line(ranking, area_metric(evaluation)) for ranking in rankings]


def _best_line(ranking: Ranking, area: str) -> BestLine:
    rival = ranking.rival or (ranking.leads[0] if ranking.leads else None)
    verdict, mark = _verdict(rival)
    tied = [lead.other.series.title for lead in ranking.tied]
    more = len(tied) - _MOST_NAMED
    named = [*tied[:_MOST_NAMED], f"{more} more"] if more > 0 else tied
    holding = ranking.holding
    return BestLine(
        epsilon=f"{ranking.epsilon:g}",
        title=ranking.leader.series.title,
        guarantee=ranking.leader.guarantee,
        accuracy=percent_interval(ranking.accuracy),
        area=area_interval(ranking.leader.metrics.get(area)),
        loss=loss_interval(ranking.loss) if ranking.loss.n else UNKNOWN,
        rival=rival.other.series.title if rival else "no other method",
        lead=points_interval(rival.difference) if rival else UNKNOWN,
        verdict=verdict,
        mark=mark,
        tied=joined(named) if tied else "none",
        left_out=tuple(f"{cell.series.title}: {why}" for cell, why in ranking.left_out),
        holding=""
        if holding is None or holding is ranking.leader
        else f"best that HOLDS: {holding.series.title}",
    )


def _verdict(lead: Lead | None) -> tuple[str, str]:
    if lead is None:
        return "nothing to compare with", "none"
    if lead.below_majority:
        return "no: not above the majority class", "none"
    if lead.clear_elsewhere:
        return "clear, here and for tables of this kind", "clear"
    if lead.clear:
        return "clear on this table", "here"
    if lead.likely:
        return "likely, not certain", "likely"
    return "not distinguishable", "none"


def number_lines(evaluation: Evaluation, cells: Sequence[ResultCell]) -> list[NumberLine]:
    """Return every method at every epsilon."""
    names = shown_metrics(evaluation)
    return [_number_line(cell, names) for cell in cells]


_HEADS = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "auc": "area under ROC",
    "brier": "Brier score",
    "cost": "cost",
}
"""What the table of all numbers calls each measure, in its order."""

_WHERE_RECORDED = ("brier", "cost")


def shown_metrics(evaluation: Evaluation) -> tuple[str, ...]:
    """Return the metrics of a view, accuracy first; Brier score and cost where recorded."""
    part = "test_" if evaluation.name == "held-out" else "train_"
    return tuple(
        f"{part}{measure}"
        for measure in _HEADS
        if measure not in _WHERE_RECORDED or evaluation.runs[f"{part}{measure}"].notna().any()
    )


def metric_heads(evaluation: Evaluation) -> tuple[str, ...]:
    """Return what the table of all numbers calls the metrics of a view."""
    return tuple(_HEADS[name.split("_", 1)[1]] for name in shown_metrics(evaluation))


def area_sentence(evaluation: Evaluation, cells: Sequence[ResultCell]) -> str:
    """Return which methods have no area under the ROC curve, and why; empty if all have one."""
    done = [cell for cell in cells if cell.ok]
    titles = {cell.series.title: None for cell in done}
    known = {cell.series.title for cell in done if area_metric(evaluation) in cell.metrics}
    without = [f"“{title}”" for title in titles if title not in known]
    if not without:
        return ""
    who = joined(without) if known else "any method"
    return (
        f"There is no area under the ROC curve, and a dash in its column, for {who}: it gives "
        "answers without scores, or its rows are all of one class, or its runs are of an older "
        "version."
    )


def _number_line(cell: ResultCell, names: Sequence[str]) -> NumberLine:
    total = cell.ok + cell.failed + cell.limited
    return NumberLine(
        index=cell.series.index,
        title=cell.series.title,
        family=FAMILY_SHORT.get(cell.series.family, cell.series.family),
        epsilon="none" if cell.epsilon is None else f"{cell.epsilon:g}",
        epsilon_key=math.inf if cell.epsilon is None else cell.epsilon,
        guarantee=cell.guarantee,
        remark="tuned on private rows" if cell.series.tuning == "non-private" else "",
        runs=f"{cell.ok} of {total}",
        failures=total - cell.ok,
        metrics=tuple(_metric(cell, name) for name in names),
        regret=per_thousand(cell.regret),
        regret_key=cell.regret.mean if cell.regret.n else -math.inf,
        seconds=seconds_text(cell.seconds_median),
        seconds_key=cell.seconds_median if len(cell.seconds) else -math.inf,
    )


def _metric(cell: ResultCell, name: str) -> tuple[str, float]:
    interval = cell.metrics.get(name)
    if interval is None:
        return UNKNOWN, -math.inf
    spread = "" if math.isnan(interval.stddev) else f" ± {100 * interval.stddev:.1f}"
    if name.endswith(("_auc", "_brier", "_cost")):
        spread = "" if math.isnan(interval.stddev) else f" ± {interval.stddev:.3f}"
        return f"{interval.mean:.3f}{spread}", interval.mean
    return f"{percent(interval.mean)}{spread}", interval.mean


def seconds_lines(runs: pd.DataFrame, series: Sequence[Series]) -> list[tuple[str, ...]]:
    """Return title, runs, median, 90th percentile and maximum of the seconds of each method."""
    lines = []
    for one in series:
        mine = runs[runs["series"] == one.index]
        seconds = mine[mine["status"] == "ok"]["seconds"].dropna()
        figures = [seconds.median(), seconds.quantile(0.9), seconds.max()] if len(seconds) else []
        texts = [seconds_text(float(value)) for value in figures] or [UNKNOWN] * 3
        limited = int((mine["status"] == "time limit").sum())
        failed = len(mine) - int((mine["status"] == "ok").sum()) - limited
        lines.append((one.title, f"{len(seconds)}", *texts, f"{limited}", f"{failed}"))
    return lines


def outcome_lines(failures: pd.DataFrame, series: Sequence[Series]) -> list[tuple[str, ...]]:
    """Return method, epsilon, repeat, what happened and the message of every failed run."""
    return [
        (
            series[int(run["series"])].title,
            "none" if math.isnan(run["epsilon"]) else f"{run['epsilon']:g}",
            f"{run['repeat']:.0f}",
            str(run["status"]),
            str(run["error"] or UNKNOWN),
        )
        for _, run in failures.iterrows()
    ]


def summary_table(views: Sequence[tuple[Evaluation, Sequence[ResultCell]]]) -> pd.DataFrame:
    """Return means, standard deviations and 95% intervals, a line per method and epsilon.

    Shares are in [0, 1], regret is in errors per training row, seconds are wall-clock seconds of a
    fit. An unknown value is empty.
    """
    records = []
    has_costs = any(cost_column(evaluation) is not None for evaluation, _ in views)
    names = (*METRICS, *COST_METRICS) if has_costs else METRICS
    for evaluation, cells in views:
        for cell in cells:
            record: dict[str, object] = {
                "evaluation": evaluation.name,
                "method": cell.series.method,
                "title": cell.series.title,
                "family": cell.series.family,
                "private": cell.series.private,
                "tuning": cell.series.tuning,
                "epsilon": cell.epsilon,
                "delta": cell.delta,
                "guarantee": cell.guarantee,
                "runs_ok": cell.ok,
                "runs_failed": cell.failed,
                "runs_time_limit": cell.limited,
            }
            intervals = {name: cell.metrics.get(name) for name in names}
            for name, interval in {**intervals, "regret": cell.regret}.items():
                known = interval if interval is not None and interval.n else None
                record[f"{name}_mean"] = known.mean if known else math.nan
                record[f"{name}_stddev"] = known.stddev if known else math.nan
                record[f"{name}_ci95_low"] = known.low if known and known.known else math.nan
                record[f"{name}_ci95_high"] = known.high if known and known.known else math.nan
            record["seconds_median"] = cell.seconds_median
            record["seconds_max"] = float(cell.seconds.max()) if len(cell.seconds) else math.nan
            records.append(record)
    return pd.DataFrame(records)
