"""What a receipt must name because no code can check it: labels, types of columns, preparation.

Each test here holds the demonstration of a receipt that said HOLDS and was not true.
"""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, StandardScaler

import opdisc
from opdisc import (
    OPDiscClassifier,
    OPSampClassifier,
    OPSampRegressor,
    PermuteAndFlipClassifier,
    PrivateLinearSVC,
    PrivateLogisticRegression,
    PrivateScorecardClassifier,
    PrivateSimplexRegressor,
    RobustVoteClassifier,
    RSPMClassifier,
    Schema,
    load_model,
    save_model,
)
from opdisc.errors import SchemaError, TableError

LABELS = "the two label values, taken from the table, are public"
UNSEEN = "columns were made without looking at the rows"
DTYPES = "dtypes were declared, not inferred from the rows"

SCORECARDS = {
    "scorecard": PrivateScorecardClassifier,
    "opdisc": OPDiscClassifier,
    "rspm": RSPMClassifier,
    "permute-and-flip": PermuteAndFlipClassifier,
    "robust-vote": partial(RobustVoteClassifier, n_parts=4),
}
CLASSIFIERS = SCORECARDS | {
    "logistic": partial(PrivateLogisticRegression, data_norm=2.0),
    "svc": partial(PrivateLinearSVC, data_norm=2.0),
    "opsamp": partial(OPSampClassifier, feature_range=(0, 1), most_draws=50),
}
every_classifier = pytest.mark.parametrize("build", CLASSIFIERS.values(), ids=CLASSIFIERS)
# Without a process for each fit, where one test fits many times.
HERE = {"robust-vote": partial(RobustVoteClassifier, n_parts=4, isolation="none")}
IN_PROCESS = CLASSIFIERS | HERE
every_classifier_in_process = pytest.mark.parametrize("build", IN_PROCESS.values(), ids=IN_PROCESS)

X = np.array([[0, 1], [1, 1], [1, 0], [0, 0]] * 50)
ONES = [1] * 199


# --- labels --------------------------------------------------------------------------------------


@every_classifier
@pytest.mark.parametrize("rare", [0, -1, 0.0, "0"])
def test_labels_taken_from_the_table_are_a_condition_whatever_they_are(build, rare):
    """199 ones and a 0 against 199 ones and a -1: the classes show the replaced row."""
    model = build().fit(X, [*ONES, rare])
    assert model.receipt_.guarantee == "CONDITIONAL"
    assert LABELS in model.receipt_.conditions


def published(model):
    """Return all that a release shows besides the released parameters."""
    receipt = model.receipt_.to_dict()
    schema = getattr(model, "schema_", None)
    saved = model.to_model().to_dict()
    classes = saved.get("scorecard", saved).get("classes")
    return (
        receipt,
        None if schema is None else schema.to_dict(),
        model.classes_.tolist(),
        [type(label) for label in model.classes_.tolist()],
        str(model.predict(X).dtype),
        classes,
        [type(label) for label in classes],
    )


@every_classifier_in_process
@pytest.mark.parametrize("classes", [(0, 1), (1, 0), ("0", "1"), (False, True)])
def test_declared_labels_show_nothing_of_how_one_row_spells_its_own(build, classes):
    """One 1.0, True or "1" among the ones changes the type of all labels of a list or column."""
    spellings = (
        [*ONES, 0],
        [1.0, *ONES[1:], 0],
        ["1", *map(str, ONES[1:]), "0"],
        np.array([*ONES, 0], dtype=bool),
        np.array(["1", 1.0, True, *ONES[3:], 0], dtype=object),
        pd.Series([*ONES, 0], dtype="Int64"),
    )
    shown = [published(build(classes=classes).fit(X, y)) for y in spellings]
    assert all(one == shown[0] for one in shown)
    assert LABELS not in shown[0][0]["conditions"]
    assert shown[0][2] == sorted(classes)


@every_classifier_in_process
def test_undeclared_labels_are_stored_in_one_type(build):
    columns = ([*ONES, 0], [1.0, *ONES[1:], 0], [*map(str, ONES), "0"], [True] * 199 + [False])
    models = [build().fit(X, np.array(y)) for y in columns]
    digests = {model.receipt_.schema_digest for model in models}
    stored = [model.to_model().to_dict() for model in models]
    classes = [one.get("scorecard", one)["classes"] for one in stored]
    assert len(digests) == 1
    assert classes == [[0, 1]] * 4 and {type(label) for two in classes for label in two} == {int}
    # scikit-learn wants the labels back as y spells them; the receipt has a condition for that.
    assert [model.classes_.dtype.kind for model in models] == ["i", "f", "U", "b"]


@every_classifier
def test_declared_labels_say_which_is_positive(build):
    rows = np.tile(X, (20, 1))
    y = np.where(rows[:, 0] == 1, "no", "yes")
    model = build(classes=("yes", "no"), epsilon=1000.0).fit(rows, y)
    assert model.classes_.tolist() == ["no", "yes"]
    assert (model.predict(rows) == y).mean() > 0.7
    assert ((model.decision_function(rows) > 0) == (model.predict(rows) == "yes")).all()
    saved = model.to_model().to_dict()
    assert saved.get("scorecard", saved)["classes"] == ["yes", "no"]


@every_classifier
@pytest.mark.parametrize("stray", [-1, 2, "canary", None, np.nan])
def test_a_label_that_was_not_declared_is_refused_and_not_named(build, stray):
    y = np.array([*ONES[1:], 0, stray], dtype=object)
    model = build(classes=(0, 1))
    with pytest.raises(TableError) as refusal:
        model.fit(X, y)
    assert "canary" not in str(refusal.value) and "-1" not in str(refusal.value)
    assert not hasattr(model, "classes_")


@every_classifier
@pytest.mark.parametrize("classes", [(0,), (0, 1, 2), (1, 1.0), (0, ""), "01", 3, (None, 1)])
def test_classes_must_be_two_different_labels(build, classes):
    with pytest.raises(SchemaError):
        build(classes=classes).fit(X, [*ONES, 0])


def test_a_schema_and_classes_do_not_both_declare_the_labels():
    schema = Schema.equal_width(2)
    with pytest.raises(SchemaError, match="leave out classes"):
        PrivateScorecardClassifier(schema=schema, classes=(0, 1)).fit(X, [*ONES, 0])


@every_classifier
def test_a_saved_model_predicts_the_declared_labels(build, tmp_path):
    rows = pd.DataFrame(X, columns=["a", "b"])
    model = build(classes=("well", "ill")).fit(rows, np.where(X[:, 0] == 1, "ill", "well"))
    save_model(model.to_model(), tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.to_dict() == model.to_model().to_dict()
    assert loaded.predict(rows).tolist() == model.predict(rows).tolist()
    assert set(model.classes_) == {"well", "ill"}


def test_codes_are_no_declared_labels_of_a_column_of_numbers():
    with pytest.raises(TableError, match="'02'.*read_table"):
        PrivateScorecardClassifier(classes=("01", "02")).fit(X, [*ONES, 2])
    model = PrivateScorecardClassifier(classes=("01", "02")).fit(X, ["02"] * 199 + ["01"])
    assert model.schema_.classes == ("01", "02")


# --- types of columns ----------------------------------------------------------------------------


def zips(last, path):
    """Write 199 rows from 02139 or 10001, and one more."""
    rows = [("02139", "yes"), ("10001", "no")] * 100
    rows[-1] = (last, "no")
    path.write_text("zip,ill\n" + "".join(f"{code},{ill}\n" for code, ill in rows))
    return path


def zip_schema(*codes):
    return Schema.from_dict(
        {
            "name": "zips",
            "target": {"column": "ill", "positive": "yes", "negative": "no"},
            "feature": [{"column": "zip", "categories": list(codes)}],
        }
    )


def fitted(table, *codes):
    model = PrivateScorecardClassifier(schema=zip_schema(*codes))
    return model.fit(table, table["ill"])


@pytest.mark.parametrize("last", ["10001", "K1A 0B1"])
def test_inferred_types_are_a_condition_since_one_row_reencodes_the_others(last, tmp_path):
    """One row "K1A 0B1" makes a column of zips text, and 100 others stop being category 2139."""
    table = pd.read_csv(zips(last, tmp_path / "table.csv"))
    receipt = fitted(table, "2139", "10001").receipt_
    assert receipt.guarantee == "CONDITIONAL"
    assert {DTYPES, UNSEEN} <= set(receipt.conditions)


def test_codes_that_numbers_do_not_keep_are_refused_in_a_column_of_numbers(tmp_path):
    numbers = pd.read_csv(zips("10001", tmp_path / "table.csv"))
    with pytest.raises(TableError, match="'zip' must hold text.*'02139'.*opdisc.read_table"):
        fitted(numbers, "02139", "10001")
    with pytest.raises(TableError, match="'02139'"):
        fitted(numbers.assign(zip=numbers["zip"].astype("category")), "02139", "10001")
    # Numbers in some cells of a column of objects, as chunks of a large file leave them.
    mixed = numbers.assign(zip=[*numbers["zip"][:-1], "K1A 0B1"])
    with pytest.raises(TableError, match="'02139'"):
        fitted(mixed, "02139", "10001")
    with pytest.raises(TableError, match="'02139'"):
        fitted(numbers, "2139", "02139")


@pytest.mark.parametrize("last", ["10001", "K1A 0B1", ""])
def test_the_library_s_reader_encodes_row_by_row_and_needs_no_condition(last, tmp_path):
    table = opdisc.read_table(zips(last, tmp_path / "table.csv"))
    model = fitted(table, "02139", "10001")
    assert model.receipt_.guarantee == "HOLDS"
    encoded = opdisc.data.encode_features(table, model.schema_)
    assert encoded[:199].tolist() == [[1, 1, 0], [1, 0, 1]] * 99 + [[1, 1, 0]]


@pytest.mark.parametrize("code", ["9007199254740993", "9007199254740992", "1e400", "0.30", "+7"])
def test_integers_from_2_53_on_are_codes(code):
    """A missing cell makes a column of integers one of doubles, which merges large ones."""
    schema = zip_schema(code, "5")
    kept = code in ("0.30", "+7")  # a category is its canonical text: 0.3, 7
    for cells in ([5, 6, 7, 8] * 50, [5.0, np.nan, 7.0, 8.0] * 50):
        frame = pd.DataFrame({"zip": cells, "ill": ["yes", "no"] * 100})
        model = PrivateScorecardClassifier(schema=schema)
        if kept:
            assert model.fit(frame, frame["ill"]).receipt_.guarantee == "CONDITIONAL"
            continue
        with pytest.raises(TableError, match="a number does not keep"):
            model.fit(frame, frame["ill"])


def test_declared_labels_and_missing_values_are_codes_too(tmp_path):
    codes = {
        "name": "codes",
        "target": {"column": "ill", "positive": "01", "negative": "02"},
        "feature": [{"column": "zip", "categories": ["1", "2"], "missing": "1"}],
    }
    frame = pd.DataFrame({"zip": [1, 2] * 100, "ill": [1, 2] * 100})
    with pytest.raises(TableError, match="'ill'.*'01'"):
        PrivateScorecardClassifier(schema=codes).fit(frame, frame["ill"])
    codes |= {
        "target": {"column": "ill", "positive": "1", "negative": "*"},
        "missing_values": ["099"],
    }
    with pytest.raises(TableError, match="'ill'.*'099'"):
        PrivateScorecardClassifier(schema=codes).fit(frame, frame["ill"])
    with pytest.raises(TableError, match="'zip'.*'099'"):
        PrivateScorecardClassifier(schema=codes).fit(frame, frame["ill"].astype(str))


def test_the_note_of_the_reader_follows_rows_and_columns_and_nothing_else(tmp_path):
    table = opdisc.read_table(zips("10001", tmp_path / "table.csv"))
    part = table.sample(frac=0.5, random_state=0).reset_index(drop=True)
    assert fitted(part, "02139").receipt_.guarantee == "HOLDS"
    schema = zip_schema("2139", "10001")
    numbers = table.assign(zip=pd.to_numeric(table["zip"]))
    bins = table.assign(zip=pd.qcut(numbers["zip"].rank(), 2, labels=["2139", "10001"]))
    for X, y in (
        (table.to_numpy()[:, :1], table["ill"]),
        (table, table["ill"].to_numpy()),
        (table, table["ill"].tolist()),
        (numbers, table["ill"]),
        (bins, table["ill"]),
        (pd.DataFrame(table.to_dict("list")), table["ill"]),
    ):
        receipt = PrivateScorecardClassifier(schema=schema).fit(X, y).receipt_
        assert receipt.conditions == (DTYPES, UNSEEN)


def test_the_receipt_does_not_show_what_types_were_inferred(tmp_path):
    tables = [
        pd.read_csv(zips(last, tmp_path / "table.csv")) for last in ("10001", "K1A 0B1", "", "inf")
    ]
    assert len({str(table["zip"].dtype) for table in tables}) > 1
    receipts = [fitted(table, "2139", "10001").receipt_ for table in tables]
    assert all(receipt == receipts[0] for receipt in receipts)


# --- preparation that saw the rows ---------------------------------------------------------------


@every_classifier
def test_bins_fitted_to_the_rows_are_a_condition(build):
    """KBinsDiscretizer's edges are between the extremes of the private rows."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(200, 2))
    bins = KBinsDiscretizer(3, encode="onehot-dense", strategy="uniform")
    model = make_pipeline(bins, build())
    model.fit(values, (values[:, 0] > 0).astype(int))
    receipt = model[-1].receipt_
    assert receipt.guarantee == "CONDITIONAL" and UNSEEN in receipt.conditions


@pytest.mark.parametrize("build", [PrivateLogisticRegression, *SCORECARDS.values()])
def test_a_schema_does_not_vouch_for_columns_that_a_pipeline_made(build):
    values = np.random.default_rng(0).normal(size=(200, 2))
    for output in ("default", "pandas"):
        scaler = StandardScaler().set_output(transform=output)
        model = make_pipeline(scaler, build(schema=Schema.equal_width(2, 2, -2, 2)))
        model.fit(values, (values[:, 0] > 0).astype(int))
        assert UNSEEN in model[-1].receipt_.conditions


@pytest.mark.parametrize(
    "model",
    [
        OPSampRegressor(feature_range=(0, 1), target_range=(0, 1), most_draws=50),
        PrivateSimplexRegressor(value_bound=1.0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_regressors_name_the_same_condition(model):
    assert UNSEEN in model.fit(X, X[:, 0].astype(float)).receipt_.conditions


@pytest.mark.parametrize("build", (SCORECARDS | HERE).values(), ids=SCORECARDS)
def test_a_cut_in_the_middle_of_other_numbers_is_said_before_anything_is_spent(build, tmp_path):
    values = np.random.default_rng(0).random((200, 2))
    ledger = tmp_path / "ledger.jsonl"
    model = build(ledger=ledger)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="Schema.equal_width") as warned:
            model.fit(values, [*ONES, 0])
    assert not ledger.exists() and not hasattr(model, "receipt_")
    assert not any(str(cell) in str(warned.value) for cell in values.ravel())
    with pytest.warns(UserWarning, match="Schema.equal_width"):
        told = model.fit(values, [*ONES, 0]).receipt_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        silent = build().fit(X, [*ONES, 0]).receipt_
        build(schema=Schema.equal_width(2, 3)).fit(values, [*ONES, 0])
    assert told == silent
