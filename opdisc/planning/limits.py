"""Public limits that a caller sets: weights, nodes, time."""

from __future__ import annotations

import math

from opdisc.arguments import check_integer
from opdisc.data import Schema
from opdisc.errors import CalibrationError, SchemaError
from opdisc.mechanisms import BaseMeasure
from opdisc.privacy import TREE

LARGEST_WEIGHT_BOUND = 1000
"""Beyond this the grid alone fills the memory, and points stop being simple."""


def parse_weight_bound(bound: object) -> int:
    """Return an integer bound of a scorecard that a person could add up."""
    return check_integer("weight_bound", bound, most=LARGEST_WEIGHT_BOUND)


def parse_automatic_bound(bound: int | str) -> int | None:
    """Return an integer bound, or None for "auto"."""
    if isinstance(bound, str):
        if bound == "auto":
            return None
        raise CalibrationError(f"weight_bound must be an integer or 'auto', got {bound!r}.")
    return parse_weight_bound(bound)


def parse_max_rounds(cap: int | None) -> int | None:
    """Return a cap under which a draw can succeed at all."""
    return None if cap is None else check_integer("max_rounds", cap)


def parse_time_limit(seconds: float | None) -> float | None:
    """Return a limit in seconds; an infinite one is none, anything else is checked by its user."""
    return None if seconds == math.inf else seconds


def patience_of_each(patience: float, n_cards: int) -> float:
    """Return the seconds that each of several cards may be expected to take; all together."""
    # An impossible patience stays as it is, and is refused as the caller gave it.
    return patience / n_cards if 0 < patience else patience


def parse_base_measure(measure: BaseMeasure | str) -> BaseMeasure | None:
    """Return a base measure, or None for "auto": each mechanism its own."""
    return None if measure == "auto" else BaseMeasure.parse(measure)


def check_costs_of_classes(schema: Schema) -> None:
    """Refuse error costs of a target of more than two classes, whose cards count every mistake.

    Raises
    ------
    SchemaError
        If the schema states any.
    """
    if schema.is_multiclass and not schema.error_costs.are_equal:
        raise SchemaError(
            f"error costs weigh the mistakes between two classes, but the schema declares "
            f"{len(schema.labels)}; leave them out"
        )


def check_costs_of_cards(schema: Schema) -> None:
    """Refuse error costs of cards for several classes, also where there are two.

    Raises
    ------
    SchemaError
        If the schema states any.
    """
    check_costs_of_classes(schema)
    if not schema.error_costs.are_equal:
        raise SchemaError(
            "cards for several classes count every mistake alike, but the schema states error "
            "costs; leave them out, or use PrivateScorecardClassifier"
        )


def check_risks_of_classes(strategy: str, risk_budget: float | None) -> None:
    """Refuse risks of cards that are no tree.

    Raises
    ------
    CalibrationError
        If a share of the budget is kept for them.
    """
    if risk_budget is not None and strategy != TREE:
        raise CalibrationError(
            "risks of several classes are multiplied along a tree of cards; use "
            'strategy="tree", or leave out risk_budget.'
        )


def check_threshold_budget(schema: Schema) -> None:
    """Refuse a budget for thresholds that a schema does not leave open.

    Raises
    ------
    CalibrationError
        If it declares no private thresholds.
    """
    if not schema.private_thresholds:
        raise CalibrationError(
            "a threshold budget needs a schema with private thresholds, but this one declares "
            "none; write thresholds = { quantiles = 4, range = [0, 120] }, or drop it."
        )
