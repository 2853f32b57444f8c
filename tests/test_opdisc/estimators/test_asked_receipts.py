"""A fit is asked what it costs before it is run: the receipt asked for is the one charged."""

import inspect
import warnings

import numpy as np
import pandas as pd
import pytest
from helpers.opdisc.frozen_plans import CONFIGURATIONS, declared
from sklearn.base import BaseEstimator, clone, is_classifier

import opdisc
from opdisc import Ledger, PrivateScorecardClassifier
from opdisc.convex import LinearFeatures
from opdisc.errors import UncertifiedRelease
from opdisc.estimators.scorecards import private
from opdisc.privacy import entropy, told_of_spending

X = np.array([[0, 1], [1, 1], [1, 0], [0, 0]] * 100)
Y = X[:, 0]
FEW_DRAWS = {"most_draws": 30, "delta": 1e-2, "feature_range": (0, 1)}
SCHEMA = declared(2)
TABLE = pd.DataFrame({"x0": X[:, 0], "x1": X[:, 1], "age": np.arange(400) % 60})
ILL = pd.Series(Y).map({0: "no", 1: "yes"})

NEEDED = {
    "OPSampClassifier": FEW_DRAWS,
    "OPSampRegressor": {**FEW_DRAWS, "target_range": (-1, 1)},
    "PrivateLogisticRegression": {"data_norm": 2.0},
    "PrivateLinearSVC": {"data_norm": 2.0},
    "PrivateSimplexRegressor": {"value_bound": 1.0},
    "RobustVoteClassifier": {"isolation": "none", "n_parts": 20},
    "PrivateSearchCV": {
        "estimator": PrivateScorecardClassifier(),
        "param_grid": {"weight_bound": [1, 2]},
        "expected_trials": 2.0,
    },
}
KINDS = {
    name: kind
    for name in opdisc.__all__
    if inspect.isclass(kind := getattr(opdisc, name)) and issubclass(kind, BaseEstimator)
}

CARDS = {
    "thresholds": {"schema": declared(2, cuts={"quantiles": 2, "range": [0, 60]})},
    "risks": {"risk_budget": 0.3},
    "logistic": {"mechanism": "logistic"},
    "a start": {"mechanism": "staged", "prior": {"x0": 1.0}},
}
DECLARED = {
    **{
        name: PrivateScorecardClassifier(**{"schema": SCHEMA, **settings})
        for name, settings in CARDS.items()
    },
    **{
        mechanism: opdisc.PrivateLogisticRegression(mechanism=mechanism, schema=SCHEMA)
        for mechanism in ("hull", "frank_wolfe", "output_perturbation", "objective_perturbation")
    },
    "hull of support vectors": opdisc.PrivateLinearSVC(schema=SCHEMA),
    "hull of a range": opdisc.PrivateLogisticRegression(feature_range=(0, 60)),
}
"""One way through a fit each."""


def asked_and_charged(model, rows, labels):
    """Return the receipt that a copy is asked for, and those of which charges are told."""
    asked = clone(model)._prepare(rows, labels).receipt
    charged = []
    with told_of_spending(charged.append):
        model.fit(rows, labels)
    return asked, charged


@pytest.fixture(autouse=True)
def said():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
@pytest.mark.parametrize("name", sorted(KINDS))
def test_every_estimator_charges_what_it_was_asked_for(name, relation):
    model = KINDS[name](**NEEDED.get(name, {})).set_params(epsilon=20.0)
    takes = set(model.get_params())
    for argument, value in (("relation", relation), ("public_row_guess", 400)):
        for own in {argument, f"estimator__{argument}"} & takes:
            model.set_params(**{own: value})
    labels = Y if is_classifier(model) else Y / 2
    if name == "PrivateSimplexRegressor" and relation != "replace_one":
        return  # which has no proof, and is refused
    asked, charged = asked_and_charged(model, X, labels)
    assert charged == [asked]
    assert asked.relation == relation and asked.epsilon == 20.0


@pytest.mark.parametrize("name", list(DECLARED))
def test_every_way_through_a_fit_charges_what_it_was_asked_for(name):
    model = clone(DECLARED[name]).set_params(epsilon=4.0)
    asked, charged = asked_and_charged(model, TABLE, ILL)
    assert charged == [asked] and asked.epsilon == 4.0


def test_asking_draws_nothing_and_spends_nothing(tmp_path, monkeypatch):
    def draw(*_):
        raise AssertionError("a random bit was asked for")

    monkeypatch.setattr(entropy.SystemEntropy, "words", draw)
    for name, kind in KINDS.items():
        model = kind(**NEEDED.get(name, {})).set_params(ledger=tmp_path / "book", epsilon=20.0)
        receipt = model._prepare(X, Y if is_classifier(model) else Y / 2).receipt
        assert receipt.epsilon == 20.0 and not hasattr(model, "receipt_")
    for model in DECLARED.values():
        clone(model).set_params(ledger=tmp_path / "book")._prepare(TABLE, ILL)
    assert not (tmp_path / "book").exists()


def test_a_twin_that_charges_more_than_it_was_asked_for_would_be_found():
    class Twin(PrivateScorecardClassifier):
        def fit(self, X, y):
            return self.set_params(epsilon=2 * self.epsilon)._prepare(X, y).run(None)

    asked, charged = asked_and_charged(Twin(), X, Y)
    assert [receipt.epsilon for receipt in charged] == [2 * asked.epsilon]


def frozen_names():
    """Yield all names; where rows are many, only the slow tests take the time to read them."""
    for name, one in CONFIGURATIONS.items():
        yield pytest.param(name, marks=[pytest.mark.slow] if one.rows >= 1000 else [])


@pytest.mark.parametrize("name", frozen_names())
def test_frozen_configurations_charge_what_they_were_asked_for(name, tmp_path):
    frozen, charged = CONFIGURATIONS[name], []

    class Stopped(BaseException):
        pass

    class Watched(Ledger):
        def spend(self, receipt):
            charged.append(receipt)
            raise Stopped

    with pytest.raises(Stopped):
        frozen.prepared().run(Watched(tmp_path / "book"))
    assert charged == [frozen.prepared().receipt]


@pytest.mark.parametrize(
    ("place", "model"),
    [
        ((private, "points_of"), PrivateScorecardClassifier(mechanism="logistic", schema=SCHEMA)),
        ((private, "fitted_risks"), PrivateScorecardClassifier(risk_budget=0.3, schema=SCHEMA)),
        (
            (LinearFeatures, "weights"),
            opdisc.PrivateLogisticRegression(mechanism="output_perturbation", schema=SCHEMA),
        ),
    ],
    ids=["points", "risks", "weights"],
)
def test_what_goes_wrong_while_results_are_set_says_nothing_of_the_rows(
    place, model, tmp_path, monkeypatch
):
    def fail(*_, **__):
        raise ValueError("xq7canary")

    monkeypatch.setattr(*place, fail)
    with pytest.raises(UncertifiedRelease) as caught:
        model = clone(model).set_params(ledger=tmp_path / "book")
        model.fit(TABLE, ILL)
    assert "the budget is spent" in str(caught.value) and caught.value.__context__ is None
    assert not [name for name in vars(model) if name.endswith("_")]
