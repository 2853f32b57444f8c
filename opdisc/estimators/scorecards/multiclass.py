"""A private classifier of several labels: a scorecard for each question, one receipt for all."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from os import PathLike
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from opdisc.data import (
    CLASSES_PUBLIC,
    COLUMNS_UNSEEN,
    MOST_CLASSES,
    CellArray,
    Classes,
    Label,
    RowCounts,
    Schema,
    SchemaLike,
    as_table,
    column_structure,
    counted_problem,
    encode_classes,
    encode_features,
    encode_label_values,
    make_target,
    parse_labels,
    parse_schema,
    plain_label,
    require_found_thresholds,
    require_storable_labels,
    several_classes,
    table_assumptions,
    warn_of_cells_between_0_and_1,
)
from opdisc.errors import SchemaError, TableError
from opdisc.estimators.refusals import require_same_length
from opdisc.estimators.repeated_fits import refuse_numbered_labels
from opdisc.estimators.scorecards.counted_classes import (
    CountedClasses,
    classes_of_counts,
    classes_of_rows,
)
from opdisc.estimators.scorecards.private import PrivateScorecardClassifier
from opdisc.mechanisms import (
    BaseMeasure,
    CardRisks,
    CardsRelease,
    RiskSpec,
    run_cards,
)
from opdisc.models import (
    RiskTable,
    SavedMulticlassModel,
    Scorecard,
    card_classes,
    fitted_risks,
    used_columns,
)
from opdisc.planning import (
    check_costs_of_cards,
    check_risks_of_classes,
    decide_cards,
    patience_of_each,
)
from opdisc.privacy import (
    TREE,
    Ledger,
    MulticlassReceipt,
    Prepared,
    PrivacyParams,
    PublicInputs,
    Question,
    ask,
    preferences,
)
from oracles.arithmetic import FloatArray, IntArray
from oracles.interface import Oracle


class PrivateMulticlassClassifier(PrivateScorecardClassifier):
    """Integer scorecards that together tell two or more labels apart, for one budget.

    Parameters
    ----------
    epsilon : float, default 1.0
        Privacy loss of all cards together, > 0. Cards are pure: there is no delta.
    schema : Schema, mapping, path, name of a shipped schema, or None
        As in :class:`PrivateScorecardClassifier`; its target declares ``classes``, in an order
        that is public.
    weight_bound, mechanism, relation, oracle, time_limit, ledger, random_state, norm_budget
        As in :class:`PrivateScorecardClassifier`, for each card.
    max_nonzero, max_rounds, progress, base_measure
        As in :class:`PrivateScorecardClassifier`, for each card.
    patience : float or None
        As in :class:`PrivateScorecardClassifier`, for all cards together.
    classes : sequence of labels, or None
        All labels in order, where there is no schema. None takes them from ``y``, sorted, which
        is a condition on the receipt.
    strategy : str, default "tree"
        "tree" halves the classes in their order, and the halves again: K - 1 cards, and a row
        pays for the about log2 K that name its class. "one_versus_rest" has K cards at
        ``epsilon / K`` each; the highest total wins, of equal ones the class declared first.
    risk_budget : float or None
        Share of each card's budget, in (0, 1), that buys the observed rate per total of that
        card: ``risk_tables_`` and ``predict_proba``; for a tree only. None buys none.
    public_row_guess : int or None
        As in :class:`PrivateScorecardClassifier`, of all rows.

    Attributes
    ----------
    scorecards_ : tuple of Scorecard
        The published cards.
    receipt_ : MulticlassReceipt
        The privacy statement of all of them.
    risk_tables_ : tuple of RiskTable
        Rates per total of each card; with ``risk_budget`` only.
    verdict_ : ClassesVerdict
        Which labels the cards never give.
    schema_ : Schema
        The public facts that were used.
    coef_ : ndarray of shape (n_cards, n_encoded_columns), int64
        Points of the encoded columns.
    intercept_ : ndarray of shape (n_cards,), int64
        Starting points.
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted as scikit-learn requires.
    n_features_in_, feature_names_in_
        Raw columns and their names, where they have any.

    Notes
    -----
    **Guarantee.** As stated on ``receipt_``; docs/theory.md, entry "multiclass". **Order.** Put
    classes that are alike next to each other: the first cards tell groups of neighbours apart.
    **Plans.** Each card is planned as if every class had as many rows. How many it has is private.
    **Counts.** ``fit_counts`` takes rows of two classes; :func:`opdisc.count_rows` counts no more.
    **Costs.** Every mistake counts alike; a schema with error costs is refused.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 0], [0, 1], [1, 1]] * 200)
    >>> clf = PrivateMulticlassClassifier(epsilon=10.0, classes=(0, 1, 2)).fit(X, X.sum(axis=1))
    >>> clf.predict([[0, 0], [0, 1], [1, 1]]).tolist(), clf.receipt_.epsilon
    ([0, 1, 2], 10.0)
    """

    receipt_: MulticlassReceipt  # type: ignore[assignment]
    scorecards_: tuple[Scorecard, ...]
    risk_tables_: tuple[RiskTable, ...]

    def __init__(
        self,
        epsilon: float = 1.0,
        schema: SchemaLike | None = None,
        weight_bound: int | Literal["auto"] = "auto",
        mechanism: str = "auto",
        relation: str = "replace_one",
        oracle: str | Oracle = "auto",
        time_limit: float | None = None,
        ledger: Ledger | str | PathLike[str] | None = None,
        random_state: int | np.random.RandomState | None = None,
        norm_budget: int | None = None,
        max_nonzero: int | None = None,
        max_rounds: int | None = None,
        progress: Callable[[str], None] | None = None,
        base_measure: str | BaseMeasure = "auto",
        patience: float | None = None,
        classes: Classes | None = None,
        strategy: str = TREE,
        risk_budget: float | None = None,
        public_row_guess: int | None = None,
    ) -> None:
        super().__init__(
            epsilon=epsilon,
            schema=schema,
            weight_bound=weight_bound,
            mechanism=mechanism,
            relation=relation,
            oracle=oracle,
            time_limit=time_limit,
            ledger=ledger,
            random_state=random_state,
            norm_budget=norm_budget,
            max_nonzero=max_nonzero,
            max_rounds=max_rounds,
            progress=progress,
            base_measure=base_measure,
            patience=patience,
            classes=classes,
            risk_budget=risk_budget,
            public_row_guess=public_row_guess,
        )
        self.strategy = strategy

    def _prepare(self, X: ArrayLike | pd.DataFrame, y: ArrayLike) -> Prepared[Any]:
        self._check_options()
        return self._prepare_cards(classes_of_rows(*self._read_classes(X, y)))

    def _prepare_counts(self, counts: RowCounts) -> Prepared[Any]:
        return self._prepare_cards(classes_of_counts(counts))

    def _checked(self, counts: RowCounts) -> RowCounts:
        checked = super()._checked(counts)
        check_costs_of_cards(checked.schema)
        require_found_thresholds(checked.schema)
        return checked

    def _prepare_cards(self, table: CountedClasses) -> Prepared[Any]:
        schema, entropy = self.schema_, self._entropy()
        facts: dict[str, Any] = self._public_facts(table.n_rows, schema, table.assumptions)
        facts["public_row_guess"] = self.public_row_guess
        public = PublicInputs(params=PrivacyParams(epsilon=self.epsilon, delta=0.0), **facts)
        check_risks_of_classes(self.strategy, self.risk_budget)
        decided = decide_cards(self._request(schema), public, self.strategy)
        problems = [
            counted_problem(table.of(question), card.settled.public.grid)
            for question, card in decided.cards
        ]
        prepared = [
            self._card(problem, card.settled, entropy)
            for problem, (_, card) in zip(problems, decided.cards, strict=True)
        ]
        specs = [card.shares.risks for _, card in decided.cards if card.shares.risks is not None]
        risks = CardRisks(
            specs=tuple(specs), problems=tuple(problems), structure=column_structure(schema)
        )
        charge = run_cards.prepare(
            self.strategy,
            len(schema.labels),
            prepared,
            public,
            entropy=entropy,
            risks=risks if specs else None,
        )
        questions = [question for question, _ in decided.cards]
        return charge.then(partial(self._publish_cards, questions, specs))

    def _patience(self, schema: Schema) -> float:
        """Return the seconds that a card may be expected to take: all have an equal part."""
        cards = ask(self.strategy, len(schema.labels))
        return patience_of_each(super()._patience(schema), len(cards))

    def _publish_cards(
        self, questions: Sequence[Question], specs: Sequence[RiskSpec], release: CardsRelease
    ) -> Self:
        schema = self.schema_
        if specs:
            self.risk_tables_ = tuple(
                fitted_risks(bins, counts, spec.scale)
                for (bins, counts), spec in zip(release.totals, specs, strict=True)
            )
        self.scorecards_ = tuple(
            Scorecard(
                target=schema.target.column,
                classes=card_classes(self.strategy, question, schema.labels),
                columns=schema.column_names,
                points=weights[1:],
                start=weights[0],
            )
            for question, weights in zip(questions, release.hypotheses, strict=True)
        )
        weights = np.array(release.hypotheses, dtype=np.int64)
        self.coef_, self.intercept_ = weights[:, 1:], weights[:, 0]
        self.receipt_ = release.receipt
        return self

    def _read_classes(
        self, X: ArrayLike | pd.DataFrame, y: ArrayLike
    ) -> tuple[CellArray, IntArray, tuple[str, ...]]:
        """Return encoded rows, the positions of their classes (-1: none), what is assumed."""
        if self.schema is None:
            values, positions, assumptions = self._read_plain_numbers(X, y)
            warn_of_cells_between_0_and_1(values)
            return self._encoded_numbers(values), positions, assumptions
        if self.classes is not None:
            raise SchemaError("a schema declares the labels already; leave out classes.")
        schema = parse_schema(self.schema)
        check_costs_of_cards(schema)
        table, labels = as_table(X, schema), self._column(y)
        require_same_length(table, labels)
        refuse_numbered_labels(labels, schema.target, schema.missing_values)
        positions = self._positions(labels, schema)
        if not self._hides_rows():
            _require_two_classes(positions)
        rows = encode_features(table, schema)
        self.schema_ = schema
        self.n_features_in_ = len(schema.columns)
        self.feature_names_in_ = np.array(schema.columns, dtype=object)
        self.classes_ = np.sort(np.array(schema.labels))
        return rows, positions, table_assumptions(X, y, schema)

    def _read_plain_numbers(
        self, X: ArrayLike | pd.DataFrame, y: ArrayLike
    ) -> tuple[FloatArray, IntArray, tuple[str, ...]]:
        declared = None if self.classes is None else parse_labels(self.classes)
        values, labels = self._numbers_to_fit(X, y)
        assumptions: tuple[str, ...] = (COLUMNS_UNSEEN,)
        stored: tuple[Label, ...]
        if declared is None:
            self.classes_ = several_classes(labels)
            if len(self.classes_) > MOST_CLASSES:
                raise TableError(f"y must hold at most {MOST_CLASSES} labels, but it has more.")
            positions = np.searchsorted(self.classes_, labels).astype(np.int64)
            stored = tuple(plain_label(label) for label in self.classes_.tolist())
            assumptions = (CLASSES_PUBLIC, *assumptions)
        else:
            stored = declared
            refuse_numbered_labels(labels, make_target("y", declared))
            positions = encode_classes(labels, declared, "y", ("",))
            if (positions < 0).any():
                raise TableError("y must hold a label in each row; leave out rows without one.")
            if not self._hides_rows():
                _require_two_classes(positions)
            self.classes_ = np.sort(np.array(declared))
        require_storable_labels(stored)
        names = getattr(self, "feature_names_in_", None)
        self.schema_ = Schema.equal_width(
            values.shape[1],
            names=None if names is None else [str(name) for name in names],
            classes=stored,
        )
        return values, positions, assumptions

    def _positions(self, labels: NDArray[Any], schema: Schema) -> IntArray:
        if schema.is_multiclass:
            return encode_classes(
                labels, schema.labels, schema.target.column, schema.missing_values
            )
        signs = encode_label_values(labels, schema).astype(np.int64)
        return np.where(signs == 0, -1, (signs + 1) // 2)

    def _labels(self) -> NDArray[Any]:
        """Return all labels in declared order, of the type of ``classes_``."""
        if self.schema is None and self.classes is None:
            return self.classes_
        return np.array(self.schema_.labels, dtype=self.classes_.dtype)

    def _used_columns(self) -> tuple[str, ...]:
        return used_columns(self.schema_, self.scorecards_)

    def _encoded(self, X: ArrayLike | pd.DataFrame) -> CellArray:
        rows = self._rows(X)
        return self._encoded_numbers(rows) if self.schema is None else rows

    def _preferences(self, X: ArrayLike | pd.DataFrame) -> IntArray:
        """Return how much each row speaks for each class, in declared order."""
        encoded = self._encoded(X)
        totals = np.column_stack([card.scores(encoded) for card in self.scorecards_])
        strategy = self.receipt_.strategy
        return preferences(strategy, ask(strategy, self.receipt_.n_classes), totals)

    def predict(self, X: ArrayLike | pd.DataFrame) -> NDArray[Any]:
        """Return the predicted label of each row, shape (n_samples,)."""
        positions = self._preferences(X).argmax(axis=1)
        return np.asarray(self._labels()[positions])

    def decision_function(self, X: ArrayLike | pd.DataFrame) -> FloatArray:
        """Return scores whose largest one is at the predicted class of ``classes_``.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Raw rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Of a tree the least margin on the way to each class; of one versus rest the totals,
            times the number of classes, less the position of the class. Of two classes the
            difference, shape (n_samples,).
        """
        declared = self._preferences(X).astype(np.float64)
        found = declared[:, np.argsort(self._labels())]
        return found if found.shape[1] > 2 else found[:, 1] - found[:, 0]

    def _right(self, X: ArrayLike | pd.DataFrame, y: NDArray[Any]) -> NDArray[np.bool_]:
        if self.schema is None:
            return np.asarray(self.predict(X) == y, dtype=bool)
        return np.asarray(self._preferences(X).argmax(axis=1) == self._positions(y, self.schema_))

    def expected_cost(self, X: ArrayLike | pd.DataFrame, y: ArrayLike) -> float:
        """Return the share of wrong predictions: cards for several classes have no error costs.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Raw rows.
        y : array-like of shape (n_samples,)
            Their labels; rows without one are left out.

        Returns
        -------
        float
            NaN without a labelled row.

        Notes
        -----
        Of private rows it is private: it is for tables that were held out and may be shown.
        """
        check_is_fitted(self)
        labels = self._column(y)
        right = self._right(X, labels)
        if self.schema is not None:
            right = right[self._positions(labels, self.schema_) >= 0]
        return 1.0 - float(right.mean()) if len(right) else math.nan

    def _risks(self, X: ArrayLike | pd.DataFrame) -> FloatArray:
        check_is_fitted(self)
        return self.to_model().risks(self._encoded(X))[:, np.argsort(self._labels())]

    def to_model(self) -> SavedMulticlassModel:
        """Return what :func:`opdisc.save_model` writes: scorecards, schema and receipt."""
        check_is_fitted(self)
        return SavedMulticlassModel(
            scorecards=self.scorecards_,
            schema=self.schema_,
            receipt=self.receipt_,
            risk_tables=getattr(self, "risk_tables_", ()),
        )

    def __sklearn_tags__(self) -> Any:
        """Declare a classifier of two classes or more; one cut a column may be too coarse."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = True
        tags.classifier_tags.poor_score = True
        return tags


def _require_two_classes(positions: IntArray) -> None:
    if len(np.unique(positions[positions >= 0])) < 2:
        raise TableError(
            "y must hold rows of two declared classes at least, but it has one class."
        )
