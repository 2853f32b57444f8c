"""From a labelled table and a schema to a saved model: what ``opdisc fit`` does."""

from __future__ import annotations

from os import PathLike
from typing import Any

import pandas as pd

from opdisc.encoding import check_columns
from opdisc.errors import CalibrationError
from opdisc.mechanisms.choice import MECHANISMS
from opdisc.model_file import SavedModel
from opdisc.named_estimators import OPDiscClassifier
from opdisc.scorecard_estimator import PrivateScorecardClassifier
from opdisc.shipped_schemas import load_schema


def learn_model(
    table: pd.DataFrame,
    schema: str | PathLike[str],
    *,
    mechanism: str = "auto",
    noise: str = "l2-laplace",
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
    if settings.get("max_rounds") is not None and mechanism not in (
        "auto",
        "exponential",
        "permute_and_flip",
    ):
        raise CalibrationError(
            "max_rounds applies to mechanism='exponential' and 'permute_and_flip' only; drop it "
            "or say one of them."
        )
    if settings.get("base_measure", "uniform") != "uniform" and mechanism == "opdisc":
        raise CalibrationError(
            "base_measure applies to mechanism='exponential' only; drop it or say exponential."
        )
    if noise != "l2-laplace" and mechanism != "opdisc":
        raise CalibrationError("noise applies to mechanism='opdisc' only; drop it or say opdisc.")
    for name, default in (("oracle", "auto"), ("time_limit", None)):
        if mechanism == "exponential" and settings.get(name, default) != default:
            raise CalibrationError(
                f"{name} applies to mechanisms that minimise, mechanism='exponential' draws "
                f"directly; drop it or cap the draw by max_rounds."
            )
    check_columns(table, (*declared.columns, declared.target.column))
    classifier: PrivateScorecardClassifier
    if mechanism == "opdisc":
        settings.pop("max_rounds", None)
        settings.pop("base_measure", None)
        classifier = OPDiscClassifier(schema=declared, noise=noise, **settings)  # type: ignore[arg-type]
    else:
        classifier = PrivateScorecardClassifier(schema=declared, mechanism=mechanism, **settings)
    return classifier.fit(table, table[declared.target.column]).to_model()
