"""Linear classification by OPSamp as a scikit-learn estimator: Lipschitz losses, real weights."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from opdisc.arguments import label_assumptions, two_classes
from opdisc.linear_model_file import SavedLinearModel
from opdisc.losses import FloatArray
from opdisc.sampled_base import SampledEstimator


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
        Above 0; None takes ``1 / public_row_guess^2``.
    domain : str or Domain
        Where the weights are: "l1", "l2", "box", "simplex", or a domain with one coordinate per
        column and one first for the intercept.
    radius : float
        Of the ball, or half the width of the box.
    fit_intercept : bool
        Whether to learn a constant.
    relation : str
        "replace_one" (the number of rows is public) or "add_or_remove_one".
    public_row_guess : int or None
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
        classes = two_classes(labels)
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
