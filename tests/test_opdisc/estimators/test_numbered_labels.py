"""Labels that meta-estimators number: a number is never taken for a label nobody declared."""

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict, cross_val_score
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier

from opdisc import (
    Ledger,
    PrivateLogisticRegression,
    PrivateMulticlassClassifier,
    PrivateScorecardClassifier,
    Schema,
)
from opdisc.data import Target
from opdisc.errors import TableError

N_ROWS = 300
X = np.column_stack([np.arange(N_ROWS) % 2, np.arange(N_ROWS) % 3 == 0]).astype(float)
NUMBERED = "declare the labels 0 and 1, or correct y"

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def labels(negative, positive):
    return np.where(X[:, 0] == 1, positive, negative)


def card(**arguments):
    return PrivateScorecardClassifier(epsilon=60.0, **arguments)


def by_schema(negative, positive):
    schema = Schema.equal_width(2, classes=(0, 1)).to_dict()
    target = {"column": "target", "positive": positive, "negative": negative}
    return card(schema=schema | {"target": target})


class Numbers(BaseEstimator):
    """Somebody's own meta-estimator that numbers the labels."""

    def __init__(self, inner):
        self.inner = inner

    def fit(self, X, y):
        self.classes_, numbers = np.unique(y, return_inverse=True)
        self.inner.fit(X, numbers)
        return self

    def predict(self, X):
        return self.classes_[self.inner.predict(X)]


METAS = {
    "bagging": lambda inner: BaggingClassifier(inner, n_estimators=2, random_state=0),
    "hard vote": lambda inner: VotingClassifier([("a", inner)]),
    # Predictions, not totals: three cards that are all right may count from different starts.
    "stack": lambda inner: StackingClassifier(
        [("a", inner)], LogisticRegression(), cv=2, stack_method="predict"
    ),
    "one versus rest": OneVsRestClassifier,
    "one versus one": OneVsOneClassifier,
    "own": Numbers,
}


def scored(meta, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.mean(meta.fit(X, y).predict(X) == y)


@pytest.mark.parametrize("meta", METAS)
@pytest.mark.parametrize(("negative", "positive"), [("no", "yes"), (2, 1)])
def test_numbers_of_labels_are_refused_and_spend_nothing(meta, negative, positive, tmp_path):
    inner = card(classes=(negative, positive), ledger=tmp_path / "book")
    with pytest.raises(TableError, match=NUMBERED) as caught:
        scored(METAS[meta](inner), labels(negative, positive))
    assert "third" not in str(caught.value)
    assert not (tmp_path / "book").exists()


@pytest.mark.slow
def test_workers_refuse_them_too(tmp_path):
    inner = card(classes=("no", "yes"), ledger=tmp_path / "book")
    with pytest.raises(TableError, match=NUMBERED):
        scored(BaggingClassifier(inner, n_estimators=2, n_jobs=2), labels("no", "yes"))
    assert not (tmp_path / "book").exists()


@pytest.mark.parametrize(
    ("meta", "inner", "negative", "positive"),
    [
        ("bagging", card(classes=(0, 1)), "no", "yes"),
        ("hard vote", by_schema(0, 1), -1, 1),
        ("stack", card(), 1, 2),
        ("one versus rest", card(classes=(0, 1)), "no", "yes"),
        ("own", by_schema(0, 1), "no", "yes"),
    ],
)
def test_declared_numbers_are_the_labels(meta, inner, negative, positive):
    assert scored(METAS[meta](inner), labels(negative, positive)) > 0.9


@pytest.mark.parametrize("meta", ["bagging", "hard vote", "one versus one"])
def test_numbers_are_not_any_other_value(meta):
    """Labels 1 and 2 become 0 and 1: then 1 is not the declared 1."""
    with pytest.raises(TableError, match=NUMBERED):
        scored(METAS[meta](by_schema("*", 1)), labels(2, 1))


@pytest.mark.parametrize("inner", [card(classes=("no", "yes")), by_schema("no", "yes")])
def test_scores_by_cross_validation_are_of_numbers(inner):
    settings = {"cv": 2, "method": "decision_function"}
    y = labels("no", "yes")
    with pytest.raises(TableError, match=NUMBERED):
        cross_val_predict(inner, X, y, **settings)
    assert np.mean(cross_val_predict(inner, X, y, cv=2) == y) > 0.9
    assert cross_val_score(inner, X, y, cv=2, error_score="raise").mean() > 0.9
    decisions = cross_val_predict(card(classes=(0, 1)), X, y, **settings)
    assert np.mean((decisions > 0) == (y == "yes")) > 0.9


@pytest.mark.parametrize(("negative", "positive"), [(-1, 1), (2, 1), (1, 2)])
def test_whole_numbers_of_ones_own_are_labels_in_a_cross_validation(negative, positive):
    y = labels(negative, positive)
    for inner in (card(classes=(negative, positive)), by_schema("*", positive)):
        assert np.mean(inner.fit(X, y)._right(X, y)) > 0.9
        assert np.mean(inner.score(X, y)) > 0.9
    inner = card(classes=(negative, positive))
    assert np.mean(cross_val_predict(inner, X, y, cv=2) == y) > 0.9
    if {negative, positive} == {1, 2}:
        with pytest.raises(TableError, match=NUMBERED):
            cross_val_predict(by_schema("*", 1), X, labels(2, 1), cv=2, method="decision_function")


def test_a_part_of_the_labels_of_several_classes_is_not_taken_for_others():
    """Of the labels 1, 2, 3 a bootstrap may lack one: 1 and 2 are then the second and third."""
    y = np.arange(N_ROWS) % 3 + 1
    inner = PrivateMulticlassClassifier(epsilon=60.0, classes=(1, 2, 3))
    for meta in (METAS["bagging"](inner), METAS["hard vote"](inner)):
        with pytest.raises(TableError, match="declare the labels 0 to 2"):
            scored(meta, y)
    names = np.array(["low", "middle", "high"])[y - 1]
    inner = PrivateMulticlassClassifier(epsilon=60.0, classes=("low", "middle", "high"))
    for meta in (METAS["hard vote"](inner), Numbers(inner)):
        with pytest.raises(TableError, match="declare the labels 0 to 2"):
            scored(meta, names)
    numbers = PrivateMulticlassClassifier(epsilon=60.0, classes=(0, 1, 2))
    assert set(METAS["hard vote"](numbers).fit(X, names).predict(X)) <= set(names)
    with pytest.raises(TableError, match="declare the labels 0 and 1"):
        scored(OneVsRestClassifier(numbers), names)


def test_other_estimators_of_labels_refuse_them_too():
    for inner in (
        PrivateLogisticRegression(epsilon=60.0, data_norm=2.0, classes=("no", "yes")),
        PrivateLogisticRegression(epsilon=60.0, schema=by_schema("no", "yes").schema),
    ):
        with pytest.raises(TableError, match=NUMBERED):
            scored(METAS["hard vote"](inner), labels("no", "yes"))


def test_a_missing_code_among_whole_numbers_is_no_number_of_a_label():
    schema = Schema.equal_width(2).to_dict() | {
        "target": {"column": "target", "positive": 1, "negative": 2},
        "missing_values": ["0"],
        "feature": [
            {"column": name, "thresholds": [1.5], "range": [1, 2]} for name in ("x0", "x1")
        ],
    }
    y = labels(2, 1)
    y[:20] = 0
    model = card(schema=schema).fit(X, y)
    assert model.classes_.tolist() == [1, 2]
    assert Schema.from_dict(schema).target == Target(column="target", positive=1, negative=2)


def test_the_ledger_of_an_ensemble_adds_up(tmp_path):
    inner = card(classes=(0, 1), ledger=tmp_path / "book")
    scored(METAS["hard vote"](inner), labels("no", "yes"))
    assert len(Ledger(tmp_path / "book").spendings()) == 1
