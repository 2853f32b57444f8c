"""What every estimator shares: one order of a fit, one way to read rows, labels and targets.

A fit forgets the last one, reads the table and prepares a charge, which spends before it draws;
if anything fails, the estimator is unfitted. No message quotes a
cell or counts the rows: scikit-learn's own messages do, so they are replaced here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from opdisc.data import (
    COLUMNS_UNSEEN,
    LABELS_PUBLIC,
    Classes,
    CostsLike,
    Label,
    Schema,
    SchemaLike,
    as_table,
    canonical_text,
    encode_declared_labels,
    encode_features,
    encode_label_values,
    parse_classes,
    parse_error_costs,
    parse_schema,
    plain_label,
    plain_numbers,
    require_both_classes,
    require_storable_labels,
    table_assumptions,
    two_classes,
    with_error_costs,
)
from opdisc.errors import CalibrationError, SchemaError, TableError
from opdisc.estimators.refusals import require_same_length, rows_refusal
from opdisc.estimators.repeated_fits import refuse_numbered_labels, repetition_conditions
from opdisc.privacy import (
    EntropySource,
    Ledger,
    NeighboringRelation,
    Prepared,
    parse_entropy,
    parse_relation,
)
from oracles.arithmetic import FloatArray
from oracles.problem import ErrorCosts


class PrivateEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator that learns by one private release.

    Subclasses keep their arguments in ``__init__``, as scikit-learn asks, and say in
    :meth:`_prepare` what a fit is. An estimator is fitted when it holds a receipt.
    """

    relation: str
    ledger: Ledger | str | PathLike[str] | None
    random_state: int | np.random.RandomState | None
    n_features_in_: int
    receipt_: Any

    def fit(self, X: ArrayLike | pd.DataFrame, y: ArrayLike) -> Self:
        """Learn from a private table.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Raw rows. With a schema: a DataFrame of pandas, polars, Arrow or whatever narwhals
            knows that has the schema's columns, in any order and among others, or an array with
            exactly those columns in order. Without: finite numbers.
        y : array-like of shape (n_samples,)
            Labels, as the schema spells them if there is one; for a regressor, numbers.

        Returns
        -------
        self

        Raises
        ------
        CalibrationError, SchemaError, TableError
            If an argument, the schema or the table is not acceptable; nothing is spent.
        UncertifiedRelease
            If a minimisation or draw missed what its guarantee needs; the budget stays spent and
            nothing is released.

        Notes
        -----
        A refused fit leaves the estimator unfitted, whatever it was before.
        """
        with self._anew():
            self._prepare(X, y).run(self._open_ledger())
        return self

    @contextmanager
    def _anew(self) -> Iterator[None]:
        """Forget the last fit; if the new one fails, be unfitted."""
        self._forget()
        try:
            yield
        except BaseException:
            self._forget()
            raise

    def _prepare(self, X: ArrayLike | pd.DataFrame, y: ArrayLike) -> Prepared[Any]:
        """Read the table, and return the one charge of a fit; its draw sets the attributes.

        Nothing is spent or drawn. Whoever asks what a fit costs asks for the receipt.
        """
        raise NotImplementedError

    def _forget(self) -> None:
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether something was released."""
        return hasattr(self, "receipt_")

    def _hides_rows(self) -> bool:
        """Return whether rows may come and go: then none is needed, of no class."""
        return parse_relation(self.relation) is NeighboringRelation.ADD_OR_REMOVE_ONE

    def _open_ledger(self) -> Ledger | None:
        if self.ledger is None or isinstance(self.ledger, Ledger):
            return self.ledger
        return Ledger(self.ledger)

    def _earlier_delta(self) -> float:
        """Return the sum of the deltas that the ledger holds already."""
        ledger = self._open_ledger()
        if ledger is None or not os.path.exists(ledger.path):
            return 0.0  # whoever spends refuses what is not there
        return ledger.ends()[1].amounts[1]

    def _entropy(self) -> EntropySource:
        return parse_entropy(self.random_state)

    def _public_facts(
        self,
        n_rows: int,
        schema: Schema | None = None,
        assumptions: tuple[str, ...] = (COLUMNS_UNSEEN,),
    ) -> dict[str, Any]:
        """Return what the public inputs of every mechanism say of a table."""
        relation = parse_relation(self.relation)
        facts: dict[str, Any] = {
            "relation": relation,
            "n_rows": n_rows if relation is NeighboringRelation.REPLACE_ONE else None,
            "assumptions": assumptions + repetition_conditions(self._open_ledger()),
            "earlier_delta": self._earlier_delta(),
        }
        if schema is not None:
            facts["rows_per_unit"] = schema.rows_per_unit
            facts["privacy_unit"] = schema.privacy_unit
            facts["schema_digest"] = schema.digest()
        return facts

    def _numbers(self, X: ArrayLike | pd.DataFrame, *, reset: bool = False) -> FloatArray:
        """Return rows as finite numbers, shape (n, d), with scikit-learn's checks of columns."""
        plain = plain_numbers(X)
        try:
            values: FloatArray = validate_data(
                self, plain, "no_validation", dtype=np.float64, reset=reset
            )
        except (TypeError, ValueError, OverflowError) as error:
            refusal = rows_refusal(error)
        else:
            return values
        # Outside the handler, so that the message with the cell does not travel along.
        raise refusal

    def _numbers_to_fit(
        self, X: ArrayLike | pd.DataFrame, y: ArrayLike
    ) -> tuple[FloatArray, NDArray[Any]]:
        """Return the rows of a new fit and their labels or targets as given, shape (n,)."""
        values, column = self._numbers(X, reset=True), self._column(y)
        require_same_length(values, column)
        return values, column

    def _column(self, y: ArrayLike) -> NDArray[Any]:
        if y is None:
            name = type(self).__name__
            raise TableError(f"{name} requires y to be passed, but the target y is None.")
        try:
            column: NDArray[Any] = plain_numbers(column_or_1d(plain_numbers(y), warn=True))
        except (TypeError, ValueError) as error:
            is_complex = "Complex" in str(error)
        else:
            return column
        if is_complex:
            raise TableError("Complex data not supported: y must hold labels or real numbers.")
        raise TableError("y should be a 1d array, one label or number for each row of X.")


def refuse_own_pilot(pilot: object, rows: object) -> None:
    """Refuse the private rows themselves as public ones."""
    if pilot is not None and pilot is rows:
        raise CalibrationError(
            "a pilot must have public rows, but it is the table that is fitted; give other rows, "
            "or leave pilot out."
        )


def models_in(ledger: Ledger | None) -> tuple[str, ...]:
    """Return the digests of the models whose cost a ledger adds up."""
    if ledger is None:
        return ()
    return tuple(spending.model for spending in ledger.spendings() if spending.model)


class PrivateRegressor(RegressorMixin, PrivateEstimator):  # type: ignore[misc]
    """A private estimator of numbers."""

    def _read(self, X: ArrayLike | pd.DataFrame, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return rows and targets as finite numbers."""
        values, column = self._numbers_to_fit(X, y)
        targets = None
        try:
            targets = column.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            pass
        if targets is None or not np.isfinite(targets).all():
            raise TableError("y must hold finite numbers; leave out rows without one.")
        return values, targets

    def __sklearn_tags__(self) -> Any:
        """Declare a regressor whose accuracy is limited by noise and public bounds."""
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledRows:
    """A private table as a classifier reads it.

    Parameters
    ----------
    rows : ndarray
        With a schema: int8, shape (n, 1 + n_columns), encoded rows with the constant first.
        Without: float64, shape (n, n_features).
    signs : int8 array, shape (n,)
        +1 positive, -1 negative, 0 where the label is missing.
    schema : Schema or None
        The declared public facts.
    assumptions : tuple of str
        What must be true of the table and was not declared; each becomes a condition.
    """

    rows: NDArray[Any]
    signs: NDArray[np.int8]
    schema: Schema | None
    assumptions: tuple[str, ...]


class PrivateClassifier(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """A private estimator of two labels; ``classes_`` is sorted, whichever label is positive."""

    schema: SchemaLike | None = None
    classes: Classes | None = None
    error_costs: CostsLike | None = None
    schema_: Schema
    classes_: NDArray[Any]

    def _read(
        self, X: ArrayLike | pd.DataFrame, y: ArrayLike, *, stand_ins: bool = False
    ) -> LabelledRows:
        """Return rows and signs; set the attributes that describe columns and labels.

        Private thresholds are refused, or with ``stand_ins`` public numbers stand in their place.
        """
        if self.schema is None:
            return self._read_numbers(X, y)
        if self.classes is not None:
            raise SchemaError("a schema declares the labels already; leave out classes.")
        schema = parse_schema(self.schema)
        table, labels = as_table(X, schema), self._column(y)
        require_same_length(table, labels)
        refuse_numbered_labels(labels, schema.binary_target, schema.missing_values)
        signs = encode_label_values(labels, schema)
        if not self._hides_rows():
            require_both_classes(signs)
        rows = encode_features(table, schema.with_stand_ins() if stand_ins else schema)
        self._describe_columns(schema)
        self.classes_ = np.sort(np.array(schema.classes))
        return LabelledRows(
            rows=rows, signs=signs, schema=schema, assumptions=table_assumptions(X, y, schema)
        )

    def _describe_columns(self, schema: Schema) -> None:
        """Set what scikit-learn wants to know of the columns, from the schema alone."""
        self.schema_ = schema
        self.n_features_in_ = len(schema.columns)
        self.feature_names_in_ = np.array(schema.columns, dtype=object)

    def _read_numbers(self, X: ArrayLike | pd.DataFrame, y: ArrayLike) -> LabelledRows:
        assumptions: tuple[str, ...] = (COLUMNS_UNSEEN,)
        if self.classes is None:
            values, labels = self._numbers_to_fit(X, y)
            self.classes_ = two_classes(labels)
            require_storable_labels(self._stored_labels())
            signs = np.where(labels == self.classes_[1], 1, -1).astype(np.int8)
            assumptions = (LABELS_PUBLIC, *assumptions)
        else:
            target = parse_classes(self.classes)
            values, labels = self._numbers_to_fit(X, y)
            refuse_numbered_labels(labels, target)
            signs = encode_declared_labels(labels, target)
            if not self._hides_rows():
                require_both_classes(signs)
            self.classes_ = np.sort(np.array(target.classes))
        return LabelledRows(rows=values, signs=signs, schema=None, assumptions=assumptions)

    def _own_costs(self, schema: Schema | None) -> ErrorCosts:
        """Return what a mistake costs, once ``classes_`` is set."""
        if schema is None:
            return parse_error_costs(self.error_costs, classes=self._stored_labels())
        return with_error_costs(schema, self.error_costs).error_costs

    def _rows(self, X: ArrayLike | pd.DataFrame) -> NDArray[Any]:
        """Return rows to predict, read as those of the fit were."""
        check_is_fitted(self)
        if self.schema is None:
            return self._numbers(X)
        used = self._used_columns()
        return encode_features(as_table(X, self.schema_, used), self.schema_, used)

    def _used_columns(self) -> tuple[str, ...]:
        """Return the raw columns that a prediction asks for."""
        return self.schema_.columns

    def _scores(self, X: ArrayLike | pd.DataFrame) -> NDArray[Any]:
        """Return each row's score, above 0 where the positive label is predicted."""
        raise NotImplementedError

    def _right(self, X: ArrayLike | pd.DataFrame, y: NDArray[Any]) -> NDArray[np.bool_]:
        """Mark the rows whose label is predicted, however ``y`` spells it."""
        if self.schema is None:
            return np.asarray(self.predict(X) == y, dtype=bool)
        signs = encode_label_values(y, self.schema_)
        return np.asarray(np.where(self._scores(X) > 0, 1, -1) == signs)

    def _labels(self) -> NDArray[Any]:
        """Return (negative, positive) labels, of the type of ``classes_``."""
        if self.schema is not None:
            return np.array(self.schema_.classes, dtype=self.classes_.dtype)
        if self.classes is not None:
            return np.array(parse_classes(self.classes).classes, dtype=self.classes_.dtype)
        return self.classes_  # as y spells them

    def _stored_labels(self) -> tuple[Label, Label]:
        """Return (negative, positive) labels as models store them: as declared, or in one form."""
        if self.schema is not None:
            return self.schema_.classes
        if self.classes is not None:
            return parse_classes(self.classes).classes
        negative, positive = self.classes_.tolist()
        return plain_label(negative), plain_label(positive)

    def decision_function(self, X: ArrayLike | pd.DataFrame) -> NDArray[Any]:
        """Return scores that are above 0 where ``classes_[1]`` is predicted.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Raw rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            The positive label's scores, or their opposite where it is ``classes_[0]``.
        """
        scores = self._scores(X)
        if self._labels()[1] == self.classes_[1]:
            return scores
        # The opposite of the score one step below, since a score of 0 is the negative label's.
        if scores.dtype.kind == "i":
            return 1 - scores
        return np.asarray(-np.nextafter(scores, -np.inf))

    def predict(self, X: ArrayLike | pd.DataFrame) -> NDArray[Any]:
        """Return the predicted label of each row, shape (n_samples,)."""
        positive = self._scores(X) > 0
        return np.asarray(self._labels()[positive.astype(int)])

    def score(
        self,
        X: ArrayLike | pd.DataFrame,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the share of rows whose label is predicted.

        Labels are compared as in the fit: the text ``"1"`` is the number 1 of ``classes_``.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Raw rows.
        y : array-like of shape (n_samples,)
            Their labels, as numbers or as text.
        sample_weight : array-like of shape (n_samples,) or None
            How much each row counts.

        Returns
        -------
        float
            In [0, 1].

        Notes
        -----
        Of private rows it is private: it is for tables that were held out and may be shown.
        """
        check_is_fitted(self)
        labels = self._column(y)
        weights = None if sample_weight is None else np.asarray(sample_weight)
        if self.schema is not None and getattr(self.schema_.target, "takes_any_other", False):
            right: NDArray[Any] = self._right(X, labels)
            return float(np.average(right, weights=weights))
        # scikit-learn takes no numbers but whole ones for labels.
        if labels.dtype.kind == "f" or labels.dtype.kind != self.classes_.dtype.kind:
            known = {canonical_text(label): label for label in self.classes_.tolist()}
            stored = [known.get(canonical_text(label)) for label in labels.tolist()]
            predicted = self.predict(X)
            require_same_length(predicted, labels)
            right = predicted == np.array(stored, dtype=object)
            return float(np.average(right, weights=weights))
        return float(super().score(X, y, sample_weight))

    def __sklearn_tags__(self) -> Any:
        """Declare a binary classifier."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
