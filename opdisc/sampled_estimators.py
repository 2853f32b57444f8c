"""scikit-learn estimators over OPSamp: Lipschitz losses, real weights, public ranges required."""

from __future__ import annotations

import math
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from opdisc.accounting import Ledger
from opdisc.arguments import label_assumptions, parse_entropy, parse_relation
from opdisc.domains import Box, Domain, L1Ball, L2Ball, Simplex
from opdisc.errors import CalibrationError
from opdisc.losses import FloatArray, LinearLoss, RowBounds, loss_by_name
from opdisc.mechanisms.sampled import SampledMechanism, SampledPublic
from opdisc.mechanisms.sampled_release import SampledRelease, run_sampled
from opdisc.mechanisms.tilted_draws import DrawOptions, DrawProgress
from opdisc.privacy import NeighboringRelation, PrivacyParams
from oracles.convex import RealOracle

Range = tuple[ArrayLike, ArrayLike]
"""(lowest, highest): two numbers, or two arrays with one number per column."""


class _SampledEstimator(BaseEstimator):  # type: ignore[misc]
    """What the classifier and the regressor share: ranges, domain, mechanism, release."""

    feature_range: Range | None
    epsilon: float
    delta: float | None
    loss: str | LinearLoss
    domain: str | Domain
    radius: float
    fit_intercept: bool
    relation: str
    planned_rows: int | None
    oracle: str | RealOracle
    allowance: float | None
    most_draws: int
    n_jobs: int
    backend: str
    progress: DrawProgress | None
    ledger: Ledger | str | PathLike[str] | None
    random_state: int | np.random.RandomState | None

    def _forget(self) -> None:
        """Drop the last fit, so that a refused one cannot be mistaken for it."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether parameters were released."""
        return hasattr(self, "receipt_")

    def _loss(self) -> LinearLoss:
        loss = loss_by_name(self.loss) if isinstance(self.loss, str) else self.loss
        if loss.is_classification != isinstance(self, ClassifierMixin):
            kind = "classification" if isinstance(self, ClassifierMixin) else "regression"
            raise CalibrationError(f"loss must be one for {kind}, got '{loss.name}'.")
        return loss

    def _domain(self, dimension: int) -> Domain:
        if isinstance(self.domain, Domain):
            if self.domain.dimension != dimension:
                raise CalibrationError(
                    f"the domain must have {dimension} coordinates (columns and intercept), it "
                    f"has {self.domain.dimension}."
                )
            return self.domain
        match self.domain:
            case "l1":
                return L1Ball(dimension=dimension, radius=self.radius)
            case "l2":
                return L2Ball(dimension=dimension, radius=self.radius)
            case "box":
                return Box.cube(dimension, self.radius)
            case "simplex":
                return Simplex(dimension=dimension)
        raise CalibrationError(
            f"domain must be 'l1', 'l2', 'box', 'simplex' or a Domain, got {self.domain!r}."
        )

    def _release(
        self, rows: FloatArray, targets: FloatArray, assumptions: tuple[str, ...]
    ) -> SampledRelease:
        """Run the mechanism on scaled rows and targets."""
        n, relation = len(rows), parse_relation(self.relation)
        known = relation is NeighboringRelation.REPLACE_ONE
        planned = self.planned_rows if self.planned_rows is not None else (n if known else None)
        if planned is None:
            raise CalibrationError(
                "planned_rows must be given under add_or_remove_one, where the number of rows is "
                "private; give a public guess."
            )
        delta = 1.0 / planned**2 if self.delta is None else self.delta
        scaled = _unit_scaled(rows, *self._range(self.feature_range, rows.shape[1], "feature"))
        if self.fit_intercept:
            scaled = np.column_stack([np.ones(n), scaled])
        dimension = scaled.shape[1]
        mechanism = SampledMechanism(
            loss=self._loss(),
            domain=self._domain(dimension),
            bounds=RowBounds(l2=math.sqrt(dimension), linf=1.0),
            allowance=self.allowance,
            # A search has no cheap precision: let it cost more of the stability.
            allowance_share=0.02 if self._loss().is_convex else 1.0,
            most_draws=self.most_draws,
        )
        public = SampledPublic(
            params=PrivacyParams(epsilon=self.epsilon, delta=delta),
            relation=relation,
            planned_rows=planned,
            n_rows=n if known else None,
            assumptions=assumptions,
        )
        ledger = self.ledger
        return run_sampled(
            mechanism,
            scaled,
            targets,
            public,
            entropy=parse_entropy(self.random_state),
            oracle=self.oracle,
            options=DrawOptions(n_jobs=self.n_jobs, backend=self.backend, progress=self.progress),
            ledger=ledger if ledger is None or isinstance(ledger, Ledger) else Ledger(ledger),
        )

    def _range(
        self, declared: Range | None, columns: int, what: str
    ) -> tuple[FloatArray, FloatArray]:
        """Return a declared public range as two arrays, or refuse."""
        if declared is None:
            raise CalibrationError(
                f"{what}_range must be declared, since it sets the noise and may not come from "
                "the table; give a public (lowest, highest)."
            )
        try:
            low, high = (
                np.broadcast_to(np.asarray(end, dtype=np.float64), (columns,)) for end in declared
            )
        except (TypeError, ValueError):
            raise CalibrationError(
                f"{what}_range must be (lowest, highest), numbers or one per column."
            ) from None
        if not (np.isfinite(low) & np.isfinite(high)).all() or not (low < high).all():
            raise CalibrationError(f"{what}_range must be finite with lowest < highest.")
        return low, high

    def _scores(self, X: ArrayLike) -> FloatArray:
        """Return the linear scores of rows, clipped to the public range."""
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        low, high = self._range(self.feature_range, rows.shape[1], "feature")
        scaled = _unit_scaled(rows, low, high)
        start, slopes = self._split(self.hypothesis_)
        return np.asarray(scaled @ slopes + start)

    def _split(self, hypothesis: FloatArray) -> tuple[float, FloatArray]:
        """Return intercept and slopes over the scaled columns."""
        if self.fit_intercept:
            return float(hypothesis[0]), hypothesis[1:]
        return 0.0, hypothesis

    def _raw_coefficients(
        self, hypothesis: FloatArray, columns: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return slopes and intercept over raw columns, valid inside the range."""
        low, high = self._range(self.feature_range, columns, "feature")
        start, slopes = self._split(hypothesis)
        raw = slopes / (high - low)
        return np.array(raw, dtype=np.float64), np.array([start - float(raw @ low)])


def _unit_scaled(rows: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Clip to the public range and map it onto [0, 1]: a map of one row and public facts."""
    return np.clip((np.clip(rows, low, high) - low) / (high - low), 0.0, 1.0)


class OPSampClassifier(ClassifierMixin, _SampledEstimator):  # type: ignore[misc]
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

    def __init__(
        self,
        feature_range: Range | None = None,
        loss: str | LinearLoss = "hinge",
        epsilon: float = 1.0,
        delta: float | None = None,
        domain: str | Domain = "l1",
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
        self.feature_range = feature_range
        self.loss = loss
        self.epsilon = epsilon
        self.delta = delta
        self.domain = domain
        self.radius = radius
        self.fit_intercept = fit_intercept
        self.relation = relation
        self.planned_rows = planned_rows
        self.oracle = oracle
        self.allowance = allowance
        self.most_draws = most_draws
        self.n_jobs = n_jobs
        self.backend = backend
        self.progress = progress
        self.ledger = ledger
        self.random_state = random_state

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

    def __sklearn_tags__(self) -> Any:
        """Declare a binary classifier whose accuracy is limited by noise."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True
        return tags


class OPSampRegressor(RegressorMixin, _SampledEstimator):  # type: ignore[misc]
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
    >>> X = np.tile(np.arange(11.0), 2000)[:, None]
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
        domain: str | Domain = "l1",
        radius: float = 3.0,
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
        self.feature_range = feature_range
        self.target_range = target_range
        self.loss = loss
        self.epsilon = epsilon
        self.delta = delta
        self.domain = domain
        self.radius = radius
        self.fit_intercept = fit_intercept
        self.relation = relation
        self.planned_rows = planned_rows
        self.oracle = oracle
        self.allowance = allowance
        self.most_draws = most_draws
        self.n_jobs = n_jobs
        self.backend = backend
        self.progress = progress
        self.ledger = ledger
        self.random_state = random_state

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
