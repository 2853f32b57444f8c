"""A private search: one budget, one receipt, and nothing of the other trials."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

from opdisc import (
    Ledger,
    OPSampClassifier,
    OPSampRegressor,
    PrivateLogisticRegression,
    PrivateScorecardClassifier,
    PrivateSearchCV,
    RobustVoteClassifier,
    Schema,
    load_model,
    save_model,
)
from opdisc.data import COLUMNS_UNSEEN, LABELS_PUBLIC
from opdisc.errors import CalibrationError, SchemaError, TableError
from opdisc.estimators.search import SettingsCandidate, _names
from opdisc.mechanisms.selection.random_stopping import trial_law
from opdisc.privacy.entropy import SystemEntropy
from opdisc.privacy.params import PrivacyParams

X = np.array([[0, 1], [1, 1], [1, 0], [0, 0]] * 250)
Y = X[:, 0]
GRID = {"weight_bound": [1, 2]}


def search(estimator=None, grid=None, **settings):
    inner = PrivateScorecardClassifier(epsilon=8.0) if estimator is None else estimator
    return PrivateSearchCV(inner, GRID if grid is None else grid, **settings)


def schema(rows_per_unit=1, unit="one row", positive=1, negative=0):
    return Schema.from_dict(
        {
            "name": "t",
            "unit": unit,
            "rows_per_unit": rows_per_unit,
            "target": {"column": "y", "positive": positive, "negative": negative},
            "feature": [
                {"column": "a", "thresholds": [0.5], "range": [0, 1]},
                {"column": "b", "thresholds": [0.5], "range": [0, 1]},
            ],
        }
    )


# --- one budget, one receipt ---------------------------------------------------------------------


def test_a_search_is_one_charge_and_one_receipt_for_all(tmp_path):
    ledger = Ledger(tmp_path / "budget")
    inner = PrivateScorecardClassifier(epsilon=1.0, ledger=ledger.path)
    model = search(inner, {"weight_bound": [1, 2], "mechanism": ["rspm", "exponential"]}).fit(X, Y)
    (spent,) = ledger.spendings()
    assert spent.epsilon == model.receipt_.epsilon == 1.0
    # Not the trial's own epsilon with its own HOLDS.
    best = model.best_estimator_.receipt_
    assert (best.epsilon, best.delta_numerical) == (1.0, model.receipt_.delta_numerical)
    assert best.mechanism.startswith("private selection of ") and "stopping" in best.theorem
    assert model.best_estimator_.epsilon < 0.5 and model.best_estimator_.ledger is None
    assert model.receipt_.conditions == best.conditions == (LABELS_PUBLIC, COLUMNS_UNSEEN)
    assert model.best_params_ in [
        {"mechanism": m, "weight_bound": b} for m in ("rspm", "exponential") for b in (1, 2)
    ]
    assert model.receipt_.candidates[model.best_index_] == " ".join(
        f"{name}={value!r}" for name, value in model.best_params_.items()
    )
    assert not any(
        "cv_results" in name or "trials" in name for name in vars(model) if "_" == name[-1]
    )


def test_trials_keep_to_a_trials_budget():
    given = []

    class Watched(PrivateScorecardClassifier):
        def _prepare(self, X, y):
            given.append((self.epsilon, self.delta, self.random_state))
            return super()._prepare(X, y)

    model = search(Watched(), epsilon=3.0, delta=1e-4).fit(X, Y)
    assert len(set(given)) == 1
    receipt = model.receipt_
    assert given[0][0] + receipt.score_epsilon <= receipt.trial_epsilon <= 3.0 / 2
    assert given[0][1] <= receipt.trial_delta <= 1e-4 / receipt.expected_trials
    assert (receipt.epsilon, receipt.delta) == (3.0, 1e-4)


def test_a_saved_search_carries_the_whole_promise(tmp_path):
    for inner, grid in (
        (PrivateScorecardClassifier(epsilon=2.0), GRID),
        (PrivateLogisticRegression(epsilon=2.0, delta=1e-5, data_norm=2.0), {"ridge": [1.0, 5.0]}),
        (
            OPSampClassifier(feature_range=(0, 1), epsilon=20.0, delta=1e-2, most_draws=30),
            {"radius": [1.0, 2.0]},
        ),
    ):
        model = search(inner, grid).fit(X, Y)
        save_model(model.to_model(), tmp_path / "model.json")
        loaded = load_model(tmp_path / "model.json")
        assert loaded.receipt == model.best_estimator_.receipt_
        assert loaded.receipt.epsilon == inner.epsilon
        table = pd.DataFrame(X, columns=["x0", "x1"])
        assert np.array_equal(loaded.predict(table), model.predict(X))


def test_conditions_of_any_candidate_are_conditions_of_the_search():
    inner = RobustVoteClassifier(epsilon=20.0, n_parts=5, isolation="none")
    receipt = search(inner, {"weight_bound": [1, 2]}).fit(X, Y).receipt_
    assert receipt.guarantee == "CONDITIONAL"
    assert any("remembers nothing" in condition for condition in receipt.conditions)

    class Own(PrivateScorecardClassifier):
        pass

    receipt = search(Own(epsilon=8.0)).fit(X, Y).receipt_
    assert receipt.guarantee == "CONDITIONAL" and "not this library's" in receipt.conditions[0]
    assert search(random_state=3).fit(X, Y).receipt_.guarantee == "VOID"


def test_a_seeded_search_is_recorded_as_void(tmp_path):
    search(random_state=3, ledger=tmp_path / "budget").fit(X, Y)
    assert [s.guarantee for s in Ledger(tmp_path / "budget").spendings()] == ["VOID"]


def test_settings_of_other_units_are_refused_before_anything_is_spent(tmp_path):
    inner = PrivateScorecardClassifier(epsilon=8.0)
    frame = pd.DataFrame(X, columns=["a", "b"])
    for other in (schema(rows_per_unit=50), schema(unit="one patient")):
        for schemas in ([schema(), other], [other, schema()]):
            model = search(inner, {"schema": schemas}, ledger=tmp_path / "budget")
            with pytest.raises(CalibrationError, match="candidates must"):
                model.fit(frame, Y)
    assert not (tmp_path / "budget").exists()


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
def test_the_score_is_calibrated_to_the_rows_of_a_unit(relation):
    frame = pd.DataFrame(X, columns=["a", "b"])
    inner = PrivateScorecardClassifier(
        epsilon=50.0, schema=schema(rows_per_unit=4, unit="one patient"), relation=relation
    )
    model = search(inner).fit(frame, Y)
    receipt = model.receipt_
    assert (receipt.score_sensitivity, receipt.privacy_unit) == (4, "one patient")
    assert receipt.noise_scales == (pytest.approx(4 / receipt.score_epsilon),)
    assert receipt.n_rows == (1000 if relation == "replace_one" else None)
    # Where the number of rows is private, so is what the score would be divided by.
    assert hasattr(model, "best_score_") == (relation == "replace_one")


# --- what it learns ------------------------------------------------------------------------------


def test_the_better_setting_is_chosen_and_answers():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (3000, 3)).astype(float)
    labels = (2 * rows[:, 0] + rows[:, 1] + rows[:, 2] >= 2).astype(int)
    grid = [{"max_nonzero": [1], "weight_bound": [1]}, {"weight_bound": [2]}]
    model = search(PrivateScorecardClassifier(epsilon=50.0), grid, expected_trials=50.0, shape=1.0)
    model.set_params(random_state=1).fit(rows, labels)
    assert model.best_params_ == {"weight_bound": 2} and model.best_index_ == 1
    assert model.score(rows, labels) == 1.0
    assert model.best_score_ == pytest.approx(1.0, abs=0.05)
    assert model.classes_.tolist() == [0, 1] and model.n_features_in_ == 3
    restored = pickle.loads(pickle.dumps(model))
    assert np.array_equal(restored.predict(rows), model.predict(rows))


@pytest.mark.parametrize("labels", [("no", "yes"), (0, 1), (1, 0), ("10", "9")], ids=str)
def test_right_answers_are_counted_however_labels_are_spelled(labels):
    negative, positive = labels
    frame = pd.DataFrame(X, columns=["a", "b"])
    spelled = pd.Series(Y).map({0: negative, 1: positive})
    inner = PrivateScorecardClassifier(
        epsilon=1e3, schema=schema(positive=positive, negative=negative)
    )
    candidate = SettingsCandidate(
        name="a",
        estimator=inner,
        settings={},
        X=frame,
        y=spelled.to_numpy(),
        entropy=SystemEntropy(),
    )
    fitted, _ = candidate.fit(PrivacyParams(epsilon=1e3, delta=0.0))
    assert candidate.correct(fitted).all()
    as_text = SettingsCandidate(
        name="a",
        estimator=inner,
        settings={},
        X=frame,
        y=spelled.astype(str).to_numpy(),
        entropy=SystemEntropy(),
    )
    assert as_text.correct(fitted).dtype == bool and as_text.correct(fitted).all()


def test_probabilities_are_offered_where_the_estimator_has_them():
    assert not hasattr(search(), "predict_proba")
    inner = PrivateLogisticRegression(epsilon=20.0, delta=1e-5, data_norm=2.0)
    model = search(inner, {"ridge": [1.0, 5.0]}).fit(X, Y)
    assert model.predict_proba(X).shape == (1000, 2)
    assert np.allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))


def test_nothing_counts_the_trials(monkeypatch):
    # Warnings of a fit are shown once for each setting, before the trials, and never for a trial.
    class Warning_(PrivateScorecardClassifier):
        def _prepare(self, X, y):
            warnings.warn("a word", UserWarning, stacklevel=1)
            return super()._prepare(X, y)

    counts = set()
    for seed in range(8):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            search(Warning_(epsilon=8.0), random_state=seed).fit(X, Y)
        counts.add(sum(str(w.message) == "a word" for w in caught))
    assert counts == {2}
    drawn = {trial_law(10.0).draw(SystemEntropy()) for _ in range(60)}
    assert len(drawn) > 2  # trials do differ


@pytest.mark.parametrize("mechanism", ["one_hot", "opdisc"])
def test_progress_of_a_trial_is_not_shown(mechanism):
    told = []
    estimator = PrivateScorecardClassifier(
        epsilon=8.0, mechanism=mechanism, oracle="branch-and-bound", progress=told.append
    )
    estimator.fit(X, Y)
    assert told
    told.clear()
    search(estimator).fit(X, Y)
    assert told == []


# --- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"scoring": "roc_auc"}, "count of right answers"),
        ({"cv": 5}, "leave it out"),
        ({"n_jobs": -1}, "secret"),
        ({"refit": False}, "released"),
        ({"verbose": 2}, "count them"),
        ({"param_grid": {"epsilon": [1.0, 2.0]}}, "leave epsilon alone"),
        ({"param_grid": {"relation": ["replace_one"]}}, "leave relation alone"),
        ({"param_grid": {"ledger": [None]}}, "leave ledger alone"),
        ({"param_grid": {"weight_bound": [0]}}, "weight_bound"),
        ({"estimator": OPSampRegressor()}, "private classifier"),
        ({"estimator": "PrivateScorecardClassifier"}, "private classifier"),
        ({"expected_trials": 0.5}, "expected_trials"),
        ({"score_share": 0.0}, "score_share"),
        ({"epsilon": -1.0}, "epsilon must"),
        ({"delta": 1.0}, "delta must"),
    ],
    ids=str,
)
def test_what_a_private_search_cannot_keep_is_refused_and_costs_nothing(change, words, tmp_path):
    model = search(ledger=tmp_path / "budget").set_params(**change)
    with pytest.raises(CalibrationError, match=words):
        model.fit(X, Y)
    assert not (tmp_path / "budget").exists()


@pytest.mark.parametrize(
    ("grid", "labels", "error"),
    [
        ({"mechanism": ["auto", "no such"]}, Y, CalibrationError),
        ({"no_such_setting": [1]}, Y, ValueError),
        ({"schema": [schema(), "no such schema"]}, Y, SchemaError),
        (GRID, np.zeros(len(Y)), TableError),
    ],
    ids=["mechanism", "name", "schema", "labels"],
)
def test_any_setting_that_cannot_be_fitted_is_refused_and_costs_nothing(
    grid, labels, error, tmp_path
):
    model = search(grid=grid, ledger=tmp_path / "budget")
    with pytest.raises(error):
        model.fit(pd.DataFrame(X, columns=["a", "b"]), labels)
    assert not (tmp_path / "budget").exists()


def test_equal_and_long_names_of_settings_are_numbered():
    again = search(grid={"weight_bound": [1, 1]}).fit(X, Y)
    assert again.receipt_.candidates == ("0: weight_bound=1", "1: weight_bound=1")
    names = _names([{"base_measure": "x" * 200}, {"base_measure": "x" * 300}])
    assert names[0].startswith("0: base_measure='xxx") and max(map(len, names)) < 90
    assert _names([{}]) == ["as given"]
