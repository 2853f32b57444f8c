"""References that are not private: what the methods are measured against."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from opdisc.comparison.methods.classes import class_positions
from opdisc.comparison.methods.method import Classes, FitTask, Fitted, Method, same_for_all
from oracles.arithmetic import BoolArray, FloatArray, IntArray


def fit_best_scorecard(
    task: FitTask,
    *,
    norm_budget: int | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Fitted:
    """Return the scorecard of fewest training errors, or least cost, by an exact search.

    Parameters
    ----------
    task : FitTask
        What to fit; its weight bound must be a number.
    norm_budget : int or None
        Largest squared norm of the scorecards.
    parameters : mapping or None
        What the row tells of the fit besides the certified gap.
    """
    from opdisc.data import encode, encode_features
    from opdisc.models import Scorecard
    from oracles.interface import solve
    from oracles.problem import WeightGrid, ZeroOneProblem

    assert task.weight_bound != "auto"
    encoded = encode(task.table, task.schema)
    problem = ZeroOneProblem(
        points=encoded.points.astype(np.int64),
        positives=encoded.positives,
        negatives=encoded.negatives,
        grid=WeightGrid.box(task.schema.n_columns + 1, task.weight_bound, norm_budget),
    )
    solution = solve(task.error_costs.weigh(problem), task.oracle)
    card = Scorecard(
        target=task.schema.target.column,
        classes=task.schema.classes,
        columns=task.schema.column_names,
        points=solution.hypothesis[1:],
        start=solution.hypothesis[0],
    )

    def scores(table: pd.DataFrame) -> FloatArray:
        return np.asarray(card.scores(encode_features(table, task.schema)), dtype=np.float64)

    def predict(table: pd.DataFrame) -> BoolArray:
        return np.asarray(scores(table) >= 1)

    return Fitted(
        predict=predict,
        scores=scores,
        scorecard=card,
        parameters={
            **(parameters or {}),
            "certified_gap": float(solution.certificate.gap_in_rows),
        },
    )


def _encoded(task: FitTask) -> tuple[FloatArray, BoolArray]:
    from opdisc.data import encode_features, encode_labels

    signs = encode_labels(task.table, task.schema)
    features = encode_features(task.table, task.schema)[:, 1:].astype(np.float64)
    return features[signs != 0], signs[signs != 0] > 0


def _fit_logistic(task: FitTask) -> Fitted:
    from sklearn.linear_model import LogisticRegression

    from opdisc.data import encode_features

    if task.schema.is_multiclass:
        return _fit_logistic_of_classes(task)
    model = LogisticRegression(C=1.0, max_iter=5000).fit(*_encoded(task))

    def scores(table: pd.DataFrame) -> FloatArray:
        columns = encode_features(table, task.schema)[:, 1:].astype(np.float64)
        return np.asarray(model.decision_function(columns), dtype=np.float64)

    def predict(table: pd.DataFrame) -> BoolArray:
        return np.asarray(scores(table) > task.log_odds)

    def chances(table: pd.DataFrame) -> FloatArray:
        from scipy.special import expit

        return np.asarray(expit(scores(table)))

    return Fitted(predict=predict, scores=scores, chances=chances, parameters={"C": 1.0})


def _fit_logistic_of_classes(task: FitTask) -> Fitted:
    from sklearn.linear_model import LogisticRegression

    from opdisc.data import encode_features

    positions = class_positions(task.table, task.schema)
    rows = encode_features(task.table, task.schema)[:, 1:].astype(np.float64)
    known = positions >= 0
    model = LogisticRegression(C=1.0, max_iter=5000).fit(rows[known], positions[known])

    def scores(table: pd.DataFrame) -> FloatArray:
        columns = encode_features(table, task.schema)[:, 1:].astype(np.float64)
        found = np.zeros((len(table), len(task.schema.labels)))
        found[:, model.classes_] = model.predict_proba(columns)
        return found

    def predict(table: pd.DataFrame) -> IntArray:
        return np.asarray(scores(table).argmax(axis=1), dtype=np.int64)

    return Fitted(predict=predict, scores=scores, parameters={"C": 1.0})


def _fit_majority(task: FitTask) -> Fitted:
    if task.schema.is_multiclass:
        positions = class_positions(task.table, task.schema)
        most = int(np.bincount(positions[positions >= 0]).argmax())
        return Fitted(predict=lambda table: np.full(len(table), most), scores=same_for_all)
    positive = _encoded(task)[1]
    missed, alarms = int(positive.sum()), int((~positive).sum())
    cheaper = task.error_costs.total(missed, 0) > task.error_costs.total(0, alarms)

    def predict(table: pd.DataFrame) -> BoolArray:
        return np.full(len(table), cheaper)

    return Fitted(predict=predict, scores=same_for_all)


def _reference(
    name: str,
    title: str,
    fit: Any,
    summary: str,
    *,
    grid: bool = False,
    classes: Classes = "two",
) -> Method:
    return Method(
        name=name,
        title=title,
        family="reference",
        private=False,
        tuning="fixed",
        fit=fit,
        summary=summary,
        uses_oracle=grid,
        has_grid=grid,
        classes=classes,
    )


METHODS = (
    _reference(
        "optimum",
        "best scorecard (not private)",
        fit_best_scorecard,
        "The scorecard of fewest training errors on the same grid, by an exact search.",
        grid=True,
    ),
    _reference(
        "logistic",
        "logistic regression (not private)",
        _fit_logistic,
        "scikit-learn's logistic regression on the same columns.",
        classes="any",
    ),
    _reference(
        "majority",
        "majority class (not private)",
        _fit_majority,
        "Always the more frequent class of the training rows, or the one that costs more to miss.",
        classes="any",
    ),
)
