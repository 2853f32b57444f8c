"""Saved models: read back as written, refused when altered, never a crash."""

import json
import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.exceptions import NotFittedError

from opdisc.data.cells import canonical_text
from opdisc.data.schema import Schema
from opdisc.errors import ModelFileError, TableError
from opdisc.estimators.scorecards.private import PrivateScorecardClassifier
from opdisc.models.document import model_digest, spelled_classes
from opdisc.models.loading import load_model, save_model
from opdisc.models.scorecard_file import SavedModel

TABLE = pd.DataFrame({"age": ["25", "35", "61", "80"] * 10, "job": ["a", "b", "?", ""] * 10})
LABELS = np.array(["no", "yes", "yes", "no"] * 10)


def schema(positive="yes", negative="no"):
    target = {"column": "ill", "positive": positive, "negative": "*"}
    if negative is not None:
        target["negative"] = negative
    return Schema.from_dict(
        {
            "name": "illness",
            "target": target,
            "missing_values": ["?"],
            "feature": [
                {"column": "age", "thresholds": [30, 50], "range": [0, 100]},
                {"column": "job", "categories": ["a", {"name": "other", "values": ["b", "c"]}]},
            ],
        }
    )


def learned(**settings) -> SavedModel:
    return PrivateScorecardClassifier(schema=schema(), **settings).fit(TABLE, LABELS).to_model()


MODEL = learned()
RECORD = MODEL.to_dict()


def stored(path, record, *, sign=True):
    """Write a record, with the digest of whatever it holds now."""
    body = {k: v for k, v in record.items() if k != "sha256"}
    digest = model_digest(body) if sign else record["sha256"]
    path.write_text(json.dumps(body | {"sha256": digest}))
    return path


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"mechanism": "exponential", "epsilon": 0.1},
        {"mechanism": "block_one_hot", "weight_bound": 3},
        {"mechanism": "opdisc", "relation": "add_or_remove_one"},
        {"mechanism": "rspm", "time_limit": 60.0},
        {"random_state": 0},
    ],
    ids=str,
)
def test_a_saved_model_reads_back_the_same(tmp_path, settings):
    model = learned(**settings)
    save_model(model, tmp_path / "m.json")
    found = load_model(tmp_path / "m.json")
    assert found == model and str(found.receipt) == str(model.receipt)
    assert found.predict(TABLE).tolist() == model.predict(TABLE).tolist()


# Text with an exponent is no number.
FLOATS = st.floats(-1e6, 1e6).filter(lambda number: "e" not in str(number))


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_any_points_and_labels_read_back_the_same(tmp_path_factory, data):
    texts = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=5)
    labels = st.one_of(texts, st.integers(-(10**9), 10**9), FLOATS, st.booleans())
    positive, negative = data.draw(labels), data.draw(labels)
    try:
        declared = schema(positive, negative)
    except ValueError:
        return  # the two labels are one, or one of them is a missing value
    model = PrivateScorecardClassifier(schema=declared, weight_bound=2, epsilon=1e-3).fit(
        TABLE, np.where(LABELS == "yes", str(positive), str(negative))
    )
    path = tmp_path_factory.mktemp("model") / "m.json"
    save_model(model.to_model(), path)
    found = load_model(path)
    assert found == model.to_model()
    expected = [canonical_text(label) for label in model.predict(TABLE)]
    assert [canonical_text(label) for label in found.predict(TABLE)] == expected


def test_the_file_holds_the_published_parts_only(tmp_path):
    save_model(MODEL, tmp_path / "m.json")
    record = json.loads((tmp_path / "m.json").read_text())
    parts = {"format", "version", "scorecard", "schema", "receipt", "noise", "sha256"}
    assert set(record) == parts
    assert os.listdir(tmp_path) == ["m.json"]


def changes(value):
    """Every record that differs in one leaf or lacks one part."""
    others = [None, "x", 0, -1, 10**30, 0.5, 1e308, True, [], {}, [[]], "yes"]
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in list(items):
        for other in others:
            yield _with(value, key, other)
        yield _without(value, key)
        if isinstance(part, dict | list):
            yield from (_with(value, key, changed) for changed in changes(part))


def _with(value, key, other):
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[key] = other
    return copy


def _without(value, key):
    copy = dict(value) if isinstance(value, dict) else list(value)
    del copy[key]
    return copy


def test_a_forged_digest_does_not_make_a_broken_part_acceptable(tmp_path):
    # Whoever alters a file can also compute its digest: what loads must then print and predict.
    accepted = refused = 0
    body = {k: v for k, v in RECORD.items() if k != "sha256"}
    for record in changes(body):
        path = stored(tmp_path / "m.json", record)
        try:
            model = load_model(path)
        except ModelFileError:
            refused += 1
            continue
        accepted += 1
        assert str(model.scorecard) and str(model.receipt)
        assert len(model.predict(TABLE)) == len(TABLE)
        assert spelled_classes(TABLE, model.schema)
    assert refused > 500 > accepted


def test_every_alteration_without_a_new_digest_is_refused(tmp_path):
    for record in changes({k: v for k, v in RECORD.items() if k != "sha256"}):
        if record == {k: v for k, v in RECORD.items() if k != "sha256"}:
            continue
        with pytest.raises(ModelFileError):
            load_model(stored(tmp_path / "m.json", record | {"sha256": ""}, sign=False))


@given(st.binary(max_size=300))
@settings(max_examples=100, deadline=None)
def test_no_file_crashes_the_reader(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("model") / "m.json"
    path.write_bytes(data)
    with pytest.raises(ModelFileError):
        load_model(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda r: r["receipt"].update(schema_digest="0" * 64), "that of its schema"),
        (lambda r: r["scorecard"].update(start=9), "among those on its receipt"),
        (lambda r: r["scorecard"].update(classes=["yes", "no"]), "classes of its schema"),
        (lambda r: r["schema"].update(missing_values=["", "-"]), "that of its schema"),
        (lambda r: r["scorecard"].update(columns=["a", "b", "c", "d"]), "columns of its schema"),
        (lambda r: r["receipt"].update(rows_per_unit=2), "the privacy unit of its schema"),
        (lambda r: r["receipt"].update(privacy_unit="us"), "the privacy unit of its schema"),
        (lambda r: r.update(format="sklearn"), "written by opdisc fit"),
        (lambda r: r.update(version=4), "format version 1 or 2 or 3"),
        (lambda r: r.update(version=2), "valid parts"),
        (lambda r: r["scorecard"].update(threshold=2), "only a logistic card"),
        (lambda r: r.update(version=True), "format version 1"),
    ],
)
def test_parts_that_do_not_belong_together_are_refused(tmp_path, change, words):
    record = json.loads(json.dumps(RECORD))
    change(record)
    with pytest.raises(ModelFileError, match=words):
        load_model(stored(tmp_path / "m.json", record))


@pytest.mark.parametrize("relation", ["replace_one", "add_or_remove_one"])
def test_a_model_that_does_not_state_the_rows_of_a_unit_loads_and_says_them(relation, tmp_path):
    facts = {"unit": "one patient", "rows_per_unit": 3}
    several = Schema.from_dict(schema().to_dict() | facts)
    model = (
        PrivateScorecardClassifier(schema=several, relation=relation).fit(TABLE, LABELS).to_model()
    )
    record = json.loads(json.dumps(model.to_dict()))
    del record["receipt"]["rows_per_unit"]  # as earlier versions wrote it
    older = load_model(stored(tmp_path / "m.json", record))
    assert older.receipt.rows_per_unit is None
    assert str(older.receipt) == str(model.receipt)
    assert older.receipt.brief() == model.receipt.brief()
    assert "one patient (at most 3 rows)" in older.receipt.brief()


def test_devices_and_missing_files_are_refused(tmp_path):
    (tmp_path / "large").write_bytes(b" " * (16 * 2**20 + 1))
    with pytest.raises(ModelFileError, match="at most 16 MiB"):
        load_model(tmp_path / "large")
    with pytest.raises(ModelFileError, match="readable file.*device"):
        load_model("/dev/zero")
    with pytest.raises(ModelFileError, match="readable file"):
        load_model(tmp_path / "absent")
    with pytest.raises(ModelFileError, match="readable file"):
        load_model(tmp_path)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["no", "yes"], ("no", "yes")),
        ([" yes", "no ", "no"], ("no ", " yes")),
        (["?", "", "yes "], ("no", "yes ")),
        ([None, float("nan")], ("no", "yes")),
    ],
)
def test_labels_are_spelled_as_the_table_first_spells_them(cells, expected):
    assert spelled_classes(pd.DataFrame({"ill": cells}), schema()) == expected


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["yes", "healthy", "?"], ("healthy", "yes")),
        (["yes", "healthy", "other"], ("not yes", "yes")),
        (["yes"], ("not yes", "yes")),
    ],
)
def test_an_undeclared_negative_label_is_the_only_other_one(cells, expected):
    assert spelled_classes(pd.DataFrame({"ill": cells}), schema(negative=None)) == expected


def test_a_table_without_the_target_gets_the_spelling_of_the_schema():
    assert spelled_classes(TABLE, schema(1, 0)) == ("0", "1")


def test_a_table_that_lacks_a_column_of_the_card_is_refused():
    # Twenty of 40 rows tell the answers apart: at this epsilon "age" has points but for e^-100.
    by_age = np.array(["no", "no", "yes", "yes"] * 10)
    model = PrivateScorecardClassifier(schema=schema(), epsilon=60.0).fit(TABLE, by_age).to_model()
    with pytest.raises(TableError, match="'age' is missing"):
        model.predict(TABLE[["job"]])


def test_a_fitted_estimator_is_saved_as_its_model(tmp_path):
    X = np.array([[0, 1], [1, 1], [1, 0], [0, 0]] * 20)
    fitted = PrivateScorecardClassifier(epsilon=3.0, classes=(0, 1)).fit(X, X[:, 0])
    save_model(fitted, tmp_path / "a.json")
    save_model(fitted.to_model(), tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert load_model(tmp_path / "a.json").scorecard == fitted.scorecard_


@pytest.mark.parametrize("thing", [None, 3, "card.json", dict])
def test_what_is_no_model_is_not_saved(thing, tmp_path):
    with pytest.raises(ModelFileError, match="a model or a fitted estimator"):
        save_model(thing, tmp_path / "a.json")
    with pytest.raises(NotFittedError):
        save_model(PrivateScorecardClassifier(), tmp_path / "a.json")
    assert list(tmp_path.iterdir()) == []
