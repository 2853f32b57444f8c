"""The contract of every public estimator.

Unfitted after a refusal, no cell in a message, sorted classes, budget spent once and before the
draw, nothing kept but what was released, and scikit-learn's own rules.
"""

import functools
import pickle
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import opdisc
from opdisc import Ledger, Schema
from opdisc.data import canonical_text
from opdisc.errors import CalibrationError, OPDiscError, TableError
from opdisc.privacy.entropy import SystemEntropy

CANARY_TEXT = "xq7canary"
CANARY_NUMBER = 87654.3125
CANARIES = (CANARY_TEXT, "87654")
N_ROWS = 397
"""Rows of every table here; a message that holds it counts the rows."""

COMMON = {"receipt_", "coef_", "n_features_in_", "feature_names_in_"}
SCORECARD = COMMON | {"scorecard_", "schema_", "intercept_", "classes_", "_noise_"}


@dataclass(frozen=True, kw_only=True)
class Case:
    """A public estimator and what its contract needs to know.

    Parameters
    ----------
    name : str
        Public name.
    numeric : mapping
        Arguments with which it learns from numbers in [0, 1].
    checked : mapping
        Arguments with which it meets scikit-learn's checks.
    attributes : frozenset of str
        All that a fit may leave, the names of a DataFrame's columns included.
    takes_schema : bool
        Whether it reads declared columns.
    quick : mapping
        Arguments that only save time.
    takes_many : bool
        Whether it learns more than two labels.
    generous : float
        Epsilon at which it learns a plain table almost surely.
    """

    name: str
    checked: Mapping[str, Any]
    attributes: frozenset[str]
    numeric: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    takes_schema: bool = True
    quick: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    takes_many: bool = False
    generous: float = 200.0

    def __call__(self, **changes: Any) -> Any:
        """Return an estimator of numbers."""
        settings = {"epsilon": 20.0, **self.quick, **self.numeric, **changes}
        return getattr(opdisc, self.name)(**settings)

    def declared(self, schema: Schema, **changes: Any) -> Any:
        """Return an estimator of a declared table."""
        settings = {"epsilon": 20.0, **self.quick, "schema": schema, **changes}
        return getattr(opdisc, self.name)(**settings)

    @property
    def is_classifier(self) -> bool:
        return is_classifier(self())


SEEDED = {"epsilon": 1e4, "random_state": 0}
HERE = {"isolation": "none", "n_parts": 20}
FEW_DRAWS = {"most_draws": 30, "delta": 1e-2}

SEARCH = {
    *("receipt_", "n_features_in_", "feature_names_in_", "classes_", "noisy_correct_"),
    *("best_estimator_", "best_params_", "best_index_", "best_score_"),
}
SEARCHED = {
    "estimator": opdisc.PrivateScorecardClassifier(),
    "param_grid": {"weight_bound": [1, 2]},
}

CASES = (
    Case(name="PrivateScorecardClassifier", checked=SEEDED, attributes=frozenset(SCORECARD)),
    Case(name="OPDiscClassifier", checked=SEEDED, attributes=frozenset(SCORECARD)),
    Case(name="RSPMClassifier", checked=SEEDED, attributes=frozenset(SCORECARD)),
    Case(name="PermuteAndFlipClassifier", checked=SEEDED, attributes=frozenset(SCORECARD)),
    Case(
        name="PrivateMulticlassClassifier",
        checked=SEEDED,
        attributes=frozenset(COMMON | {"scorecards_", "schema_", "intercept_", "classes_"}),
        takes_many=True,
    ),
    Case(
        name="RobustVoteClassifier",
        checked={**SEEDED, "isolation": "none", "n_parts": 1},
        attributes=frozenset(SCORECARD | {"elected_"}),
        quick=HERE,
    ),
    Case(
        name="OPSampClassifier",
        checked={"feature_range": (-5, 5), "epsilon": 20.0, **FEW_DRAWS},
        attributes=frozenset(COMMON | {"parameters_", "schema_", "intercept_", "classes_"}),
        numeric={"feature_range": (0, 1)},
        quick=FEW_DRAWS,
        generous=1e4,
    ),
    Case(
        name="OPSampRegressor",
        checked={
            "feature_range": (-5, 5),
            "target_range": (-10, 10),
            "epsilon": 20.0,
            **FEW_DRAWS,
        },
        attributes=frozenset(COMMON | {"parameters_", "intercept_"}),
        numeric={"feature_range": (0, 1), "target_range": (-1, 1)},
        takes_schema=False,
        quick=FEW_DRAWS,
    ),
    Case(
        name="PrivateLogisticRegression",
        checked={**SEEDED, "data_norm": 10.0},
        attributes=frozenset(COMMON | {"schema_", "intercept_", "classes_"}),
        numeric={"data_norm": 2.0},
    ),
    Case(
        name="PrivateLinearSVC",
        checked={**SEEDED, "data_norm": 10.0},
        attributes=frozenset(COMMON | {"schema_", "intercept_", "classes_"}),
        numeric={"data_norm": 2.0},
    ),
    Case(
        name="PrivateSimplexRegressor",
        checked={**SEEDED, "value_bound": 10.0},
        attributes=frozenset(COMMON),
        numeric={"value_bound": 2.0},
        takes_schema=False,
    ),
    Case(
        name="PrivateSearchCV",
        # A search takes no epsilon at which drawing in finite precision shows.
        checked={**SEEDED, **SEARCHED, "epsilon": 40.0, "expected_trials": 2.0},
        attributes=frozenset(SEARCH),
        numeric=SEARCHED,
        takes_schema=False,
        quick={"expected_trials": 2.0},
    ),
)
CLASSIFIERS = tuple(case for case in CASES if case.is_classifier)
WITH_SCHEMA = tuple(case for case in CASES if case.takes_schema)

every = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
every_classifier = pytest.mark.parametrize("case", CLASSIFIERS, ids=lambda case: case.name)
every_with_schema = pytest.mark.parametrize("case", WITH_SCHEMA, ids=lambda case: case.name)


def numbers(case: Case) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.random((N_ROWS, 3))
    return X, (X[:, 0] > 0.5).astype(int) if case.is_classifier else X[:, 0]


def frame(case: Case) -> tuple[pd.DataFrame, np.ndarray]:
    X, y = numbers(case)
    return pd.DataFrame(X, columns=["a", "b", "c"]), y


def schema(positive: Any = "yes", negative: Any = "no") -> Schema:
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


def patients(positive: Any = "yes", negative: Any = "no") -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, N_ROWS)
    smoker = rng.choice(["daily", "never", "formerly"], N_ROWS)
    labels = pd.Series(age >= 50).map({True: positive, False: negative})
    return pd.DataFrame({"age": age, "smoker": smoker}), labels


@functools.cache
def _pickled(case_name: str, declared: bool) -> bytes:
    case = next(case for case in CASES if case.name == case_name)
    model = case.declared(schema()) if declared else case()
    return pickle.dumps(model.fit(*(patients() if declared else numbers(case))))


def fitted(case: Case) -> Any:
    """Return a fresh copy of an estimator that was fitted to numbers."""
    return pickle.loads(_pickled(case.name, declared=False))


def fitted_to_patients(case: Case) -> Any:
    """Return a fresh copy of an estimator that was fitted to a declared table."""
    return pickle.loads(_pickled(case.name, declared=True))


@functools.cache
def _fitted_to_frame(case_name: str) -> Any:
    case = next(case for case in CASES if case.name == case_name)
    return case().fit(*frame(case))


def fitted_to_frame(case: Case) -> Any:
    """Return an estimator that was fitted to a table of numbers, the same one for all: to read."""
    return _fitted_to_frame(case.name)


def learned(model: Any) -> set[str]:
    return {name for name in vars(model) if name.endswith("_")}


def assert_unfitted(model: Any, X: Any) -> None:
    assert learned(model) == set()
    methods = ("predict", "decision_function", "predict_proba", "predict_log_proba")
    for method in methods:
        if hasattr(model, method):
            with pytest.raises(NotFittedError):
                getattr(model, method)(X)
    with pytest.raises(NotFittedError):
        model.to_model()


def said(action: Callable[[], Any]) -> str:
    """Return everything that a refused action says: message, its causes, warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises((OPDiscError, ValueError, TypeError)) as refusal:
            action()
    texts = [str(warning.message) for warning in caught]
    error: BaseException | None = refusal.value
    while error is not None:
        texts.append(f"{error!r} {error}")
        error = error.__cause__ or error.__context__
    return "\n".join(texts)


def assert_says_nothing(text: str) -> None:
    for canary in CANARIES:
        assert canary not in text
    assert str(N_ROWS) not in text


def assert_refuses(model: Any, X: Any, y: Any, *, after: Any) -> None:
    """Check that a fit quotes nothing of what it refuses and forgets the earlier one.

    Parameters
    ----------
    model : estimator
        Fitted.
    X, y : object
        What it must refuse.
    after : table
        Rows of which the earlier fit could answer.
    """
    assert learned(model)
    assert_says_nothing(said(lambda: model.fit(X, y)))
    assert_unfitted(model, after)


# --- refusals ------------------------------------------------------------------------------------


def with_cell(X: np.ndarray, cell: Any) -> np.ndarray:
    """Return rows whose first cell is a canary and whose last is the given one."""
    bad = X.astype(object)
    bad[0, 0] = CANARY_NUMBER
    bad[-1, -1] = cell
    return bad


def with_first(y: np.ndarray, cell: Any) -> np.ndarray:
    bad = y.astype(object)
    bad[0] = cell
    return bad


class Cell:
    """A cell that can be turned into nothing."""

    def __repr__(self) -> str:
        return CANARY_TEXT


BAD_ROWS: dict[str, Callable[[np.ndarray], Any]] = {
    "nan": lambda X: with_cell(X, np.nan).astype(float),
    "infinity": lambda X: with_cell(X, np.inf).astype(float),
    "minus infinity": lambda X: with_cell(X, -np.inf).astype(float),
    "None": lambda X: with_cell(X, None),
    "text": lambda X: with_cell(X, CANARY_TEXT),
    "only text": lambda X: np.full(X.shape, CANARY_TEXT),
    "bytes": lambda X: np.full(X.shape, CANARY_TEXT.encode()),
    "frame with text": lambda X: pd.DataFrame(with_cell(X, CANARY_TEXT), columns=list("abc")),
    "frame with gaps": lambda X: pd.DataFrame(with_cell(X, pd.NA), columns=list("abc")),
    "frame of times": lambda X: pd.DataFrame(X, columns=list("abc")).assign(
        c=pd.Timestamp("2187-06-05")
    ),
    "dict": lambda X: with_cell(X, {CANARY_TEXT: 1}),
    "list": lambda X: with_cell(X, [CANARY_NUMBER]),
    "object": lambda X: with_cell(X, Cell()),
    "too large": lambda X: with_cell(X, 10**400 + 87654),
    "complex": lambda X: X * (CANARY_NUMBER + 1j),
    "complex cell": lambda X: with_cell(X, CANARY_NUMBER + 1j),
    "one-dimensional": lambda X: X[:, 0] + CANARY_NUMBER,
    "series": lambda X: pd.Series(X[:, 0] + CANARY_NUMBER),
    "three-dimensional": lambda X: (X + CANARY_NUMBER)[:, :, None],
    "scalar": lambda X: CANARY_NUMBER,
    "text alone": lambda X: CANARY_TEXT,
    "ragged": lambda X: [[CANARY_NUMBER, 1.0, 2.0], [CANARY_NUMBER]],
    "no rows": lambda X: X[:0],
    "no columns": lambda X: X[:, :0],
    "sparse": lambda X: sparse.csr_array(X + CANARY_NUMBER),
    "nothing": lambda X: None,
    "matrix": lambda X: np.asmatrix(X + CANARY_NUMBER),
    "mixed names": lambda X: pd.DataFrame(X + CANARY_NUMBER, columns=["a", 1, "c"]),
}

BAD_TARGETS: dict[str, Callable[[np.ndarray], Any]] = {
    "nan": lambda y: with_first(y, np.nan).astype(float),
    "infinity": lambda y: with_first(y, np.inf).astype(float),
    "too short": lambda y: y[1:],
    "two columns": lambda y: np.column_stack([y, y]) + CANARY_NUMBER,
    "complex": lambda y: y * (CANARY_NUMBER + 1j),
    "mixed": lambda y: with_first(y, CANARY_TEXT),
    "dict": lambda y: with_first(y, {CANARY_TEXT: 1}),
    "list": lambda y: with_first(y, [CANARY_TEXT]),
    "object": lambda y: with_first(y, Cell()),
    "None": lambda y: with_first(y, None),
    "ragged": lambda y: [[CANARY_TEXT], [CANARY_TEXT, CANARY_TEXT], *y[2:].tolist()],
    "scalar": lambda y: CANARY_NUMBER,
    "nothing": lambda y: None,
}

BAD_LABELS: dict[str, Callable[[np.ndarray], Any]] = {
    "third label": lambda y: np.where(np.arange(len(y)) == 0, 87654, y),
    "third word": lambda y: np.where(np.arange(len(y)) == 0, CANARY_TEXT, y.astype(str)),
    "one class": lambda y: np.full(len(y), CANARY_TEXT),
    "one number": lambda y: np.full(len(y), 87654),
    "fractions": lambda y: y * 0.5 + CANARY_NUMBER,
    "times": lambda y: np.where(y == 1, np.datetime64(87654, "D"), np.datetime64(1, "D")),
    "bytes": lambda y: np.where(y == 1, CANARY_TEXT.encode(), b""),
    "tuples": lambda y: [(CANARY_TEXT, label) for label in y],
}


THIRD = ("third label", "third word")
BAD_Y = {**BAD_TARGETS, **BAD_LABELS}
BAD_ARGUMENTS: list[dict[str, Any]] = [
    {"epsilon": 0.0},
    {"epsilon": -1.0},
    {"epsilon": float("nan")},
    {"epsilon": "1"},
    {"delta": 1.0},
    {"relation": "friends"},
    {"random_state": "seed"},
]


def pairs(
    values: Any, applies: Callable[[Case, Any], bool] = lambda case, value: True
) -> list[Any]:
    return [
        pytest.param(case, value, id=f"{case.name}-{value}")
        for case in CASES
        for value in values
        if applies(case, value)
    ]


every_bad_y = pytest.mark.parametrize(
    ("case", "fault"),
    # A regressor takes any numbers.
    pairs(
        BAD_Y,
        lambda case, fault: (
            fault in BAD_TARGETS
            or (case.is_classifier and not (case.takes_many and fault in THIRD))
        ),
    ),
)


@every
@pytest.mark.parametrize("fault", BAD_ROWS)
def test_bad_rows_are_refused_and_not_quoted_and_leave_it_unfitted(case, fault):
    X, y = numbers(case)
    model = fitted(case)
    assert_says_nothing(said(lambda: model.predict(BAD_ROWS[fault](X))))
    assert_refuses(model, BAD_ROWS[fault](X), y, after=X)


@every_bad_y
def test_bad_targets_are_refused_and_not_quoted_and_leave_it_unfitted(case, fault):
    X, y = numbers(case)
    assert_refuses(fitted(case), X, BAD_Y[fault](y), after=X)


@pytest.mark.parametrize(
    ("case", "changes"),
    pairs(BAD_ARGUMENTS, lambda case, changes: set(changes) <= set(case().get_params())),
)
def test_bad_arguments_quote_nothing_and_leave_it_unfitted_and_uncharged(case, changes, tmp_path):
    X, y = numbers(case)
    model = fitted(case).set_params(ledger=tmp_path / "budget", **changes)
    assert_refuses(model, X, y, after=X)
    assert not (tmp_path / "budget").exists()


@pytest.mark.parametrize(
    ("case", "argument"),
    pairs(
        ["feature_range", "target_range", "data_norm", "value_bound"],
        lambda case, argument: argument in case.numeric,
    ),
)
def test_a_bound_that_is_missing_or_wrong_leaves_it_unfitted(case, argument, tmp_path):
    X, y = numbers(case)
    for bad in (None, "wide", -1.0, float("inf"), (1, 0), (0, np.inf)):
        model = fitted(case).set_params(ledger=tmp_path / "budget", **{argument: bad})
        with pytest.raises(CalibrationError):
            model.fit(X, y)
        assert_unfitted(model, X)
    assert not (tmp_path / "budget").exists()


BAD_PATIENTS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "missing column": lambda rows: rows[[]],
    "text for a number": lambda rows: rows.assign(age=CANARY_TEXT),
    "infinity": lambda rows: rows.assign(age=np.inf),
    "repeated column": lambda rows: rows[["age", "age", "smoker"]],
    "no rows": lambda rows: rows[:0],
    "array of too few columns": lambda rows: rows[["age"]].to_numpy(),
    "one-dimensional": lambda rows: np.full(N_ROWS, CANARY_TEXT),
    "unreadable cell": lambda rows: rows.assign(age=[Cell()] * N_ROWS),
    "dict": lambda rows: rows.assign(age=[{CANARY_TEXT: 1}] * N_ROWS),
    "complex": lambda rows: rows.assign(age=CANARY_NUMBER + 1j),
    "ragged": lambda rows: [[CANARY_TEXT, 1], [CANARY_TEXT]],
    "scalar": lambda rows: CANARY_TEXT,
    "nothing": lambda rows: None,
}

BAD_DIAGNOSES: dict[str, Callable[[pd.Series], Any]] = {
    "third label": lambda ill: ill.replace("no", CANARY_TEXT),
    "one class": lambda ill: ill.replace("no", "yes"),
    "too short": lambda ill: ill[1:],
    "numbers": lambda ill: np.full(N_ROWS, CANARY_NUMBER),
    "mixed": lambda ill: [CANARY_NUMBER, *ill[1:]],
    "unhashable": lambda ill: with_first(ill.to_numpy(), {CANARY_TEXT: 1}),
    "two columns": lambda ill: np.full((N_ROWS, 2), CANARY_TEXT),
    "complex": lambda ill: np.full(N_ROWS, CANARY_NUMBER + 1j),
    "ragged": lambda ill: [[CANARY_TEXT], [CANARY_TEXT, 1], *ill[2:]],
    "nothing": lambda ill: None,
}


@every_with_schema
@pytest.mark.parametrize("fault", BAD_PATIENTS)
def test_bad_tables_are_refused_and_not_quoted_and_leave_it_unfitted(case, fault):
    X, y = patients()
    model = fitted_to_patients(case)
    assert_says_nothing(said(lambda: model.predict(BAD_PATIENTS[fault](X))))
    assert_refuses(model, BAD_PATIENTS[fault](X), y, after=X)


@every_with_schema
@pytest.mark.parametrize("fault", BAD_DIAGNOSES)
def test_bad_declared_labels_are_refused_and_not_quoted_and_leave_it_unfitted(case, fault):
    X, y = patients()
    assert_refuses(fitted_to_patients(case), X, BAD_DIAGNOSES[fault](y), after=X)


UNSTORABLE = {
    "one number": ("87654", "87654.0"),
    "one text": (CANARY_TEXT, f"{CANARY_TEXT} "),
    "blank": ("", CANARY_TEXT),
    "unprintable": (f"{CANARY_TEXT}\x07", "no"),
    "half a character": (f"{CANARY_TEXT}\ud800", "no"),
    "long": (501 * "a", CANARY_TEXT),
}


@every_classifier
@pytest.mark.parametrize("labels", UNSTORABLE)
def test_labels_that_a_model_cannot_hold_are_refused_before_the_spend(case, labels, tmp_path):
    X, y = numbers(case)
    model, spelled = case(ledger=tmp_path / "budget"), np.array(UNSTORABLE[labels])[y]
    assert_says_nothing(said(lambda: model.fit(X, spelled)))
    assert_unfitted(model, X)
    assert not (tmp_path / "budget").exists()


@every_with_schema
def test_a_refused_refit_does_not_answer_under_the_new_labels(case):
    X, y = patients()
    model = fitted_to_patients(case).set_params(schema=schema("ill", "well"))
    with pytest.raises(TableError, match="third label"):
        model.fit(X, y)
    assert_unfitted(model, X)


# --- classes -------------------------------------------------------------------------------------

LABELS = [("no", "yes"), (0, 1), (-1, 1), (3, 7), (False, True), (-1.0, 1.0), ("10", "9")]


@every_classifier
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("labels", LABELS, ids=str)
def test_classes_are_sorted_and_spelled_as_in_y(case, labels, first):
    X, y = frame(case)
    order = np.argsort(y if first == 0 else -y, kind="stable")
    X, spelled = X.iloc[order], np.array(labels)[y[order]]
    model = case().fit(X, spelled)
    assert model.classes_.tolist() == sorted(labels)
    assert model.classes_.dtype == spelled.dtype
    predicted, decision = model.predict(X), model.decision_function(X)
    assert predicted.dtype == spelled.dtype
    assert np.array_equal(predicted, model.classes_[(decision > 0).astype(int)])
    # A saved model has labels of y in one form: 10, whether y has 10, 10.0 or "10".
    saved = model.to_model().predict(X)
    assert [canonical_text(label) for label in saved] == [canonical_text(y) for y in predicted]


@every_classifier
@pytest.mark.parametrize("labels", LABELS, ids=str)
def test_declared_classes_are_spelled_as_declared_in_a_saved_model_too(case, labels):
    if "classes" not in case().get_params(deep=False):
        pytest.skip("the estimator inside declares them")
    X, y = frame(case)
    model = case(classes=labels).fit(X, np.array(labels)[y])
    predicted = model.predict(X)
    assert model.classes_.tolist() == sorted(labels)
    assert model.to_model().predict(X).tolist() == predicted.tolist()
    assert {type(label) for label in predicted.tolist()} == {type(labels[0])}


@every_with_schema
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("labels", LABELS, ids=str)
def test_classes_are_sorted_whichever_is_positive(case, labels, swapped):
    negative, positive = labels[::-1] if swapped else labels
    X, y = patients(positive, negative)
    model = case.declared(schema(positive, negative), epsilon=case.generous).fit(X, y)
    assert model.classes_.tolist() == sorted(labels)
    predicted, decision = model.predict(X), model.decision_function(X)
    assert np.array_equal(predicted, model.classes_[(decision > 0).astype(int)])
    saved = model.to_model().predict(X)
    assert [str(label) for label in saved] == [str(label) for label in predicted]
    assert (predicted == y.to_numpy()).mean() > 0.8
    if hasattr(model, "predict_proba"):
        likely = model.classes_[model.predict_proba(X).argmax(axis=1)]
        assert np.array_equal(likely, predicted)


# --- budget --------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("given", ["path", "ledger"])
def test_a_fit_is_charged_once_and_before_the_draw(case, given, tmp_path, monkeypatch):
    path, recorded = tmp_path / "budget", []
    draw = SystemEntropy.words

    def spied(self, count):
        recorded.append(len(Ledger(path).spendings()))
        return draw(self, count)

    monkeypatch.setattr(SystemEntropy, "words", spied)
    X, y = numbers(case)
    model = case(ledger=Ledger(path) if given == "ledger" else path)
    for fits in (1, 2):
        recorded.clear()
        model.fit(X, y)
        # Already on disk when the first random word is asked for, and nothing is added later.
        assert recorded and set(recorded) == {fits}
        spendings = Ledger(path).spendings()
        assert len(spendings) == fits and spendings[-1].epsilon == model.receipt_.epsilon


@every
def test_a_fit_that_fails_after_the_spending_stays_charged_and_unfitted(
    case, tmp_path, monkeypatch
):
    X, y = numbers(case)
    model = fitted(case).set_params(ledger=tmp_path / "budget")

    def broken(self, count):
        raise RuntimeError("no entropy")

    monkeypatch.setattr(SystemEntropy, "words", broken)
    with pytest.raises(RuntimeError):  # UncertifiedRelease is one
        model.fit(X, y)
    assert_unfitted(model, X)
    assert len(Ledger(tmp_path / "budget").spendings()) == 1


@every
def test_an_interrupted_fit_leaves_it_unfitted(case, monkeypatch):
    X, y = numbers(case)
    model = fitted(case)

    def interrupted(self, count):
        raise KeyboardInterrupt

    monkeypatch.setattr(SystemEntropy, "words", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert_unfitted(model, X)


@every
def test_a_table_that_is_refused_costs_nothing(case, tmp_path):
    X, y = numbers(case)
    model = case(ledger=tmp_path / "budget")
    faults = [(BAD_ROWS["nan"](X), y), (X, BAD_TARGETS["too short"](y))]
    if case.is_classifier:
        faults += [(X, BAD_LABELS["one class"](y))]
        faults += [] if case.takes_many else [(X, BAD_LABELS["third label"](y))]
    for rows, targets in faults:
        with pytest.raises(ValueError):
            model.fit(rows, targets)
    assert not (tmp_path / "budget").exists()


@every
def test_a_ledger_without_room_refuses_before_the_draw(case, tmp_path, monkeypatch):
    X, y = numbers(case)
    model = fitted(case).set_params(ledger=Ledger(tmp_path / "budget", epsilon_limit=1e-3))

    def drawn(self, count):
        raise AssertionError("drawn without a budget")

    monkeypatch.setattr(SystemEntropy, "words", drawn)
    with pytest.raises(OPDiscError, match="caps epsilon"):
        model.fit(X, y)
    assert_unfitted(model, X)


# --- what is kept --------------------------------------------------------------------------------


@every
def test_nothing_is_kept_but_what_was_released(case):
    X, y = frame(case)
    model = fitted_to_frame(case)
    given = set(vars(case()))
    assert set(vars(model)) - given <= case.attributes
    for name in COMMON & case.attributes:
        assert hasattr(model, name)
    assert {name: vars(model)[name] for name in given} == vars(case())
    larger = case().fit(pd.concat([X] * 5), np.tile(y, 5))
    # Five times the rows, the same size: nothing in it grows with the table.
    assert abs(len(pickle.dumps(larger)) - len(pickle.dumps(model))) < 64


@every
def test_a_pickle_predicts_the_same(case):
    X, _ = frame(case)
    model = fitted_to_frame(case)
    loaded = pickle.loads(pickle.dumps(model))
    assert set(vars(loaded)) == set(vars(model))
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert loaded.receipt_ == model.receipt_


def plain(model: Any) -> dict[str, Any]:
    """Return an estimator's arguments, an inner estimator as its type."""
    parameters = model.get_params().items()
    return {n: type(v) if hasattr(v, "get_params") else v for n, v in parameters}


@every
def test_a_clone_has_the_arguments_and_no_fit(case, tmp_path):
    X, y = numbers(case)
    model = case(ledger=tmp_path / "budget").fit(X, y)
    copy = clone(model)
    assert plain(copy) == plain(model) and learned(copy) == set()
    assert_unfitted(copy, X)
    copy.set_params(epsilon=10.0).fit(X, y)
    assert copy.receipt_.epsilon == 10.0 and model.receipt_.epsilon == 20.0


@every
def test_a_fit_does_not_change_what_it_was_given(case):
    X, y = frame(case)
    rows, targets = X.copy(), y.copy()
    model = case()
    before = dict(vars(model))
    model.fit(X, y).predict(X)
    pd.testing.assert_frame_equal(X, rows)
    assert np.array_equal(y, targets)
    assert all(vars(model)[name] is value for name, value in before.items())


# --- tables --------------------------------------------------------------------------------------


@every
def test_arrays_have_no_names_and_a_refit_forgets_those_of_a_table(case):
    X, y = frame(case)
    model = case().fit(X, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"] and model.n_features_in_ == 3
    model.fit(X.to_numpy()[:, :2], y)
    assert not hasattr(model, "feature_names_in_") and model.n_features_in_ == 2


@every
def test_a_table_predicts_as_its_array_and_other_columns_are_refused(case):
    X, _ = frame(case)
    model = fitted_to_frame(case)
    predicted = model.predict(X)
    assert isinstance(predicted, np.ndarray) and predicted.shape == (N_ROWS,)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert np.array_equal(model.predict(X.to_numpy()), predicted)
    for wrong in (X[["b", "a", "c"]], X.rename(columns={"a": "z"}), X.assign(z=0.0)):
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(wrong)
    for wrong in (X.to_numpy()[:, :2], np.ones((N_ROWS, 4))):
        with (
            pytest.warns(UserWarning, match="does not have valid feature names"),
            pytest.raises(ValueError, match="is expecting 3 features"),
        ):
            model.predict(wrong)


@every_with_schema
def test_a_schema_names_the_columns_in_any_order(case):
    X, y = patients()
    model = case.declared(schema()).fit(X, y)
    assert model.feature_names_in_.tolist() == ["age", "smoker"] and model.n_features_in_ == 2
    predicted = model.predict(X)
    assert np.array_equal(model.predict(X[["smoker", "age"]].assign(z=0)), predicted)
    assert np.array_equal(model.predict(X.to_numpy()), predicted)


@every
def test_none_transforms(case):
    # set_output is for transformers; were one added, it would have to offer it.
    model = case()
    assert hasattr(model, "transform") == hasattr(model, "set_output")


# No check is expected to fail.
@parametrize_with_checks([getattr(opdisc, case.name)(**case.checked) for case in CASES])
def test_scikit_learn_checks(estimator, check):
    check(estimator)
