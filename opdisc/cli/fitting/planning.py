"""What ``opdisc plan`` prints: a verdict, then one epsilon in detail or several in a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from opdisc.data import Schema, with_error_costs
from opdisc.privacy import unit_in_words

if TYPE_CHECKING:
    from opdisc.planning import NoiseVerdict, PlannedFit, Promise

_LEVEL = "95%"

_LARGE_MEMORY = 1e9


def planner_for(
    schema: Schema, arguments: dict[str, Any], costs: dict[str, int] | None, *, in_detail: bool
) -> Callable[..., tuple[PlannedFit, ...]]:
    """Return what plans a fit for a number of rows and an epsilon.

    Parameters
    ----------
    schema : Schema
        Of two classes, or of more.
    arguments : dict
        Options of the command.
    costs : dict or None
        Error costs that options state.
    in_detail : bool
        Whether the mechanisms that would not run, or the single cards, are told too.

    Raises
    ------
    CalibrationError, SchemaError
        If an option needs a target of two classes.
    """
    from opdisc.planning import plan_cards, plan_fit

    if not schema.is_multiclass:
        return partial(plan_fit, schema, error_costs=costs, compare_others=in_detail, **arguments)
    from opdisc.cli.fitting.fit import take_out_two_class_options

    settings = dict(arguments)
    take_out_two_class_options(settings, schema)
    return partial(plan_cards, with_error_costs(schema, costs), each_card=in_detail, **settings)


def plan_fields(item: PlannedFit) -> dict[str, Any]:
    """Return a plan as JSON holds it: the reason in plain words, and its detail."""
    brief, detail = item.reason.brief, item.reason.detail
    said = {"reason": brief or detail, "reason_detail": detail if brief else ""}
    return {**asdict(item), **said}


def unit_fields(schema: Schema) -> dict[str, Any]:
    """Return who is protected, as JSON holds it."""
    return {"privacy_unit": schema.privacy_unit, "rows_per_unit": schema.rows_per_unit}


def unit_text(schema: Schema) -> str:
    """Return who is protected: the privacy unit with its most rows."""
    return f"Protects {unit_in_words(schema.privacy_unit, schema.rows_per_unit)}.\n"


def detail_text(planned: Sequence[PlannedFit]) -> str:
    """Return the verdict on the automatic choice, and every mechanism's prediction."""
    judged = [item for item in planned if item.verdict is not None and not item.card]
    lines = [_loud(item) for item in planned[:1] if item.promise.weakness]
    lines += [f"Note: {item.delta_note}." for item in planned if item.delta_note]
    lines += [str(item.verdict) for item in judged]
    lines += [line for item in planned[:1] for line in promise_lines(item.promise)]
    lines += list(dict.fromkeys(item.thresholds for item in planned if item.thresholds))
    for item in planned:
        text = item.reason.brief if item.prediction is None else str(item.prediction)
        lines.append(f"{_name(item)}: {text}")
        if item.reason and item.prediction is not None:
            brief, detail = item.reason.brief, item.reason.detail
            lines.append(f"  {'chosen because: ' if item.automatic else ''}{brief or detail}")
            if brief and detail:
                lines.append(f"  in detail: {detail}")
        if item is not planned[0]:
            lines += [f"  {line}" for line in promise_lines(item.promise)]
        if item.seconds is not None:
            lines.append(f"  {work_text(item.seconds, item.memory)}")
    return "\n".join(lines) + "\n"


def _loud(item: PlannedFit) -> str:
    weakness = item.promise.weakness
    return f"{weakness[0].upper()}{weakness[1:]}."


def promise_lines(promise: Promise) -> list[str]:
    """Return what a receipt will say of its guarantee; nothing where nothing can run."""
    if not promise.guarantee:
        return []
    return [
        f"receipt: {promise.guarantee}",
        *(f"  condition: {condition}" for condition in promise.conditions),
    ]


def _name(item: PlannedFit) -> str:
    """Return what a line is about: a mechanism, all cards of a fit, or one of several cards."""
    if not item.card:
        return f"{item.mechanism}{' (automatic choice)' if item.automatic else ''}"
    need = "" if item.verdict is None else _rows_of_its_classes(item.verdict)
    return f"{item.card} (epsilon {item.epsilon:.4g} for a row, {item.mechanism}{need})"


def _rows_of_its_classes(verdict: NoiseVerdict) -> str:
    if verdict.rows_needed is None:
        return ", noise dominates whatever its rows"
    return f", noise dominates below {verdict.rows_needed:,} rows of its classes"


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
    each = "mechanism" if planned[0].automatic else "card"
    told = {item.prediction.beside for item in planned if item.prediction is not None}
    beside = (
        "those of the best scorecard" if each == "mechanism" else "; or beyond ".join(sorted(told))
    )
    lines += [
        "",
        f"Extra errors: beyond {beside}, at most so many with probability {_LEVEL}, on any table.",
        *_promises(planned),
        f"One epsilon in detail, with every {each}: --epsilon. Nothing was spent.",
    ]
    return "\n".join(lines) + "\n"


def _promises(planned: Sequence[PlannedFit]) -> list[str]:
    """Return what the receipts will say, each promise once with the epsilons that it is for."""
    told: dict[tuple[str, ...], list[str]] = {}
    for item in planned:
        lines = promise_lines(item.promise)
        if lines:
            told.setdefault(tuple(lines), []).append(f"{item.epsilon:g}")
    return [
        line
        for (first, *rest), epsilons in told.items()
        for line in (f"At epsilon {', '.join(epsilons)}: {first}", *rest)
    ] + [f"Note: {note}." for note in dict.fromkeys(i.delta_note for i in planned if i.delta_note)]


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
