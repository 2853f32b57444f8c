"""From a labelled table and a schema to a saved model: what ``opdisc fit`` does."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any

import pandas as pd

from opdisc.cli.releasing import limit_note
from opdisc.data import check_columns, load_schema
from opdisc.errors import CalibrationError
from opdisc.estimators import OPDiscClassifier, PrivateScorecardClassifier
from opdisc.mechanisms import PATIENCE
from opdisc.models import SavedModel
from opdisc.planning import MECHANISMS, check_option, parse_max_rounds, parse_time_limit
from opdisc.privacy import PrivacyParams
from oracles.interface import SolveOptions, get_oracle

_UNSET = {
    "noise": "l2-laplace",
    "base_measure": "auto",
    "max_rounds": None,
    "oracle": "auto",
    "time_limit": None,
    "patience": PATIENCE,
}
"""Options that only some mechanisms take, and what leaves each out."""


def learn_model(
    table: pd.DataFrame,
    schema: str | PathLike[str],
    *,
    mechanism: str = "auto",
    noise: str = "l2-laplace",
    say: Callable[[str], object] | None = None,
    **settings: Any,
) -> SavedModel:
    """Learn a scorecard from a table that holds its own labels.

    Parameters
    ----------
    table : DataFrame
        Feature columns and the target column of the schema.
    schema : str or path
        Schema file or the name of a shipped one.
    mechanism : str
        As in :class:`~opdisc.PrivateScorecardClassifier`.
    noise : str
        Noise of the sphere; only with ``mechanism="opdisc"``.
    say : callable or None
        Told, before anything is spent, what a limit or a solver without one may cost.
    **settings
        Other arguments of the classifier.

    Returns
    -------
    SavedModel
        Scorecard, schema and receipt.

    Raises
    ------
    OPDiscError
        Whatever the classifier refuses.
    """
    declared = load_schema(schema)
    if mechanism not in MECHANISMS:
        raise CalibrationError(
            f"mechanism must be one of {', '.join(MECHANISMS)}, got '{mechanism}'."
        )
    chosen = {**_UNSET, "noise": noise, **settings}
    for option, unset in _UNSET.items():
        if chosen[option] not in (unset, None):
            check_option(option, mechanism)
    check_columns(table, (*declared.columns, declared.target.column))
    if say is not None:
        _say_what_is_at_stake(chosen, say)
    classifier: PrivateScorecardClassifier
    if mechanism == "opdisc":
        settings.pop("max_rounds", None)
        settings.pop("base_measure", None)
        settings.pop("patience", None)
        classifier = OPDiscClassifier(schema=declared, noise=noise, **settings)  # type: ignore[arg-type]
    else:
        classifier = PrivateScorecardClassifier(schema=declared, mechanism=mechanism, **settings)
    return classifier.fit(table, table[declared.target.column]).to_model()


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
