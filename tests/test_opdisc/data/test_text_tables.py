"""Rows of texts, as files hold them: encoded as the frame of the same texts is."""

import random

import numpy as np
import pandas as pd
import pytest
from helpers.opdisc.cards import HOSTILE, MISSING, NUMBERS, UNREADABLE

from opdisc.data import TextTable, encode_features
from opdisc.data.schema import Schema
from opdisc.errors import OPDiscError

TARGET = {"column": "y", "positive": "yes", "negative": "no"}
KINDS = {
    "thresholds": {"thresholds": [-1, 0.5, 30]},
    "in a range": {"thresholds": [1, 2], "range": [0, 2.5]},
    "a missing number": {"thresholds": [1, 2], "missing": ["-999", "none"]},
    "yes or no": {"binary": {"one": ["1", "a b"], "zero": ["0", "NA"]}},
    "categories": {"categories": ["a b", "1", "e", *HOSTILE[:2]]},
    "a category for missing ones": {"categories": ["a b", "1", "none"], "missing": "none"},
    "text": {"categories": ["007", "5E1"], "text": True},
}
TEXTS = ("", "1", "0", "a b", " a  b ", "true", "e", "none", "007", *MISSING, *NUMBERS, *HOSTILE)


def schema_of(*kinds, **more):
    features = [{"column": f"c{k}", **KINDS[kind]} for k, kind in enumerate(kinds)]
    record = {"name": "s", "target": TARGET, "feature": features, **more}
    return Schema.from_stored(record)


def outcome(table, schema, used=None):
    try:
        return encode_features(table, schema, used)
    except OPDiscError as error:
        return f"{type(error).__name__}: {error}"


def both(cells, schema, used=None):
    n_rows = len(next(iter(cells.values())))
    frame = pd.DataFrame(cells, dtype="str")
    return outcome(TextTable(n_rows=n_rows, cells=cells), schema, used), outcome(
        frame, schema, used
    )


@pytest.mark.parametrize("kind", KINDS)
def test_each_text_by_itself_is_what_it_is_in_a_frame(kind):
    schema, refused = schema_of(kind), 0
    for text in (*TEXTS, *UNREADABLE):
        found, expected = both({"c0": [text]}, schema)
        refused += isinstance(expected, str)
        if isinstance(expected, str):
            assert found == expected, text
        else:
            assert np.array_equal(found, expected), text
    assert (refused > 0) == ("categor" not in kind and kind != "text")


@pytest.mark.parametrize("seed", range(20))
def test_rows_are_what_they_are_in_a_frame(seed):
    chosen = random.Random(seed)
    kinds = chosen.choices(list(KINDS), k=3)
    schema = schema_of(*kinds, missing_values=["", "?"])
    good = {}
    for name, kind in zip(schema.columns, kinds, strict=True):
        alone = schema_of(kind, missing_values=["", "?"])
        read = [t for t in TEXTS if not isinstance(outcome(one(t), alone), str)]
        good[name] = chosen.choices(read, k=40)
    used = None if seed % 2 else schema.columns[:2]
    found, expected = both(good, schema, used)
    assert not isinstance(expected, str) and np.array_equal(found, expected)
    assert found.dtype == np.int8 and found[:, 0].all()


def one(text):
    return TextTable(n_rows=1, cells={"c0": [text]})


def test_columns_that_exclude_each_other_and_names_are_checked():
    binary = [{"column": name, "binary": True} for name in "pq"]
    record = {"name": "s", "target": TARGET, "feature": binary, "exclusive": [["p", "q"]]}
    schema = Schema.from_stored(record)
    found, expected = both({"p": ["1", "0", "1"], "q": ["1", "1", "0"]}, schema)
    assert np.array_equal(found, expected) and found[0].tolist() == [1, 1, 0]
    found, expected = both({"p": ["1"]}, schema)
    assert found == expected and "'q' is missing" in found


def test_the_frame_of_a_table_holds_its_texts():
    table = TextTable(n_rows=2, cells={"a": ["1", ""], "b": ["x", "y"]})
    assert table.frame().to_dict("list") == {"a": ["1", ""], "b": ["x", "y"]}
    assert table.columns == ("a", "b")
