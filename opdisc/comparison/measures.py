"""What predictions and scores are worth on labelled rows: accuracy, cost, areas and curves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from opdisc.comparison.methods import Fitted, class_positions
from opdisc.data import Schema, encode_labels
from oracles.arithmetic import BoolArray, FloatArray

CHANCE_GROUPS = 10
"""A calibration curve has so many points, each of as many rows."""

CURVE_STEPS = 100
"""A curve is stored at the false positive rates 0, 1/100, ..., 1."""


def measured(fitted: Fitted, table: pd.DataFrame, schema: Schema, part: str) -> dict[str, Any]:
    """Return what a fitted method is worth on labelled rows.

    Parameters
    ----------
    fitted : Fitted
        What a fit handed back.
    table : DataFrame
        Raw rows, each with a label.
    schema : Schema
        Public facts; its error costs price a mistake.
    part : str
        "train" or "test": how the names of the measures begin.

    Returns
    -------
    dict
        Fields of a row. The area under the ROC curve is None where the method has no scores, a
        score is not finite, or the rows are all of one class. The Brier score, the mean squared
        distance of a stated probability from what was, is there where a method states one. Of more
        than two classes the area is the mean over the classes that occur, each against the rest,
        and there is neither curve nor Brier score.
    """
    if schema.is_multiclass:
        return _measured_of_classes(fitted, table, schema, part)
    truth = np.asarray(encode_labels(table, schema) == 1)
    predicted = np.asarray(fitted.predict(table), dtype=bool)
    right = predicted == truth
    recalls = [
        float(right[truth == side].mean()) for side in (True, False) if (truth == side).any()
    ]
    costs = schema.error_costs
    cost = costs.total(int((truth & ~predicted).sum()), int((~truth & predicted).sum()))
    measures: dict[str, Any] = {
        f"{part}_accuracy": float(right.mean()),
        f"{part}_balanced_accuracy": float(np.mean(recalls)),
        f"{part}_auc": None,
    }
    if not costs.are_equal:
        measures[f"{part}_cost"] = cost / len(truth)
    if fitted.chances is not None:
        chances = fitted.chances(table)
        measures[f"{part}_brier"] = float(np.mean((chances - truth) ** 2))
        measures["calibration"] = calibration_points(truth, chances)
    if part == "train":
        measures["train_errors"] = cost
    scores = usable_scores(fitted, table)
    if scores is not None and len(recalls) == 2:
        measures[f"{part}_auc"] = area_under_roc(truth, scores)
        measures["roc"] = roc_curve_points(truth, scores)
    return measures


def _measured_of_classes(
    fitted: Fitted, table: pd.DataFrame, schema: Schema, part: str
) -> dict[str, Any]:
    truth = class_positions(table, schema)
    right = np.asarray(fitted.predict(table)) == truth
    occurring = np.unique(truth)
    measures: dict[str, Any] = {
        f"{part}_accuracy": float(right.mean()),
        f"{part}_balanced_accuracy": float(np.mean([right[truth == k].mean() for k in occurring])),
        f"{part}_auc": None,
    }
    if part == "train":
        measures["train_errors"] = int((~right).sum())
    scores = usable_scores(fitted, table)
    if scores is not None and len(occurring) > 1:
        # One score for a row, whatever the class, says nothing of any class.
        columns = scores if scores.ndim == 2 else np.zeros((len(truth), len(schema.labels)))
        areas = [area_under_roc(truth == k, columns[:, k]) for k in occurring]
        measures[f"{part}_auc"] = float(np.mean(areas))
    return measures


def usable_scores(fitted: Fitted, table: pd.DataFrame) -> FloatArray | None:
    """Return the scores of rows, None where there are none or one of them is not finite."""
    if fitted.scores is None:
        return None
    scores = np.asarray(fitted.scores(table), dtype=np.float64)
    return scores if np.isfinite(scores).all() else None


def area_under_roc(truth: BoolArray, scores: FloatArray) -> float:
    """Return how often a positive row scores higher than a negative one, ties counted half."""
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(truth, scores))


def calibration_points(truth: BoolArray, chances: FloatArray) -> list[list[float]]:
    """Return the mean chance and the share of positive rows of groups of rows by their chance.

    Parameters
    ----------
    truth : bool array, shape (n,)
        Whether a row is positive.
    chances : float array, shape (n,)
        Stated probabilities of that.

    Returns
    -------
    list of [float, float]
        At most ``CHANCE_GROUPS`` points to five digits, by rising chance; rows of one chance stay
        in the order of the table.
    """
    groups = np.array_split(np.argsort(chances, kind="stable"), CHANCE_GROUPS)
    return [
        [round(float(chances[rows].mean()), 5), round(float(truth[rows].mean()), 5)]
        for rows in groups
        if len(rows)
    ]


def roc_curve_points(truth: BoolArray, scores: FloatArray) -> list[float]:
    """Return the true positive rates at equally spaced false positive rates from 0 to 1.

    Parameters
    ----------
    truth : bool array, shape (n,)
        Whether a row is positive; both occur.
    scores : float array, shape (n,)
        Larger for the positive class; rows of one score are called positive together.

    Returns
    -------
    list of float
        ``CURVE_STEPS + 1`` rates to five digits; where the curve rises upright, its upper end.
    """
    from sklearn.metrics import roc_curve

    false_rates, true_rates, _ = roc_curve(truth, scores)
    asked = np.arange(CURVE_STEPS + 1) / CURVE_STEPS
    # The last vertex at or left of each rate, and how far on towards the next one it lies.
    left = np.searchsorted(false_rates, asked, side="right") - 1
    right = np.minimum(left + 1, len(false_rates) - 1)
    width = false_rates[right] - false_rates[left]
    share = (asked - false_rates[left]) / np.where(width > 0, width, 1.0)
    found = true_rates[left] + share * (true_rates[right] - true_rates[left])
    return [round(float(rate), 5) for rate in found]
