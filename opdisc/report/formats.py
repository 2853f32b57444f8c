"""Numbers as a reader sees them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from opdisc.report.intervals import Interval


def seconds_text(seconds: float) -> str:
    """Return seconds or milliseconds with two or three digits."""
    if not math.isfinite(seconds):
        return "–"
    if seconds < 0.0995:
        return f"{1000 * seconds:.2g} ms"
    return f"{seconds:.0f} s" if seconds >= 100 else f"{seconds:.2g} s"


UNKNOWN = "–"

_MINUS = "−"

_NO_BREAK = "\u00a0"


def percent(value: float, digits: int = 1) -> str:
    """Return a share as a percentage."""
    return f"{100 * value:.{digits}f}%" if math.isfinite(value) else UNKNOWN


def points(value: float, digits: int = 1) -> str:
    """Return a difference of shares in percentage points, with its sign."""
    if not math.isfinite(value):
        return UNKNOWN
    number = f"{100 * abs(value):.{digits}f}"
    if float(number) == 0:
        return number
    return f"{'+' if value > 0 else _MINUS}{number}"


def percent_interval(interval: Interval, digits: int = 1) -> str:
    """Return "78.3% [77.9, 78.7]", or the mean alone where there is no interval."""
    if not interval.known:
        return percent(interval.mean, digits)
    low, high = 100 * interval.low, 100 * interval.high
    return f"{percent(interval.mean, digits)} [{low:.{digits}f},{_NO_BREAK}{high:.{digits}f}]"


def area_interval(interval: Interval | None) -> str:
    """Return "0.912 [0.901, 0.923]", the mean alone without an interval, or a dash."""
    if interval is None or not interval.n:
        return UNKNOWN
    if not interval.known:
        return f"{interval.mean:.3f}"
    return f"{interval.mean:.3f} [{interval.low:.3f},{_NO_BREAK}{interval.high:.3f}]"


def points_interval(interval: Interval, digits: int = 1) -> str:
    """Return "+1.2 [+0.3, +2.1]" in percentage points."""
    if not interval.known:
        return points(interval.mean, digits)
    ends = f"[{points(interval.low, digits)},{_NO_BREAK}{points(interval.high, digits)}]"
    return f"{points(interval.mean, digits)} {ends}"


def loss_interval(interval: Interval, digits: int = 1) -> str:
    """Return "0.6 [0.4, 0.8]" in percentage points, a sign only where it is a minus."""
    return points_interval(interval, digits).replace("+", "")


def per_thousand(interval: Interval) -> str:
    """Return a mean per 1,000 and its standard deviation."""
    if not math.isfinite(interval.mean):
        return UNKNOWN
    spread = "" if math.isnan(interval.stddev) else f" ± {1000 * interval.stddev:.1f}"
    return f"{1000 * interval.mean:.1f}".replace("-", _MINUS) + spread


def count(number: int, noun: str, plural: str = "") -> str:
    """Return "1 run", "2 runs"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def joined(words: Sequence[str], last: str = "and") -> str:
    """Return "a, b and c"."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def epsilons_text(epsilons: Sequence[float]) -> str:
    """Return "ε = 0.1 and 0.5"."""
    return f"ε = {joined([f'{epsilon:g}' for epsilon in epsilons])}"


def flattened(record: Any, name: str = "") -> list[tuple[str, str]]:
    """Return (name, text) pairs of a JSON value, names of nested fields joined by dots."""
    if isinstance(record, Mapping):
        return [
            pair
            for key, value in record.items()
            for pair in flattened(value, f"{name}.{key}" if name else str(key))
        ]
    if isinstance(record, list) and any(isinstance(value, dict) for value in record):
        return [
            pair for i, value in enumerate(record) for pair in flattened(value, f"{name}[{i}]")
        ]
    if isinstance(record, list):
        return [(name, ", ".join(_plain(value) for value in record) or UNKNOWN)]
    return [(name, _plain(record))]


def _plain(value: Any) -> str:
    if value is None:
        return UNKNOWN
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.10g}" if isinstance(value, float) else str(value)
