"""What every private classifier that releases one scorecard shares."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from opdisc.data import (
    CellArray,
    Schema,
    encode_features,
    encode_label_values,
    expected_cost,
    warn_of_cells_between_0_and_1,
    with_error_costs,
)
from opdisc.estimators.base import PrivateClassifier
from opdisc.estimators.scorecards.notebook import ShowsCard
from opdisc.models import (
    ClassesVerdict,
    NoBound,
    Noise,
    OddsScale,
    RiskTable,
    SavedModel,
    SavedMulticlassModel,
    Scorecard,
    Verdict,
    used_columns,
)
from opdisc.privacy import ConvexReceipt, GridReceipt
from oracles.arithmetic import FloatArray
from oracles.problem import Hypothesis


class ScorecardClassifier(ShowsCard, PrivateClassifier):
    """A classifier that learns a scorecard: it reads rows by a schema and publishes points.

    Without a declared schema every column is a number on the public range [0, 1].
    """

    receipt_: GridReceipt | ConvexReceipt
    scorecard_: Scorecard
    odds_: OddsScale
    risk_table_: RiskTable
    risk_budget: float | None = None

    def _read_encoded(
        self, X: ArrayLike | pd.DataFrame, y: ArrayLike, *, stand_ins: bool = False
    ) -> tuple[Schema, CellArray, CellArray, tuple[str, ...]]:
        """Return the schema, the encoded rows, the signs of the labels, and what is assumed."""
        read = self._read(X, y, stand_ins=stand_ins)
        if read.schema is not None:
            self.schema_ = with_error_costs(read.schema, self.error_costs)
            return self.schema_, read.rows, read.signs, read.assumptions
        warn_of_cells_between_0_and_1(read.rows)
        names = getattr(self, "feature_names_in_", None)
        schema = Schema.equal_width(
            read.rows.shape[1],
            names=None if names is None else [str(name) for name in names],
            classes=self._stored_labels(),
        )
        self.schema_ = with_error_costs(schema, self.error_costs)
        return self.schema_, self._encoded_numbers(read.rows), read.signs, read.assumptions

    def _encoded_numbers(self, values: NDArray[np.float64]) -> CellArray:
        table = pd.DataFrame(values, columns=list(self.schema_.columns))
        return encode_features(table, self.schema_)

    def _publish(
        self, hypothesis: Hypothesis, receipt: GridReceipt, noise: Noise | None = None
    ) -> None:
        schema = self.schema_
        card = Scorecard(
            target=schema.target.column,
            classes=schema.classes,
            columns=schema.column_names,
            points=hypothesis[1:],
            start=hypothesis[0],
        )
        self._publish_card(card, receipt, noise or NoBound())

    def _publish_card(
        self, card: Scorecard, receipt: GridReceipt | ConvexReceipt, noise: Noise
    ) -> None:
        self.scorecard_ = card
        self.coef_ = np.array([card.points], dtype=np.int64)
        self.intercept_ = np.array([card.start], dtype=np.int64)
        self.receipt_ = receipt
        self._noise_ = noise

    def _totals(self, X: ArrayLike | pd.DataFrame) -> NDArray[np.int64]:
        rows = self._rows(X)
        return self.scorecard_.scores(self._encoded_numbers(rows) if self.schema is None else rows)

    def _scores(self, X: ArrayLike | pd.DataFrame) -> NDArray[np.int64]:
        totals = self._totals(X)  # refuses an estimator that is not fitted
        card = self.scorecard_
        if card.classes[1] == self.schema_.classes[1]:
            return totals - (card.threshold - 1)
        return card.threshold - totals  # the negative label scores high

    def _used_columns(self) -> tuple[str, ...]:
        return used_columns(self.schema_, (self.scorecard_,))

    @property
    def verdict_(self) -> Verdict | ClassesVerdict:
        """What to know before the points: whether the card is constant, what the noise may cost.

        Computed from the released card and public facts only.
        """
        return self.to_model().verdict_

    def expected_cost(self, X: ArrayLike | pd.DataFrame, y: ArrayLike) -> float:
        """Return what predictions cost a row on average, by the error costs of ``schema_``.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Raw rows.
        y : array-like of shape (n_samples,)
            Their labels; rows without one are left out.

        Returns
        -------
        float
            Without error costs the share of wrong predictions.

        Notes
        -----
        Of private rows it is private: it is for tables that were held out and may be shown.
        """
        check_is_fitted(self)
        labels = self._column(y)
        if self.schema is None:
            signs = np.where(labels == self._labels()[1], 1, -1).astype(np.int8)
        else:
            signs = encode_label_values(labels, self.schema_)
        return expected_cost(signs, self._scores(X) > 0, self.schema_.error_costs)

    def to_model(self) -> SavedModel | SavedMulticlassModel:
        """Return what :func:`opdisc.save_model` writes: scorecard, schema and receipt."""
        check_is_fitted(self)
        return SavedModel(
            scorecard=self.scorecard_,
            schema=self.schema_,
            receipt=self.receipt_,
            risk_table=getattr(self, "risk_table_", None),
            odds=getattr(self, "odds_", None),
            noise=getattr(self, "_noise_", None),
        )

    def decision_function(self, X: ArrayLike | pd.DataFrame) -> NDArray[np.float64]:
        """Return whole scores as float64, above 0 where ``classes_[1]`` is predicted.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Raw rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Totals, or 1 minus the total where the positive label is ``classes_[0]``; of a logistic
            card counted from its threshold.
        """
        return super().decision_function(X).astype(np.float64)

    @property
    def predict_proba(self) -> Callable[[ArrayLike | pd.DataFrame], FloatArray]:
        """Probability of each class, shape (n_samples, n_classes), in the order of ``classes_``.

        The rate of each row's total in ``risk_table_``; of several cards, the product of the
        rates on the way to the class. It exists with ``risk_budget`` only, and for
        ``mechanism="logistic"``, where it is what the total stands for (``odds_``).
        """
        self._require_risks("predict_proba")
        return self._risks

    @property
    def predict_log_proba(self) -> Callable[[ArrayLike | pd.DataFrame], FloatArray]:
        """Logarithm of :attr:`predict_proba`."""
        self._require_risks("predict_log_proba")
        return self._log_risks

    def _require_risks(self, method: str) -> None:
        if self.risk_budget is None and not self._has_odds():
            raise AttributeError(
                f"{method} needs rates that were paid for, but this {type(self).__name__} buys "
                "none; set risk_budget to a share of epsilon before the fit, or "
                "mechanism='logistic', whose points are chances."
            )

    def _has_odds(self) -> bool:
        """Return whether a fit gives points that are chances."""
        return False

    def _risks(self, X: ArrayLike | pd.DataFrame) -> FloatArray:
        check_is_fitted(self)
        totals = self._totals(X)
        rates = self.odds_.chances(totals) if self._has_odds() else self.risk_table_.rates(totals)
        positive_is_high = self.scorecard_.classes[1] == self.schema_.classes[1]
        positive_is_last = self._labels()[1] == self.classes_[1]
        columns = [1 - rates, rates]
        return np.column_stack(columns if positive_is_high == positive_is_last else columns[::-1])

    def _log_risks(self, X: ArrayLike | pd.DataFrame) -> FloatArray:
        with np.errstate(divide="ignore"):  # a rate of 0 is -inf, as everywhere
            return np.asarray(np.log(self._risks(X)))
