"""OPSamp for scikit-learn: what its estimators share, and the linear classifier."""

from __future__ import annotations

import math
from dataclasses import replace
from os import PathLike
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from opdisc.data import COLUMNS_UNSEEN, Classes, CostsLike, Label, Schema, SchemaLike
from opdisc.errors import CalibrationError, as_calibration_error
from opdisc.estimators.base import PrivateClassifier, PrivateEstimator
from opdisc.estimators.ranges import Range, public_range, unit_scaled
from opdisc.estimators.refusals import require_no_alternatives, require_no_limits
from opdisc.mechanisms import (
    DrawOptions,
    DrawProgress,
    OPSampMechanism,
    OPSampRelease,
    run_opsamp,
)
from opdisc.models import SavedLinearModel, column_names
from opdisc.privacy import Ledger, OPSampReceipt, Prepared, PrivacyParams, PublicInputs
from oracles.arithmetic import FloatArray
from oracles.convex import (
    Box,
    Domain,
    L1Ball,
    L2Ball,
    LinearLoss,
    RealOracle,
    RowBounds,
    Simplex,
    loss_by_name,
    with_costs,
)


class OPSampEstimator(PrivateEstimator):
    """What the classifier and the regressor share: arguments, ranges, domain, release."""

    parameters_: FloatArray
    receipt_: OPSampReceipt

    def __init__(
        self,
        feature_range: Range | None = None,
        loss: str | LinearLoss = "hinge",
        epsilon: float = 1.0,
        delta: float | None = None,
        domain: str | Domain = "box",
        radius: float = 1.0,
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
        self.feature_range = feature_range
        self.loss = loss
        self.epsilon = epsilon
        self.delta = delta
        self.domain = domain
        self.radius = radius
        self.fit_intercept = fit_intercept
        self.relation = relation
        self.public_row_guess = public_row_guess
        self.oracle = oracle
        self.allowance = allowance
        self.most_draws = most_draws
        self.n_jobs = n_jobs
        self.backend = backend
        self.progress = progress
        self.ledger = ledger
        self.random_state = random_state

    def _loss(self) -> LinearLoss:
        with as_calibration_error():
            loss = loss_by_name(self.loss) if isinstance(self.loss, str) else self.loss
        if loss.is_classification != is_classifier(self):
            kind = "classification" if is_classifier(self) else "regression"
            raise CalibrationError(f"loss must be one for {kind}, got '{loss.name}'.")
        return loss

    def _domain(self, dimension: int) -> Domain:
        if isinstance(self.domain, Domain):
            if self.domain.dimension != dimension:
                raise CalibrationError(
                    f"the domain must have {dimension} coordinates (columns and intercept), but "
                    f"it has {self.domain.dimension}."
                )
            return self.domain
        with as_calibration_error():
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

    def _prepared(
        self,
        rows: FloatArray,
        targets: FloatArray,
        assumptions: tuple[str, ...] = (COLUMNS_UNSEEN,),
        schema: Schema | None = None,
    ) -> Prepared[Any]:
        """Prepare the release of parameters of rows in [0, 1], constant included, and targets."""
        facts = self._public_facts(len(rows), schema, assumptions)
        planned = facts["n_rows"] if self.public_row_guess is None else self.public_row_guess
        if planned is None:
            raise CalibrationError(
                "public_row_guess must be given under add_or_remove_one, where the number of rows "
                "is private; give a public guess."
            )
        delta = 1.0 / planned**2 if self.delta is None else self.delta
        loss = self._loss()
        dimension = rows.shape[1]
        bounds = RowBounds(l2=math.sqrt(dimension), linf=1.0)
        mechanism = OPSampMechanism(
            loss=loss,
            domain=self._domain(dimension),
            bounds=bounds,
            allowance=self.allowance,
            # A search has no cheap precision: let it cost more of the stability.
            allowance_share=0.02 if loss.is_convex else 1.0,
            most_draws=self.most_draws,
            # Inside the domain or not, a linear score is one; a projection only adds bias.
            project=math.isinf(loss.slope_bound(bounds, math.inf)),
        )
        public = PublicInputs(
            params=PrivacyParams(epsilon=self.epsilon, delta=delta),
            public_row_guess=planned,
            **facts,
        )
        charge = run_opsamp.prepare(
            mechanism,
            rows,
            targets,
            public,
            entropy=self._entropy(),
            oracle=self.oracle,
            options=DrawOptions(n_jobs=self.n_jobs, backend=self.backend, progress=self.progress),
        )
        return charge.then(self._publish)

    def _publish(self, release: OPSampRelease) -> Self:
        self.parameters_, self.receipt_ = release.parameters, release.receipt
        self._publish_raw(*self._raw_coefficients())
        return self

    def _publish_raw(self, slopes: FloatArray, start: float) -> None:
        """Set the coefficients in raw units."""
        raise NotImplementedError

    def _in_range(self, rows: FloatArray) -> FloatArray:
        """Return numbers clipped to the public range and scaled to [0, 1]."""
        return unit_scaled(rows, *public_range(self.feature_range, rows.shape[1], "feature"))

    def _with_constant(self, rows: FloatArray) -> FloatArray:
        """Return rows with the intercept's column in front, if there is one."""
        return np.column_stack([np.ones(len(rows)), rows]) if self.fit_intercept else rows

    def _linear_scores(self, rows: FloatArray) -> FloatArray:
        """Return the linear scores of rows in [0, 1]."""
        start, slopes = self._split()
        return np.asarray(rows @ slopes + start)

    def _saved(
        self,
        coefficients: FloatArray,
        intercept: float,
        classes: tuple[Label, Label] | None,
        target_range: tuple[float, float] | None,
        schema: Schema | None = None,
    ) -> SavedLinearModel:
        """Return what may be published: in raw units inside the range, or on encoded columns."""
        ranges, names = None, getattr(self, "feature_names_in_", None)
        if schema is None:
            low, high = public_range(self.feature_range, len(coefficients), "feature")
            ranges = tuple(zip(low.tolist(), high.tolist(), strict=True))
        return SavedLinearModel(
            columns=(
                column_names(len(coefficients), names) if schema is None else schema.column_names
            ),
            coefficients=tuple(coefficients.tolist()),
            intercept=intercept,
            classes=classes,
            schema=schema,
            feature_range=ranges,
            target_range=target_range,
            receipt=self.receipt_,
        )

    def _split(self) -> tuple[float, FloatArray]:
        """Return intercept and slopes over the scaled columns."""
        if self.fit_intercept:
            return float(self.parameters_[0]), self.parameters_[1:]
        return 0.0, self.parameters_

    def _raw_coefficients(self) -> tuple[FloatArray, float]:
        """Return slopes and intercept over raw columns, valid inside the range."""
        start, slopes = self._split()
        low, high = public_range(self.feature_range, len(slopes), "feature")
        raw = np.array(slopes / (high - low), dtype=np.float64)
        return raw, start - float(raw @ low)


class OPSampClassifier(PrivateClassifier, OPSampEstimator):
    """A linear classifier with real weights by OPSamp: any Lipschitz loss, (epsilon, delta)-DP.

    Parameters
    ----------
    feature_range : (low, high)
        Public range of the columns, two numbers or two arrays; rows are clipped to it. Required
        without a schema, and left out with one, whose columns are 0 or 1.
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
        Who minimises; see :func:`oracles.convex.solve.available_real_oracles`.
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
    classes : (negative, positive) or None
        As in :class:`~opdisc.PrivateScorecardClassifier`.
    error_costs : mapping, ErrorCosts, "balanced" or None
        As in :class:`~opdisc.PrivateScorecardClassifier`: what a mistake costs. The loss of a row
        is multiplied by the cost of its class, and the noise grows with the larger cost.
    schema : Schema, mapping, path, name of a shipped schema, or None
        Public facts instead of ``feature_range``: rows are encoded by it, and a row without a
        label counts for no weights.

    Attributes
    ----------
    parameters_ : ndarray of shape (n_columns + 1,)
        What was released: intercept (if any) and weights of the columns scaled to [0, 1].
    coef_, intercept_ : ndarray of shape (1, n_columns) and (1,)
        The same over raw columns, valid inside ``feature_range``; with a schema, over the
        encoded ones.
    receipt_ : OPSampReceipt
        The privacy statement.
    classes_ : ndarray of shape (2,)
        The two labels, sorted; without ``classes`` the last one is positive.
    n_features_in_ : int
        Raw columns.

    Notes
    -----
    **Guarantee.** As stated on ``receipt_``; CONDITIONAL on every minimisation being certified.
    **Assumes.** Range, label values and schema were written down without looking at the rows;
    without ``classes`` or a schema the labels are taken from ``y``, which is a condition on the
    receipt.

    References
    ----------
    .. [1] Neel, Roth, Vietri, Wu (2019), Algorithm 2, Theorem 11; docs/opsamp.md.

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
        domain: str | Domain = "box",
        radius: float = 1.0,
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
        classes: Classes | None = None,
        error_costs: CostsLike | None = None,
        schema: SchemaLike | None = None,
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
        self.classes = classes
        self.error_costs = error_costs
        self.schema = schema

    def _loss(self) -> LinearLoss:
        costs = self._own_costs(None if self.schema is None else self.schema_)
        with as_calibration_error():
            return with_costs(super()._loss(), costs)

    def _prepare(self, X: ArrayLike | pd.DataFrame, y: ArrayLike) -> Prepared[Any]:
        require_no_alternatives(self.schema, "a linear model has weights everywhere")
        if self.schema is not None and self.feature_range is not None:
            raise CalibrationError(
                "a schema bounds the columns already; leave out feature_range, or the schema."
            )
        read = self._read(X, y)
        signs, schema = read.signs.astype(np.float64), read.schema
        if schema is None:
            rows = self._with_constant(self._in_range(read.rows))
            return self._prepared(rows, signs, read.assumptions)
        require_no_limits(schema)
        self.schema_ = replace(schema, error_costs=self._own_costs(schema))
        rows = self._with_constant(read.rows[:, 1:].astype(np.float64))
        # All zeros: the loss of such a row is the same under all weights.
        rows[signs == 0] = 0.0
        signs[signs == 0] = 1.0
        return self._prepared(rows, signs, read.assumptions, self.schema_)

    def _raw_coefficients(self) -> tuple[FloatArray, float]:
        if self.schema is None:
            return super()._raw_coefficients()
        start, slopes = self._split()
        return np.array(slopes), start

    def _publish_raw(self, slopes: FloatArray, start: float) -> None:
        self.coef_, self.intercept_ = slopes[None, :], np.array([start])

    def _scores(self, X: ArrayLike | pd.DataFrame) -> FloatArray:
        rows = self._rows(X)
        return self._linear_scores(
            self._in_range(rows) if self.schema is None else rows[:, 1:].astype(np.float64)
        )

    def to_model(self) -> SavedLinearModel:
        """Return what may be published: weights, the public range or schema, the receipt."""
        check_is_fitted(self)
        return self._saved(
            self.coef_[0],
            float(self.intercept_[0]),
            self._stored_labels(),
            None,
            None if self.schema is None else self.schema_,
        )

    def __sklearn_tags__(self) -> Any:
        """Declare a classifier whose accuracy is limited by noise."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags
