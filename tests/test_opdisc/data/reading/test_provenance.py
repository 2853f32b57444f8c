"""Declared types of columns: who has them, what keeps them, and one form for equal labels."""

import json
import pickle
import sqlite3

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from opdisc import PrivateMulticlassClassifier, Schema
from opdisc.data import canonical_text, plain_label, public_facts, read_table
from opdisc.data.reading import ROWS_ALONE, has_declared_dtypes, with_declared_dtypes


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("code,age\n" + "".join(f"0{n},{n}\n" for n in range(20)))
    return read_table(path)


def test_what_pandas_makes_of_rows_and_columns_keeps_the_note(table):
    for kept in (
        table,
        table["code"],
        table[["age", "code"]],
        table.iloc[::2],
        table[table["age"] != "3"],
        table.drop(columns="age"),
        table.copy().pop("age"),
        pickle.loads(pickle.dumps(table)),
        table.sample(frac=0.5, random_state=0).reset_index(drop=True),
    ):
        assert has_declared_dtypes(kept)


def test_what_has_other_types_or_comes_from_elsewhere_has_none(table):
    for other in (
        pd.to_numeric(table["age"]),
        table.assign(age=pd.to_numeric(table["age"])),
        table.astype({"code": "category"}),
        table.to_numpy(),
        table["age"].tolist(),
        pd.DataFrame(table.to_dict("list")),
        None,
    ):
        assert not has_declared_dtypes(other)


def test_a_source_may_declare_numbers(table):
    numbers = with_declared_dtypes(pd.DataFrame({"a": [0.5, 1.5], "b": ["x", "y"]}))
    assert has_declared_dtypes(numbers) and has_declared_dtypes(numbers["a"])
    assert not has_declared_dtypes(numbers.assign(a=[1, 2]))


def test_the_note_is_plain_enough_to_be_written_with_the_table(table):
    assert json.loads(json.dumps(table.attrs)) == table.attrs


def test_labels_that_compare_equal_are_stored_alike():
    ones = (1, 1.0, True, "1", "1.0", " 1 ", "+1", "true", np.int8(1), np.float32(1), np.True_)
    assert {(type(plain_label(one)), plain_label(one)) for one in ones} == {(int, 1)}
    assert plain_label("yes") == plain_label(" yes ") == "yes"
    assert plain_label("01") == "01" and plain_label("0.50") == 0.5
    assert plain_label("9007199254740993") == plain_label(9007199254740993) == 9007199254740993


LABELS = st.one_of(
    st.text(max_size=6),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
)


@given(label=LABELS)
def test_the_stored_form_compares_equal_and_is_one_for_each_text(label):
    stored = plain_label(label)
    assert type(stored) in (str, int, float)
    assert canonical_text(stored) == canonical_text(label)
    again = plain_label(canonical_text(label))
    assert (type(again), again) == (type(stored), stored)


def test_what_a_query_takes_for_granted_follows_its_table(tmp_path):
    path = tmp_path / "t.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE t (a, y)")
        database.executemany("INSERT INTO t VALUES (?, ?)", [(k % 2, k % 3) for k in range(30)])
    features = [{"column": "a", "binary": True}]
    three = {"name": "s", "target": {"column": "y", "classes": [0, 1, 2]}, "feature": features}
    query = "SELECT a, y FROM t"
    assumed = public_facts(path, query=query)[1]
    assert ROWS_ALONE in assumed
    found = read_table(path, query=query)
    for table in (found, found[:-1], found.copy(), pickle.loads(pickle.dumps(found))):
        model = PrivateMulticlassClassifier(schema=Schema.from_dict(three))
        assert model.fit(table, table["y"]).receipt_.conditions == assumed
