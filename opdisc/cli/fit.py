"""From a labelled table and a schema to a saved model: what ``opdisc fit`` does."""

from __future__ import annotations

from os import PathLike
from typing import Any

import pandas as pd

from opdisc.data import RowCounts, check_columns, load_schema
from opdisc.errors import CalibrationError
from opdisc.estimators import OPDiscClassifier, PrivateScorecardClassifier
from opdisc.mechanisms import PATIENCE
from opdisc.models import SavedModel
from opdisc.planning import MECHANISMS, check_option

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
    table: pd.DataFrame | RowCounts,
    schema: str | PathLike[str],
    *,
    mechanism: str = "auto",
    noise: str = "l2-laplace",
    **settings: Any,
) -> SavedModel:
    """Learn a scorecard from a table that holds its own labels.

    Parameters
    ----------
    table : DataFrame or RowCounts
        Feature columns and the target column of the schema, or its rows counted by it.
    schema : str or path
        Schema file or the name of a shipped one.
    mechanism : str
        As in :class:`~opdisc.PrivateScorecardClassifier`.
    noise : str
        Noise of the sphere; only with ``mechanism="opdisc"``.
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
    if isinstance(table, pd.DataFrame):
        check_columns(table, (*declared.columns, declared.target.column))
    classifier: PrivateScorecardClassifier
    if mechanism == "opdisc":
        settings.pop("max_rounds", None)
        settings.pop("base_measure", None)
        settings.pop("patience", None)
        classifier = OPDiscClassifier(schema=declared, noise=noise, **settings)  # type: ignore[arg-type]
    else:
        classifier = PrivateScorecardClassifier(schema=declared, mechanism=mechanism, **settings)
    if isinstance(table, RowCounts):
        return classifier.fit_counts(table).to_model()
    return classifier.fit(table, table[declared.target.column]).to_model()
