"""Incumbents and bounds over time: a table at a few times, and curves as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from opdisc.comparison.oracles.sweep import Row, Sweep
from oracles.benchmarking import Measurement

TIMES = (5.0, 20.0, 60.0, 300.0)
"""Seconds at which the table says what was known."""

_WIDTH, _HEIGHT, _LEFT, _TOP, _ROW = 640, 150, 70, 34, 230

_EARLIEST = 0.1

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")


def curve_lines(sweep: Sweep, rows: Sequence[Row]) -> list[str]:
    """Return a Markdown table: bound and incumbent in rows, first seed, at a few times.

    Empty where no oracle was given the time.
    """
    longest = max(sweep.limit(name) for name in sweep.oracles)
    times = [seconds for seconds in TIMES if seconds <= longest]
    if not times:
        return []
    heads = " | ".join(f"{seconds:g} s" for seconds in times)
    lines = [
        f"| bound of incumbent, rows | task | weights | epsilon | {heads} |",
        "|---" * (4 + len(times)) + "|",
    ]
    for row in rows:
        for name in sweep.oracles:
            found = row.runs[0][name]
            if found.curve:
                cells = " | ".join(_known(found, seconds) for seconds in times)
                lines.append(
                    f"| {name} | {row.task} | {_weights(row)} | {_noise(row)} | {cells} |"
                )
    return lines


def _known(found: Measurement, seconds: float) -> str:
    objective, bound = found.at(seconds)
    return f"{_amount(bound)} of {_amount(objective)}"


def _amount(rows: float | None) -> str:
    return "-" if rows is None else f"{rows:,.6g}"


def _weights(row: Row) -> str:
    return f"-{row.bound}..{row.bound}"


def _noise(row: Row) -> str:
    return "none" if row.epsilon is None else f"{row.epsilon:g}"


def curves_svg(sweep: Sweep, rows: Sequence[Row]) -> str:
    """Return one panel per instance: incumbents dashed, bounds solid, seconds on a log scale."""
    colours = {name: _COLOURS[i % len(_COLOURS)] for i, name in enumerate(sweep.oracles)}
    longest = max([1.0, *(sweep.limit(name) for name in sweep.oracles)])
    height = _ROW * len(rows) + _TOP
    width = _LEFT + _WIDTH + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        'font-family="sans-serif" font-size="12">',
        "<title>Incumbents (dashed) and bounds (solid) over time, rows</title>",
    ]
    for i, (name, colour) in enumerate(colours.items()):
        parts.append(f'<text x="{_LEFT + 110 * i}" y="14" fill="{colour}">{escape(name)}</text>')
    for i, row in enumerate(rows):
        parts += _panel(row, colours, longest, _TOP + _ROW * i)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(row: Row, colours: dict[str, str], longest: float, top: int) -> list[str]:
    run = {name: row.runs[0][name] for name in colours if row.runs[0][name].curve}
    # A bound far below every incumbent would flatten the rest.
    best = [m.objective for m in run.values() if m.objective is not None]
    bounds = [place[2] for m in run.values() for place in m.curve if place[2] is not None]
    high = max(best, default=1.0)
    low = min([b for b in bounds if b > min(0.0, high)], default=min(0.0, high - 1.0))
    scale = _HEIGHT / (high - low or 1.0)

    def x(seconds: float) -> float:
        part = math.log(max(seconds, _EARLIEST) / _EARLIEST) / math.log(longest / _EARLIEST)
        return _LEFT + _WIDTH * min(part, 1.0)

    def y(amount: float) -> float:
        return top + 20 + min(_HEIGHT, max(0.0, (high - amount) * scale))

    title = f"{row.task}, weights {_weights(row)}, epsilon {_noise(row)}"
    parts = [
        f'<text x="{_LEFT}" y="{top + 12}">{escape(title)}</text>',
        f'<path d="M{_LEFT},{top + 20}v{_HEIGHT}h{_WIDTH}" fill="none" stroke="#666"/>',
        f'<text x="{_LEFT - 5}" y="{top + 28}" text-anchor="end">{_amount(high)}</text>',
        f'<text x="{_LEFT - 5}" y="{top + 20 + _HEIGHT}" text-anchor="end">{_amount(low)}</text>',
    ]
    for seconds in [s for s in (0.1, 1.0, *TIMES) if s <= longest]:
        parts.append(
            f'<text x="{x(seconds):.0f}" y="{top + 36 + _HEIGHT}" text-anchor="middle">'
            f"{seconds:g} s</text>"
        )
    for name, found in run.items():
        for column, dash in ((1, ' stroke-dasharray="5 3"'), (2, "")):
            known = ((place[0], place[column]) for place in found.curve)
            steps = [(seconds, amount) for seconds, amount in known if amount is not None]
            if steps:
                ends = [*(seconds for seconds, _ in steps[1:]), found.seconds]
                d = f"M{x(steps[0][0]):.1f},{y(steps[0][1]):.1f}" + "".join(
                    f"V{y(amount):.1f}H{x(end):.1f}"
                    for (_, amount), end in zip(steps, ends, strict=True)
                )
                parts.append(f'<path d="{d}" fill="none" stroke="{colours[name]}"{dash}/>')
    return parts
