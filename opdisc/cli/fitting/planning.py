"""What ``opdisc plan`` prints: a verdict, then one epsilon in detail or several in a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opdisc.planning import PlannedFit

_LEVEL = "95%"

_LARGE_MEMORY = 1e9


def plan_fields(item: PlannedFit) -> dict[str, Any]:
    """Return a plan as JSON holds it: the reason in plain words, and its detail."""
    brief, detail = item.reason.brief, item.reason.detail
    said = {"reason": brief or detail, "reason_detail": detail if brief else ""}
    return {**asdict(item), **said}


def detail_text(planned: Sequence[PlannedFit]) -> str:
    """Return the verdict on the automatic choice, and every mechanism's prediction."""
    lines = [str(item.verdict) for item in planned if item.verdict is not None]
    lines += list(dict.fromkeys(item.thresholds for item in planned if item.thresholds))
    for item in planned:
        chosen = " (automatic choice)" if item.automatic else ""
        text = item.reason.brief if item.prediction is None else str(item.prediction)
        lines.append(f"{item.mechanism}{chosen}: {text}")
        if item.reason and item.prediction is not None:
            brief, detail = item.reason.brief, item.reason.detail
            lines.append(f"  {'chosen because: ' if item.automatic else ''}{brief or detail}")
            if brief and detail:
                lines.append(f"  in detail: {detail}")
        if item.seconds is not None:
            lines.append(f"  {work_text(item.seconds, item.memory)}")
    return "\n".join(lines) + "\n"


def work_text(seconds: float, memory: float | None) -> str:
    """Return what a fit is expected to take, as orders of magnitude; memory where it is large."""
    rounded = float(f"{seconds:.1g}")
    took = "about a second or less" if seconds < 1.5 else f"about {rounded:,.0f} seconds"
    if memory is None or memory < _LARGE_MEMORY:
        return f"takes {took}"
    return f"takes {took} and up to {memory / 1e9:.1f} GB of memory"


def table_text(planned: Sequence[PlannedFit]) -> str:
    """Return the automatic choice at several epsilons, what it may cost and what would do."""
    lines = [_summary(planned), ""]
    lines.append(
        f"{'epsilon':>8}  {'extra errors':>12}  {'of the rows':>11}  {'rows needed':>11}  "
        f"{'verdict':<16}  mechanism"
    )
    lines += [_row(item) for item in planned]
    lines += [
        "",
        f"Extra errors: beyond those of the best scorecard, at most so many with probability "
        f"{_LEVEL}, on any table.",
        "One epsilon in detail, with every mechanism: --epsilon. Nothing was spent.",
    ]
    return "\n".join(lines) + "\n"


def _summary(planned: Sequence[PlannedFit]) -> str:
    """Return the verdict on all of them in a sentence."""
    judged = [item for item in planned if item.verdict is not None]
    if not judged:
        return "No mechanism can run at any of these epsilons."
    if judged[0].verdict is not None and judged[0].verdict.rows is None:
        return "The number of rows is not public; compare yours with the rows needed."
    drowned = [item for item in judged if item.verdict is not None and item.verdict.dominates]
    if not drowned:
        return "Noise dominates at none of these epsilons."
    last = drowned[-1].verdict
    assert last is not None
    if len(drowned) < len(judged) or last.epsilon_needed is None:
        upto = f"Noise dominates up to epsilon {last.epsilon:g}"
    else:
        upto = "Noise dominates at all of these epsilons"
    needed = (
        "" if last.epsilon_needed is None else f", or epsilon at least {last.epsilon_needed:g}"
    )
    rows = "" if last.rows_needed is None else f": needs at least {last.rows_needed:,} rows there"
    return f"{upto}{rows}{needed}."


def _row(item: PlannedFit) -> str:
    if item.prediction is None or item.verdict is None:
        return f"{item.epsilon:>8g}  {item.reason.brief}"
    verdict = item.verdict
    share = "-" if math.isnan(verdict.share) else f"{verdict.share:.1%}"
    needed = "-" if verdict.rows_needed is None else f"{verdict.rows_needed:,}"
    return (
        f"{item.epsilon:>8g}  {math.ceil(item.prediction.quantile):>12,}  {share:>11}  "
        f"{needed:>11}  {verdict.word:<16}  {item.mechanism}"
    )
