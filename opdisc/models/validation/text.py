"""A validation report in words, and as one JSON document with its figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from opdisc.errors import escaped
from opdisc.models.validation.figures import Figure
from opdisc.models.validation.report import GroupRate, ValidationReport
from opdisc.models.validation.shift import Shift, shift_between
from opdisc.privacy import stated_rows

_OPEN = (
    "In brackets: what the noise leaves open of these rows, 95% each. It says nothing of others."
)

_WIDTH = 37


def report_text(report: ValidationReport, since: ValidationReport | None = None) -> str:
    """Return a report in words, with the shift since an earlier one."""
    lines = [
        f"Card for {report.target}, sha256 {report.receipt.card[:16]}, on new rows",
        _OPEN,
        "",
        _line("accuracy", _percent(report.accuracy, 1)),
        *_count_lines(report),
        "",
        f"Share of rows that are {report.classes[1]}",
        *(_line(f"  {rate.group.totals}", _rate_text(rate)) for rate in report.calibration),
    ]
    if since is not None:
        lines += ["", *_shift_lines(report, since)]
    return "\n".join(map(escaped, lines))


def report_json(report: ValidationReport, since: ValidationReport | None = None) -> dict[str, Any]:
    """Return a report with its figures as plain JSON types."""
    record = {
        "report": report.to_dict(),
        "accuracy": asdict(report.accuracy),
        "counts": {name: asdict(figure) for name, figure in report.four_counts.items()},
        "calibration": [
            {"lowest": one.group.lowest, "highest": one.group.highest, **asdict(one.rate)}
            for one in report.calibration
        ],
    }
    if since is not None:
        shift = shift_between(since, report)
        record["shift"] = {
            "verdict": shift.verdict,
            "moved": shift.moved,
            "difference": asdict(shift.difference),
            "stability_index": asdict(shift.index),
            "earlier_accuracy": asdict(since.accuracy),
        }
    return record


def _count_lines(report: ValidationReport) -> Sequence[str]:
    negative, positive = report.classes
    figures = report.four_counts
    names = {
        "true_positives": f"  {positive}, answered {positive}",
        "false_negatives": f"  {positive}, answered {negative}",
        "false_positives": f"  {negative}, answered {positive}",
        "true_negatives": f"  {negative}, answered {negative}",
    }
    return [_line(text, _rows(figures[name])) for name, text in names.items()]


def _shift_lines(report: ValidationReport, since: ValidationReport) -> Sequence[str]:
    shift: Shift = shift_between(since, report)
    return [
        "Since the earlier report",
        shift.verdict,
        *_chance_note(report, since),
        _line("  accuracy then", _percent(since.accuracy, 1)),
        _line("  largest difference up to a total", _plain(shift.difference)),
        _line("  population stability index", _plain(shift.index)),
    ]


def _chance_note(*reports: ValidationReport) -> Sequence[str]:
    """Return what the verdict takes for granted where one unit may have several rows."""
    receipts = [report.receipt for report in reports]
    if all(stated_rows(receipt) == 1 for receipt in receipts):
        return []
    return ["It takes rows to be independent, also those of one unit."]


def _line(name: str, text: str) -> str:
    return f"{name:<{_WIDTH}}  {text}"


def _percent(figure: Figure, digits: int) -> str:
    low, high = (f"{end:.{digits}%}" for end in (figure.low, figure.high))
    return f"{figure.estimate:.{digits}%}  ({low} to {high})"


def _plain(figure: Figure) -> str:
    return f"{figure.estimate:.3f}  ({figure.low:.3f} to {figure.high:.3f})"


def _rows(figure: Figure) -> str:
    return f"{figure.estimate:,.0f} rows  ({figure.low:,.0f} to {figure.high:,.0f})"


def _rate_text(one: GroupRate) -> str:
    text = _percent(one.rate, 0)
    low, high = one.group.chance_low, one.group.chance_high
    if low is None or high is None:
        return text
    stated = f"{low:.0%}" if f"{low:.0%}" == f"{high:.0%}" else f"{low:.0%} to {high:.0%}"
    return f"{text}; the card says {stated}"
