"""Encoding is a map of one row; aggregation loses nothing."""

import copy
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from opdisc.data.encoded_table import aggregate, encode
from opdisc.data.encoding import check_columns, encode_features
from opdisc.data.label_encoding import encode_label_values, encode_labels
from opdisc.data.schema import Schema
from opdisc.errors import TableError

SCHEMA = Schema.from_dict(
    {
        "name": "s",
        "target": {"column": "y", "positive": 1, "negative": 0},
        "missing_values": ["?", "-9"],
        "feature": [
            {"column": "age", "thresholds": [40, 65], "range": [18, 110]},
            {
                "column": "ward",
                "categories": ["a", 1, {"name": "g", "values": ["c", "d"]}],
                "missing": "g",
            },
            {"column": "flag", "binary": True},
            {"column": "colour", "categories": ["red"]},
        ],
    }
)

NUMBERS = st.sampled_from(
    [
        39,
        40,
        40.0,
        "40",
        " 65.0 ",
        "4e1",
        64.999,
        500,
        "-3",
        "",
        None,
        np.nan,
        pd.NA,
        "?",
        -9,
        "-9.0",
    ]
    + [True, Decimal("65"), np.float32(40), np.int64(70), 10**30]
)
WARDS = st.sampled_from(
    ["a", " a", "b", 1, 1.0, "1", True, "c", "d", "", None, np.nan, "?", "nan"]
)
FLAGS = st.sampled_from([0, 1, "0", "1.0", True, False, "True", "", None, "?", -9, "-0"])
COLOURS = st.sampled_from(["red", "Red", "blue", "", None])
LABELS = st.sampled_from([0, 1, "0", " 1", 1.0, True, "", None, np.nan, "?"])
ROWS = st.tuples(NUMBERS, WARDS, FLAGS, COLOURS, LABELS)
TABLES = st.lists(ROWS, min_size=1, max_size=12)


def frame(rows):
    """Columns of dtype object, so that a cell is what the row says whatever the others are."""
    columns = ["age", "ward", "flag", "colour", "y"]
    return pd.DataFrame(
        {c: pd.Series([row[i] for row in rows], dtype=object) for i, c in enumerate(columns)}
    )


def counts(encoded):
    """Multiset of (point, label)."""
    out = Counter()
    for point, plus, minus in zip(
        encoded.points.tolist(), encoded.positives, encoded.negatives, strict=True
    ):
        out[tuple(point), 1] += int(plus)
        out[tuple(point), -1] += int(minus)
    return +out


def aggregated(rows):
    table = frame(rows)
    return aggregate(encode_features(table, SCHEMA), encode_labels(table, SCHEMA))


def expected(row):
    """Encode one row again, by hand and cell by cell."""
    age, ward, flag, colour, _ = row

    def missing(cell):
        return pd.isna(cell) or str(cell).strip() in ("", "?", "-9", "-9.0")

    def number(cell):
        return float({"True": 1, "False": 0}.get(str(cell), cell))

    text = {"1.0": "1", "True": "1"}.get(str(ward).strip(), str(ward).strip())
    return [
        1,
        int(not missing(age) and number(age) >= 40),
        int(not missing(age) and number(age) >= 65),
        int(not missing(ward) and text == "a"),
        int(not missing(ward) and text == "1"),
        int(missing(ward) or text in ("c", "d")),
        int(not missing(flag) and number(flag) >= 1),
        int(colour == "red"),
    ]


@given(TABLES)
def test_every_row_is_encoded_as_by_hand(rows):
    encoded = encode_features(frame(rows), SCHEMA)
    assert encoded.dtype == np.int8
    assert encoded.tolist() == [expected(row) for row in rows]


@given(TABLES, TABLES)
def test_encoding_is_a_map_of_one_row(first, second):
    together = frame(first + second)
    np.testing.assert_array_equal(
        encode_features(together, SCHEMA),
        np.vstack([encode_features(frame(rows), SCHEMA) for rows in (first, second)]),
    )
    np.testing.assert_array_equal(
        encode_labels(together, SCHEMA),
        np.concatenate([encode_labels(frame(rows), SCHEMA) for rows in (first, second)]),
    )


@given(TABLES, st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(rows, random):
    shuffled = copy.copy(rows)
    random.shuffle(shuffled)
    one, other = aggregated(rows), aggregated(shuffled)
    np.testing.assert_array_equal(one.points, other.points)
    np.testing.assert_array_equal(one.positives, other.positives)
    np.testing.assert_array_equal(one.negatives, other.negatives)
    assert one.n_rows == other.n_rows == len(rows)


@given(TABLES)
def test_points_are_distinct_sorted_and_carry_every_labelled_row(rows):
    encoded = aggregated(rows)
    points = [tuple(point) for point in encoded.points.tolist()]
    assert points == sorted(set(points))
    assert (encoded.positives + encoded.negatives >= 1).all()
    labels = encode_labels(frame(rows), SCHEMA)
    assert encoded.positives.sum() == (labels == 1).sum()
    assert encoded.negatives.sum() == (labels == -1).sum()
    assert encoded.positives.dtype == encoded.negatives.dtype == np.int64


@given(TABLES, st.lists(st.integers(-3, 3), min_size=8, max_size=8))
def test_the_loss_is_that_of_a_loop_over_rows(rows, weights):
    table = frame(rows)
    wrong = 0
    for x, y in zip(encode_features(table, SCHEMA), encode_labels(table, SCHEMA), strict=True):
        predicted = 1 if sum(w * int(c) for w, c in zip(weights, x, strict=True)) >= 1 else -1
        wrong += int(y != 0 and predicted != y)
    encoded = aggregated(rows)
    positive = encoded.points.astype(int) @ np.array(weights) >= 1
    assert np.where(positive, encoded.negatives, encoded.positives).sum() == wrong


@given(TABLES, ROWS)
def test_one_more_row_adds_one_count_or_none(rows, row):
    before, after = aggregated(rows), aggregated([*rows, row])
    label = int(encode_labels(frame([row]), SCHEMA)[0])
    added = Counter({(tuple(expected(row)), label): 1} if label else {})
    assert counts(after) == counts(before) + added
    assert after.n_rows == before.n_rows + 1


@given(TABLES, ROWS, st.data())
def test_replacing_a_row_moves_at_most_one_count(rows, row, data):
    index = data.draw(st.integers(0, len(rows) - 1))
    replaced = [*rows[:index], row, *rows[index + 1 :]]
    before, after = counts(aggregated(rows)), counts(aggregated(replaced))
    assert sum((before - after).values()) <= 1
    assert sum((after - before).values()) <= 1


@given(st.integers(1, 150), st.integers(0, 2**32))
def test_merging_agrees_with_numpy_at_every_width(width, seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 2, (6, width), dtype=np.int8)[rng.integers(0, 6, 30)]
    labels = rng.choice(np.array([-1, 1], dtype=np.int8), 30)
    encoded = aggregate(rows, labels)
    points, inverse = np.unique(rows, axis=0, return_inverse=True)
    np.testing.assert_array_equal(encoded.points, points)
    np.testing.assert_array_equal(
        encoded.positives, np.bincount(inverse.ravel()[labels == 1], minlength=len(points))
    )


def labelled(**columns):
    size = max(len(v) for v in columns.values())
    base = {"age": [50], "ward": ["a"], "flag": [1], "colour": ["red"], "y": [0]}
    table = {c: list(v) * (size if len(v) == 1 else 1) for c, v in (base | columns).items()}
    return pd.DataFrame(table)


def test_encode_merges_and_counts():
    encoded = encode(labelled(age=[50, 20, 50, 50], y=[1, 0, 0, None]), SCHEMA)
    assert encoded.points.tolist() == [[1, 0, 0, 1, 0, 0, 1, 1], [1, 1, 0, 1, 0, 0, 1, 1]]
    assert encoded.positives.tolist() == [0, 1]
    assert encoded.negatives.tolist() == [1, 1]
    assert encoded.n_rows == 4
    for array in (encoded.points, encoded.positives, encoded.negatives):
        assert not array.flags.writeable


def test_extra_columns_and_the_index_are_ignored():
    table = labelled(y=[0, 1])
    other = table.assign(name=["x", "y"])[["name", "y", "flag", "ward", "age", "colour"]]
    other.index = pd.Index([7, 7])
    assert counts(encode(other, SCHEMA)) == counts(encode(table, SCHEMA))


@pytest.mark.parametrize(
    "dtype",
    ["int64", "uint8", "float32", "float64", "Int64", "Float64", "str", "object", "category"],
)
def test_a_number_means_the_same_in_every_dtype(dtype):
    cells = pd.Series([39, 40, 65, 110], dtype="int64").astype(dtype)
    table = labelled(age=[39, 40, 65, 110]).assign(age=cells, ward=(cells.astype(object)))
    assert encode_features(table, SCHEMA)[:, 1:3].tolist() == [[0, 0], [1, 0], [1, 1], [1, 1]]


@pytest.mark.parametrize("dtype", ["float64", "Int64", "Float64", "object", "category"])
def test_a_missing_number_in_every_dtype(dtype):
    cells = pd.Series([None, 65, -9], dtype="Float64" if dtype != "Int64" else "Int64")
    cells = cells.astype(dtype) if dtype != "float64" else cells.to_numpy(float, na_value=np.nan)
    table = labelled(age=[0, 0, 0]).assign(age=cells)
    assert encode_features(table, SCHEMA)[:, 1:3].tolist() == [[0, 0], [1, 1], [0, 0]]


@pytest.mark.parametrize("dtype", ["bool", "boolean", "object", "str", "category"])
def test_booleans_are_ones_and_zeros(dtype):
    flags = pd.Series([True, False]).astype(dtype)
    table = labelled(flag=[0, 0]).assign(flag=flags, y=flags, ward=flags)
    assert encode_features(table, SCHEMA)[:, 6].tolist() == [1, 0]
    assert encode_features(table, SCHEMA)[:, 4].tolist() == [1, 0]
    assert encode_labels(table, SCHEMA).tolist() == [1, -1]


def test_a_table_and_its_csv_agree(tmp_path):
    from opdisc.data.reading import read_table, write_table

    table = labelled(
        age=[39.5, np.nan, 65.0, 500.0],
        ward=["a", None, "1", "d"],
        flag=[True, False, None, True],
        y=[1, 0, 1, 0],
    )
    write_table(table, tmp_path / "t.csv")
    assert counts(encode(read_table(tmp_path / "t.csv"), SCHEMA)) == counts(encode(table, SCHEMA))


BAD_CELLS = ["secret", "nan", "inf", "-Infinity", "1e999", "1,5", "NaN", "1 2"]


@pytest.mark.parametrize("cell", [*BAD_CELLS, np.inf, -np.inf, 1j, Fraction(1, 2), [41], b"41"])
@pytest.mark.parametrize("column", ["age", "flag"])
def test_a_cell_that_is_not_a_finite_number_is_refused_without_its_content(cell, column):
    table = labelled(y=[0, 1, 1])
    table[column] = pd.Series([cell, 1, 0], dtype=object)
    with pytest.raises(TableError, match=f"column '{column}' must hold ") as caught:
        encode(table, SCHEMA)
    message = str(caught.value)
    assert str(cell) not in message.replace("finite", "")
    assert "\n" not in message


def test_an_infinite_float_column_is_refused():
    with pytest.raises(TableError, match="finite numbers"):
        encode_features(labelled(age=[1.0, np.inf]), SCHEMA)
    with pytest.raises(TableError, match="finite numbers"):
        encode_features(labelled(age=[1j, 2j]), SCHEMA)


def test_an_undeclared_category_is_zeros_and_not_refused():
    table = labelled(ward=["secret", "nan", "A", "007"], y=[0])
    assert not encode_features(table, SCHEMA)[:, 3:6].any()


def test_a_third_label_is_refused_without_printing_it():
    with pytest.raises(TableError, match="labels 1 and 0, but has a third label") as caught:
        encode(labelled(y=[0, 1, "secret"]), SCHEMA)
    assert "secret" not in str(caught.value)


def test_where_any_other_is_negative_only_a_missing_label_is_not():
    target = {"column": "y", "positive": "yes", "negative": "*"}
    schema = Schema.from_dict(SCHEMA.to_dict() | {"target": target})
    labels = encode_label_values(["yes", " yes ", "no", "other", 3, "", None, "?"], schema)
    assert labels.tolist() == [1, 1, -1, -1, -1, 0, 0, 0]
    assert labels.dtype == np.int8


@pytest.mark.parametrize("labels", [[1, 1], [0, 0], [None, None], [1, "?"]])
def test_fewer_than_two_classes_are_refused(labels):
    with pytest.raises(TableError, match="rows of both classes"):
        encode(labelled(y=labels), SCHEMA)
    assert len(encode_labels(labelled(y=labels), SCHEMA)) == 2


def test_an_empty_table_is_refused():
    with pytest.raises(TableError, match="at least one row"):
        encode(labelled(y=[0, 1]).iloc[:0], SCHEMA)


@pytest.mark.parametrize("column", ["age", "colour", "y"])
def test_a_missing_column_is_named(column):
    with pytest.raises(TableError, match=f"but '{column}' is missing; add it"):
        encode(labelled(y=[0, 1]).drop(columns=column), SCHEMA)


def test_features_can_be_encoded_without_the_target():
    assert encode_features(labelled(y=[0]).drop(columns="y"), SCHEMA).shape == (1, 8)


def test_repeated_columns_are_refused_where_they_are_declared():
    table = labelled(y=[0, 1])
    with pytest.raises(TableError, match="distinct, but 'age' occurs twice"):
        encode(pd.concat([table, table[["age"]]], axis=1), SCHEMA)
    extra = pd.DataFrame([[1, 2], [1, 2]], columns=["secret", "secret"])
    alone, beside = (encode(t, SCHEMA) for t in (table, pd.concat([table, extra], axis=1)))
    assert np.array_equal(alone.points, beside.points) and alone.n_rows == beside.n_rows
    spaced = table.rename(columns={"age": " age\t"})
    assert np.array_equal(alone.points, encode(spaced, SCHEMA).points)
    with pytest.raises(TableError, match="distinct, but 'age' occurs twice"):
        encode(pd.concat([table, spaced[[" age\t"]]], axis=1), SCHEMA)


def test_only_a_data_frame_is_a_table():
    with pytest.raises(TableError, match="must be a pandas DataFrame, got list"):
        check_columns([[1]], ("age",))
