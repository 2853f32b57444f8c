"""Noisy SGD with its settings chosen from a grid: once as the literature does, once privately."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from opdisc.comparison.methods.clipped_descent import (
    SETTINGS,
    DescentSettings,
    DescentTask,
    clipped_descent,
    descent_task,
)
from opdisc.comparison.methods.method import FitTask, Fitted, Method
from opdisc.mechanisms import private_selection
from opdisc.privacy import ConvexReceipt, EntropySource, PrivacyParams, parse_entropy
from oracles.arithmetic import FloatArray

SEARCH_FITS = 3
"""Fits of each setting in the search that is not private."""

EXPECTED_TRIALS = 10.0
"""Mean number of trials of the private selection."""

SEARCH_WARNING = (
    "the settings were chosen by their accuracy on the private rows, without any privacy: the "
    "noise of the last fit alone is calibrated"
)


def fit_grid_search(task: FitTask) -> Fitted:
    """Fit every setting, keep the most accurate one on the training rows, and fit it afresh.

    Parameters
    ----------
    task : FitTask
        Every fit, the last one included, has the task's whole budget.

    Returns
    -------
    Fitted
        Guarantee VOID: the choice is not private.
    """
    rows, params, entropy = _prepared(task)

    def mean_correct(settings: DescentSettings) -> float:
        fits = (clipped_descent(rows, settings, params, entropy) for _ in range(SEARCH_FITS))
        return float(np.mean([rows.correct(fit.parameters) for fit in fits]))

    chosen = max(SETTINGS, key=mean_correct)
    released = clipped_descent(rows, chosen, params, entropy)
    return Fitted(
        predict=partial(rows.predict, released.parameters),
        scores=partial(rows.scores, released.parameters),
        parameters={"settings": chosen.to_dict(), "settings_tried": len(SETTINGS)},
        delta=params.delta,
        guarantee="VOID",
        label="proven",
        theorem=released.receipt.theorem,
        conditions=(SEARCH_WARNING,),
        unit=released.receipt.protected_unit,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    """One setting of noisy SGD, as the private selection wants it.

    Parameters
    ----------
    rows : DescentTask
        Encoded training rows and the public facts about them.
    settings : DescentSettings
        The setting.
    entropy : EntropySource
        Where the noise comes from.
    """

    rows: DescentTask
    settings: DescentSettings
    entropy: EntropySource

    @property
    def name(self) -> str:
        return self.settings.name

    def fit(self, params: PrivacyParams) -> tuple[FloatArray, ConvexReceipt]:
        released = clipped_descent(self.rows, self.settings, params, self.entropy)
        return released.parameters, released.receipt

    def correct(self, model: FloatArray) -> int:
        return self.rows.correct(model)


def fit_private_selection(task: FitTask) -> Fitted:
    """Choose among the same settings by :func:`opdisc.mechanisms.private_selection`.

    Parameters
    ----------
    task : FitTask
        Its budget pays for all fits, their noisy scores and the choice.
    """
    rows, params, entropy = _prepared(task)
    candidates = [_Candidate(rows=rows, settings=s, entropy=entropy) for s in SETTINGS]
    selected = private_selection(
        candidates,
        params=params,
        relation=task.relation,
        expected_trials=EXPECTED_TRIALS,
        rows_per_unit=task.schema.rows_per_unit,
        privacy_unit=task.schema.privacy_unit,
        entropy=entropy,
    )
    return Fitted(
        predict=partial(rows.predict, selected.model),
        scores=partial(rows.scores, selected.model),
        receipt=selected.receipt,
        parameters={"settings": selected.name, "settings_offered": len(SETTINGS)},
    )


def _prepared(task: FitTask) -> tuple[DescentTask, PrivacyParams, EntropySource]:
    assert task.epsilon is not None
    params = PrivacyParams(epsilon=task.epsilon, delta=task.delta)
    return descent_task(task), params, parse_entropy(task.noise_seed)


METHODS = (
    Method(
        name="logistic-noisy-sgd-tuned",
        title="private logistic regression (noisy SGD, non-private grid search)",
        family="convex",
        private=True,
        tuning="non-private",
        fit=fit_grid_search,
        summary="Clip, batch and learning rate by a grid search that is not private, as in N19.",
    ),
    Method(
        name="logistic-private-selection",
        title="private logistic regression (noisy SGD, private selection)",
        family="convex",
        private=True,
        tuning="private",
        fit=fit_private_selection,
        summary="The same grid searched privately, its cost within the budget.",
    ),
)
