"""What the scorecard classifiers share: reading rows by a schema, publishing, predicting."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from opdisc.arguments import SchemaLike, as_table, parse_schema, two_classes
from opdisc.encoding import encode_features
from opdisc.errors import TableError
from opdisc.mechanisms import Release
from opdisc.model_file import SavedModel
from opdisc.receipt import GridReceipt
from opdisc.schema import Schema
from opdisc.scorecard import Scorecard


class ScorecardPredictor(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that holds a released scorecard, or none yet.

    Subclasses learn one in ``fit`` and hand it to :meth:`_publish`.
    """

    schema: SchemaLike | None
    schema_: Schema
    receipt_: GridReceipt
    scorecard_: Scorecard

    def _forget(self) -> None:
        """Drop the last fit, so that a refused one cannot be mistaken for it."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether a scorecard was released."""
        return hasattr(self, "scorecard_")

    def _publish(self, schema: Schema, release: Release) -> None:
        self.schema_ = schema
        self.receipt_ = release.receipt
        self.scorecard_ = Scorecard(
            target=schema.target.column,
            classes=schema.classes,
            columns=schema.column_names,
            points=release.hypothesis[1:],
            start=release.hypothesis[0],
        )
        self.coef_ = np.array([release.hypothesis[1:]], dtype=np.int64)
        self.intercept_ = np.array([release.hypothesis[0]], dtype=np.int64)

    def _validated(
        self, X: ArrayLike | pd.DataFrame, y: ArrayLike
    ) -> tuple[Schema, pd.DataFrame, NDArray[Any]]:
        """Return the schema, the rows as a table, and the labels; set the input attributes."""
        if self.schema is None:
            return self._validated_numeric(X, y)
        schema = parse_schema(self.schema)
        table = as_table(X, schema)
        labels = column_or_1d(y, warn=True)
        if len(labels) != len(table):
            raise TableError("X and y must have the same number of rows.")
        self.n_features_in_ = len(schema.columns)
        self.feature_names_in_ = np.array(schema.columns, dtype=object)
        self.classes_ = np.sort(np.array(schema.classes))
        return schema, table, labels

    def _validated_numeric(
        self, X: ArrayLike | pd.DataFrame, y: ArrayLike
    ) -> tuple[Schema, pd.DataFrame, NDArray[Any]]:
        values, labels = self._numeric(X, y=y)
        self.classes_ = two_classes(labels)
        names = getattr(self, "feature_names_in_", None)
        negative, positive = self.classes_.tolist()
        schema = Schema.equal_width(
            values.shape[1],
            names=None if names is None else [str(name) for name in names],
            classes=(negative, positive),
        )
        return schema, pd.DataFrame(values, columns=list(schema.columns)), labels

    def _numeric(self, X: ArrayLike | pd.DataFrame, **settings: Any) -> Any:
        """Validate rows as scikit-learn does, without its quoting of a cell that is no number."""
        try:
            return validate_data(self, X, dtype=np.float64, **settings)
        except ValueError as error:
            if "could not convert" not in str(error):
                raise
        raise TableError("X must hold numbers where schema=None, it has text; declare a schema.")

    def _totals(self, X: ArrayLike | pd.DataFrame) -> NDArray[np.int64]:
        """Return the total points of each row."""
        check_is_fitted(self)
        if self.schema is None:
            table = pd.DataFrame(self._numeric(X, reset=False), columns=list(self.schema_.columns))
        else:
            table = as_table(X, self.schema_)
        return self.scorecard_.scores(encode_features(table, self.schema_))

    def decision_function(self, X: ArrayLike | pd.DataFrame) -> NDArray[np.int64]:
        """Return scores that are above 0 where ``classes_[1]`` is predicted.

        They are the total points, or 1 minus them where the positive label is ``classes_[0]``.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Raw rows.

        Returns
        -------
        ndarray of shape (n_samples,), int64
        """
        totals = self._totals(X)
        return totals if self._labels()[1] == self.classes_[1] else 1 - totals

    def predict(self, X: ArrayLike | pd.DataFrame) -> NDArray[Any]:
        """Return the predicted label of each row, shape (n_samples,)."""
        totals = self._totals(X)
        return np.asarray(self._labels()[(totals >= 1).astype(int)])

    def _labels(self) -> NDArray[Any]:
        """Return (negative, positive) labels, of the type of ``classes_``."""
        if self.schema is None:
            return np.asarray(self.classes_)  # as y spells them
        return np.array(self.schema_.classes, dtype=self.classes_.dtype)

    def to_model(self) -> SavedModel:
        """Return what :func:`opdisc.save_model` writes: scorecard, schema and receipt."""
        check_is_fitted(self)
        return SavedModel(scorecard=self.scorecard_, schema=self.schema_, receipt=self.receipt_)

    def __sklearn_tags__(self) -> Any:
        """Declare a binary classifier."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
