"""Risks that are paid for: the estimator, scikit-learn around it, the ledger and the file."""

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.utils.estimator_checks import parametrize_with_checks

import opdisc
from opdisc import (
    Ledger,
    PrivateScorecardClassifier,
    PrivateSearchCV,
    Schema,
    load_model,
    save_model,
)
from opdisc.errors import CalibrationError, LedgerError, ModelFileError
from opdisc.estimators.repeated_fits import RepeatedFits
from opdisc.mechanisms.composition.risks import split_epsilon
from opdisc.models.document import model_digest
from opdisc.privacy.entropy import SystemEntropy

SCORECARDS = ("PrivateScorecardClassifier", "OPDiscClassifier", "RSPMClassifier") + (
    "PermuteAndFlipClassifier",
)
every_scorecard = pytest.mark.parametrize("name", SCORECARDS)


def schema(positive="yes", negative="no"):
    return Schema.from_dict(
        {
            "name": "illness",
            "target": {"column": "ill", "positive": positive, "negative": negative},
            "feature": [
                {"column": "age", "thresholds": [30, 50, 70], "range": [0, 100]},
                {"column": "smoker", "categories": ["daily", "never"]},
            ],
        }
    )


def patients(n_rows=2000, positive="yes", negative="no"):
    rng = np.random.default_rng(1)
    age = rng.integers(18, 90, n_rows)
    smoker = rng.choice(["daily", "never", "formerly"], n_rows)
    ill = rng.random(n_rows) < (age >= 50) * 0.5 + (smoker == "daily") * 0.3 + 0.05
    labels = pd.Series(ill).map({True: positive, False: negative})
    return pd.DataFrame({"age": age, "smoker": smoker}), labels


def fitted(**settings):
    settings = {"epsilon": 5.0, "schema": schema(), "risk_budget": 0.2, **settings}
    return PrivateScorecardClassifier(**settings).fit(*patients())


@pytest.fixture(scope="module")
def usual():
    """Return a fitted model to read."""
    return fitted()


@pytest.fixture(scope="module")
def saved_record():
    """Return a saved model as a mapping to read."""
    return fitted(epsilon=50.0).to_model().to_dict()


def observed(model, X, y, positive="yes"):
    """Return (rate, share of positives) of the rows of each distinct released rate."""
    rates = model.predict_proba(X)[:, list(model.classes_).index(positive)]
    return [(rate, np.mean(y[rates == rate] == positive)) for rate in np.unique(rates)]


@pytest.mark.parametrize("positive", ["yes", "no"])
def test_the_rates_are_those_of_the_table_where_noise_is_small(positive):
    X, y = patients()
    negative = {"yes": "no", "no": "yes"}[positive]
    declared = schema(positive, negative)
    model = PrivateScorecardClassifier(epsilon=500.0, schema=declared, risk_budget=0.5).fit(X, y)
    pairs = observed(model, X, y.to_numpy(), positive)
    assert len(pairs) > 1
    for rate, share in pairs:
        # Noise of scale 0.008 is 0 in each count except with probability e^-125; one row of the
        # overall rate is mixed in.
        assert rate == pytest.approx(share, abs=0.02)
    together = model.predict_proba(X)
    assert np.allclose(together.sum(axis=1), 1.0)
    assert np.allclose(model.predict_log_proba(X), np.log(together))


@every_scorecard
def test_without_a_risk_budget_there_are_no_probabilities(name):
    X, y = patients()
    model = getattr(opdisc, name)(epsilon=5.0, schema=schema()).fit(X, y)
    for method in ("predict_proba", "predict_log_proba"):
        assert not hasattr(model, method)
        with pytest.raises(AttributeError, match="set risk_budget to a share of epsilon"):
            getattr(model, method)
    assert model.receipt_.risks is None and "risks" not in model.receipt_.to_dict()
    assert not hasattr(model, "risk_table_") and model.to_model().risk_table is None


@every_scorecard
@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
def test_every_scorecard_sells_them(name, relation, tmp_path):
    X, y = patients()
    model = getattr(opdisc, name)(
        epsilon=5.0, schema=schema(), risk_budget=0.3, relation=relation, ledger=tmp_path / "l"
    )
    model.fit(X, y)
    receipt, (charge,) = model.receipt_, Ledger(tmp_path / "l").spendings()
    assert charge.epsilon == receipt.epsilon == 5.0
    assert Fraction(receipt.risks.card_epsilon) + Fraction(receipt.risks.epsilon) == 5
    assert receipt.risks.epsilon == pytest.approx(1.5)
    rows = {"replace_one": 2, "add_or_remove_one": 1}[relation]
    assert receipt.risks.sensitivity == rows
    assert receipt.risks.noise_scale == pytest.approx(rows / 1.5)
    assert model.risk_table_.noise_scale == receipt.risks.noise_scale
    assert receipt.card_epsilon == receipt.risks.card_epsilon and receipt.mechanism != "auto"
    assert "for the risks" in str(receipt) and "total" in model.to_model().summary


@pytest.mark.parametrize("share", [0.001, 0.1, 0.2, 1 / 3, 0.5, 0.7, 0.999, np.float32(0.2)])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.7])
def test_the_sections_add_up_exactly(share, epsilon):
    card, risks = split_epsilon(epsilon, share)
    assert Fraction(card) + Fraction(risks) == Fraction(epsilon)
    assert risks == pytest.approx(epsilon * float(share), rel=1e-9)


@pytest.mark.parametrize("share", [0, 1, 0.0, 1.0, -0.1, 2, float("nan"), "0.2", True, 1e-300])
def test_an_impossible_share_is_refused_before_anything_is_spent(share, tmp_path):
    X, y = patients()
    model = PrivateScorecardClassifier(
        schema=schema(), risk_budget=share, ledger=tmp_path / "ledger"
    )
    with pytest.raises(CalibrationError, match="risk_budget must"):
        model.fit(X, y)
    assert not (tmp_path / "ledger").exists() and not hasattr(model, "receipt_")


def test_a_larger_unit_pays_more_noise():
    X, y = patients()
    declared = Schema.from_dict({**schema().to_dict(), "rows_per_unit": 3})
    model = PrivateScorecardClassifier(epsilon=5.0, schema=declared, risk_budget=0.2).fit(X, y)
    assert model.receipt_.risks.sensitivity == 6
    assert model.receipt_.risks.noise_scale == pytest.approx(6.0)


def test_the_whole_budget_is_on_disk_before_the_first_random_bit(tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "ledger", epsilon_limit=6.0)
    charged = []
    words = SystemEntropy.words

    def watched(self, count):
        charged.append([spending.epsilon for spending in ledger.spendings()])
        return words(self, count)

    monkeypatch.setattr(SystemEntropy, "words", watched)
    fitted(ledger=ledger)
    assert charged and all(seen == [5.0] for seen in charged)
    # The card alone would fit under the cap: nothing is drawn for it.
    charged.clear()
    with pytest.raises(LedgerError):
        fitted(ledger=ledger, epsilon=1.1)
    assert not charged


def test_sections_that_cost_more_than_the_promise_are_refused(usual):
    receipt = usual.receipt_
    record = receipt.to_dict()
    assert type(receipt).from_dict(record) == receipt
    record["risks"]["epsilon"] = 1.5
    with pytest.raises(ValueError, match="must not cost more"):
        type(receipt).from_dict(record)


# --- the file ------------------------------------------------------------------------------------


def test_a_saved_model_keeps_its_risks(usual, tmp_path):
    X, _ = patients()
    save_model(usual.to_model(), tmp_path / "card.json")
    loaded = load_model(tmp_path / "card.json")
    assert loaded.risk_table == usual.risk_table_ and loaded.receipt == usual.receipt_
    assert loaded.summary == usual.to_model().summary
    totals = usual.decision_function(X)
    yes = list(usual.classes_).index("yes")
    assert np.array_equal(loaded.risk_table.rates(totals), usual.predict_proba(X)[:, yes])


def forged(record, **changes):
    body = {k: v for k, v in record.items() if k != "sha256"} | changes
    return {**body, "sha256": model_digest(body)}


@pytest.mark.parametrize(
    "forge",
    [
        lambda record: {"risk_table": None},
        lambda record: {"risk_table": {**record["risk_table"], "noise_scale": 0.5}},
        lambda record: {"risk_table": {**record["risk_table"], "rows": []}},
        lambda record: {
            "risk_table": {**record["risk_table"], "rows": record["risk_table"]["rows"][::-1]}
        },
        lambda record: {"receipt": {k: v for k, v in record["receipt"].items() if k != "risks"}},
    ],
)
def test_a_table_that_was_not_paid_for_is_refused(forge, saved_record, tmp_path):
    path = tmp_path / "card.json"
    path.write_text(json.dumps(forged(saved_record, **forge(saved_record))))
    with pytest.raises(ModelFileError):
        load_model(path)


# --- scikit-learn around it ----------------------------------------------------------------------

own_warning = pytest.mark.filterwarnings(f"ignore::{RepeatedFits.__module__}.RepeatedFits")


def test_decisions_are_float64(usual):
    X, _ = patients()
    for model in (usual, fitted(schema=schema("no", "yes"))):
        decisions = model.decision_function(X)
        assert decisions.dtype == np.float64
        assert np.array_equal(model.classes_[(decisions > 0).astype(int)], model.predict(X))


@own_warning
@pytest.mark.parametrize("risk_budget", [None, 0.2])
def test_calibration_works(risk_budget):
    X, y = patients()
    model = PrivateScorecardClassifier(epsilon=50.0, schema=schema(), risk_budget=risk_budget)
    calibrated = CalibratedClassifierCV(model, cv=2).fit(X, y)
    shares = calibrated.predict_proba(X)[:, 1]
    assert shares.shape == (2000,) and np.corrcoef(shares, y == "yes")[0, 1] > 0.3


LABELS = [("yes", "no"), ("a", "b"), (">50K", "<=50K"), (0, 1), (2, -1), (True, False)]


@own_warning
@pytest.mark.parametrize(("positive", "negative"), LABELS)
@pytest.mark.parametrize(
    ("declare", "voting"), [("schema", "hard"), ("classes", "soft"), ("nothing", "soft")]
)
def test_votes_and_stacks_take_labels_of_any_type(positive, negative, declare, voting):
    X, y = patients(500, positive, negative)
    numbers = sorted((negative, positive))
    own = {"positive": numbers.index(positive), "negative": numbers.index(negative)}
    if declare == "schema":
        arguments = {"schema": schema(**own)}
    else:
        X = pd.DataFrame({"old": X["age"] >= 50, "daily": X["smoker"] == "daily"}).astype(int)
        classes = (own["negative"], own["positive"])
        arguments = {"classes": classes} if declare == "classes" else {}
    one = PrivateScorecardClassifier(epsilon=50.0, risk_budget=0.2, **arguments)
    alone = one.fit(X, (y == positive).astype(int) if own["positive"] else (y != positive) * 1)
    vote = VotingClassifier([("a", one), ("b", one)], voting=voting).fit(X, y)
    predicted = vote.predict(X)
    assert set(predicted) == {positive, negative}
    # At this epsilon all are near the best card, whose errors are well below a half.
    assert np.mean(predicted == np.array(numbers)[alone.predict(X)]) > 0.8
    for member in vote.estimators_:
        assert member.classes_.tolist() == [0, 1]
        if declare != "nothing":
            assert member.to_model().scorecard.classes == alone.to_model().scorecard.classes


@own_warning
def test_a_stack_numbers_the_labels_twice():
    X, y = patients(500)
    X = X.assign(smoker=X["smoker"].astype(object))
    one = PrivateScorecardClassifier(epsilon=50.0, schema=schema(1, 0))
    stack = StackingClassifier([("a", one)], LogisticRegression(), cv=2, stack_method="predict")
    stack.fit(X, y)
    assert np.mean(stack.predict(X) == y) > 0.6
    decisions = cross_val_predict(one, X, y, cv=2, method="decision_function")
    assert np.mean((decisions > 0) == (y == "yes")) > 0.6


@own_warning
def test_numbers_that_nobody_declared_are_refused():
    X, y = patients(500)
    one = PrivateScorecardClassifier(epsilon=50.0, schema=schema())
    with pytest.raises(opdisc.errors.TableError, match="do not say what they stand for"):
        one.fit(X, (y == "yes").astype(int))
    with pytest.raises(opdisc.errors.TableError, match="third label"):
        one.fit(X, (y == "yes").astype(int) + 7)


@parametrize_with_checks(
    [PrivateScorecardClassifier(epsilon=1e4, random_state=0, risk_budget=0.5)]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_a_private_search_hands_on_the_risks_of_its_best(tmp_path):
    X, y = patients()
    one = PrivateScorecardClassifier(epsilon=50.0, schema=schema(), risk_budget=0.2)
    search = PrivateSearchCV(one, {"weight_bound": [1, 2]}, expected_trials=2.0).fit(X, y)
    assert np.array_equal(search.predict_proba(X), search.best_estimator_.predict_proba(X))
    risks = search.best_estimator_.receipt_.risks
    assert risks.card_epsilon + risks.epsilon < search.receipt_.epsilon == 50.0
    save_model(search.to_model(), tmp_path / "card.json")
    assert load_model(tmp_path / "card.json").risk_table == search.best_estimator_.risk_table_
