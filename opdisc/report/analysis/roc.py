"""Mean ROC curves by method and epsilon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from opdisc.report.analysis.cells import Evaluation, ResultCell
from oracles.arithmetic import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanCurve:
    """The mean ROC curve of one method at one epsilon.

    Parameters
    ----------
    cell : ResultCell
        The method at its epsilon.
    rates : float array
        Mean true positive rates at equally spaced false positive rates from 0 to 1.
    runs : int
        How many runs it averages.
    """

    cell: ResultCell
    rates: FloatArray
    runs: int


def area_metric(evaluation: Evaluation) -> str:
    """Return the column of the area under the ROC curve of a view."""
    return evaluation.metric.replace("_accuracy", "_auc")


def mean_curves(evaluation: Evaluation, cells: Sequence[ResultCell]) -> tuple[MeanCurve, ...]:
    """Return the mean curve of each method at each epsilon that has any.

    Parameters
    ----------
    evaluation : Evaluation
        The view that ranks: its rows are those of which runs store the curve.
    cells : sequence of ResultCell
        Its methods.
    """
    runs = evaluation.runs[evaluation.runs["status"] == "ok"]
    found = []
    for cell in cells:
        mine = runs[runs["series"] == cell.series.index]
        at = mine["epsilon"].isna() if cell.epsilon is None else mine["epsilon"] == cell.epsilon
        stored = [rates for value in mine[at]["roc"] if (rates := _read(value)) is not None]
        # One length only: curves of another version's spacing cannot be averaged with these.
        alike = [rates for rates in stored if len(rates) == len(stored[0])]
        if alike:
            found.append(MeanCurve(cell=cell, rates=np.mean(alike, axis=0), runs=len(alike)))
    return tuple(found)


def _read(value: object) -> FloatArray | None:
    """Return the rates of a stored curve, None for anything that is not one."""
    if not isinstance(value, list) or len(value) < 2:
        return None
    if any(isinstance(rate, bool) or not isinstance(rate, int | float) for rate in value):
        return None
    rates = np.array(value, dtype=np.float64)
    return rates if bool(((rates >= 0) & (rates <= 1)).all()) else None
