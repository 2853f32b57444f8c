"""Encoding, case by case: columns that exclude each other, classes, and what refusals name."""

import numpy as np
import pandas as pd
import pytest

from opdisc.data.encoded_table import aggregate, encode
from opdisc.data.encoding import check_names, encode_features, keep_first_of_exclusive, number_cuts
from opdisc.data.label_encoding import (
    encode_classes,
    encode_declared_labels,
    label_texts,
    require_both_classes,
)
from opdisc.data.schema import MulticlassTarget, Schema, Target
from opdisc.errors import SchemaError, TableError

CATEGORIES = ["a", {"name": "g", "values": ["c", "d"]}]


def declared(*features, **more):
    target = {"column": "y", "positive": "yes", "negative": "no"}
    return Schema.from_dict({"name": "s", "target": target, "feature": features} | more)


def yes_or_no(*columns):
    return [{"column": column, "binary": True} for column in columns]


def test_of_columns_that_exclude_each_other_the_first_1_stays():
    schema = declared(*yes_or_no("a", "b", "c", "d"), exclusive=[["a", "b", "d"]])
    rows = [[1, 1, 1, 1], [0, 1, 0, 1], [0, 0, 1, 1], [0, 0, 0, 0], [1, 0, 1, 0]]
    kept = [[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 0], [1, 0, 1, 0]]
    table = pd.DataFrame(rows, columns=list("abcd"))
    assert encode_features(table, schema).tolist() == [[1, *row] for row in kept]
    encoded = np.array([[1, *row] for row in rows], dtype=np.int8)
    keep_first_of_exclusive(encoded, schema)
    assert encoded.tolist() == [[1, *row] for row in kept]


def test_private_thresholds_that_were_not_found_are_named_by_their_first_column():
    quantiles = {"quantiles": 2, "range": [0, 10], "step": 1}
    features = [{"column": column, "thresholds": quantiles} for column in ("age", "dose", "size")]
    table = pd.DataFrame({"age": [1], "dose": [1], "size": [1]})
    with pytest.raises(SchemaError, match="thresholds of 'age' are private and not found yet"):
        encode_features(table, declared(*features))


def test_numbers_are_cut_at_their_thresholds_within_the_range_and_yes_or_no_at_1():
    schema = declared(
        {"column": "age", "thresholds": [1.5, 3], "range": [0, 5]},
        {"column": "dose", "thresholds": [2]},
        *yes_or_no("flag"),
    )
    assert [number_cuts(feature) for feature in schema.features[:2]] == [(1.5, 3), (2,)]
    table = pd.DataFrame(
        {"age": [1.4, 1.5, 9, None], "dose": [1.9, 2, -7, 3], "flag": [0, 1.0, 1, None]}
    )
    assert encode_features(table, schema).tolist() == [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 1, 1],
        [1, 1, 1, 0, 1],
        [1, 0, 0, 1, 0],
    ]


@pytest.mark.parametrize(("missing", "row"), [({}, [1, 0, 0]), ({"missing": "g"}, [1, 0, 1])])
def test_a_missing_category_is_zeros_or_the_declared_one(missing, row):
    feature = {"column": "ward", "categories": CATEGORIES, **missing}
    schema = declared(feature, missing_values=["?"])
    table = pd.DataFrame({"ward": pd.Series(["?", None, "", "a", "d", "other"], dtype=object)})
    found = encode_features(table, schema).tolist()
    assert found == [row, row, row, [1, 1, 0], [1, 0, 1], [1, 0, 0]]


def test_classes_are_positions_among_the_declared_ones():
    values = pd.Series([2, "one", None, "?", "3", " one "], dtype=object)
    found = encode_classes(values, ["one", 2, 3], "y", ("", "?"))
    assert found.tolist() == [1, 0, -1, -1, 2, 0] and found.dtype == np.int64
    assert encode_classes([3, 2], ["one", 2, 3], "y", ()).tolist() == [2, 1]
    with pytest.raises(TableError, match="column 'y' must hold only the 3 declared") as caught:
        encode_classes(["one", "secret"], ["one", 2, 3], "y", ())
    assert "secret" not in str(caught.value)


def test_without_a_schema_every_label_is_there_and_declared():
    target = Target(column="y", positive="yes", negative="no")
    found = encode_declared_labels(["yes", "no", "no", " yes"], target)
    assert found.tolist() == [1, -1, -1, 1] and found.dtype == np.int8
    for missing in ("", None):
        with pytest.raises(TableError, match="a label in each row"):
            encode_declared_labels(["yes", "no", missing], target)
    with pytest.raises(TableError, match="labels 'yes' and 'no', but has a third label"):
        encode_declared_labels(["yes", "no", "maybe"], target)


def test_the_texts_of_labels():
    several = MulticlassTarget(column="y", labels=(1, "b", "c"))
    assert label_texts(several, ("?",)) == ("1", "b", "c")
    assert label_texts(Target(column="y", positive=1, negative=0), ("?",)) == ("1", "0")
    assert label_texts(Target(column="y", positive="yes", negative="*"), ("?", "-9")) == (
        "yes",
        "?",
        "-9",
    )


def test_a_row_without_a_label_counts_as_a_row_only():
    rows = np.array([[1, 1], [1, 0], [1, 1], [1, 1], [1, 0]], dtype=np.int8)
    found = aggregate(rows, np.array([1, 0, -1, 1, 0], dtype=np.int8))
    assert found.points.tolist() == [[1, 1]] and found.n_rows == 5
    assert (found.positives.tolist(), found.negatives.tolist()) == ([2], [1])
    found = aggregate(rows, np.zeros(5, dtype=np.int8))
    assert found.points.shape == (0, 2) and found.n_rows == 5


def test_both_classes_occur():
    require_both_classes(np.array([1, -1], dtype=np.int8))
    for labels in ([1, 0], [-1, 0], [0], [1], [-1]):
        with pytest.raises(TableError, match="rows of both classes"):
            require_both_classes(np.array(labels, dtype=np.int8))


def test_a_single_row_is_a_table_and_none_is_not():
    schema = declared(*yes_or_no("a"))
    table = pd.DataFrame({"a": [1], "y": ["yes"]})
    assert encode_features(table, schema).tolist() == [[1, 1]]
    with pytest.raises(TableError, match="at least one row"):
        encode_features(table.iloc[:0], schema)
    with pytest.raises(TableError, match="rows of both classes"):
        encode(table, schema)


def test_names_of_columns_that_occur_twice():
    check_names(["a", "b", 3], ("a",))
    with pytest.raises(TableError, match="but 'c' is missing"):
        check_names(["a", "b"], ("a", "c"))
    with pytest.raises(TableError, match="distinct, but 'a', 'b' occurs twice"):
        check_names(["b", "a", "b", "a", "c", "c"], ("a", "b"))
    check_names(["a", "b", "b"], ("a",))  # nobody declared it
