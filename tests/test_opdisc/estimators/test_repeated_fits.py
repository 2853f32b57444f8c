"""Fits that scikit-learn repeats: seen, warned of once, and stated on receipts."""

import warnings

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier
from sklearn.feature_selection import RFE
from sklearn.model_selection import (
    GridSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import opdisc
from opdisc import (
    Ledger,
    PrivateLogisticRegression,
    PrivateScorecardClassifier,
    PrivateSearchCV,
    Schema,
)
from opdisc.errors import LedgerError
from opdisc.estimators import RepeatedFits

X = np.array([[0, 1], [1, 1], [1, 0], [0, 0]] * 60)
Y = X[:, 0]
GRID = {"weight_bound": [1, 2]}


def warned(action):
    """Return the result and how often it was said that fits are repeated."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = action()
    return result, sum(issubclass(w.category, RepeatedFits) for w in caught)


def test_the_best_estimator_of_a_grid_search_does_not_say_that_its_epsilon_is_all(tmp_path):
    ledger = Ledger(tmp_path / "budget.jsonl")
    inner = PrivateScorecardClassifier(epsilon=1.0, ledger=ledger.path)
    search, said = warned(lambda: GridSearchCV(inner, GRID, cv=5).fit(X, Y))
    receipt = search.best_estimator_.receipt_
    spent, _ = ledger.total()
    assert spent == 11.0 and receipt.epsilon == 1.0
    assert receipt.guarantee == "CONDITIONAL"
    (condition,) = [text for text in receipt.conditions if "published alone" in text]
    assert "published alone among 11 fits recorded in ledger budget.jsonl" in condition
    assert "not chosen by their scores" in condition
    assert str(tmp_path) not in str(receipt)
    assert said == 1


def test_without_a_ledger_the_receipt_names_the_search():
    search, said = warned(lambda: GridSearchCV(PrivateScorecardClassifier(), GRID, cv=3).fit(X, Y))
    found = search.best_estimator_.receipt_.conditions
    (condition,) = [text for text in found if "published alone" in text]
    assert "published alone among all fits by sklearn.model_selection" in condition
    assert said == 1


@pytest.mark.parametrize(
    "meta",
    [
        lambda inner: BaggingClassifier(inner, n_estimators=3, random_state=0),
        lambda inner: GridSearchCV(make_pipeline(FunctionTransformer(), inner), {}, cv=3),
        lambda inner: RFE(inner, n_features_to_select=1),
    ],
    ids=["bagging", "pipeline in a search", "feature selection"],
)
def test_other_repetitions_of_scikit_learn_are_seen(meta):
    receipts = []

    class Watched(PrivateScorecardClassifier):
        def _publish(self, hypothesis, receipt, noise):
            receipts.append(receipt)
            super()._publish(hypothesis, receipt, noise)

    _, said = warned(lambda: meta(Watched(epsilon=5.0)).fit(X, Y))
    assert len(receipts) > 1 and said >= 1
    # Bagging seeds what it fits: those receipts are VOID.
    assert {receipt.guarantee for receipt in receipts} <= {"CONDITIONAL", "VOID"}


def test_calibration_is_seen():
    inner = PrivateLogisticRegression(epsilon=20.0, data_norm=2.0)
    calibrated, said = warned(lambda: CalibratedClassifierCV(inner, cv=3).fit(X, Y))
    assert said == 1
    for fold in calibrated.calibrated_classifiers_:
        assert "sklearn.calibration" in " ".join(fold.estimator.receipt_.conditions)


@pytest.mark.parametrize("validate", [cross_val_score, cross_validate, cross_val_predict])
def test_cross_validation_warns_once_and_counts_in_the_ledger(validate, tmp_path):
    inner = PrivateScorecardClassifier(ledger=tmp_path / "budget")
    _, said = warned(lambda: validate(inner, X, Y, cv=4))
    assert said == 1
    assert len(Ledger(tmp_path / "budget").spendings()) == 4


@pytest.mark.slow
def test_workers_see_the_search_too():
    search, said = warned(
        lambda: GridSearchCV(PrivateScorecardClassifier(), GRID, cv=2, n_jobs=2).fit(X, Y)
    )
    results = cross_validate(
        PrivateScorecardClassifier(), X, Y, cv=2, n_jobs=2, return_estimator=True
    )
    for fitted in (search.best_estimator_, *results["estimator"]):
        assert fitted.receipt_.guarantee == "CONDITIONAL"


KINDS = {
    "OPDiscClassifier": {},
    "RSPMClassifier": {},
    "PermuteAndFlipClassifier": {},
    "RobustVoteClassifier": {"isolation": "none", "n_parts": 5},
    "OPSampClassifier": {"feature_range": (0, 1), "most_draws": 30, "delta": 1e-2},
    "OPSampRegressor": {
        "feature_range": (0, 1),
        "target_range": (-1, 1),
        "most_draws": 30,
        "delta": 1e-2,
    },
    "PrivateLogisticRegression": {"data_norm": 2.0},
    "PrivateLinearSVC": {"data_norm": 2.0},
    "PrivateSimplexRegressor": {"value_bound": 2.0},
    "PrivateSearchCV": {"estimator": PrivateScorecardClassifier(), "param_grid": GRID},
}


@pytest.mark.parametrize("name", KINDS)
def test_every_estimator_states_the_condition(name):
    inner = getattr(opdisc, name)(epsilon=20.0, **KINDS[name])
    results, _ = warned(lambda: cross_validate(inner, X, Y, cv=2, return_estimator=True))
    for fitted in results["estimator"]:
        conditions = " ".join(fitted.receipt_.conditions)
        assert conditions.count("published alone among all fits") == 1


def test_a_condition_on_the_labels_stays_beside_it():
    search, _ = warned(
        lambda: GridSearchCV(PrivateScorecardClassifier(), {}, cv=2).fit(
            X, np.array(["a", "b"])[Y]
        )
    )
    conditions = " ".join(search.best_estimator_.receipt_.conditions)
    assert "label values" in conditions and "published alone" in conditions


def test_a_fit_by_itself_or_in_a_pipeline_is_not_repeated(tmp_path):
    model = PrivateScorecardClassifier(ledger=tmp_path / "budget")
    for whole in (model, make_pipeline(FunctionTransformer(), model)):
        _, said = warned(lambda whole=whole: whole.fit(X, Y))
        assert said == 0
    assert not any("published alone" in text for text in model.receipt_.conditions)
    _, said = warned(lambda: PrivateSearchCV(model, GRID).fit(X, Y))
    assert said == 0


def test_a_damaged_ledger_refuses_a_fit_in_a_search_before_anything_is_spent(tmp_path):
    (tmp_path / "budget").write_text("not a ledger\n")
    inner = PrivateScorecardClassifier(ledger=tmp_path / "budget")
    with pytest.raises(LedgerError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cross_val_score(inner, X, Y, cv=2, error_score="raise")
    assert (tmp_path / "budget").read_text() == "not a ledger\n"


def test_the_schemas_facts_are_not_touched():
    schema = Schema.equal_width(2)
    search, _ = warned(
        lambda: GridSearchCV(PrivateScorecardClassifier(schema=schema), {}, cv=2).fit(X, Y)
    )
    assert search.best_estimator_.receipt_.schema_digest == schema.digest()
