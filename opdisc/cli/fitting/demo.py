"""The demonstration: real data bundled with scikit-learn, no file and no network.

It also compiles what later fits will need, so that the first of them does not wait for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from opdisc.cli.progress import progress_steps
from opdisc.data import encode_features, load_dataset, load_schema
from opdisc.estimators import PrivateScorecardClassifier
from opdisc.planning import COMPILATIONS, compile_kernels as compile_later_fits

HELD_OUT_SHARE = 0.3

SPLIT_SEED = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """Share of rows classified correctly.

    Parameters
    ----------
    name : str
        Which classifier.
    private : bool
        Whether it was trained under differential privacy.
    training, held_out : float
        Accuracy on the training rows and on the rows kept aside.
    """

    name: str
    private: bool
    training: float
    held_out: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Demonstration:
    """What ``opdisc demo`` shows.

    Parameters
    ----------
    classifier : PrivateScorecardClassifier
        Fitted on 70% of the rows.
    accuracies : tuple of Accuracy
        The scorecard and its non-private references. These figures are not private; the table is
        public.
    n_training, n_held_out : int
        Rows.
    """

    classifier: PrivateScorecardClassifier
    accuracies: tuple[Accuracy, ...]
    n_training: int
    n_held_out: int


def run_demo(epsilon: float, weight_bound: int) -> Demonstration:
    """Learn a private scorecard for scikit-learn's breast_cancer table and compare it.

    Parameters
    ----------
    epsilon : float
        Privacy loss.
    weight_bound : int
        Points are in ``-weight_bound .. weight_bound``.

    Returns
    -------
    Demonstration
        Two references accompany the scorecard: non-private logistic regression on the same yes/no
        columns, and on all thirty measurements.
    """
    table, schema = load_dataset("breast-cancer"), load_schema("breast-cancer")
    labels = table[schema.target.column]
    measurements = table.drop(columns=schema.target.column)
    held_out = np.zeros(len(table), dtype=bool)
    drawn = np.random.default_rng(SPLIT_SEED).permutation(len(table))
    held_out[drawn[: round(HELD_OUT_SHARE * len(table))]] = True
    classifier = PrivateScorecardClassifier(
        epsilon=epsilon, schema=schema, weight_bound=weight_bound
    ).fit(table[~held_out], labels[~held_out])
    encoded = pd.DataFrame(encode_features(table, schema)[:, 1:])
    references = (
        ("logistic regression, same columns", LogisticRegression(max_iter=5000), encoded),
        (
            "logistic regression, all 30 measurements",
            make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000)),
            measurements,
        ),
    )
    accuracies = [
        _accuracy("private scorecard", True, classifier.predict(table), labels, held_out)
    ]
    for name, model, columns in references:
        model.fit(columns[~held_out], labels[~held_out])
        accuracies.append(_accuracy(name, False, model.predict(columns), labels, held_out))
    return Demonstration(
        classifier=classifier,
        accuracies=tuple(accuracies),
        n_training=int((~held_out).sum()),
        n_held_out=int(held_out.sum()),
    )


def compile_kernels() -> None:
    """Compile what later fits need, and show how far it is."""
    with progress_steps(COMPILATIONS) as step:
        compile_later_fits(lambda: step("preparing for later fits"))


def _accuracy(
    name: str,
    private: bool,
    predicted: np.ndarray,
    labels: pd.Series,
    held_out: np.ndarray,
) -> Accuracy:
    right = np.asarray(predicted) == labels.to_numpy()
    return Accuracy(
        name=name,
        private=private,
        training=float(right[~held_out].mean()),
        held_out=float(right[held_out].mean()),
    )
