"""Private linear classifiers over the convex mechanisms: logistic regression, support vectors."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import special
from sklearn.utils.validation import check_is_fitted

from opdisc.arguments import check_choice, check_finite
from opdisc.convex import (
    BOX_STEPS,
    RUNNERS,
    ConvexPublic,
    ConvexRelease,
    HullShape,
    LinearFeatures,
    Pilot,
    Prior,
    box_shape,
    box_table,
    convex_params,
    hull_perturbation,
    smooth_hull_perturbation,
    start_from,
    suits_hull,
)
from opdisc.data import Classes, CostsLike, SchemaLike, aggregate
from opdisc.errors import CalibrationError, as_calibration_error
from opdisc.estimators.base import (
    LabelledRows,
    PrivateClassifier,
    models_in,
    refuse_own_pilot,
)
from opdisc.estimators.ranges import Range, public_range, unit_scaled
from opdisc.estimators.refusals import require_no_alternatives, require_no_limits
from opdisc.models import SavedLinearModel, column_names
from opdisc.privacy import FRANK_WOLFE, HULL, ConvexReceipt, Ledger, Prepared, PrivacyParams
from oracles.arithmetic import FloatArray
from oracles.convex import (
    Domain,
    HuberisedHingeLoss,
    L1Ball,
    L2Ball,
    LinearLoss,
    LogisticLoss,
    RowBounds,
    with_costs,
)
from oracles.problem import ErrorCosts

_MARGIN = 8.0
"""Radius of the default domain times the bound on a row: the largest score a model can give."""

_VERTEX_SCORE = 4.0
"""Largest score of a vertex of the l1 ball of a schema: a wider one would have coarse weights.

The cells of numbers below a norm are seldom near their bound: they keep the wider one.
"""


class PrivateLinearClassifier(PrivateClassifier):
    """A classifier over a convex mechanism; the loss is the subclass's.

    Parameters and attributes: :class:`opdisc.PrivateLogisticRegression`.
    """

    receipt_: ConvexReceipt

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 0.0,
        mechanism: str = "auto",
        data_norm: float | None = None,
        schema: SchemaLike | None = None,
        relation: str = "replace_one",
        ridge: float | None = None,
        public_row_guess: int | None = None,
        ledger: Ledger | str | PathLike[str] | None = None,
        random_state: int | np.random.RandomState | None = None,
        classes: Classes | None = None,
        error_costs: CostsLike | None = None,
        prior: Prior | None = None,
        pilot: Pilot | None = None,
        feature_range: Range | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.mechanism = mechanism
        self.data_norm = data_norm
        self.schema = schema
        self.relation = relation
        self.ridge = ridge
        self.public_row_guess = public_row_guess
        self.ledger = ledger
        self.random_state = random_state
        self.classes = classes
        self.error_costs = error_costs
        self.prior = prior
        self.pilot = pilot
        self.feature_range = feature_range

    def _loss(self) -> LinearLoss:
        """Return the loss of one row."""
        raise NotImplementedError

    def _prepare(self, X: ArrayLike | pd.DataFrame, y: ArrayLike) -> Prepared[Any]:
        params = self._check_options()
        require_no_alternatives(self.schema, "a linear model has weights everywhere")
        refuse_own_pilot(self.pilot, X)
        read = self._read(X, y)
        costs = self._own_costs(read.schema)
        if self.feature_range is not None:
            return self._prepare_in_box(read, params, costs)
        require_no_limits(read.schema)
        if read.schema is None:
            assert self.data_norm is not None
            features = LinearFeatures.of_norm(self.n_features_in_, self.data_norm)
        else:
            self.schema_ = replace(read.schema, error_costs=costs)
            in_signs = self.mechanism == FRANK_WOLFE
            of = LinearFeatures.of_signs if in_signs else LinearFeatures.of_schema
            features = of(self.schema_)
        public = ConvexPublic(
            params=params,
            loss=with_costs(self._loss(), costs),
            bounds=features.bounds,
            dimension=1 + len(features.centre),
            domain=self._domain(features),
            public_row_guess=self.public_row_guess,
            **self._public_facts(
                len(read.rows), None if read.schema is None else self.schema_, read.assumptions
            ),
        )
        if read.schema is not None:
            shape = HullShape.of_schema(self.schema_)
            if self._takes_hull(shape, public):
                return self._prepare_hull(read, shape, public)
            if self._takes_smooth_hull(public):
                return self._prepare_smooth_hull(read, shape, public)
        charge = self._charge(read, features, public)
        return charge.then(partial(self._publish_mapped, features))

    def _check_options(self) -> PrivacyParams:
        """Refuse what no table could be fitted with, and return the budget."""
        params = convex_params(self.epsilon, self.delta)
        check_choice("mechanism", self.mechanism, (*RUNNERS, HULL))
        if self.mechanism == HULL and self.schema is None and self.feature_range is None:
            raise CalibrationError(
                "hull noise takes its shape from a schema or a feature_range, but there is none; "
                "declare one."
            )
        self._require_bound()
        self._require_hull_of_start()
        return params

    def _prepare_hull(
        self, read: LabelledRows, shape: HullShape, public: ConvexPublic
    ) -> Prepared[Any]:
        start = start_from(
            self.prior,
            self.pilot,
            self.schema_,
            costs=self.schema_.error_costs,
            counted=models_in(self._open_ledger()),
        )
        charge = hull_perturbation.prepare(
            aggregate(read.rows, read.signs),
            shape,
            public,
            entropy=self._entropy(),
            ridge=self.ridge,
            start=start,
        )
        return charge.then(self._publish_hull)

    def _prepare_smooth_hull(
        self, read: LabelledRows, shape: HullShape, public: ConvexPublic
    ) -> Prepared[Any]:
        charge = smooth_hull_perturbation.prepare(
            aggregate(read.rows, read.signs),
            shape,
            public,
            entropy=self._entropy(),
            ridge=self.ridge,
        )
        return charge.then(self._publish_smooth_hull)

    def _publish(self, coefficients: FloatArray, intercept: float, receipt: ConvexReceipt) -> Self:
        self.coef_ = coefficients.reshape(1, -1)
        self.intercept_ = np.array([intercept])
        self.receipt_ = receipt
        return self

    def _publish_hull(self, release: ConvexRelease) -> Self:
        return self._publish(release.parameters[1:], float(release.parameters[0]), release.receipt)

    def _publish_smooth_hull(self, found: tuple[FloatArray, ConvexRelease]) -> Self:
        weights, release = found
        return self._publish(weights[1:], float(weights[0]), release.receipt)

    def _publish_mapped(self, features: LinearFeatures, release: ConvexRelease) -> Self:
        return self._publish(*features.weights(release.parameters), release.receipt)

    def _publish_in_box(self, low: FloatArray, high: FloatArray, release: ConvexRelease) -> Self:
        slopes = release.parameters[1:] / (high - low)
        return self._publish(slopes, float(release.parameters[0] - slopes @ low), release.receipt)

    def _domain(self, features: LinearFeatures) -> Domain:
        """Return the set of weights, which bounds the score of a row."""
        dimension, bounds = 1 + len(features.centre), features.bounds
        if self.mechanism == FRANK_WOLFE:
            reach = _MARGIN if self.schema is None else _VERTEX_SCORE
            return L1Ball(dimension=dimension, radius=reach / bounds.largest_coordinate)
        return L2Ball(dimension=dimension, radius=_MARGIN / bounds.l2)

    def _prepare_in_box(
        self, read: LabelledRows, params: PrivacyParams, costs: ErrorCosts
    ) -> Prepared[Any]:
        """Prepare weights of numbers on a public range, by hull noise of its box."""
        low, high = public_range(self.feature_range, read.rows.shape[1], "feature")
        shape = box_shape(len(low))
        public = ConvexPublic(
            params=params,
            loss=with_costs(self._loss(), costs),
            bounds=RowBounds(l2=math.sqrt(shape.squared_radius), linf=1.0),
            dimension=1 + len(low),
            public_row_guess=self.public_row_guess,
            **self._public_facts(len(read.rows), None, read.assumptions),
        )
        charge = hull_perturbation.prepare(
            box_table(unit_scaled(read.rows, low, high), read.signs),
            shape,
            public,
            entropy=self._entropy(),
            ridge=self.ridge,
            unit=BOX_STEPS,
        )
        return charge.then(partial(self._publish_in_box, low, high))

    def _takes_hull(self, shape: HullShape, public: ConvexPublic) -> bool:
        """Return whether the noise has the shape of the schema's rows; public facts decide."""
        if public.is_noiseless or public.loss.name != "logistic":
            return False
        suits = self._is_started() or suits_hull(shape, public, self.ridge)
        return self.mechanism == HULL or (self.mechanism == "auto" and suits)

    def _takes_smooth_hull(self, public: ConvexPublic) -> bool:
        """Return whether another loss than the logistic one gets hull noise."""
        if public.is_noiseless or public.loss.name == "logistic":
            return False
        return self.mechanism == HULL or (self.mechanism == "auto" and public.params.delta == 0)

    def _is_started(self) -> bool:
        return self.prior is not None or self.pilot is not None

    def _require_hull_of_start(self) -> None:
        """Refuse a start where the noise is another."""
        is_hull = self.schema is not None and self.mechanism in ("auto", HULL)
        if self._is_started() and not (is_hull and self.epsilon < math.inf):
            raise CalibrationError(
                "a start needs hull noise, so a schema, a finite epsilon and mechanism='hull' or "
                "'auto'; leave out prior and pilot."
            )

    def _charge(
        self, read: LabelledRows, features: LinearFeatures, public: ConvexPublic
    ) -> Prepared[ConvexRelease]:
        """Prepare weights of mapped columns, by a mechanism that takes rows in doubles."""
        if self.schema is None:
            rows = features.numeric_rows(read.rows, read.signs.astype(np.float64))
        else:
            rows = features.encoded_rows(read.rows, read.signs)
        runner = RUNNERS["objective_perturbation" if self.mechanism == HULL else self.mechanism]
        return runner.prepare(rows, public, self.ridge, self._entropy())

    def _require_bound(self) -> None:
        given = (self.schema, self.data_norm, self.feature_range)
        if sum(bound is not None for bound in given) != 1:
            raise CalibrationError(
                "a public bound on the rows is needed, and one only: give data_norm (the largest "
                "Euclidean norm of a row), feature_range (lowest and highest number) or a schema."
            )
        if self.feature_range is not None and (
            self.mechanism not in ("auto", HULL) or self.epsilon == math.inf
        ):
            raise CalibrationError(
                "feature_range needs hull noise, so a finite epsilon and mechanism='hull' or "
                "'auto'; give data_norm for another mechanism."
            )
        norm = self.data_norm
        if norm is not None:
            check_finite("data_norm", norm)

    def _scores(self, X: ArrayLike | pd.DataFrame) -> FloatArray:
        rows = self._rows(X)
        columns = rows if self.schema is None else rows[:, 1:]
        if self.feature_range is not None:
            columns = np.clip(columns, *public_range(self.feature_range, rows.shape[1], "feature"))
        return np.asarray(columns @ self.coef_[0] + self.intercept_[0])

    def to_model(self) -> SavedLinearModel:
        """Return what may be published: weights, public facts, receipt."""
        check_is_fitted(self)
        schema = None if self.schema is None else self.schema_
        names = getattr(self, "feature_names_in_", None)
        ranges = None
        if self.feature_range is not None:
            low, high = public_range(self.feature_range, self.coef_.shape[1], "feature")
            ranges = tuple(zip(low.tolist(), high.tolist(), strict=True))
        return SavedLinearModel(
            columns=(
                column_names(self.coef_.shape[1], names) if schema is None else schema.column_names
            ),
            coefficients=tuple(self.coef_[0].tolist()),
            intercept=float(self.intercept_[0]),
            classes=self._stored_labels(),
            schema=schema,
            feature_range=ranges,
            target_range=None,
            receipt=self.receipt_,
        )


class PrivateLogisticRegression(PrivateLinearClassifier):
    """Logistic regression under differential privacy.

    Parameters
    ----------
    epsilon : float, default 1.0
        Privacy loss, > 0. ``float("inf")`` fits without noise, and the receipt is VOID. Objective
        and output perturbation and "approximate_minima" then minimise the sum of losses plus
        ``(ridge/2)|theta|^2`` (None: 0) over all weights, the samplers over the receipt's domain.
        The others take their steps without noise.
    delta : float, default 0.0
        In [0, 1). 0 asks for a pure guarantee: objective and output perturbation have one.
    mechanism : str, default "auto"
        "auto" is "hull" where there is a schema or a range, else objective perturbation; with
        a schema and delta > 0, or a ridge below what "hull" needs, the one with less noise. "hull"
        is objective perturbation whose noise has the shape of the rows: pure, with half the noise.
        Its law is exact for the logistic loss, so the receipt can hold without a condition on
        rounding; of a support vector classifier it is the default with a schema and delta = 0.
        "objective_perturbation" and "output_perturbation" may be pure. "exponential_sampling" and
        "localization" are pure and take at most 5 parameters, intercept included. "frank_wolfe"
        takes steps towards single columns, for many columns of which few matter; pure, or by a
        delta with more steps. "grid_walk" is conditional on mixing. These need delta > 0:
        "approximate_minima", "noisy_sgd", "gradient_descent", "gradient_descent_random" (a random
        iterate),
        "accelerated_mirror_descent", "mirror_descent", "svrg" and "svrg++". Published constants
        have receipts that are VOID: "objective_perturbation_c11", "_k12", "_j14" and
        "output_perturbation_j14".
    data_norm : float or None
        Public bound on a row's Euclidean norm; longer rows are shortened to it, in ``fit`` only.
        The intercept's constant column is added after that and counts in the sensitivity.
    schema : Schema, mapping, path, name of a shipped schema, or None
        Public facts instead of ``data_norm``: the bound follows from the encoding.
    relation : str, default "replace_one"
        "replace_one" (the number of rows is public) or "add_or_remove_one".
    ridge : float or None
        Quadratic regularisation ``(ridge/2)|theta|^2`` of the sum of losses, intercept included,
        in units of rows scaled as above. None takes a public default. "hull" has a least one.
    public_row_guess : int or None
        Public constant near the number of rows; step sizes want one under add-or-remove-one.
    ledger : Ledger, path or None
        Where the budget is recorded before the release.
    random_state : int, RandomState or None
        None draws from the operating system. Anything else is for tests: the receipt is VOID.
    classes : (negative, positive) or None
        As in :class:`~opdisc.PrivateScorecardClassifier`.
    error_costs : mapping, ErrorCosts, "balanced" or None
        As in :class:`~opdisc.PrivateScorecardClassifier`: what a mistake costs. The loss of a row
        is multiplied by the cost of its class, and the noise grows with the larger cost.
    prior : SavedModel, SavedLinearModel, path, mapping of str to float, or None
        A public start, as in :class:`~opdisc.PrivateScorecardClassifier`; needs "hull".
    pilot : DataFrame, RowCounts, path, or None
        Public rows with labels to start from, as there.
    feature_range : (low, high) or None
        Public range of the numbers instead of ``data_norm`` or a schema: two numbers, or two
        arrays of shape (n_features,). Numbers are clipped to it and, in ``fit`` only, rounded to
        256 steps of it. "hull" then has the noise of the box.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_columns)
        Weights of the columns (encoded ones with a schema), towards the positive label.
    intercept_ : ndarray of shape (1,)
        Intercept.
    classes_ : ndarray of shape (2,)
        The two labels, sorted as scikit-learn requires. The positive one is ``classes_[1]``, or
        with a schema ``schema_.target.positive``.
    receipt_ : ConvexReceipt
        The privacy statement.
    n_features_in_ : int
        Raw columns.
    feature_names_in_ : ndarray of str
        Their names, where they have any.

    Notes
    -----
    **Guarantee.** As stated on ``receipt_``; proofs in docs/convex.md. **Assumes.** The bounds
    were written down without looking at the private rows.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0]] * 200)
    >>> model = PrivateLogisticRegression(epsilon=2.0, data_norm=1.0).fit(X, X[:, 0])
    >>> model.predict([[1.0, 0.0], [0.0, 1.0]]).tolist()
    [1.0, 0.0]
    >>> model.receipt_.guarantee
    'CONDITIONAL'
    """

    def _loss(self) -> LinearLoss:
        return LogisticLoss()

    def predict_proba(self, X: ArrayLike | pd.DataFrame) -> FloatArray:
        """Return the fitted probability of each class, shape (n_samples, 2).

        With error costs it is the class's share of the cost, not of the rows.
        """
        positive = special.expit(self.decision_function(X))
        return np.column_stack([1 - positive, positive])

    def predict_log_proba(self, X: ArrayLike | pd.DataFrame) -> FloatArray:
        """Return the logarithm of :meth:`predict_proba`."""
        return np.asarray(np.log(self.predict_proba(X)))


class PrivateLinearSVC(PrivateLinearClassifier):
    """A linear support vector classifier under differential privacy, with a smoothed hinge.

    Parameters
    ----------
    epsilon, delta, mechanism, data_norm, schema, relation, ridge, public_row_guess, ledger
        As in :class:`PrivateLogisticRegression`.
    random_state, classes, error_costs
        As in :class:`PrivateLogisticRegression`.
    width : float, default 0.5
        Half-width of the parabola that replaces the hinge's kink.

    Notes
    -----
    **Guarantee.** As stated on ``receipt_``; see docs/convex.md.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 0.0,
        mechanism: str = "auto",
        data_norm: float | None = None,
        schema: SchemaLike | None = None,
        relation: str = "replace_one",
        ridge: float | None = None,
        public_row_guess: int | None = None,
        ledger: Ledger | str | PathLike[str] | None = None,
        random_state: int | np.random.RandomState | None = None,
        width: float = 0.5,
        classes: Classes | None = None,
        error_costs: CostsLike | None = None,
    ) -> None:
        super().__init__(
            epsilon,
            delta,
            mechanism,
            data_norm,
            schema,
            relation,
            ridge,
            public_row_guess,
            ledger,
            random_state,
            classes,
            error_costs,
        )
        self.width = width

    def _loss(self) -> LinearLoss:
        with as_calibration_error():
            return HuberisedHingeLoss(self.width)
