"""Every discrete mechanism of this package as a method of a comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from opdisc.comparison.methods.classes import fit_cards
from opdisc.comparison.methods.linear import fitted_linear
from opdisc.comparison.methods.method import Classes, FitTask, Fitted, Method
from oracles.arithmetic import BoolArray, FloatArray


def fitted_scorecard(model: Any, parameters: Mapping[str, Any]) -> Fitted:
    """Return a fitted scorecard classifier as a comparison wants it.

    Parameters
    ----------
    model : PrivateScorecardClassifier
        Fitted with a schema.
    parameters : mapping
        Settings worth recording, as JSON types.
    """
    from opdisc.data import encode_features

    def scores(table: pd.DataFrame) -> FloatArray:
        encoded = encode_features(table, model.schema_)
        return np.asarray(model.scorecard_.scores(encoded), dtype=np.float64)

    def predict(table: pd.DataFrame) -> BoolArray:
        return np.asarray(scores(table) >= model.scorecard_.threshold)

    def chances(table: pd.DataFrame) -> FloatArray:
        return np.asarray(model.odds_.chances(scores(table)))

    return Fitted(
        predict=predict,
        scores=scores,
        chances=chances if hasattr(model, "odds_") else None,
        receipt=model.receipt_,
        scorecard=model.scorecard_,
        parameters={"mechanism": model.receipt_.mechanism, **parameters},
    )


def _labels(task: FitTask) -> pd.Series[Any]:
    return task.table[task.schema.target.column]


def _fit_scorecard(task: FitTask, *, mechanism: str) -> Fitted:
    if task.schema.is_multiclass:
        return fit_cards(task, mechanism=mechanism)
    from opdisc.estimators import PrivateScorecardClassifier

    assert task.epsilon is not None
    starts = mechanism == "auto"
    model = PrivateScorecardClassifier(
        epsilon=task.epsilon,
        schema=task.schema,
        weight_bound=task.weight_bound,
        mechanism=mechanism,
        prior=task.prior if starts else None,
        pilot=task.pilot if starts else None,
        relation=task.relation.value,
        oracle=task.oracle,
        random_state=task.noise_seed,
        patience=task.patience,
        public_row_guess=task.public_row_guess,
    )
    model.fit(task.table, _labels(task))
    return fitted_scorecard(model, {})


def _fit_logistic(task: FitTask) -> Fitted:
    from opdisc.estimators import PrivateScorecardClassifier

    assert task.epsilon is not None
    model = PrivateScorecardClassifier(
        epsilon=task.epsilon,
        schema=task.schema,
        mechanism="logistic",
        prior=task.prior,
        pilot=task.pilot,
        relation=task.relation.value,
        random_state=task.noise_seed,
        public_row_guess=task.public_row_guess,
    )
    model.fit(task.table, _labels(task))
    return fitted_scorecard(model, {})


def _fit_sphere(task: FitTask, *, noise: str) -> Fitted:
    from opdisc.estimators import OPDiscClassifier

    return _fit_with_noise(OPDiscClassifier, task, noise, pure="l2-laplace")


def _fit_separator(task: FitTask, *, noise: str) -> Fitted:
    from opdisc.estimators import RSPMClassifier

    return _fit_with_noise(RSPMClassifier, task, noise, pure="laplace")


def _fit_with_noise(
    estimator: Callable[..., Any], task: FitTask, noise: str, *, pure: str
) -> Fitted:
    """Fit with a named noise; the pure one spends no delta."""
    assert task.epsilon is not None
    model = estimator(
        epsilon=task.epsilon,
        delta=0.0 if noise == pure else task.delta,
        schema=task.schema,
        weight_bound=task.weight_bound,
        relation=task.relation.value,
        oracle=task.oracle,
        random_state=task.noise_seed,
        noise=noise,
    )
    model.fit(task.table, _labels(task))
    return fitted_scorecard(model, {"noise": noise})


def _fit_vote(task: FitTask) -> Fitted:
    from opdisc.estimators import RobustVoteClassifier

    assert task.epsilon is not None and task.weight_bound != "auto"
    model = RobustVoteClassifier(
        epsilon=task.epsilon,
        schema=task.schema,
        weight_bound=task.weight_bound,
        relation=task.relation.value,
        random_state=task.noise_seed,
    )
    model.fit(task.table, _labels(task))
    return fitted_scorecard(model, {"elected": bool(model.elected_)})


def _fit_opsamp(task: FitTask) -> Fitted:
    from opdisc.estimators import OPSampClassifier

    assert task.epsilon is not None
    model = OPSampClassifier(
        schema=task.schema,
        loss="hinge",
        epsilon=task.epsilon,
        delta=task.delta,
        relation=task.relation.value,
        public_row_guess=task.public_row_guess,
        random_state=task.noise_seed,
        error_costs=task.error_costs,
    )
    model.fit(task.table, _labels(task))
    return fitted_linear(model, task, {"loss": "hinge", "domain": "box"})


def _scorecard(
    name: str,
    title: str,
    fit: Callable[[FitTask], Fitted],
    summary: str,
    *,
    uses_oracle: bool = False,
    has_grid: bool = True,
    automatic_bound: bool = False,
    classes: Classes = "two",
) -> Method:
    return Method(
        name=name,
        title=title,
        family="opdisc",
        private=True,
        tuning="fixed",
        fit=fit,
        summary=summary,
        uses_oracle=uses_oracle,
        has_grid=has_grid,
        automatic_bound=automatic_bound,
        classes=classes,
    )


METHODS = (
    _scorecard(
        "auto",
        "scorecard (auto)",
        partial(_fit_scorecard, mechanism="auto"),
        "The mechanism that PrivateScorecardClassifier chooses from public sizes.",
        automatic_bound=True,
        classes="any",
    ),
    _scorecard(
        "logistic-scorecard",
        "logistic scorecard",
        _fit_logistic,
        "Whole points from logistic regression with hull noise; totals are odds, pure.",
        has_grid=False,
    ),
    _scorecard(
        "permute-and-flip",
        "permute-and-flip",
        partial(_fit_scorecard, mechanism="permute_and_flip"),
        "Permute-and-flip over every scorecard, pure.",
        automatic_bound=True,
        classes="any",
    ),
    _scorecard(
        "exponential",
        "exponential mechanism",
        partial(_fit_scorecard, mechanism="exponential"),
        "The exponential mechanism over every scorecard, drawn exactly, pure.",
        automatic_bound=True,
        classes="any",
    ),
    _scorecard(
        "block-one-hot",
        "block one-hot",
        partial(_fit_scorecard, mechanism="block_one_hot"),
        "Objective perturbation with one noise value per assignment of a block, pure.",
        automatic_bound=True,
        uses_oracle=True,
        classes="any",
    ),
    _scorecard(
        "one-hot",
        "one-hot",
        partial(_fit_scorecard, mechanism="one_hot"),
        "Objective perturbation with one noise value per weight of a column, pure.",
        automatic_bound=True,
        uses_oracle=True,
        classes="any",
    ),
    _scorecard(
        "opdisc",
        "OPDisc (sphere, proven)",
        partial(_fit_sphere, noise="l2-laplace"),
        "OPDisc on the sphere with proven pure noise.",
        uses_oracle=True,
    ),
    _scorecard(
        "opdisc-gaussian",
        "OPDisc (Gaussian, proven)",
        partial(_fit_sphere, noise="gaussian"),
        "OPDisc on the sphere with Gaussian noise, proven calibration.",
        uses_oracle=True,
    ),
    _scorecard(
        "opdisc-published",
        "OPDisc (as published, VOID)",
        partial(_fit_sphere, noise="gaussian-published-3.5"),
        "OPDisc with the published Gaussian calibration, which is refuted: no guarantee.",
        uses_oracle=True,
    ),
    _scorecard(
        "rspm",
        "RSPM (Laplace, proven)",
        partial(_fit_separator, noise="laplace"),
        "RSPM: random weights on a separator set, pure.",
        uses_oracle=True,
    ),
    _scorecard(
        "rspm-gaussian",
        "RSPM (Gaussian, proven)",
        partial(_fit_separator, noise="gaussian"),
        "RSPM with Gaussian noise, proven calibration.",
        uses_oracle=True,
    ),
    _scorecard(
        "rspm-published",
        "RSPM (as published, VOID)",
        partial(_fit_separator, noise="gaussian-published-3.5"),
        "RSPM with the published Gaussian calibration, which is refuted: no guarantee.",
        uses_oracle=True,
    ),
    _scorecard(
        "robust-vote",
        "robust vote",
        _fit_vote,
        "A vote of learners on disjoint parts; private whatever they do.",
    ),
    _scorecard(
        "opsamp",
        "OPSamp (hinge)",
        _fit_opsamp,
        "OPSamp with the hinge loss: real weights, averaged minimisers.",
        has_grid=False,
    ),
)
