"""Mean ROC and calibration curves by method and epsilon."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from opdisc.report.cells import Evaluation, ResultCell
from oracles.arithmetic import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanCurve:
    """The mean ROC or calibration curve of one method at one epsilon.

    Parameters
    ----------
    cell : ResultCell
        The method at its epsilon.
    across, rates : float array
        Points of the curve, as shares: false and mean true positive rates; or mean chances and
        mean shares of positive rows.
    runs : int
        How many runs it averages.
    """

    cell: ResultCell
    across: FloatArray
    rates: FloatArray
    runs: int


def area_metric(evaluation: Evaluation) -> str:
    """Return the column of the area under the ROC curve of a view."""
    return evaluation.metric.replace("_accuracy", "_auc")


def mean_curves(
    evaluation: Evaluation, cells: Sequence[ResultCell], column: str = "roc"
) -> tuple[MeanCurve, ...]:
    """Return the mean curve of each method at each epsilon that has any.

    Parameters
    ----------
    evaluation : Evaluation
        The view that ranks: its rows are those of which runs store the curve.
    cells : sequence of ResultCell
        Its methods.
    column : str
        "roc" or "calibration": where the runs store the curve.
    """
    read = _read if column == "roc" else _read_pairs
    runs = evaluation.runs[evaluation.runs["status"] == "ok"]
    found = []
    for cell in cells:
        mine = runs[runs["series"] == cell.series.index]
        at = mine["epsilon"].isna() if cell.epsilon is None else mine["epsilon"] == cell.epsilon
        stored = [points for value in mine[at][column] if (points := read(value)) is not None]
        # One length only: curves of another version's spacing cannot be averaged with these.
        alike = [points for points in stored if len(points) == len(stored[0])]
        if alike:
            across, rates = np.mean(alike, axis=0).T
            found.append(MeanCurve(cell=cell, across=across, rates=rates, runs=len(alike)))
    return tuple(found)


def _read(value: object) -> FloatArray | None:
    """Return the points of a stored ROC curve, shape (n, 2); None for anything that is none."""
    rates = _shares(value)
    if rates is None:
        return None
    return np.column_stack([np.linspace(0, 1, len(rates)), rates])


def _read_pairs(value: object) -> FloatArray | None:
    """Return stored points, shape (n, 2); None for anything that is none."""
    if not isinstance(value, list) or not all(isinstance(pair, list) for pair in value):
        return None
    pairs = [_shares(pair) for pair in value]
    if len(pairs) < 2 or any(pair is None or len(pair) != 2 for pair in pairs):
        return None
    return np.array(pairs, dtype=np.float64)


def _shares(value: object) -> FloatArray | None:
    """Return numbers from 0 to 1, None for anything else."""
    if not isinstance(value, list) or len(value) < 2:
        return None
    if any(isinstance(rate, bool) or not isinstance(rate, int | float) for rate in value):
        return None
    rates = np.array(value, dtype=np.float64)
    return rates if bool(((rates >= 0) & (rates <= 1)).all()) else None
