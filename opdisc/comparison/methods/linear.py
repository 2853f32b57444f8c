"""Every convex mechanism as a method: linear models with fixed public defaults.

They see the schema's 0/1 columns, whose norm bound is public, and delta where they can use one:
objective and output perturbation then take the noise of smaller predicted error.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from opdisc.comparison.methods.classes import one_versus_rest
from opdisc.comparison.methods.method import FitTask, Fitted, Method
from oracles.arithmetic import BoolArray, FloatArray

_MECHANISMS = {
    "objective": ("objective_perturbation", "objective perturbation"),
    "output": ("output_perturbation", "output perturbation"),
    "approximate-minima": ("approximate_minima", "approximate minima perturbation"),
    "noisy-sgd": ("noisy_sgd", "noisy SGD"),
    "gradient-descent": ("gradient_descent", "noisy gradient descent"),
    "gradient-descent-random": ("gradient_descent_random", "a random iterate of noisy descent"),
    "svrg": ("svrg", "noisy SVRG"),
    "frank-wolfe": ("frank_wolfe", "private Frank-Wolfe"),
    "grid-walk": ("grid_walk", "a grid walk"),
    "mirror-descent": ("mirror_descent", "noisy mirror descent"),
    "accelerated-mirror-descent": (
        "accelerated_mirror_descent",
        "accelerated noisy mirror descent",
    ),
}


def fitted_linear(
    model: Any, task: FitTask, parameters: dict[str, Any], threshold: float = 0.0
) -> Fitted:
    """Return a fitted linear classifier as a comparison wants it.

    Parameters
    ----------
    model : PrivateLogisticRegression, PrivateLinearSVC or OPSampClassifier
        Fitted with the task's schema.
    task : FitTask
        What it was fitted to.
    parameters : dict
        Settings worth recording, as JSON types.
    threshold : float
        Score above which the positive class is predicted.
    """

    def scores(table: pd.DataFrame) -> FloatArray:
        # Not the decision function, which is for the label that sorts last.
        return np.asarray(model._scores(table), dtype=np.float64)

    def predict(table: pd.DataFrame) -> BoolArray:
        return np.asarray(scores(table) > threshold)

    def chances(table: pd.DataFrame) -> FloatArray:
        from scipy.special import expit

        return np.asarray(expit(scores(table)))

    return Fitted(
        predict=predict,
        scores=scores,
        chances=chances if hasattr(model, "predict_proba") else None,
        receipt=model.receipt_,
        parameters=parameters,
    )


def fit_linear(task: FitTask, *, model: str, mechanism: str, ridge: float | None = None) -> Fitted:
    """Fit a convex baseline; of several classes one for each against the rest.

    Parameters
    ----------
    task : FitTask
        What to fit.
    model : str
        "logistic" or "svm".
    mechanism : str
        As :class:`opdisc.PrivateLogisticRegression` names it.
    ridge : float or None
        Regularisation in the sum scale; None takes the public default.
    """
    from opdisc.estimators import PrivateLinearSVC, PrivateLogisticRegression

    if task.schema.is_multiclass:
        binary = partial(fit_linear, model=model, mechanism=mechanism, ridge=ridge)
        return one_versus_rest(task, binary)
    assert task.epsilon is not None
    estimator: Any = PrivateLogisticRegression if model == "logistic" else PrivateLinearSVC
    starts = {"prior": task.prior, "pilot": task.pilot} if mechanism == "hull" else {}
    fitted = estimator(
        epsilon=task.epsilon,
        delta=task.delta,
        mechanism=mechanism,
        schema=task.schema,
        relation=task.relation.value,
        ridge=ridge,
        public_row_guess=task.public_row_guess,
        random_state=task.noise_seed,
        # A logistic score has a threshold for any costs, which costs no noise; a margin has none.
        error_costs=None if model == "logistic" else task.error_costs,
        **starts,
    ).fit(task.table, task.table[task.schema.target.column])
    threshold = task.log_odds if model == "logistic" else 0.0
    return fitted_linear(fitted, task, {"mechanism": mechanism, "ridge": ridge}, threshold)


def fit_start(task: FitTask) -> Fitted:
    """Return a public start as it is, without the rows."""
    from opdisc.convex import start_from
    from opdisc.data import encode_features

    start = start_from(task.prior, task.pilot, task.schema)
    assert start is not None
    weights = np.array(list(map(float, start.weights)))

    def scores(table: pd.DataFrame) -> FloatArray:
        return np.asarray(encode_features(table, task.schema) @ weights)

    def predict(table: pd.DataFrame) -> BoolArray:
        return np.asarray(scores(table) > task.log_odds)

    return Fitted(predict=predict, scores=scores, parameters={"start": start.source})


_START = Method(
    name="public-start",
    title="the public start alone",
    family="reference",
    private=False,
    tuning="fixed",
    fit=fit_start,
    summary="The card or rows of --prior or --pilot, which looked at no row of the table.",
    requires="start",
)


def _methods() -> tuple[Method, ...]:
    models = {"logistic": "private logistic regression", "svm": "private linear SVM"}
    by_model = {"logistic": {**_MECHANISMS, "hull": ("hull", "hull noise")}, "svm": _MECHANISMS}
    return tuple(
        Method(
            name=f"{model}-{short}",
            title=f"{words} ({title})",
            family="convex",
            private=True,
            tuning="fixed",
            fit=partial(fit_linear, model=model, mechanism=mechanism),
            summary=f"{words[0].upper()}{words[1:]} by {title}, public defaults.",
            classes="any",
        )
        for model, words in models.items()
        for short, (mechanism, title) in by_model[model].items()
    )


METHODS = (*_methods(), _START)
