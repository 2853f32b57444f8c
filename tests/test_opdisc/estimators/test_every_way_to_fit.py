"""Every public estimator by every way to fit: to the end and paid once, or refused and unpaid.

A fit that was paid for has to serve: its predictions, its verdict, and a model that can be kept. A
receipt is a function of public facts, so ways that read the same rows give the same one.
"""

import dataclasses
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone, is_classifier

import opdisc
from opdisc import Ledger, Schema, count_rows, load_model, save_model
from opdisc.data import COLUMNS_UNSEEN, DTYPES_DECLARED, RowCounts
from opdisc.data.reading import NO_ROW_TWICE
from opdisc.errors import OPDiscError

N_ROWS = 397
RELATIONS = ("replace_one", "add_or_remove_one")
FEW_DRAWS = {"most_draws": 30, "delta": 1e-2, "public_row_guess": 400}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "OPSampClassifier": FEW_DRAWS,
    "OPSampRegressor": {**FEW_DRAWS, "feature_range": (0, 1), "target_range": (0, 2)},
    "PrivateSimplexRegressor": {"value_bound": 2.0},
    "RobustVoteClassifier": {"isolation": "none", "n_parts": 20},
    "PrivateSearchCV": {
        "estimator": opdisc.PrivateScorecardClassifier(),
        "param_grid": {"weight_bound": [1, 2]},
        "expected_trials": 2.0,
    },
}
"""What an estimator needs besides epsilon, a schema and a relation, or what makes it quick."""

FITS = {
    name: kind
    for name in opdisc.__all__
    if inspect.isclass(kind := getattr(opdisc, name)) and issubclass(kind, BaseEstimator)
}
COUNTING = {name for name, kind in FITS.items() if hasattr(kind, "fit_counts")}

pytestmark = pytest.mark.filterwarnings("ignore::opdisc.privacy.ledger.LedgerCreated")

every_relation = pytest.mark.parametrize("relation", RELATIONS)


def schema(n_classes: int = 2, **facts: Any) -> Schema:
    several = {"classes": ["no", "perhaps", "yes"]}
    target = {"positive": "yes", "negative": "no"} if n_classes == 2 else several
    return Schema.from_dict(
        {
            "name": "illness",
            "target": {"column": "ill", **target},
            "feature": [
                {"column": "age", "thresholds": [30, 50], "range": [0, 100]},
                {"column": "smoker", "categories": ["daily", "never"]},
            ],
            **facts,
        }
    )


def patients(n_classes: int = 2) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age = rng.integers(18, 90, N_ROWS)
    cuts, labels = (
        ([50], ["no", "yes"]) if n_classes == 2 else ([30, 50], ["no", "perhaps", "yes"])
    )
    ill = np.array(labels, dtype=object)[np.searchsorted(cuts, age, side="right")]
    return pd.DataFrame({"age": age, "smoker": rng.choice(["daily", "never"], N_ROWS), "ill": ill})


def rows_of(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    return table[["age", "smoker"]], table["ill"]


def by_rows(model: Any, table: pd.DataFrame, declared: Schema, folder: Path) -> Any:
    """Fit to rows: declared ones, or where an estimator takes no schema, numbers."""
    rows, ill = rows_of(table)
    if takes_schema(model):
        return model.fit(rows, ill)
    labels = ["no", "perhaps", "yes"]
    return model.fit(numbers(rows), ill if is_classifier(model) else ill.map(labels.index))


def by_counts(model: Any, table: pd.DataFrame, declared: Schema, folder: Path) -> Any:
    return model.fit_counts(count_rows(table, declared))


def by_file(model: Any, table: pd.DataFrame, declared: Schema, folder: Path) -> Any:
    path = folder / "table.csv"
    table.to_csv(path, index=False)
    return model.fit_counts(count_rows(path, declared, chunk_cells=100))


def by_chunks(model: Any, table: pd.DataFrame, declared: Schema, folder: Path) -> Any:
    chunks = [table.iloc[start : start + 100] for start in range(0, len(table), 100)]
    return model.fit_counts(count_rows(chunks, declared))


def by_sum(model: Any, table: pd.DataFrame, declared: Schema, folder: Path) -> Any:
    parts = table.iloc[:150], table.iloc[150:]
    return model.fit_counts(count_rows(parts[0], declared) + count_rows(parts[1], declared))


WAYS: dict[str, Callable[..., Any]] = {
    "fit": by_rows,
    "fit_counts": by_counts,
    "fit_counts of a file": by_file,
    "fit_counts of chunks": by_chunks,
    "fit_counts of a sum": by_sum,
}


def numbers(rows: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"age": rows["age"] / 100, "smoker": (rows["smoker"] == "daily") * 1.0})


def takes_schema(model: Any) -> bool:
    own = model.get_params()
    return "schema" in own or "estimator__schema" in own


def bare(name: str) -> Any:
    """Return an estimator with what it cannot do without."""
    return clone(FITS[name](**ARGUMENTS.get(name, {})))


def built(name: str, ledger: Path, declared: Schema, **settings: Any) -> Any:
    """Return an estimator with its schema and settings, those it has no argument for left out."""
    model = bare(name).set_params(epsilon=20.0, ledger=ledger)
    for setting, value in {"schema": declared, **settings}.items():
        for argument in {setting, f"estimator__{setting}"} & set(model.get_params()):
            model.set_params(**{argument: value})
    return model


def outcome(
    name: str, way: str, folder: Path, n_classes: int, declared: Schema, **settings: Any
) -> Any:
    """Return the receipt of a fit that serves, or the refusal of one that cost nothing."""
    ledger, table = folder / f"{name} {way}", patients(n_classes)
    model = built(name, ledger, declared, **settings)
    if way != "fit" and name not in COUNTING:
        assert not hasattr(model, "fit_counts")
        return None
    try:
        WAYS[way](model, table, declared, folder)
    except OPDiscError as refusal:
        assert not ledger.exists(), "a refused fit was charged"
        assert_one_sentence(str(refusal))
        assert not [found for found in vars(model) if found.endswith("_")]
        return refusal
    (charge,) = Ledger(ledger).spendings()
    assert charge.epsilon == model.receipt_.epsilon == 20.0
    assert_it_says_who_is_protected(model, charge, declared)
    assert_it_serves(model, table, folder)
    return model.receipt_


def assert_it_says_who_is_protected(model: Any, charge: Any, declared: Schema) -> None:
    """Each receipt says the unit with its rows, in the ledger's words."""
    unit, rows = ("one row", 1)
    if takes_schema(model):
        unit, rows = declared.privacy_unit, declared.rows_per_unit
    assert (charge.unit, charge.rows_per_unit) == (unit, rows)
    words = unit if rows == 1 else f"{unit} (at most {rows} rows)"
    released = model.to_model()
    for receipt in (model.receipt_, released.receipt):
        assert receipt.rows_per_unit == receipt.to_dict()["rows_per_unit"] == rows
        assert f"privacy unit: {words}\n" in str(receipt)
        assert f"{words} (" in receipt.brief() and f"rows_per_unit={rows}" in repr(receipt)
    if hasattr(released, "_repr_html_"):
        assert f"{words}, " in released._repr_html_()


def assert_one_sentence(text: str) -> None:
    # scikit-learn's own checks ask for these words.
    text = text.replace("Only binary classification is supported. ", "")
    assert len(re.findall(r"\.(?=\s|$)", text.rstrip("."))) == 0
    assert str(N_ROWS) not in text


def assert_it_serves(model: Any, table: pd.DataFrame, folder: Path) -> None:
    """Use all that a fit is for."""
    rows, ill = rows_of(table)
    if not takes_schema(model):
        rows = numbers(rows)
    predicted = model.predict(rows)
    assert predicted.shape == (N_ROWS,)
    released = model.to_model()
    assert released.receipt.epsilon == model.receipt_.epsilon
    save_model(released, folder / "model.json")
    assert load_model(folder / "model.json") == released
    if hasattr(type(model), "verdict_"):
        assert model.verdict_ == released.verdict_
    if is_classifier(model):
        assert set(predicted) <= set(ill)
        assert released.predict(rows).tolist() == predicted.tolist()
        model.decision_function(rows)
        if hasattr(model, "predict_proba"):
            model.predict_proba(rows)
    if hasattr(model, "expected_cost"):
        assert model.expected_cost(rows, ill) >= 0


BY_THE_SOURCE = ("conditions", "guarantee")
"""The fields of a receipt in which two ways may differ, of the same rows.

A text file has no types, and its columns were there before its rows were read. So of a file no
receipt takes for granted that types were declared and that columns were made without looking at
the rows. A receipt without a condition HOLDS, another is CONDITIONAL.
"""
ADDED_UP = ("fit_counts of chunks", "fit_counts of a sum")
"""The ways by which one row could be counted twice: that none is becomes a condition."""
BY_THE_DRAW = ("schema_digest",)
"""With private thresholds: the schema is then the one with the numbers that were drawn."""


def plain(value: Any, without: tuple[str, ...]) -> Any:
    """Return a receipt, and those inside it, as plain values without some fields."""
    if isinstance(value, msgspec.Struct):
        value = msgspec.structs.asdict(value)
    if isinstance(value, dict):
        return {k: plain(v, without) for k, v in value.items() if k not in without}
    if isinstance(value, tuple | list):
        return [plain(one, without) for one in value]
    return value


def assert_equal_receipts(found: dict[str, Any], by_the_draw: tuple[str, ...] = ()) -> None:
    """Compare the receipts of all ways by which the same rows were learned from."""
    receipts = {way: one for way, one in found.items() if isinstance(one, msgspec.Struct)}
    first = receipts.get("fit")
    for way, receipt in receipts.items():
        assert type(receipt) is type(first)
        if way == "fit_counts of a file":
            without = (*BY_THE_SOURCE, *by_the_draw)
            given = {COLUMNS_UNSEEN, DTYPES_DECLARED}
            assert set(receipt.conditions) == set(first.conditions) - given
            assert (receipt.guarantee == "HOLDS") == (not receipt.conditions)
        elif way in ADDED_UP:
            without = ("conditions", *by_the_draw)
            assert set(receipt.conditions) == {*first.conditions, NO_ROW_TWICE}
        else:
            without = by_the_draw
        assert plain(receipt, without) == plain(first, without)


def test_all_ways_are_known():
    assert len(FITS) >= 12 and len(COUNTING) >= 5
    known = {way.split()[0] for way in WAYS}
    for kind in FITS.values():
        assert {way for way in dir(kind) if re.match("(partial_)?fit", way)} <= known


# --- each estimator by each way ------------------------------------------------------------------

MANY = {"PrivateMulticlassClassifier", "OPSampRegressor", "PrivateSimplexRegressor"}
"""Those that learn from more than two labels; a regressor takes their positions as numbers."""


@every_relation
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", FITS)
def test_a_fit_serves_or_costs_nothing(name, n_classes, relation, tmp_path):
    declared = schema(n_classes)
    found = {way: outcome(name, way, tmp_path, n_classes, declared, relation=relation)
             for way in WAYS}  # fmt: skip
    refused = {way for way, result in found.items() if isinstance(result, OPDiscError)}
    if name == "PrivateSimplexRegressor" and relation == "add_or_remove_one":
        assert refused == {"fit"}
    elif n_classes == 2:
        assert not refused
    else:
        rows = set() if name in MANY else {"fit"}
        assert refused == rows | (set(WAYS) - {"fit"} if name in COUNTING else set())
    assert_equal_receipts(found)


QUANTILES = {"column": "age", "thresholds": {"quantiles": 2, "range": [0, 100]}}
SMOKER = {"column": "smoker", "categories": ["daily", "never"]}
COSTS = {"false_negative": 5, "false_positive": 1}
OPTIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "risks": ({}, {"risk_budget": 0.2}),
    "a schema with costs": ({"error_costs": COSTS}, {}),
    "costs": ({}, {"error_costs": COSTS}),
    "private thresholds": ({"feature": [QUANTILES, SMOKER]}, {}),
    "private thresholds and risks": ({"feature": [QUANTILES, SMOKER]}, {"risk_budget": 0.2}),
    "three rows a unit": ({"rows_per_unit": 3, "unit": "one patient"}, {}),
    "classes twice": ({}, {"classes": ("no", "yes")}),
    "a card for each class": ({}, {"strategy": "one_versus_rest"}),
    "an unknown strategy": ({}, {"strategy": "forest"}),
    "a delta": ({}, {"delta": 1e-6}),
}
"""What a schema and an estimator may say of two classes besides."""

ONE_CARD = COUNTING - {"PrivateMulticlassClassifier"}
SEVERAL = {"PrivateMulticlassClassifier"}
REFUSED = {
    "a schema with costs": SEVERAL,
    "private thresholds": set(FITS) - ONE_CARD - {"PrivateSearchCV"},
    "private thresholds and risks": SEVERAL,
    "classes twice": set(FITS),
    "an unknown strategy": SEVERAL,
}
"""Who refuses what, by each way that it has."""


def pairs() -> list[Any]:
    """Return every estimator with every option that it has arguments for."""
    return [
        pytest.param(name, option, id=f"{name}-{option}")
        for name in FITS
        for option, (facts, settings) in OPTIONS.items()
        if arguments({**settings, **({"schema": None} if facts else {})}, name)
    ]


def arguments(settings: dict[str, Any], name: str) -> bool:
    """Return whether an estimator, or the one inside it, has all of these arguments."""
    own = {argument.rpartition("__")[2] for argument in bare(name).get_params()}
    return set(settings) <= own


@pytest.mark.parametrize(("name", "option"), pairs())
def test_what_is_refused_by_rows_is_refused_by_counts(name, option, tmp_path):
    facts, settings = OPTIONS[option]
    declared = schema(**facts)
    found = {way: outcome(name, way, tmp_path, 2, declared, **settings)
             for way in ("fit", "fit_counts")}  # fmt: skip
    found = {way: result for way, result in found.items() if result is not None}
    refused = {way for way, result in found.items() if isinstance(result, OPDiscError)}
    assert refused == (set(found) if name in REFUSED.get(option, ()) else set())
    assert_equal_receipts(found, BY_THE_DRAW if "private thresholds" in option else ())


@pytest.mark.parametrize(
    "settings", [{}, {"risk_budget": 0.2}, {"strategy": "one_versus_rest"}], ids=str
)
@pytest.mark.parametrize("name", sorted(COUNTING))
def test_the_same_bits_give_the_same_model_by_each_way(name, settings, tmp_path):
    table, declared, models = patients(), schema(), []
    for way, fit in WAYS.items():
        model = built(name, tmp_path / way, declared, random_state=3, **settings)
        model.set_params(epsilon=0.5)  # so that other bits would give another model
        models.append(fit(model, table, declared, tmp_path).to_model().to_dict())
    for one in models:
        assert without_receipt(one) == without_receipt(models[0])


def without_receipt(record: dict[str, Any]) -> dict[str, Any]:
    """Return a model's file without the receipt, which names its source, and what follows."""
    return {key: value for key, value in record.items() if key not in ("receipt", "sha256")}


# --- counts that are not the estimator's ---------------------------------------------------------


def of_three(table: pd.DataFrame) -> RowCounts:
    """Return counts by a schema of three classes, which ``count_rows`` does not make."""
    counts = count_rows(table, schema())
    return dataclasses.replace(counts, schema=schema(3))


STRANGE: dict[str, tuple[int, Callable[[pd.DataFrame], Any]]] = {
    "rows": (2, lambda table: table),
    "another schema": (2, lambda table: count_rows(table, schema(name="other"))),
    "two classes of three": (3, lambda table: count_rows(table, schema())),
    "three classes": (3, of_three),
    "one class": (2, lambda table: count_rows(table[table["ill"] == "yes"], schema())),
    "no rows": (2, lambda table: count_rows([table[:0]], schema())),
}


@pytest.mark.parametrize("strange", STRANGE)
@pytest.mark.parametrize("name", sorted(COUNTING))
def test_strange_counts_cost_nothing(name, strange, tmp_path):
    n_classes, counts_of = STRANGE[strange]
    model = built(name, tmp_path / "ledger", schema(n_classes))
    with pytest.raises(OPDiscError) as refusal:
        model.fit_counts(counts_of(patients()))
    assert_one_sentence(str(refusal.value))
    assert not (tmp_path / "ledger").exists()


@pytest.mark.parametrize("lost", [{"recount": None}, {"ranks": ()}], ids=str)
@pytest.mark.parametrize("name", sorted(COUNTING))
def test_counts_that_cannot_find_private_thresholds_cost_nothing(name, lost, tmp_path):
    declared = schema(feature=[QUANTILES, SMOKER])
    counts = dataclasses.replace(count_rows(patients(), declared), **lost)
    with pytest.raises(OPDiscError, match="count the rows with opdisc.count_rows") as refusal:
        built(name, tmp_path / "ledger", declared).fit_counts(counts)
    assert_one_sentence(str(refusal.value))
    assert not (tmp_path / "ledger").exists()


def test_counts_need_a_schema(tmp_path):
    for name in sorted(COUNTING):
        model = built(name, tmp_path / "ledger", schema()).set_params(schema=None)
        with pytest.raises(OPDiscError, match="give schema= the same"):
            model.fit_counts(count_rows(patients(), schema()))
    assert not (tmp_path / "ledger").exists()


def test_three_classes_are_not_counted():
    with pytest.raises(OPDiscError, match="fit to the rows themselves"):
        count_rows(patients(3), schema(3))


def test_a_search_over_cards_that_ignore_costs_costs_nothing(tmp_path):
    cards = opdisc.PrivateMulticlassClassifier(schema=schema(error_costs=COSTS))
    search = built("PrivateSearchCV", tmp_path / "ledger", schema()).set_params(estimator=cards)
    with pytest.raises(OPDiscError, match="costs"):
        search.fit(*rows_of(patients()))
    assert not (tmp_path / "ledger").exists()
