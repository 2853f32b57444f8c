"""A benchmark of the oracles as Markdown and as JSON."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from opdisc.comparison.oracles.curves import curve_lines
from opdisc.comparison.oracles.sweep import Row, Sweep
from oracles.benchmarking import Measurement, Ratio, compare_times, machine_facts
from oracles.interface import oracle_versions

REFERENCE = "branch-and-bound"
"""Whom the other oracles are compared with."""


def table_header(sweep: Sweep) -> str:
    """Return the first two lines of the Markdown table, one column per oracle."""
    names = " | ".join(sweep.oracles)
    return f"| task | weights | epsilon | {names} |\n" + "|---" * (3 + len(sweep.oracles)) + "|"


def table_row(sweep: Sweep, row: Row) -> str:
    """Return one line of the Markdown table."""
    cells = " | ".join(_cell_text([run[name] for run in row.runs]) for name in sweep.oracles)
    epsilon = "none" if row.epsilon is None else f"{row.epsilon:g}"
    return f"| {row.task} | -{row.bound}..{row.bound} | {epsilon} | {cells} |"


def _cell_text(measured: Sequence[Measurement]) -> str:
    """Summarise the seeds: median time and nodes, most memory, largest gap."""
    done = [m for m in measured if m.error is None]
    other = sorted({m.error for m in measured if m.error is not None})
    if not done:
        return ", ".join(_ERRORS.get(error, error) for error in other)
    parts = [f"{statistics.median(m.seconds for m in done):.3g} s"]
    proved = sum(m.proved for m in done)
    parts.append(f"{proved}/{len(measured)} proved")
    if proved < len(done):
        parts.append(f"gap {_largest_gap(done)}")
    nodes = [m.nodes for m in done if m.nodes is not None]
    if nodes:
        parts.append(f"{statistics.median(nodes):,.0f} nodes")
    parts.append(f"{max(m.peak_mib or 0.0 for m in done):.0f} MiB")
    return ", ".join(parts + [_ERRORS.get(error, error) for error in other])


_ERRORS = {
    "UnsupportedProblem": "not taken",
    "NoHypothesis": "nothing found",
    "FormulationError": "not taken",
}


def _largest_gap(done: Sequence[Measurement]) -> str:
    gaps = [
        math.inf if m.bound is None or m.objective is None else m.objective - m.bound for m in done
    ]
    return f"{max(gaps):.4g}"


def ratio_lines(sweep: Sweep, rows: Sequence[Row]) -> list[str]:
    """Return a Markdown table: each oracle's time over that of branch and bound."""
    if REFERENCE not in sweep.oracles or len(sweep.oracles) < 2:
        return []
    runs = [run for row in rows for run in row.runs]
    lines = [
        f"| time over that of {REFERENCE} | where both proved | least | {REFERENCE} slower "
        "| limits counted as times | proved only by it |",
        "|---|---|---|---|---|---|",
    ]
    for name in sweep.oracles:
        if name != REFERENCE:
            lines.append(_ratio_line(compare_times(runs, name, REFERENCE)))
    return lines


def _ratio_line(ratio: Ratio) -> str:
    both = "-" if ratio.both is None else f"{ratio.both:.3g} ({ratio.n_both} instances)"
    least = "-" if ratio.smallest is None else f"{ratio.smallest:.3g}"
    bound = "-"
    if ratio.at_least is not None:
        bound = f"at least {ratio.at_least:.3g} ({ratio.n_at_least} instances)"
    return (
        f"| {ratio.oracle} | {both} | {least} | {ratio.n_slower} | {bound} "
        f"| {ratio.n_only_oracle} |"
    )


def report_text(sweep: Sweep, rows: Sequence[Row]) -> str:
    """Return the whole report in Markdown: the table, the ratios, versions and machine."""
    limits = {name: sweep.limit(name) for name in sweep.oracles}
    about = [
        f"- time limit, seconds: {', '.join(f'{k} {v:g}' for k, v in limits.items())}",
        f"- threads: {sweep.threads}; seeds: {sweep.seeds}; medians of the seeds",
        *(f"- {key}: {value}" for key, value in machine_facts().items()),
        *(f"- {name}: {_versions_text(name)}" for name in sweep.oracles),
    ]
    parts = [
        [table_header(sweep), *(table_row(sweep, row) for row in rows)],
        ratio_lines(sweep, rows),
        curve_lines(sweep, rows),
        about,
    ]
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"


def report_record(sweep: Sweep, rows: Sequence[Row]) -> dict[str, Any]:
    """Return the whole report as a JSON document."""
    runs = [run for row in rows for run in row.runs]
    raced = REFERENCE in sweep.oracles
    others = [name for name in sweep.oracles if name != REFERENCE] if raced else []
    return {
        "sweep": asdict(sweep) | {"limits": {name: sweep.limit(name) for name in sweep.oracles}},
        "machine": machine_facts(),
        "versions": {name: oracle_versions(name) for name in sweep.oracles},
        "rows": [
            {
                "task": row.task,
                "bound": row.bound,
                "epsilon": row.epsilon,
                "runs": [{name: asdict(m) for name, m in run.items()} for run in row.runs],
            }
            for row in rows
        ],
        "ratios": [asdict(compare_times(runs, name, REFERENCE)) for name in others],
    }


def _versions_text(name: str) -> str:
    return ", ".join(f"{package} {version}" for package, version in oracle_versions(name).items())
