"""scikit-learn estimators over OPSamp: Lipschitz losses, real weights, public ranges required."""

from __future__ import annotations

from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from opdisc.accounting import Ledger
from opdisc.arguments import label_assumptions
from opdisc.domains import Box, Domain
from opdisc.linear_model_file import SavedLinearModel
from opdisc.losses import FloatArray, LinearLoss
from opdisc.mechanisms.tilted_draws import DrawProgress
from opdisc.sampled_base import Range, SampledEstimator
from oracles.convex import RealOracle


class OPSampClassifier(ClassifierMixin, SampledEstimator):  # type: ignore[misc]
    """A linear classifier with real weights by OPSamp: any Lipschitz loss, (epsilon, delta)-DP.

    Parameters
    ----------
    feature_range : (low, high)
        Public range of the columns, two numbers or two arrays; rows are clipped to it. Required.
    loss : str or LinearLoss
        "hinge", "logistic", "huberised hinge" or "ramp" (non-convex, at most 6 coordinates).
    epsilon : float
        Privacy loss, > 0.
    delta : float or None
        Above 0; None takes ``1 / planned_rows^2``.
    domain : str or Domain
        Where the weights are: "l1", "l2", "box", "simplex", or a domain with one coordinate per
        column and one first for the intercept.
    radius : float
        Of the ball, or half the width of the box.
    fit_intercept : bool
        Whether to learn a constant.
    relation : str
        "replace_one" (the number of rows is public) or "add_or_remove_one".
    planned_rows : int or None
        Number of rows the noise is tuned for; None takes the public number of rows.
    oracle : str or RealOracle
        Who minimises; see :func:`oracles.convex.available_real_oracles`.
    allowance : float or None
        Certified gap that each minimisation may have, rows; priced. None chooses one.
    most_draws : int
        Limit on the number of minimisations.
    n_jobs, backend
        How joblib runs them: "sequential", "loky", "threading", "dask" or "ray".
    progress : callable or None
        Called as ``progress(done, total)``.
    ledger : Ledger, path or None
        Where the budget is recorded before the release.
    random_state : int, RandomState or None
        None draws from the operating system. Anything else is for tests: the receipt is VOID.

    Attributes
    ----------
    hypothesis_ : ndarray of shape (n_columns + 1,)
        What was released: intercept (if any) and weights of the columns scaled to [0, 1].
    coef_, intercept_ : ndarray of shape (1, n_columns) and (1,)
        The same over raw columns, valid inside ``feature_range``.
    receipt_ : SampledReceipt
        The privacy statement.
    classes_ : ndarray of shape (2,)
        Negative and positive label.
    n_features_in_ : int
        Raw columns.

    Notes
    -----
    **Guarantee.** As stated on ``receipt_``; CONDITIONAL on every minimisation being certified.
    **Assumes.** Range and label values were written down without looking at the rows.

    References
    ----------
    .. [1] Neel, Roth, Vietri, Wu (2019), Algorithm 2; docs/opsamp.md.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.tile([[0.0, 1.0], [1.0, 0.0]], (4000, 1))
    >>> model = OPSampClassifier(feature_range=(0, 1), epsilon=20.0, most_draws=500)
    >>> model = model.fit(X, X[:, 0].astype(int))
    >>> model.predict([[1.0, 0.0], [0.0, 1.0]]).tolist()
    [1, 0]
    >>> model.receipt_.guarantee
    'CONDITIONAL'
    """

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numeric rows.
        y : array-like of shape (n_samples,)
            Two labels.

        Returns
        -------
        self

        Raises
        ------
        CalibrationError
            If an argument is not acceptable.
        UncertifiedRelease
            If a minimisation was not certified; the budget is spent and nothing is released.
        """
        self._forget()
        rows, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        classes = np.unique(labels)
        if len(classes) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(labels)}."
            )
        if len(classes) < 2:
            raise ValueError("y must hold rows of both classes, it has one class.")
        signs = np.where(labels == classes[1], 1.0, -1.0)
        release = self._release(rows, signs, label_assumptions(*classes.tolist()))
        self.classes_ = classes
        self.hypothesis_, self.receipt_ = release.hypothesis, release.receipt
        slopes, self.intercept_ = self._raw_coefficients(self.hypothesis_, rows.shape[1])
        self.coef_ = slopes[None, :]
        return self

    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Return the score of each row, shape (n_samples,); above 0 means the positive class."""
        return self._scores(X)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the predicted label of each row, shape (n_samples,)."""
        positive = self.decision_function(X) > 0
        return np.asarray(self.classes_[positive.astype(int)])

    def to_model(self) -> SavedLinearModel:
        """Return what may be published: weights, the public range, the receipt."""
        check_is_fitted(self)
        negative, positive = self.classes_.tolist()
        start = float(self.intercept_[0])
        return self._saved(self.coef_[0], start, (negative, positive), None)

    def __sklearn_tags__(self) -> Any:
        """Declare a binary classifier whose accuracy is limited by noise."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True
        return tags


class OPSampRegressor(RegressorMixin, SampledEstimator):  # type: ignore[misc]
    """Linear regression by OPSamp: least absolute deviations (a private median) or least squares.

    Parameters
    ----------
    feature_range : (low, high)
        Public range of the columns; rows are clipped to it. Required.
    target_range : (low, high)
        Public range of the target; values are clipped to it. Required.
    loss : str or LinearLoss
        "absolute" or "squared", of the target scaled to [-1, 1].
    epsilon, delta, domain, radius, fit_intercept, relation, planned_rows, oracle, allowance
        As in :class:`OPSampClassifier`.
    most_draws, n_jobs, backend, progress, ledger, random_state
        As in :class:`OPSampClassifier`.

    Attributes
    ----------
    hypothesis_ : ndarray of shape (n_columns + 1,)
        What was released: over columns scaled to [0, 1] and the target scaled to [-1, 1].
    coef_, intercept_ : ndarray of shape (n_columns,) and float
        The same in raw units, valid inside the ranges.
    receipt_ : SampledReceipt
        The privacy statement.
    n_features_in_ : int
        Raw columns.

    Notes
    -----
    **Guarantee.** As stated on ``receipt_``. **Assumes.** Both ranges are public.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.tile(np.arange(11.0), 500)[:, None]
    >>> model = OPSampRegressor(feature_range=(0, 10), target_range=(0, 30), epsilon=20.0)
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
        planned_rows: int | None = None,
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
            planned_rows,
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

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn weights.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numeric rows.
        y : array-like of shape (n_samples,)
            Numeric targets.

        Returns
        -------
        self

        Raises
        ------
        CalibrationError
            If an argument is not acceptable.
        UncertifiedRelease
            If a minimisation was not certified; the budget is spent and nothing is released.
        """
        self._forget()
        rows, targets = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        middle, half = self._target_scale()
        scaled = np.clip((targets - middle) / half, -1.0, 1.0)
        release = self._release(rows, scaled, ())
        self.hypothesis_, self.receipt_ = release.hypothesis, release.receipt
        slopes, start = self._raw_coefficients(self.hypothesis_, rows.shape[1])
        self.coef_ = slopes * half
        self.intercept_ = float(start[0]) * half + middle
        return self

    def predict(self, X: ArrayLike) -> FloatArray:
        """Return the prediction for each row, shape (n_samples,), inside the target range."""
        scores = self._scores(X)
        middle, half = self._target_scale()
        return np.clip(scores, -1.0, 1.0) * half + middle

    def to_model(self) -> SavedLinearModel:
        """Return what may be published: weights, the public ranges, the receipt."""
        check_is_fitted(self)
        low, high = self._range(self.target_range, 1, "target")
        bounds = (float(low[0]), float(high[0]))
        return self._saved(self.coef_, self.intercept_, None, bounds)

    def _target_scale(self) -> tuple[float, float]:
        low, high = self._range(self.target_range, 1, "target")
        return 0.5 * float(low[0] + high[0]), 0.5 * float(high[0] - low[0])

    def __sklearn_tags__(self) -> Any:
        """Declare a regressor whose accuracy is limited by noise."""
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


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
    receipt : SampledReceipt

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
