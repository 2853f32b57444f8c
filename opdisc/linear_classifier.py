"""The scikit-learn machinery that linear classifiers over convex mechanisms share."""

from __future__ import annotations

import math
from os import PathLike
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from opdisc.accounting import Ledger
from opdisc.arguments import (
    SchemaLike,
    as_table,
    label_assumptions,
    parse_entropy,
    parse_relation,
    parse_schema,
    two_classes,
)
from opdisc.convex.base import ConvexPublic, Rows, convex_params
from opdisc.convex.defaults import RUNNERS
from opdisc.convex.features import LinearFeatures
from opdisc.domains import L2Ball
from opdisc.encoding import encode_features, encode_label_values, require_both_classes
from opdisc.errors import CalibrationError, TableError
from opdisc.linear_model_file import SavedLinearModel, column_names
from opdisc.losses import LinearLoss
from opdisc.privacy import NeighboringRelation

FloatArray = NDArray[np.float64]

_MARGIN = 8.0
"""Radius of the default domain times the bound on a row: the largest score a model can give."""


class PrivateLinearClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier over a convex mechanism; the loss is the subclass's.

    Parameters and attributes: :class:`opdisc.PrivateLogisticRegression`.
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

    def _loss(self) -> LinearLoss:
        """Return the loss of one row."""
        raise NotImplementedError

    def fit(self, X: ArrayLike | pd.DataFrame, y: ArrayLike) -> Self:
        """Learn weights.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Raw rows. With a schema: its columns. Without: numbers, and rows longer than
            ``data_norm`` are shortened to it.
        y : array-like of shape (n_samples,)
            Labels of two classes.

        Returns
        -------
        self

        Raises
        ------
        CalibrationError, SchemaError, TableError
            If an argument, the schema or the table is not acceptable, or a bound is missing.
        UncertifiedRelease
            If the minimiser missed its accuracy; the budget stays spent.
        """
        params = convex_params(self.epsilon, self.delta)
        if self.mechanism not in RUNNERS:
            known = ", ".join(RUNNERS)
            raise CalibrationError(f"mechanism must be one of {known}, got {self.mechanism!r}.")
        relation = parse_relation(self.relation)
        self._require_bound()
        if self.schema is None:
            features, rows, assumptions = self._numeric(X, y)
            about: dict[str, Any] = {"assumptions": assumptions}
        else:
            schema = parse_schema(self.schema)
            features, rows = self._encoded(schema, X, y)
            about = {
                "rows_per_unit": schema.rows_per_unit,
                "privacy_unit": schema.privacy_unit,
                "schema_digest": schema.digest(),
            }
        dimension = rows.X.shape[1]
        public = ConvexPublic(
            params=params,
            relation=relation,
            loss=self._loss(),
            bounds=features.bounds,
            dimension=dimension,
            domain=L2Ball(dimension=dimension, radius=_MARGIN / features.bounds.l2),
            n_rows=rows.n_rows if relation is NeighboringRelation.REPLACE_ONE else None,
            public_row_guess=self.public_row_guess,
            **about,
        )
        ledger = self.ledger
        if ledger is not None and not isinstance(ledger, Ledger):
            ledger = Ledger(ledger)
        run = RUNNERS[self.mechanism]
        release = run(rows, public, self.ridge, parse_entropy(self.random_state), ledger)
        self.receipt_ = release.receipt
        coefficients, intercept = features.weights(release.theta)
        self.coef_ = coefficients.reshape(1, -1)
        self.intercept_ = np.array([intercept])
        return self

    def _require_bound(self) -> None:
        if (self.schema is None) == (self.data_norm is None):
            raise CalibrationError(
                "a public bound on the rows is needed, and one only: give data_norm (the largest "
                "Euclidean norm of a row) or a schema."
            )
        norm = self.data_norm
        if norm is not None and not (
            isinstance(norm, int | float | np.number) and 0 < norm < math.inf
        ):
            raise CalibrationError(f"data_norm must be finite and > 0, got {norm!r}.")

    def _numeric(
        self, X: ArrayLike | pd.DataFrame, y: ArrayLike
    ) -> tuple[LinearFeatures, Rows, tuple[str, ...]]:
        assert self.data_norm is not None
        values, labels = validate_data(self, X, y, dtype=np.float64)
        self.classes_ = two_classes(labels)
        signs = np.where(labels == self.classes_[1], 1.0, -1.0)
        features = LinearFeatures.of_norm(values.shape[1], self.data_norm)
        negative, positive = self.classes_.tolist()
        assumptions = label_assumptions(negative, positive)
        return features, features.numeric_rows(values, signs), assumptions

    def _encoded(
        self, schema: Any, X: ArrayLike | pd.DataFrame, y: ArrayLike
    ) -> tuple[LinearFeatures, Rows]:
        table, labels = as_table(X, schema), column_or_1d(y, warn=True)
        if len(labels) != len(table):
            raise TableError("X and y must have the same number of rows.")
        signs = encode_label_values(labels, schema)
        require_both_classes(signs)
        features = LinearFeatures.of_schema(schema)
        self.schema_ = schema
        self.n_features_in_ = len(schema.columns)
        self.feature_names_in_ = np.array(schema.columns, dtype=object)
        self.classes_ = np.array(schema.classes)
        return features, features.encoded_rows(encode_features(table, schema), signs)

    def decision_function(self, X: ArrayLike | pd.DataFrame) -> FloatArray:
        """Return each row's score, shape (n_samples,); above 0 means the positive class."""
        check_is_fitted(self)
        if self.schema is None:
            values = validate_data(self, X, dtype=np.float64, reset=False)
        else:
            values = encode_features(as_table(X, self.schema_), self.schema_)[:, 1:]
        return np.asarray(values @ self.coef_[0] + self.intercept_[0])

    def predict(self, X: ArrayLike | pd.DataFrame) -> NDArray[Any]:
        """Return the predicted label of each row, shape (n_samples,)."""
        check_is_fitted(self)
        return np.asarray(self.classes_[(self.decision_function(X) > 0).astype(int)])

    def to_model(self) -> SavedLinearModel:
        """Return what may be published: weights, public facts, receipt."""
        check_is_fitted(self)
        schema = None if self.schema is None else self.schema_
        names = getattr(self, "feature_names_in_", None)
        negative, positive = self.classes_.tolist()
        return SavedLinearModel(
            columns=(
                column_names(self.coef_.shape[1], names) if schema is None else schema.column_names
            ),
            coefficients=tuple(self.coef_[0].tolist()),
            intercept=float(self.intercept_[0]),
            classes=(negative, positive),
            schema=schema,
            feature_range=None,
            target_range=None,
            receipt=self.receipt_,
        )

    def __sklearn_tags__(self) -> Any:
        """Declare a binary classifier."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
