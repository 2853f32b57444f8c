"""Columns that nobody declared are ignored by every entrance, whatever they are called."""

from dataclasses import replace

import msgspec
import numpy as np
import pandas as pd
import pytest
from helpers.opdisc.command_lines import told

from opdisc import PrivateScorecardClassifier, Schema, count_rows, load_model, read_table
from opdisc.data import encode_features
from opdisc.errors import TableError

SCHEMA = {
    "name": "visits",
    "target": {"column": "ill", "positive": "yes", "negative": "no"},
    "feature": [
        {"column": "age", "thresholds": [50]},
        {"column": "ward", "categories": ["a", "b"]},
    ],
}
TOML = """
name = "visits"
target = { column = "ill", positive = "yes", negative = "no" }
[[feature]]
column = "age"
thresholds = [50]
[[feature]]
column = "ward"
categories = ["a", "b"]
"""
HEADERS = {
    "blanks": ["age", "", "ward", "ill", ""],
    "spaces": [" age", "\tnote ", "ward ", " ill ", "note"],
    "the same twice": ["age", "Complete?", "ward", "ill", "Complete?"],
    "numbers": ["age", "2019", "ward", "ill", "2019"],
}
ROWS = [[20 + i % 60, "x", "ab"[i % 2], "yes" if i % 60 >= 30 else "no", "y"] for i in range(120)]


def frame(header):
    table = pd.DataFrame(ROWS)
    table.columns = header
    return table


def files(header, folder):
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = [pa.array(list(cells)) for cells in zip(*ROWS, strict=True)]
    table = pa.table(columns, names=header)
    pq.write_table(table, folder / "t.parquet")
    with (
        pa.OSFile(str(folder / "t.arrow"), "wb") as sink,
        pa.ipc.new_file(sink, table.schema) as w,
    ):
        w.write_table(table)
    frame(header).to_csv(folder / "t.csv", index=False)
    return table


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.toml").write_text(TOML)
    return tmp_path


@pytest.mark.extras("pyarrow")
@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_every_entrance_counts_the_same(header, folder):
    table = files(header, folder)
    schema = Schema.from_dict(SCHEMA)
    plain = frame(["age", "n", "ward", "ill", "m"])
    expected = count_rows(plain, schema)
    sources = [
        frame(header),
        table,
        *(folder / f"t.{kind}" for kind in ("csv", "parquet", "arrow")),
    ]
    for source in sources:
        found = count_rows(source, schema)
        assert np.array_equal(found.points, expected.points)
        assert np.array_equal(found.positives, expected.positives)
    model = PrivateScorecardClassifier(epsilon=90.0, schema=schema, random_state=0)
    predicted = model.fit(frame(header), plain["ill"]).predict(frame(header))
    assert model.predict(table).tolist() == predicted.tolist()


@pytest.mark.extras("pyarrow")
@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
def test_check_plan_fit_and_predict_share_one_rule(header, kind, folder):
    files(header, folder)
    given = [f"t.{kind}", "--schema", "s.toml"]
    assert told("schema", "check", *given)[0] == 0
    assert told("plan", *given, "--epsilon", "1", "--json")[0] == 0
    status, _, err = told("fit", *given, "--epsilon", "90", "--out", "card.json")
    assert status == 0, err
    status, out, err = told("predict", "card.json", f"t.{kind}")
    assert status == 0, err
    assert len(out.splitlines()) == 121 and out.splitlines()[1].startswith("20,x,a,no,y,")


@pytest.mark.extras("pyarrow")
@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("twice", ["age", " age", "ill"])
def test_a_declared_name_that_is_there_twice_is_refused_by_all(twice, kind, folder):
    files(["age", "xq7", "ward", "ill", twice], folder)
    given = [f"t.{kind}", "--schema", "s.toml"]
    status, out, _ = told("schema", "check", *given)
    assert status == 1 and f"there twice: '{twice.strip()}'" in out and "xq7" not in out
    for command in (("plan", *given, "--epsilon", "1"), ("fit", *given, "--epsilon", "1")):
        status, out, err = told(*command)
        assert status == 1 and f"'{twice.strip()}' occurs twice" in err and "xq7" not in err


@pytest.mark.extras("pyarrow")
def test_a_prediction_asks_for_columns_with_points_only(folder):
    files(["age", "n", "ward", "ill", "m"], folder)
    schema = Schema.from_dict(SCHEMA)
    model = PrivateScorecardClassifier(epsilon=90.0, schema=schema, random_state=0)
    saved = model.fit(read_table("t.csv"), read_table("t.csv")["ill"]).to_model()
    card = msgspec.structs.replace(saved.scorecard, points=(1, 0, 0), start=0)
    saved = replace(saved, scorecard=card)
    assert saved.used_columns == ("age",)
    only = pd.DataFrame({"age": [20, 70]})
    assert saved.predict(only).tolist() == ["no", "yes"]
    odd = only.assign(ward=[["a"], ["b"]])
    assert saved.predict(odd).tolist() == saved.predict(only).tolist()
    assert saved.explain({"age": 70}).answer == saved.predict(only)[1]
    with pytest.raises(TableError, match="'age' is missing"):
        saved.predict(odd[["ward"]])


def test_a_column_before_another_in_a_group_is_asked_for():
    from opdisc.models import Scorecard, used_columns

    features = [{"column": name, "binary": True} for name in "abcd"]
    schema = Schema.from_dict(SCHEMA | {"feature": features, "exclusive": [["a", "b"]]})
    card = Scorecard(
        target="ill",
        classes=("no", "yes"),
        columns=("a", "b", "c", "d"),
        points=(0, 1, 0, 0),
        start=0,
    )
    assert used_columns(schema, (card,)) == ("a", "b")
    assert encode_features(pd.DataFrame({"b": [1]}), schema, ("b",)).tolist() == [[1, 0, 1, 0, 0]]


def test_a_model_is_loaded_and_predicts_a_frame_without_the_rest(folder):
    pd.DataFrame(ROWS, columns=["age", "n", "ward", "ill", "m"]).to_csv("t.csv", index=False)
    given = ["t.csv", "--schema", "s.toml", "--epsilon", "90", "--out", "card.json"]
    assert told("fit", *given)[0] == 0
    model = load_model("card.json")
    only = read_table("t.csv", columns=model.used_columns)
    only.to_csv("only.csv", index=False)
    assert told("predict", "card.json", "only.csv")[0] == 0
