"""Linear regression and the median by OPSamp, as a scikit-learn estimator and as a function."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from opdisc.estimators.base import PrivateRegressor
from opdisc.estimators.opsamp import OPSampEstimator
from opdisc.estimators.ranges import Range, public_range
from opdisc.mechanisms import DrawProgress
from opdisc.models import SavedLinearModel
from opdisc.privacy import Ledger, Prepared
from oracles.arithmetic import FloatArray
from oracles.convex import Box, Domain, LinearLoss, RealOracle


class OPSampRegressor(PrivateRegressor, OPSampEstimator):
    """Linear regression by OPSamp: least absolute deviations (a private median) or least squares.

    Parameters
    ----------
    feature_range : (low, high)
        Public range of the columns; rows are clipped to it. Required.
    target_range : (low, high)
        Public range of the target; values are clipped to it. Required.
    loss : str or LinearLoss
        "absolute" or "squared", of the target scaled to [-1, 1].
    epsilon, delta, domain, radius, fit_intercept, relation, public_row_guess, oracle, allowance
        As in :class:`~opdisc.OPSampClassifier`.
    most_draws, n_jobs, backend, progress, ledger, random_state
        As in :class:`~opdisc.OPSampClassifier`.

    Attributes
    ----------
    parameters_ : ndarray of shape (n_columns + 1,)
        What was released: over columns scaled to [0, 1] and the target scaled to [-1, 1].
    coef_, intercept_ : ndarray of shape (n_columns,) and float
        The same in raw units, valid inside the ranges.
    receipt_ : OPSampReceipt
        The privacy statement.
    n_features_in_ : int
        Raw columns.

    Notes
    -----
    **Guarantee.** As stated on ``receipt_``. **Assumes.** Both ranges are public.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.tile(np.arange(11.0), 2000)[:, None]
    >>> model = OPSampRegressor(
    ...     feature_range=(0, 10), target_range=(0, 30), epsilon=20.0, most_draws=500)
    >>> abs(float(model.fit(X, 3 * X[:, 0]).predict([[5.0]])[0]) - 15) < 10
    True
    """

    def __init__(
        self,
        feature_range: Range | None = None,
        target_range: tuple[float, float] | None = None,
        loss: str | LinearLoss = "absolute",
        epsilon: float = 1.0,
        delta: float | None = None,
        domain: str | Domain = "box",
        radius: float = 2.0,
        fit_intercept: bool = True,
        relation: str = "replace_one",
        public_row_guess: int | None = None,
        oracle: str | RealOracle = "auto",
        allowance: float | None = None,
        most_draws: int = 10_000,
        n_jobs: int = 1,
        backend: str = "sequential",
        progress: DrawProgress | None = None,
        ledger: Ledger | str | PathLike[str] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(
            feature_range,
            loss,
            epsilon,
            delta,
            domain,
            radius,
            fit_intercept,
            relation,
            public_row_guess,
            oracle,
            allowance,
            most_draws,
            n_jobs,
            backend,
            progress,
            ledger,
            random_state,
        )
        self.target_range = target_range

    def _prepare(self, X: ArrayLike | pd.DataFrame, y: ArrayLike) -> Prepared[Any]:
        rows, targets = self._read(X, y)
        middle, half = self._target_scale()
        scaled = self._with_constant(self._in_range(rows))
        return self._prepared(scaled, np.clip((targets - middle) / half, -1.0, 1.0))

    def _publish_raw(self, slopes: FloatArray, start: float) -> None:
        middle, half = self._target_scale()
        self.coef_ = slopes * half
        self.intercept_ = start * half + middle

    def predict(self, X: ArrayLike | pd.DataFrame) -> FloatArray:
        """Return the prediction for each row, shape (n_samples,), inside the target range."""
        check_is_fitted(self)
        scores = self._linear_scores(self._in_range(self._numbers(X)))
        middle, half = self._target_scale()
        return np.clip(scores, -1.0, 1.0) * half + middle

    def to_model(self) -> SavedLinearModel:
        """Return what may be published: weights, the public ranges, the receipt."""
        check_is_fitted(self)
        low, high = public_range(self.target_range, 1, "target")
        bounds = (float(low[0]), float(high[0]))
        return self._saved(self.coef_, self.intercept_, None, bounds)

    def _target_scale(self) -> tuple[float, float]:
        low, high = public_range(self.target_range, 1, "target")
        half = 0.5 * float(high[0]) - 0.5 * float(low[0])
        return float(low[0]) + half, half


def private_median(
    values: ArrayLike,
    value_range: tuple[float, float],
    *,
    epsilon: float,
    delta: float | None = None,
    random_state: int | None = None,
) -> tuple[float, Any]:
    """Return a private median and its receipt.

    Parameters
    ----------
    values : array-like of shape (n,)
        Private numbers; clipped to the range.
    value_range : (low, high)
        Public.
    epsilon, delta : float, float or None
        Target under replace-one; delta None takes ``1 / n^2``.
    random_state : int or None
        For tests; the receipt is then VOID.

    Returns
    -------
    median : float
    receipt : OPSampReceipt

    Notes
    -----
    **Guarantee.** OPSamp with the absolute loss in one dimension.
    """
    targets = np.asarray(values, dtype=np.float64).reshape(-1)
    model = OPSampRegressor(
        feature_range=(0.0, 1.0),
        target_range=value_range,
        epsilon=epsilon,
        delta=delta,
        domain=Box.cube(1, 1.0),
        fit_intercept=False,
        random_state=random_state,
    )
    model.fit(np.ones((len(targets), 1)), targets)
    return float(model.predict(np.ones((1, 1)))[0]), model.receipt_
