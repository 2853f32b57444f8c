"""Least squares from noisy sums of products: a baseline under approximate privacy."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from opdisc.comparison.methods.method import ComparisonError, FitTask, Fitted, Method
from oracles.arithmetic import BoolArray, FloatArray

NAME = "sufficient-statistics"

_CONDITIONS = (
    "sums of floating-point numbers and Gaussian noise from floating-point arithmetic are as good "
    "as exact ones",
)


def moment_sensitivity(norm: float, *, replaces: bool) -> float:
    """Return how far one row can move the released vector, in Euclidean norm.

    Parameters
    ----------
    norm : float
        Largest norm R of a row z, the constant included.
    replaces : bool
        Whether a row is replaced; else it is added or removed.

    Notes
    -----
    A row adds ``(z z^T, R y z)``, whose squared norm is at most ``2 R^4``. Two rows have the inner
    product ``t^2 + R^2 y y' t`` with ``t = <z, z'>``, which is at least ``-R^4 / 4``. So replacing
    a row moves the sum by at most ``sqrt(4.5) R^2``.
    """
    return math.sqrt(4.5 if replaces else 2.0) * norm**2


def fit_moments(task: FitTask) -> Fitted:
    """Release the sums of products of columns and label with Gaussian noise, and solve them.

    Parameters
    ----------
    task : FitTask
        What to fit; its ``delta`` must be above 0.

    Raises
    ------
    ComparisonError
        If delta is 0.

    Notes
    -----
    **Guarantee.** (epsilon, delta)-DP by the exact curve of Gaussian noise (Balle, Wang 2018), for
    either relation, on the conditions of the result. The solution is post-processing: the noisy
    matrix gets a public ridge, below which no eigenvalue is let.
    """
    from opdisc.calibration import gaussian_multiplier
    from opdisc.convex import LinearFeatures
    from opdisc.data import encode_features, encode_labels
    from opdisc.noise import NormalStream
    from opdisc.privacy import (
        NeighboringRelation,
        PrivacyParams,
        parse_entropy,
        unit_in_words,
    )

    assert task.epsilon is not None
    if not task.delta > 0:
        raise ComparisonError(f"{NAME} needs delta > 0, got {task.delta!r}; give one.")
    features = LinearFeatures.of_schema(task.schema)

    def mapped(table: pd.DataFrame) -> FloatArray:
        rows = encode_features(table, task.schema).astype(np.float64)
        rows[:, 1:] = (rows[:, 1:] - features.centre) / features.scale
        return rows

    signs = encode_labels(task.table, task.schema)
    rows = mapped(task.table)[signs != 0]
    labels = signs[signs != 0].astype(np.float64)
    norm, size = features.bounds.l2, rows.shape[1]
    replaces = task.relation is NeighboringRelation.REPLACE_ONE
    multiplier = gaussian_multiplier(PrivacyParams(epsilon=task.epsilon, delta=task.delta))
    sensitivity = moment_sensitivity(norm, replaces=replaces) * task.schema.rows_per_unit
    deviation = multiplier * sensitivity
    noise = deviation * NormalStream(parse_entropy(task.noise_seed)).take(size * (size + 3) // 2)
    upper = np.triu_indices(size)
    # An entry off the diagonal stands in the matrix twice, so half the variance is enough for it.
    matrix = np.zeros((size, size))
    matrix[upper] = noise[: len(upper[0])] / np.where(upper[0] == upper[1], 1.0, math.sqrt(2.0))
    matrix = rows.T @ rows + matrix + np.triu(matrix, 1).T
    answers = rows.T @ labels + noise[len(upper[0]) :] / norm
    ridge = deviation * math.sqrt(2.0 * size)
    values, vectors = np.linalg.eigh(matrix)
    weights = vectors @ ((vectors.T @ answers) / np.maximum(values + ridge, ridge))

    def scores(table: pd.DataFrame) -> FloatArray:
        return np.asarray(mapped(table) @ weights)

    def predict(table: pd.DataFrame) -> BoolArray:
        return np.asarray(scores(table) > 0)

    return Fitted(
        predict=predict,
        scores=scores,
        parameters={"noise_stddev": deviation, "ridge": ridge},
        delta=task.delta,
        guarantee="VOID" if task.noise_seed is not None else "CONDITIONAL",
        label="published",
        theorem="Gaussian noise on sums of products (Balle, Wang 2018, Theorem 8)",
        conditions=_CONDITIONS,
        unit=unit_in_words(task.schema.privacy_unit, task.schema.rows_per_unit),
    )


METHODS = (
    Method(
        name=NAME,
        title="least squares from noisy sums",
        family="reference",
        private=True,
        tuning="fixed",
        fit=fit_moments,
        summary="Least squares from sums of products of columns with Gaussian noise.",
    ),
)
