"""scikit-learn classifiers that learn a private scorecard."""

from __future__ import annotations

from os import PathLike
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from opdisc.accounting import Ledger
from opdisc.arguments import (
    SchemaLike,
    as_table,
    label_assumptions,
    parse_entropy,
    parse_relation,
    parse_schema,
    parse_weight_bound,
)
from opdisc.encoding import aggregate, encode_features, encode_label_values, require_both_classes
from opdisc.errors import TableError
from opdisc.mechanisms import Mechanism, Release, run_mechanism
from opdisc.mechanisms.choice import build_mechanism, column_structure
from opdisc.mechanisms.objective_perturbation import SphereNoise
from opdisc.model_file import SavedModel
from opdisc.privacy import NeighboringRelation, PrivacyParams, PublicInputs
from opdisc.schema import Schema
from opdisc.scorecard import Scorecard
from oracles import Oracle, SolveOptions, WeightGrid, ZeroOneProblem


class PrivateScorecardClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """An integer scorecard learned by minimising the 0/1 loss under differential privacy.

    Parameters
    ----------
    epsilon : float, default 1.0
        Privacy loss, > 0.
    delta : float, default 0.0
        In [0, 1); only Gaussian noise uses it.
    schema : Schema, mapping, path, name of a shipped schema, or None
        Public facts about the table. None declares every column numeric on the range [0, 1] with
        one threshold in the middle; values outside are clipped.
    weight_bound : int, default 1
        Points are in ``-weight_bound .. weight_bound``; at most 1,000.
    mechanism : str, default "auto"
        "auto", "permute_and_flip", "exponential", "block_one_hot", "one_hot", "opdisc" or
        "rspm". "auto" chooses by the size of the grid, which is public.
    relation : str, default "replace_one"
        "replace_one" (the number of rows is public) or "add_or_remove_one".
    oracle : str or Oracle, default "auto"
        Who minimises; see :func:`oracles.available_oracles`.
    time_limit : float or None
        Seconds for the oracle. A limit makes the guarantee conditional; if it hits, nothing is
        released.
    ledger : Ledger, path or None
        Where the budget is recorded before the release.
    random_state : int, RandomState or None
        None draws from the operating system. Anything else is for tests: the receipt is VOID.

    Attributes
    ----------
    scorecard_ : Scorecard
        The published classifier.
    receipt_ : PrivacyReceipt
        The privacy statement.
    schema_ : Schema
        The public facts that were used.
    coef_ : ndarray of shape (1, n_encoded_columns), int64
        Points of the encoded columns (``schema_.column_names``).
    intercept_ : ndarray of shape (1,), int64
        Starting points.
    classes_ : ndarray of shape (2,)
        The two labels, sorted as scikit-learn requires. The positive one is
        ``schema_.target.positive``; it is ``classes_[0]`` where it sorts first.
    n_features_in_ : int
        Raw columns.
    feature_names_in_ : ndarray of str
        Their names, where they have any.

    Notes
    -----
    **Guarantee.** As stated on ``receipt_``. Nothing else about the training rows is kept.
    **Assumes.** The schema, the bounds and the label values were written down without looking at
    the private rows. With ``schema=None`` the two label values are taken from ``y``; unless they
    are 0 and 1 or -1 and 1, that becomes a condition on the receipt. Some of scikit-learn's
    meta-estimators (``VotingClassifier``, ``cross_val_predict`` of decisions) number the labels
    before they fit; under them a schema must call its labels 0 and 1.

    References
    ----------
    .. [1] Neel, Roth, Vietri, Wu (2019). See docs/theory.md for each mechanism.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 1], [1, 1], [1, 0], [0, 0]] * 50)
    >>> clf = PrivateScorecardClassifier(epsilon=2.0).fit(X, X[:, 0])
    >>> clf.predict([[1, 0], [0, 1]]).tolist()
    [1, 0]
    >>> clf.receipt_.guarantee
    'HOLDS'
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 0.0,
        schema: SchemaLike | None = None,
        weight_bound: int = 1,
        mechanism: str = "auto",
        relation: str = "replace_one",
        oracle: str | Oracle = "auto",
        time_limit: float | None = None,
        ledger: Ledger | str | PathLike[str] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.schema = schema
        self.weight_bound = weight_bound
        self.mechanism = mechanism
        self.relation = relation
        self.oracle = oracle
        self.time_limit = time_limit
        self.ledger = ledger
        self.random_state = random_state

    def fit(self, X: ArrayLike | pd.DataFrame, y: ArrayLike) -> Self:
        """Learn a scorecard.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Raw rows. With a schema: a DataFrame that has the schema's columns, or an array with
            exactly those columns in order.
        y : array-like of shape (n_samples,)
            Labels, as the schema spells them.

        Returns
        -------
        self

        Raises
        ------
        CalibrationError, SchemaError, TableError
            If an argument, the schema or the table is not acceptable.
        UncertifiedRelease
            If the oracle gave no certificate; the budget is spent and nothing is released.

        Notes
        -----
        A refused fit leaves the estimator unfitted, whatever it was before.
        """
        self._forget()
        try:
            return self._fit(X, y)
        except BaseException:
            self._forget()
            raise

    def _fit(self, X: ArrayLike | pd.DataFrame, y: ArrayLike) -> Self:
        params = PrivacyParams(epsilon=self.epsilon, delta=self.delta)
        relation = parse_relation(self.relation)
        grid_bound = parse_weight_bound(self.weight_bound)
        schema, table, labels = self._validated(X, y)
        grid = self._grid(schema.n_columns + 1, grid_bound)
        public = PublicInputs(
            params=params,
            relation=relation,
            grid=grid,
            rows_per_unit=schema.rows_per_unit,
            privacy_unit=schema.privacy_unit,
            schema_digest=schema.digest(),
            n_rows=len(table) if relation is NeighboringRelation.REPLACE_ONE else None,
            assumptions=label_assumptions(*schema.classes) if self.schema is None else (),
        )
        encoded_labels = encode_label_values(labels, schema)
        require_both_classes(encoded_labels)
        encoded = aggregate(encode_features(table, schema), encoded_labels)
        problem = ZeroOneProblem(
            points=encoded.points.astype(np.int64),
            positives=encoded.positives,
            negatives=encoded.negatives,
            grid=grid,
        )
        release = self._release(schema, problem, public)
        self._publish(schema, release)
        return self

    def _forget(self) -> None:
        """Drop the last fit, so that a refused one cannot be mistaken for it."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether a scorecard was released."""
        return hasattr(self, "scorecard_")

    def _grid(self, n_features: int, bound: int) -> WeightGrid:
        # OPDisc's published grid: squared norms up to the number of coordinates.
        budget = n_features if self.mechanism == "opdisc" else None
        return WeightGrid.box(n_features, bound, norm_budget=budget)

    def _mechanism(self, schema: Schema, grid: WeightGrid) -> tuple[Mechanism, str]:
        """Return the mechanism and, if it was chosen automatically, the reason."""
        return build_mechanism(self.mechanism, grid, structure=column_structure(schema))

    def _release(self, schema: Schema, problem: ZeroOneProblem, public: PublicInputs) -> Release:
        mechanism, choice = self._mechanism(schema, problem.grid)
        ledger = self.ledger
        if ledger is not None and not isinstance(ledger, Ledger):
            ledger = Ledger(ledger)
        return run_mechanism(
            mechanism,
            problem,
            public,
            entropy=parse_entropy(self.random_state),
            oracle=self.oracle,
            options=SolveOptions(time_limit=self.time_limit),
            ledger=ledger,
            choice=choice,
        )

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
        check_classification_targets(labels)
        self.classes_ = np.unique(labels)
        if len(self.classes_) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(labels)}."
            )
        if len(self.classes_) < 2:
            raise ValueError("y must hold rows of both classes, it has one class.")
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


class OPDiscClassifier(PrivateScorecardClassifier):
    """OPDisc of Neel, Roth, Vietri, Wu (2019): objective perturbation on the sphere.

    Parameters
    ----------
    epsilon, delta, schema, weight_bound, relation, oracle, time_limit, ledger, random_state
        As in :class:`PrivateScorecardClassifier`.
    norm_budget : int or None
        Largest squared norm of the weights; None takes the number of coordinates, as published.
    noise : str, default "l2-laplace"
        "l2-laplace" (proven, pure), "gaussian" (proven), or the refuted "gaussian-published-7" and
        "gaussian-published-3.5", whose receipts are VOID.

    Notes
    -----
    **Guarantee.** As stated on ``receipt_``.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 0.0,
        schema: SchemaLike | None = None,
        weight_bound: int = 1,
        relation: str = "replace_one",
        oracle: str | Oracle = "auto",
        time_limit: float | None = None,
        ledger: Ledger | str | PathLike[str] | None = None,
        random_state: int | np.random.RandomState | None = None,
        norm_budget: int | None = None,
        noise: SphereNoise = "l2-laplace",
    ) -> None:
        super().__init__(
            epsilon=epsilon,
            delta=delta,
            schema=schema,
            weight_bound=weight_bound,
            mechanism="opdisc",
            relation=relation,
            oracle=oracle,
            time_limit=time_limit,
            ledger=ledger,
            random_state=random_state,
        )
        self.norm_budget = norm_budget
        self.noise = noise

    def _grid(self, n_features: int, bound: int) -> WeightGrid:
        if self.norm_budget is None:
            return super()._grid(n_features, bound)
        return WeightGrid.box(n_features, bound, norm_budget=self.norm_budget)

    def _mechanism(self, schema: Schema, grid: WeightGrid) -> tuple[Mechanism, str]:
        return build_mechanism(self.mechanism, grid, noise=self.noise)


class PermuteAndFlipClassifier(PrivateScorecardClassifier):
    """Permute-and-flip over all scorecards of a grid that can be listed: pure epsilon-DP.

    Parameters
    ----------
    epsilon, schema, weight_bound, relation, oracle, time_limit, ledger, random_state
        As in :class:`PrivateScorecardClassifier`.

    Notes
    -----
    **Guarantee.** As stated on ``receipt_``.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        schema: SchemaLike | None = None,
        weight_bound: int = 1,
        relation: str = "replace_one",
        oracle: str | Oracle = "auto",
        time_limit: float | None = None,
        ledger: Ledger | str | PathLike[str] | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        super().__init__(
            epsilon=epsilon,
            schema=schema,
            weight_bound=weight_bound,
            mechanism="permute_and_flip",
            relation=relation,
            oracle=oracle,
            time_limit=time_limit,
            ledger=ledger,
            random_state=random_state,
        )
