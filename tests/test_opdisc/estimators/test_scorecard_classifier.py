"""The classifiers: scikit-learn's rules, receipts of public inputs only, nothing kept."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler

from opdisc import (
    OPDiscClassifier,
    PermuteAndFlipClassifier,
    PrivateLogisticRegression,
    PrivateScorecardClassifier,
)
from opdisc.data import LABELS_PUBLIC
from opdisc.data.encoding import encode_features
from opdisc.data.reading import with_declared_dtypes
from opdisc.data.schema import Schema
from opdisc.errors import CalibrationError, OPDiscError, TableError, UncertifiedRelease
from opdisc.privacy.ledger import Ledger
from oracles import InvalidOption, Limit, OracleUnavailable, Termination
from oracles.enumeration.listing import EnumerationOracle

CLASSES = (PrivateScorecardClassifier, OPDiscClassifier, PermuteAndFlipClassifier)
CANARY = "xq7canary"
ALLOWED = {
    "scorecard_",
    "receipt_",
    "schema_",
    "coef_",
    "intercept_",
    "classes_",
    "n_features_in_",
    "feature_names_in_",
    "_noise_",
}


def schema(positive="yes", negative="no"):
    return Schema.from_dict(
        {
            "name": "illness",
            "target": {"column": "ill", "positive": positive, "negative": negative},
            "feature": [
                {"column": "age", "thresholds": [30, 50], "range": [0, 100]},
                {"column": "smoker", "categories": ["daily", "never"]},
            ],
        }
    )


def table(n=200, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    smoker = rng.choice(["daily", "never", "formerly", ""], n)
    ill = np.where((age >= 50) ^ (rng.random(n) < 0.1), "yes", "no")
    return pd.DataFrame({"age": age, "smoker": smoker, "ill": ill})


TABLE = table()


def classifier(**changes):
    return PrivateScorecardClassifier(**{"epsilon": 20.0, "schema": schema(), **changes})


def fitted(**changes):
    return classifier(**changes).fit(TABLE, TABLE["ill"])


def test_it_learns():
    assert fitted().score(TABLE, TABLE["ill"]) > 0.8


@pytest.mark.parametrize("cls", CLASSES)
def test_attributes_are_those_of_the_scorecard(cls):
    model = cls(schema=schema(), epsilon=5.0).fit(TABLE, TABLE["ill"])
    assert set(vars(model)) == set(vars(cls())) | ALLOWED
    assert model.coef_.tolist() == [list(model.scorecard_.points)]
    assert model.intercept_.tolist() == [model.scorecard_.start]
    assert model.classes_.tolist() == ["no", "yes"] and model.n_features_in_ == 2
    assert model.feature_names_in_.tolist() == ["age", "smoker"]


@pytest.mark.parametrize(
    ("negative", "positive"),
    [("no", "yes"), ("yes", "no"), (0, 1), (1, 0), (2, 1), (-1, 1), (False, True)],
)
def test_a_score_above_zero_means_the_last_class_whatever_is_positive(negative, positive):
    labels = TABLE["ill"].map({"yes": positive, "no": negative})
    model = fitted_with(schema(positive, negative), labels)
    assert model.classes_.tolist() == sorted([negative, positive])
    predicted, decision = model.predict(TABLE), model.decision_function(TABLE)
    assert np.array_equal(predicted, model.classes_[(decision > 0).astype(int)])
    totals = model.scorecard_.scores(encode_features(TABLE, model.schema_))
    assert np.array_equal(predicted == positive, totals >= 1)
    assert (predicted == labels).mean() > 0.8
    # scikit-learn ranks by the decision function and takes classes_[1] as positive.
    score = cross_val_score(
        classifier(schema=schema(positive, negative)), TABLE, labels, scoring="roc_auc", cv=2
    )
    assert min(score) > 0.7


def fitted_with(declared, labels):
    return classifier(schema=declared).fit(TABLE, labels)


@pytest.mark.parametrize(
    "labels", [("no", "yes"), (" a", " b "), (0, 1), (-1, 1), (3, 7), (False, True)]
)
def test_without_a_schema_labels_come_back_as_they_went_in(labels):
    rng = np.random.default_rng(0)
    X = rng.random((200, 3))
    y = np.array(labels)[(X[:, 0] > 0.5).astype(int)]
    model = PrivateScorecardClassifier(epsilon=20.0).fit(X, y)
    assert model.classes_.dtype == y.dtype and (model.predict(X) == y).mean() > 0.9
    assert model.receipt_.conditions[0] == LABELS_PUBLIC
    assert model.receipt_.guarantee == "CONDITIONAL"


# The receipt is a function of public inputs


ROWS = st.lists(
    st.tuples(
        st.integers(-200, 200),
        st.sampled_from(["daily", "never", "", "else"]),
        st.sampled_from(["yes", "no", ""]),
    ),
    min_size=10,
    max_size=10,
)


def receipt_of(rows, **changes):
    frame = pd.DataFrame([*rows, (1, "", "yes"), (1, "", "no")], columns=["age", "smoker", "ill"])
    return classifier(**changes).fit(frame, frame["ill"]).receipt_


@pytest.mark.parametrize("mechanism", ["auto", "exponential", "block_one_hot", "opdisc", "rspm"])
@given(one=ROWS, other=ROWS)
@settings(max_examples=10, deadline=None)
def test_any_table_of_the_same_size_gives_the_same_receipt(mechanism, one, other):
    assert receipt_of(one, mechanism=mechanism) == receipt_of(other, mechanism=mechanism)


@given(one=ROWS, more=ROWS)
@settings(max_examples=10, deadline=None)
def test_the_number_of_rows_is_not_on_the_receipt_where_it_is_private(one, more):
    relation = "add_or_remove_one"
    found = receipt_of(one, relation=relation)
    assert found == receipt_of([*one, *more], relation=relation) and found.n_rows is None
    assert receipt_of(one).n_rows == 12


def test_receipts_say_void_with_a_seed_and_conditional_with_a_limit():
    declared = with_declared_dtypes(table())
    assert classifier().fit(declared, declared["ill"]).receipt_.guarantee == "HOLDS"
    assert fitted(random_state=0).receipt_.guarantee == "VOID"
    assert fitted(random_state=np.random.RandomState(0)).receipt_.guarantee == "VOID"
    limited = classifier(time_limit=60).fit(declared, declared["ill"]).receipt_
    assert limited.guarantee == "CONDITIONAL" and "60 s" in limited.conditions[0]


def test_the_published_calibration_of_opdisc_is_void():
    model = OPDiscClassifier(delta=1e-6, schema=schema(), noise="gaussian-published-7")
    assert model.fit(TABLE, TABLE["ill"]).receipt_.guarantee == "VOID"


def test_the_norm_budget_of_opdisc_is_kept():
    model = OPDiscClassifier(epsilon=0.01, schema=schema(), norm_budget=1)
    model.fit(TABLE, TABLE["ill"])
    assert sum(w * w for w in model.scorecard_.hypothesis) <= 1
    assert model.receipt_.norm_budget == 1


# Tables in every form


def test_neither_the_order_of_columns_nor_extra_columns_nor_of_rows_matter():
    plain = fitted(random_state=0)
    for other in (
        TABLE[["smoker", "ill", "age"]],
        TABLE.assign(note=CANARY),
        TABLE.sample(frac=1, random_state=1),
        TABLE.astype({"age": str}),
        TABLE.set_index(np.arange(len(TABLE))[::-1]),
    ):
        model = classifier(random_state=0).fit(other, other["ill"].to_numpy())
        assert model.scorecard_ == plain.scorecard_ and model.receipt_ == plain.receipt_


def test_arrays_hold_the_columns_of_the_schema_in_order():
    rows = TABLE[["age", "smoker"]].to_numpy()
    model = classifier(random_state=0).fit(rows, TABLE["ill"].tolist())
    assert model.scorecard_ == fitted(random_state=0).scorecard_
    assert np.array_equal(model.predict(rows), model.predict(TABLE))


def test_a_pipeline_and_a_column_transformer():
    keep = FunctionTransformer(lambda frame: frame[["smoker", "age"]])
    piped = make_pipeline(keep, classifier()).fit(TABLE, TABLE["ill"])
    assert piped.score(TABLE, TABLE["ill"]) > 0.8
    numbers = TABLE.assign(bonus=1.0)[["bonus", "age"]]
    scaled = make_pipeline(
        ColumnTransformer([("scale", MinMaxScaler(), ["age"])], remainder="passthrough"),
        PrivateScorecardClassifier(epsilon=20.0),
    ).fit(numbers, TABLE["ill"])
    assert scaled.score(numbers, TABLE["ill"]) > 0.7


def test_cross_validation_and_grid_search(tmp_path):
    assert cross_val_score(classifier(), TABLE, TABLE["ill"], cv=3).mean() > 0.75
    ledger = Ledger(tmp_path / "budget")
    search = GridSearchCV(
        classifier(ledger=ledger), {"weight_bound": [1, 2]}, cv=2, error_score="raise"
    ).fit(TABLE, TABLE["ill"])
    assert search.best_score_ > 0.7
    # Four fits of the search and the last one: every one of them is paid for.
    assert len(ledger.spendings()) == 5


def test_labels_that_cross_validation_numbers_are_declared_as_numbers():
    settings = {"cv": 3, "method": "decision_function"}
    ill = (TABLE["ill"] == "yes").astype(int)
    for labels in (TABLE["ill"], ill):
        decisions = cross_val_predict(classifier(schema=schema(1, 0)), TABLE, labels, **settings)
        assert ((decisions > 0) == ill).mean() > 0.75
        with pytest.raises(TableError, match="do not say what they stand for"):
            cross_val_predict(classifier(), TABLE, labels, **settings)


def test_clones_and_parameters():
    model = fitted(weight_bound=2, ledger=None)
    copy = clone(model)
    assert copy.get_params() == model.get_params() and not hasattr(copy, "scorecard_")
    copy.set_params(epsilon=5.0, mechanism="block_one_hot").fit(TABLE, TABLE["ill"])
    assert copy.receipt_.epsilon == 5.0 and copy.receipt_.mechanism == "block_one_hot"
    with pytest.raises(ValueError, match="Invalid parameter"):
        copy.set_params(budget=1)


@pytest.mark.parametrize("cls", CLASSES)
def test_a_pickle_holds_the_scorecard_and_no_row(cls):
    frame = TABLE.assign(smoker=CANARY)
    model = cls(schema=schema(), epsilon=5.0).fit(frame, frame["ill"])
    data = pickle.dumps(model)
    assert CANARY.encode() not in data
    # Ten times the rows, the same size: nothing in it grows with the table.
    larger = pd.concat([frame] * 10)
    other = cls(schema=schema(), epsilon=5.0).fit(larger, larger["ill"])
    assert abs(len(pickle.dumps(other)) - len(data)) < 32
    loaded = pickle.loads(data)
    assert set(vars(loaded)) - set(vars(cls())) == ALLOWED
    assert np.array_equal(loaded.predict(TABLE), model.predict(TABLE))


def test_a_model_predicts_as_its_estimator():
    model = fitted()
    assert model.to_model().predict(TABLE).tolist() == model.predict(TABLE).tolist()


# Refusals


class Silent(EnumerationOracle):
    """Answers without proof."""

    name = "silent"

    def solve(self, problem, options):
        claim = super().solve(problem, options)
        return replace(
            claim,
            dual_bound=problem.trivial_bound(),
            termination=Termination.FEASIBLE,
            limit=Limit.TIME,
        )


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"epsilon": 0}, CalibrationError, "epsilon must be finite"),
        ({"epsilon": float("nan")}, CalibrationError, "epsilon must be finite"),
        ({"epsilon": float("inf")}, CalibrationError, "epsilon must be finite"),
        ({"epsilon": "1"}, CalibrationError, "epsilon must be a number"),
        ({"delta": 1}, CalibrationError, "delta must be in"),
        ({"delta": -1e-9}, CalibrationError, "delta must be in"),
        ({"weight_bound": 0}, CalibrationError, "weight_bound"),
        ({"weight_bound": 1.5}, CalibrationError, "weight_bound"),
        ({"weight_bound": True}, CalibrationError, "weight_bound"),
        ({"weight_bound": 10**9}, CalibrationError, "weight_bound"),
        ({"mechanism": "magic"}, CalibrationError, "mechanism must be one of"),
        ({"relation": "friends"}, CalibrationError, "relation must be one of"),
        ({"oracle": "delphi"}, OracleUnavailable, "enumeration"),
        ({"time_limit": 0}, InvalidOption, "time_limit"),
        ({"time_limit": float("nan")}, InvalidOption, "time_limit"),
        ({"schema": "absent"}, OPDiscError, "shipped"),
        ({"schema": {}}, OPDiscError, "schema must have"),
    ],
    ids=str,
)
def test_bad_arguments_are_refused_before_anything_is_spent(changes, error, words, tmp_path):
    ledger = tmp_path / "budget"
    with pytest.raises(error, match=words):
        classifier(ledger=ledger, **changes).fit(TABLE, TABLE["ill"])
    assert not ledger.exists()


@pytest.mark.parametrize(
    ("rows", "labels", "words"),
    [
        (TABLE[["age"]], TABLE["ill"], "'smoker' is missing"),
        (TABLE.assign(age=CANARY), TABLE["ill"], "'age' must hold finite"),
        (TABLE.assign(age=np.inf), TABLE["ill"], "'age' must hold finite"),
        (TABLE, TABLE["ill"].replace("no", "yes"), "both classes"),
        (TABLE, TABLE["ill"].replace("no", CANARY), "third label"),
        (TABLE, TABLE["ill"][1:], "same number of rows"),
        (TABLE[:0], TABLE["ill"][:0], "both classes|at least one row"),
        (TABLE.to_numpy(), TABLE["ill"], "exactly those 2 columns"),
        (TABLE[["age", "age", "smoker"]], TABLE["ill"], "distinct"),
    ],
)
def test_bad_tables_are_refused_without_quoting_them(rows, labels, words, tmp_path):
    with pytest.raises(TableError, match=words) as caught:
        classifier(ledger=tmp_path / "budget").fit(rows, labels)
    assert CANARY not in str(caught.value) and not (tmp_path / "budget").exists()


@pytest.mark.parametrize("method", ["fit", "predict"])
def test_without_a_schema_text_is_refused_without_quoting_it(method):
    X = np.random.default_rng(0).random((20, 2))
    bad = X.astype(object)
    bad[3, 1] = CANARY
    model = PrivateScorecardClassifier().fit(X, X[:, 0] > 0.5)
    with pytest.raises(TableError, match="declare a schema") as caught:
        model.fit(bad, X[:, 0] > 0.5) if method == "fit" else model.predict(bad)
    assert CANARY not in str(caught.value)
    assert caught.value.__context__ is None and caught.value.__cause__ is None


def test_a_refused_fit_leaves_the_estimator_unfitted(tmp_path):
    model = fitted(ledger=tmp_path / "budget")
    model.set_params(oracle=Silent())
    # No card is right everywhere here: whatever the noise, the trivial bound is below every card.
    either = (TABLE["age"] >= 50) ^ (TABLE["smoker"] == "daily")
    with pytest.raises(UncertifiedRelease):
        model.fit(TABLE, either.map({True: "yes", False: "no"}))
    assert len(Ledger(tmp_path / "budget").spendings()) == 2
    for call in (model.predict, model.decision_function):
        with pytest.raises(NotFittedError):
            call(TABLE)
    with pytest.raises(NotFittedError):
        model.to_model()
    assert not [name for name in vars(model) if name.endswith("_")]


def test_unfitted_estimators_say_so():
    with pytest.raises(NotFittedError):
        classifier().predict(TABLE)


def test_fitting_warns_about_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted().predict(TABLE)


@pytest.mark.parametrize("estimator", [PrivateScorecardClassifier, PrivateLogisticRegression])
def test_a_score_reads_labels_as_the_fit_does(estimator):
    rows = table()
    numbers = np.where(rows["ill"] == "yes", 1, 0)
    model = estimator(epsilon=50.0, schema=schema(positive=1, negative=0)).fit(rows, numbers)
    right = np.mean(model.predict(rows) == numbers)
    assert right > 0.8
    for labels in (numbers, numbers.astype(float), numbers.astype(str), numbers.astype(object)):
        assert model.score(rows, labels) == pytest.approx(right)
    weights = np.where(model.predict(rows) == numbers, 3.0, 1.0)
    assert model.score(rows, numbers.astype(str), weights) == pytest.approx(
        np.average(weights == 3.0, weights=weights)
    )
    assert model.score(rows, np.full(len(rows), "neither")) == 0
    with pytest.raises(TableError, match="must have the same number of rows"):
        model.score(rows, numbers[1:].astype(str))
