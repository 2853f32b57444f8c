"""A schema declares both labels: none is taken for the other because nobody declared it."""

import copy
import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from opdisc import (
    Ledger,
    PrivateLogisticRegression,
    PrivateMulticlassClassifier,
    PrivateScorecardClassifier,
    count_rows,
    load_model,
    save_model,
)
from opdisc.data import Schema, Target, encode_label_values, encode_labels, load_schema
from opdisc.errors import SchemaError, TableError
from opdisc.planning import plan_fit

ONE_LABEL = {
    "name": "ages",
    "target": {"column": "ill", "positive": "yes"},
    "feature": [{"column": "age", "thresholds": [40]}],
}
NEEDED = "target must have both labels, but only positive is declared; add negative, .* '\\*'"
STORED = Path(__file__).parents[3] / "data" / "positive_alone"


def declared(**target):
    return Schema.from_dict(ONE_LABEL | {"target": {**ONE_LABEL["target"], **target}})


class Unread:
    """A table that must not be looked at."""

    def __getattr__(self, name):
        raise AssertionError(name)


@pytest.mark.parametrize(
    "read",
    [
        Schema.from_dict,
        lambda raw: Target(**raw["target"]),
        lambda raw: count_rows(Unread(), raw),
        lambda raw: plan_fit(raw, epsilon=1.0, n_rows=100),
        lambda raw: PrivateScorecardClassifier(schema=raw).fit(Unread(), Unread()),
        lambda raw: PrivateLogisticRegression(schema=raw).fit(Unread(), Unread()),
        lambda raw: PrivateMulticlassClassifier(schema=raw).fit(Unread(), Unread()),
    ],
)
def test_one_label_is_refused_before_a_row_is_looked_at(read):
    with pytest.raises(SchemaError, match=NEEDED):
        read(copy.deepcopy(ONE_LABEL))


def test_a_file_with_one_label_is_refused(tmp_path):
    path = tmp_path / "s.toml"
    path.write_text(
        'name = "ages"\ntarget = { column = "ill", positive = 1 }\n'
        '[[feature]]\ncolumn = "age"\nbinary = true\n'
    )
    with pytest.raises(SchemaError, match=NEEDED):
        load_schema(path)


@pytest.mark.parametrize("missing", ["", " ", "\u00a0", None, np.nan, pd.NA, pd.NaT, "?"])
def test_a_missing_label_is_of_neither_class(missing):
    for target in ({"negative": "*"}, {"negative": "no"}):
        schema = Schema.from_dict(declared(**target).to_dict() | {"missing_values": ["?"]})
        cells = pd.Series(["yes", missing, "no"], dtype=object)
        assert encode_label_values(cells, schema).tolist() == [1, 0, -1]


MARKS = ["NA", "na", "N/A", "#N/A", "<NA>", "nan", "NaN", "NaT", "NULL", "None", "?", ".", "\\N"]


@pytest.mark.parametrize("mark", MARKS)
def test_a_mark_of_a_missing_value_is_never_another_value(mark):
    table = pd.DataFrame({"age": ["1", "2", "3"], "ill": ["yes", "no", f" {mark} "]})
    schema = declared(negative="*")
    for read in (encode_labels, count_rows):
        with pytest.raises(TableError, match="programs write for a missing one") as caught:
            read(table, schema)
        assert f"'{mark}'" not in str(caught.value)
    known = Schema.from_dict(schema.to_dict() | {"missing_values": [mark]})
    assert encode_labels(table, known).tolist() == [1, -1, 0]
    assert encode_labels(table.iloc[[0, 2]], declared(negative=mark)).tolist() == [1, -1]
    own = declared(positive=mark, negative="*")
    assert encode_labels(table.replace("yes", "-1"), own).tolist() == [-1, -1, 1]


def test_any_other_value_is_negative_on_purpose():
    schema = declared(negative=" * ")
    assert schema.classes == ("not yes", "yes") and schema.target.takes_any_other
    assert encode_label_values(["yes", "Yes", "*", 3, True], schema).tolist() == [
        1,
        -1,
        -1,
        -1,
        -1,
    ]
    assert Schema.from_dict(schema.to_dict()) == schema
    assert schema.to_dict()["target"]["negative"] == "*"


def test_any_other_value_is_no_label_of_its_own():
    with pytest.raises(SchemaError, match="stands for any other; declare the value"):
        declared(positive="*", negative="no")
    with pytest.raises(SchemaError, match="stands for any other; in a schema"):
        Schema.from_dict(ONE_LABEL | {"target": {"column": "ill", "classes": ["*", "yes"]}})
    model = PrivateScorecardClassifier(classes=("*", "yes"))
    with pytest.raises(SchemaError, match="stands for any other; in a schema"):
        model.fit([[0], [1]], ["yes", "no"])
    # A mark of its own table, and one of several classes.
    assert declared(negative="*").digest() != declared(negative="no").digest()
    several = {"column": "ill", "classes": ["*", "yes", "no"]}
    assert Schema.from_dict(ONE_LABEL | {"target": several}).labels == ("*", "yes", "no")


@pytest.mark.parametrize("kind", ["card", "linear"])
def test_a_model_made_with_one_label_still_loads_and_predicts(kind, tmp_path):
    """Written before both labels had to be declared; never to be written again."""
    expected = json.loads((STORED / "expected.json").read_text())
    model = load_model(STORED / f"{kind}.json")
    table = pd.read_csv(STORED / "table.csv", dtype=str)
    assert model.predict(table).tolist() == expected[kind]
    assert model.schema.digest() == expected["digest"] == model.receipt.schema_digest
    if kind == "card":
        found = model.written_predictions(
            table.assign(ill=table["ill"].where(table.ill == "yes", "NA"))
        )
        assert set(found) <= {"yes", "not yes"}
        assert model.written_predictions(table).tolist() == expected["written"]
    save_model(model, tmp_path / "again.json")
    again = load_model(tmp_path / "again.json")
    assert again == model and again.schema.to_dict()["target"]["negative"] == "*"


def test_a_ledger_of_a_schema_with_one_label_goes_on(tmp_path):
    shutil.copy(STORED / "ledger.jsonl", tmp_path)
    ledger = Ledger(tmp_path / "ledger.jsonl")
    model = load_model(STORED / "card.json")
    ledger.spend(model.receipt)
    digests = [one.schema_digest for one in ledger.spendings()]
    assert digests == [model.schema.digest()] * 3
