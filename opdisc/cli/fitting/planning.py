"""What ``opdisc plan`` prints: one epsilon in five lines, or several in a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from opdisc.cli.console import toned
from opdisc.data import Schema, with_error_costs

if TYPE_CHECKING:
    from opdisc.models import NoiseVerdict, TiltVerdict
    from opdisc.planning import PlannedFit, Promise

_LEVEL = "95%"

_LARGE_MEMORY = 1e9

_NO_BOUND = "No bound on extra errors is known for a logistic card."


def planner_for(
    schema: Schema,
    arguments: dict[str, Any],
    costs: dict[str, int] | None,
    *,
    in_detail: bool,
    look_ahead: bool,
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
    look_ahead : bool
        Whether what more rows or a larger epsilon would bring is told too.

    Raises
    ------
    CalibrationError, SchemaError
        If an option needs a target of two classes.
    """
    from opdisc.convex import start_from
    from opdisc.planning import plan_cards, plan_fit

    if not schema.is_multiclass:
        settings = {**arguments, "compare_others": in_detail, "look_ahead": look_ahead}
        settings["start"] = start_from(settings.pop("prior"), settings.pop("pilot"), schema)
        return partial(plan_fit, schema, error_costs=costs, **settings)
    from opdisc.cli.fitting.fit import take_out_two_class_options

    settings = dict(arguments)
    take_out_two_class_options(settings, schema)
    settings |= {"each_card": in_detail, "look_ahead": look_ahead}
    return partial(plan_cards, with_error_costs(schema, costs), **settings)


def plan_fields(item: PlannedFit) -> dict[str, Any]:
    """Return a plan as JSON holds it: the reason in plain words, and its detail."""
    brief, detail = item.reason.brief, item.reason.detail
    said = {"reason": brief or detail, "reason_detail": detail if brief else ""}
    verdict = None if item.verdict is None else msgspec.structs.asdict(item.verdict)
    return {**asdict(item), "verdict": verdict, **said}


def plan_text(planned: Sequence[PlannedFit]) -> str:
    """Return a plan in five lines.

    Verdict, choice and why, time and memory, what the receipt will say, what more rows or a larger
    epsilon would bring.
    """
    chosen = planned[0]
    if chosen.verdict is None:
        return f"Nothing can run: {chosen.reason.brief}\n"
    lines = [
        verdict_text(chosen),
        f"choice: {_choice(chosen)}",
        f"time: {_time_and_memory(chosen)}",
        receipt_text(chosen.promise),
    ]
    if chosen.outlook is not None:
        lines.append(f"more: {chosen.outlook}")
    return "\n".join(lines) + "\n"


def verdict_text(item: PlannedFit) -> str:
    """Return what to know first, in one line: an empty promise before the noise."""
    said = []
    if weakness := item.promise.weakness:
        said.append(f"{weakness[0].upper()}{weakness[1:]}.")
    if item.delta_note:
        said.append(f"Note: {item.delta_note}.")
    is_good = not said and item.verdict is not None and item.verdict.is_small
    noise = toned(" ".join([*said, str(item.verdict)]), is_good=is_good)
    return " ".join(filter(None, [noise, item.start, item.rare_outcome]))


def _choice(item: PlannedFit) -> str:
    reason = item.reason.brief or item.reason.detail
    parts = [f"{item.mechanism}: {reason}" if reason else item.mechanism]
    return "; ".join([*parts, item.thresholds_brief] if item.thresholds_brief else parts)


def _time_and_memory(item: PlannedFit) -> str:
    if item.seconds is None:
        return "not known beforehand, nor is the memory: the search depends on the rows"
    memory = item.memory
    if memory is None or memory < _LARGE_MEMORY:
        return f"{_about(item.seconds)}, memory below 1 GB"
    return f"{_about(item.seconds)}, memory up to {memory / 1e9:.1f} GB"


def receipt_text(promise: Promise) -> str:
    """Return what a receipt will say of its guarantee, and of whom it protects, in one line."""
    said = f"receipt: {promise.guarantee} for {promise.protects}"
    if not promise.conditions:
        return said
    why = "because" if promise.guarantee == "VOID" else "if"
    return f"{said}, {why} {'; and '.join(promise.conditions)}"


def explained_text(planned: Sequence[PlannedFit]) -> str:
    """Return every mechanism's prediction, or every card's, with the reasons in detail."""
    lines = list(dict.fromkeys(item.thresholds for item in planned if item.thresholds))
    several = len({item.epsilon for item in planned if not item.card}) > 1
    for item in planned:
        text = item.reason.brief if item.prediction is None else str(item.prediction)
        if item.prediction is None and item.verdict is not None:
            text = f"{item.verdict} {_NO_BOUND}"
        at = f"epsilon {item.epsilon:g}, " if several else ""
        lines.append(f"{at}{_name(item)}: {text}")
        if item.reason and (item.prediction is not None or item.automatic):
            brief, detail = item.reason.brief, item.reason.detail
            lines.append(f"  {'chosen because: ' if item.automatic else ''}{brief or detail}")
            if brief and detail:
                lines.append(f"  in detail: {detail}")
        lines += [f"  {line}" for line in promise_lines(item.promise)]
        if item.seconds is not None:
            lines.append(f"  {work_text(item.seconds, item.memory)}")
    return "\n".join(lines) + "\n"


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


def _rows_of_its_classes(verdict: NoiseVerdict | TiltVerdict) -> str:
    if verdict.rows_needed is None:
        return ", noise dominates whatever its rows"
    return f", noise dominates below {verdict.rows_needed:,} rows of its classes"


def _about(seconds: float) -> str:
    rounded = float(f"{seconds:.1g}")
    return "about a second or less" if seconds < 1.5 else f"about {rounded:,.0f} seconds"


def work_text(seconds: float, memory: float | None) -> str:
    """Return what a fit is expected to take, as orders of magnitude; memory where it is large."""
    if memory is None or memory < _LARGE_MEMORY:
        return f"takes {_about(seconds)}"
    return f"takes {_about(seconds)} and up to {memory / 1e9:.1f} GB of memory"


def table_text(planned: Sequence[PlannedFit]) -> str:
    """Return the automatic choice at several epsilons, what it may cost and what would do."""
    lines = [_summary(planned), ""]
    lines.append(
        f"{'epsilon':>8}  {'extra errors':>12}  {'of the rows':>11}  {'rows needed':>11}  "
        f"{'verdict':<16}  mechanism"
    )
    lines += [_row(item) for item in planned]
    each = "mechanism" if planned[0].automatic else "card"
    told = {item.prediction.beside for item in planned if item.prediction is not None} or {""}
    beside = (
        "those of the best scorecard" if each == "mechanism" else "; or beyond ".join(sorted(told))
    )
    lines += [
        "",
        f"Extra errors: beyond {beside}, at most so many with probability {_LEVEL}, on any table.",
        *dict.fromkeys(item.rare_outcome for item in planned if item.rare_outcome),
        *_promises(planned),
        f"One epsilon in five lines: --epsilon; with every {each}: --explain too. Nothing was "
        "spent.",
    ]
    return "\n".join(lines) + "\n"


def _promises(planned: Sequence[PlannedFit]) -> list[str]:
    """Return what the receipts will say, each promise once with the epsilons that it is for."""
    told: dict[str, list[str]] = {}
    for item in planned:
        if item.promise.guarantee:
            told.setdefault(receipt_text(item.promise), []).append(f"{item.epsilon:g}")
    notes = dict.fromkeys(item.delta_note for item in planned if item.delta_note)
    return [f"At epsilon {', '.join(epsilons)}: {line}" for line, epsilons in told.items()] + [
        f"Note: {note}." for note in notes
    ]


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
    verdict = item.verdict
    if verdict is None:
        return f"{item.epsilon:>8g}  {item.reason.brief}"
    share = "-" if math.isnan(verdict.share) else f"{verdict.share:.1%}"
    needed = "-" if verdict.rows_needed is None else f"{verdict.rows_needed:,}"
    extra = "-" if item.prediction is None else f"{math.ceil(item.prediction.quantile):,}"
    if item.prediction is None:
        share = "-"
    return (
        f"{item.epsilon:>8g}  {extra:>12}  {share:>11}  "
        f"{needed:>11}  {verdict.word:<16}  {item.mechanism}"
    )
