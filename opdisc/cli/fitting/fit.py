"""From a labelled table and a schema to a saved model: what ``opdisc fit`` does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from opdisc.arguments import check_choice
from opdisc.cli.fitting.error_costs import stated_costs
from opdisc.cli.fitting.releasing import limit_note
from opdisc.data import (
    FilePath,
    RowCounts,
    Schema,
    SchemaLike,
    check_columns,
    count_rows,
    is_server,
    parse_schema,
    rare_outcome_text,
    read_table,
    reads_twice,
    with_error_costs,
)
from opdisc.errors import CalibrationError
from opdisc.estimators import (
    OPDiscClassifier,
    PrivateMulticlassClassifier,
    PrivateScorecardClassifier,
)
from opdisc.models import SavedModel, SavedMulticlassModel
from opdisc.planning import (
    LOGISTIC,
    MECHANISMS,
    RARE_BY_CHANCES,
    check_option,
    check_threshold_budget,
    parse_max_rounds,
    parse_time_limit,
)
from opdisc.privacy import HULL, PrivacyParams, PrivacyReceipt, told_of_spending
from opdisc.tuned import FIT_SECONDS
from oracles.interface import SolveOptions, get_oracle

_UNSET = {
    "noise": "l2-laplace",
    "base_measure": "auto",
    "max_rounds": None,
    "oracle": "auto",
    "time_limit": None,
    "patience": FIT_SECONDS,
}
"""Options that only some mechanisms take, and what leaves each out."""

_TWO_CLASSES_ONLY = {"delta": 0.0, "threshold_budget": None, "prior": None, "pilot": None}
"""Options that several cards do not take, and what leaves each out."""


def read_to_learn(
    path: FilePath,
    schema: SchemaLike,
    reading: dict[str, Any],
    say: Callable[[str], object],
) -> pd.DataFrame | RowCounts:
    """Return the rows of a file or of a named table, counted as they are read.

    Several classes need the rows themselves, and so do private thresholds of a pipe or a server.
    """
    declared = parse_schema(schema)
    columns = (*declared.columns, declared.target.column)
    if declared.private_thresholds and not reads_twice(path):
        where = "a server" if is_server(path) else path
        say(
            f"private thresholds look at the rows twice and {where} can be read once, so the "
            "whole table is held in memory; name a file to avoid that"
        )
        return read_table(path, columns=columns, **reading)
    if declared.is_multiclass:
        return read_table(path, columns=columns, **reading)
    return count_rows(path, declared, **reading)


def learn_model(
    table: pd.DataFrame | RowCounts,
    schema: SchemaLike,
    *,
    mechanism: str = "auto",
    noise: str = "l2-laplace",
    threshold_budget: float | None = None,
    say: Callable[[str], object] | None = None,
    false_negative_cost: int | None = None,
    false_positive_cost: int | None = None,
    odds_scale: str | None = None,
    **settings: Any,
) -> SavedModel | SavedMulticlassModel:
    """Learn a scorecard from a table that holds its own labels; cards for more than two classes.

    Parameters
    ----------
    table : DataFrame or RowCounts
        Feature columns and the target column of the schema, or its rows counted by it.
    schema : Schema, mapping, path or name of a shipped schema
        That of the table, parsed once by whoever reads it from a file.
    mechanism : str
        As in :class:`~opdisc.PrivateScorecardClassifier`.
    noise : str
        Noise of the sphere; only with ``mechanism="opdisc"``.
    threshold_budget : float or None
        Share of epsilon for private thresholds; None takes the default.
    say : callable or None
        Told, before anything is spent, what a limit or a solver without one may cost.
    false_negative_cost, false_positive_cost : int or None
        Instead of the schema's error costs.
    odds_scale : str or None
        What totals of a logistic card are to stand for: ``points0,odds0,pdo`` or
        ``points0,odds0,pdo,label``.
    **settings
        Other arguments of the classifier.

    Returns
    -------
    SavedModel or SavedMulticlassModel
        Scorecards, schema and receipt.

    Raises
    ------
    OPDiscError
        Whatever the classifier refuses.
    """
    declared = parse_schema(schema)
    costs = stated_costs(declared, false_negative_cost, false_positive_cost)
    declared = with_error_costs(declared, costs)
    check_choice("mechanism", mechanism, (*MECHANISMS, LOGISTIC))
    if mechanism == LOGISTIC and declared.is_multiclass:
        raise CalibrationError(
            f"mechanism='{LOGISTIC}' needs a target of two classes, but the schema declares "
            f"{len(declared.labels)}; name another mechanism."
        )
    if odds_scale is not None:
        if mechanism != LOGISTIC:
            raise CalibrationError(
                f"--odds-scale needs --mechanism {LOGISTIC}, whose totals are odds; leave it out."
            )
        settings["odds_scale"] = stated_scale(odds_scale)
    if threshold_budget is not None:
        check_threshold_budget(declared)
        settings["threshold_budget"] = threshold_budget
    chosen = {**_UNSET, "noise": noise, **settings}
    for option, unset in _UNSET.items():
        if chosen[option] not in (unset, None):
            check_option(option, mechanism)
    if isinstance(table, pd.DataFrame):
        check_columns(table, (*declared.columns, declared.target.column))
    if say is not None:
        _say_what_is_at_stake(chosen, say)
    if isinstance(table, pd.DataFrame) and declared.is_multiclass:
        return _learn_cards(table, declared, mechanism, noise, settings)
    with told_of_spending(_teller(declared, say)):
        return _learn_card(table, declared, mechanism, noise, settings)


def _teller(
    schema: Schema, say: Callable[[str], object] | None
) -> Callable[[PrivacyReceipt], object]:
    """Return who says, once, what to expect of a rare outcome from what a receipt promises."""
    said: set[str] = set()

    def tell(receipt: PrivacyReceipt) -> None:
        rare = rare_outcome_text(schema)
        if rare and receipt.mechanism == HULL:
            rare = RARE_BY_CHANCES
        if say is not None and rare and rare not in said:
            said.add(rare)
            say(f"note: {rare}")

    return tell


def _learn_card(
    table: pd.DataFrame | RowCounts,
    declared: Schema,
    mechanism: str,
    noise: str,
    settings: dict[str, Any],
) -> SavedModel | SavedMulticlassModel:
    """Learn one card."""
    classifier: PrivateScorecardClassifier
    if mechanism == "opdisc":
        if any(settings.pop(option, None) is not None for option in ("prior", "pilot")):
            raise CalibrationError(
                f"a start needs --mechanism {LOGISTIC}, staged, permute_and_flip, exponential or "
                "auto; name one of them, or leave out --prior and --pilot."
            )
        settings.pop("max_rounds", None)
        settings.pop("base_measure", None)
        settings.pop("patience", None)
        classifier = OPDiscClassifier(schema=declared, noise=noise, **settings)  # type: ignore[arg-type]
    else:
        classifier = PrivateScorecardClassifier(schema=declared, mechanism=mechanism, **settings)
    if isinstance(table, RowCounts):
        return classifier.fit_counts(table).to_model()
    return classifier.fit(table, table[declared.target.column]).to_model()


def stated_scale(text: str) -> dict[str, Any]:
    """Return an odds scale as it was typed: ``600,50,20`` or ``600,50,20,good``.

    Raises
    ------
    CalibrationError
        If it is none.
    """
    parts = [part.strip() for part in text.split(",", maxsplit=3)]
    try:
        numbers = [float(part) for part in parts[:3]]
    except ValueError:
        numbers = []
    if len(numbers) != 3:
        raise CalibrationError(
            "an odds scale must be three numbers and perhaps a label, such as 600,50,20,good: the "
            "total, its odds, and the points that double them."
        )
    named = dict(zip(("points0", "odds0", "pdo"), numbers, strict=True))
    return {**named, "high": parts[3]} if len(parts) == 4 else {**named}


def _learn_cards(
    table: pd.DataFrame, schema: Schema, mechanism: str, noise: str, settings: dict[str, Any]
) -> SavedMulticlassModel:
    """Learn a card for each question that tells the schema's classes apart."""
    take_out_two_class_options(settings, schema)
    if noise != "l2-laplace":
        raise CalibrationError(
            "noise must be 'l2-laplace' for more than two classes, whose cards are pure; leave it "
            "out."
        )
    classifier = PrivateMulticlassClassifier(schema=schema, mechanism=mechanism, **settings)
    return classifier.fit(table, table[schema.target.column]).to_model()


def take_out_two_class_options(settings: dict[str, Any], schema: Schema) -> None:
    """Take out the options that several cards have no use for.

    Raises
    ------
    CalibrationError
        If one of them was given.
    """
    for option, unset in _TWO_CLASSES_ONLY.items():
        if settings.pop(option, unset) not in (unset, None):
            raise CalibrationError(
                f"{option} needs a target of two classes, but the schema declares "
                f"{len(schema.labels)}; leave it out."
            )


def _say_what_is_at_stake(chosen: dict[str, Any], say: Callable[[str], object]) -> None:
    """Say what a limit may cost, once it is known to be one."""
    limit, rounds = parse_time_limit(chosen["time_limit"]), parse_max_rounds(chosen["max_rounds"])
    SolveOptions(time_limit=limit)
    PrivacyParams(epsilon=chosen["epsilon"], delta=chosen.get("delta", 0.0))
    if chosen["oracle"] != "auto":
        get_oracle(chosen["oracle"])
    note = limit_note(chosen["oracle"], limit, rounds)
    if note:
        say(note)
