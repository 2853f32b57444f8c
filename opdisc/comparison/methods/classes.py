"""More than two classes: cards for several questions, and a fit for each class against the rest.

Predictions are then positions of classes in their declared order, and scores have a column each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd

from opdisc.comparison.methods.method import FitTask, Fitted, Method
from opdisc.data import Schema, Target, encode_classes
from opdisc.privacy import unit_in_words
from oracles.arithmetic import FloatArray, IntArray

_WEAKEST_FIRST = ("VOID", "CONDITIONAL", "HOLDS")

_LABELS_WEAKEST_FIRST = ("refuted", "published", "proven")


def class_positions(table: pd.DataFrame, schema: Schema) -> IntArray:
    """Return the position of each row's class in declared order, -1 where the label is missing."""
    column = schema.target.column
    return encode_classes(table[column], schema.labels, column, schema.missing_values)


def fit_cards(task: FitTask, *, mechanism: str = "auto", strategy: str = "tree") -> Fitted:
    """Learn a card for each question that tells the classes apart, for one budget.

    Parameters
    ----------
    task : FitTask
        What to fit.
    mechanism, strategy : str
        As in :class:`opdisc.PrivateMulticlassClassifier`.
    """
    from opdisc.estimators import PrivateMulticlassClassifier

    assert task.epsilon is not None
    model = PrivateMulticlassClassifier(
        epsilon=task.epsilon,
        schema=task.schema,
        weight_bound=task.weight_bound,
        mechanism=mechanism,
        relation=task.relation.value,
        oracle=task.oracle,
        random_state=task.noise_seed,
        patience=task.patience,
        strategy=strategy,
        public_row_guess=task.public_row_guess,
    )
    model.fit(task.table, task.table[task.schema.target.column])

    def scores(table: pd.DataFrame) -> FloatArray:
        return np.asarray(model._preferences(table), dtype=np.float64)

    def predict(table: pd.DataFrame) -> IntArray:
        return np.asarray(model._preferences(table).argmax(axis=1), dtype=np.int64)

    return Fitted(
        predict=predict,
        scores=scores,
        receipt=model.receipt_,
        scorecards=model.scorecards_,
        parameters={"strategy": strategy},
    )


def one_versus_rest(task: FitTask, fit: Callable[[FitTask], Fitted]) -> Fitted:
    """Fit each class against all others at an equal share of the budget; the highest score wins.

    Parameters
    ----------
    task : FitTask
        What to fit.
    fit : callable
        A private fit of two classes that gives scores.

    Notes
    -----
    **Guarantee.** Every row is in each of the K fits, so their epsilons and deltas add up (basic
    composition): each gets a K-th of both, rounded down.
    """
    assert task.epsilon is not None
    labels = task.schema.labels
    epsilon, delta = (_share(budget, len(labels)) for budget in (task.epsilon, task.delta))
    fits = [
        fit(replace(_against_the_rest(task, position), epsilon=epsilon, delta=delta))
        for position in range(len(labels))
    ]
    receipts = [one.receipt.to_dict() for one in fits if one.receipt is not None]
    assert len(receipts) == len(labels)

    def scores(table: pd.DataFrame) -> FloatArray:
        assert all(one.scores is not None for one in fits)
        return np.column_stack([one.scores(table) for one in fits if one.scores is not None])

    def predict(table: pd.DataFrame) -> IntArray:
        return np.asarray(scores(table).argmax(axis=1), dtype=np.int64)

    conditions = dict.fromkeys(text for receipt in receipts for text in receipt["conditions"])
    return Fitted(
        predict=predict,
        scores=scores,
        parameters={**fits[0].parameters, "strategy": "one_versus_rest"},
        delta=sum(float(receipt["delta"]) for receipt in receipts),
        guarantee=min((r["guarantee"] for r in receipts), key=_WEAKEST_FIRST.index),
        label=min((r["calibration"] for r in receipts), key=_LABELS_WEAKEST_FIRST.index),
        theorem=f"{len(labels)} fits, whose epsilons and deltas add up: {receipts[0]['theorem']}",
        conditions=tuple(conditions),
        unit=unit_in_words(task.schema.privacy_unit, task.schema.rows_per_unit),
    )


def _against_the_rest(task: FitTask, position: int) -> FitTask:
    """Return a task in which one other label stands for all others."""
    column, labels = task.schema.target.column, task.schema.labels
    target = Target(column=column, positive=labels[position], negative=labels[position - 1])
    classes = class_positions(task.table, task.schema)
    spelled = [target.positive if k == position else target.negative for k in classes]
    cells = pd.Series(
        [None if k < 0 else label for k, label in zip(classes, spelled, strict=True)],
        index=task.table.index,
        dtype=object,
    )
    table = task.table.assign(**{column: cells})
    return replace(task, table=table, schema=replace(task.schema, target=target))


def _share(budget: float, parts: int) -> float:
    """Return one of equal parts of a budget, rounded down."""
    exact = Fraction(budget) / parts
    found = float(exact)
    return found if Fraction(found) <= exact else float(np.nextafter(found, 0.0))


METHODS = (
    Method(
        name="one-versus-rest",
        title="scorecards, one versus rest (auto)",
        family="opdisc",
        private=True,
        tuning="fixed",
        fit=partial(fit_cards, strategy="one_versus_rest"),
        summary="A card for each class against all others, at an equal share of epsilon.",
        has_grid=True,
        automatic_bound=True,
        classes="several",
    ),
)
