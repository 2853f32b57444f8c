"""Schemas: what is accepted, what is refused and how, and the round trip."""

import copy
import json

import pytest
from hypothesis import given, strategies as st

from opdisc.data.cells import canonical_text, parse_number
from opdisc.data.schema import BinaryFeature, CategoryFeature, Schema, Target, ThresholdFeature
from opdisc.errors import SchemaError

CLINIC = {
    "name": "clinic",
    "target": {"column": "ill", "positive": "yes", "negative": "no"},
    "unit": "one patient",
    "rows_per_unit": 2,
    "missing_values": ["?"],
    "feature": [
        {"column": "age", "thresholds": [40, 65.5], "range": [18, 110]},
        {
            "column": "ward",
            "categories": ["surgery", 7, {"name": "medicine", "values": ["heart", "lung"]}],
            "missing": "medicine",
        },
        {"column": "diabetic", "binary": True},
        {"column": "age", "thresholds": [90], "name": "very old"},
    ],
}


def clinic(**changes):
    return copy.deepcopy(CLINIC) | changes


def with_feature(**feature):
    return clinic(feature=[feature])


def test_names_columns_and_attributes():
    schema = Schema.from_dict(CLINIC)
    assert schema.column_names == (
        "age >= 40",
        "age >= 65.5",
        "ward = surgery",
        "ward = 7",
        "ward = medicine",
        "diabetic",
        "very old",
    )
    assert schema.n_columns == 7
    assert schema.columns == ("age", "ward", "diabetic")
    assert schema.classes == ("no", "yes")
    assert schema.privacy_unit == "one patient"
    assert schema.rows_per_unit == 2
    assert schema.missing_values == ("", "?")
    assert [(a.column, a.kind, a.indices) for a in schema.attributes] == [
        ("age", "thresholds", (1, 2)),
        ("ward", "categories", (3, 4, 5)),
        ("diabetic", "binary", (6,)),
        ("age", "thresholds", (7,)),
    ]


def test_defaults():
    raw = clinic(target={"column": "ill", "positive": True, "negative": "*"})
    for key in ("unit", "rows_per_unit", "missing_values"):
        del raw[key]
    schema = Schema.from_dict(raw)
    assert schema.privacy_unit == "one row"
    assert schema.rows_per_unit == 1
    assert schema.missing_values == ("",)
    assert schema.classes == ("not True", True)


def test_labels_keep_their_declared_type():
    for positive, negative in ((1, 0), (1.5, 0.5), (True, False), ("b", "a")):
        target = {"column": "ill", "positive": positive, "negative": negative}
        schema = Schema.from_dict(clinic(target=target))
        assert schema.classes == (negative, positive)
        assert [type(c) for c in schema.classes] == [type(negative), type(positive)]


def test_the_dictionary_form_goes_through_json_and_back():
    schema = Schema.from_dict(CLINIC)
    again = Schema.from_dict(json.loads(json.dumps(schema.to_dict())))
    assert again == schema
    assert again.digest() == schema.digest()


def test_the_digest_is_of_the_meaning_and_not_of_the_spelling():
    digest = Schema.from_dict(CLINIC).digest()
    respelled = clinic(missing_values=["?", ""], unit=CLINIC["unit"])
    respelled["feature"][0]["thresholds"] = [40.0, 65.5]
    respelled["feature"][1]["categories"][1] = 7.0
    assert Schema.from_dict(dict(reversed(respelled.items()))).digest() == digest
    assert len(digest) == 64
    moved = clinic()
    moved["feature"][0]["thresholds"] = [41, 65.5]
    assert Schema.from_dict(moved).digest() != digest
    assert Schema.from_dict(clinic(rows_per_unit=3)).digest() != digest


REFUSED = [
    ({"extra": 1}, "unknown key 'extra'"),
    ({"name": ""}, "name must be non-empty"),
    ({"name": "two\nlines"}, "name must be non-empty printable"),
    ({"unit": 3}, "unit must be non-empty"),
    ({"rows_per_unit": 0}, "rows_per_unit must be an integer of at least 1, got 0"),
    ({"rows_per_unit": 10**30}, "rows_per_unit must be at most 1,000,000,000"),
    ({"rows_per_unit": True}, "rows_per_unit must be an integer"),
    ({"rows_per_unit": 1.0}, "rows_per_unit must be an integer"),
    ({"missing_values": "?"}, "missing_values must be a list"),
    ({"missing_values": [9]}, "missing_values must be a list of text"),
    ({"missing_values": ["yes"]}, "a class label cannot be a missing value, but 'yes' is both"),
    ({"missing_values": ["heart"]}, "'heart' of 'ward' is both"),
    ({"description": 1}, "description must be text"),
    ({"target": "ill"}, "target must be a table"),
    ({"target": {"column": "ill"}}, "target must have positive"),
    ({"target": {"positive": 1}}, "target must have column"),
    ({"target": {"column": "ill", "positive": 1, "negative": 0, "neg": 0}}, "unknown key 'neg'"),
    ({"target": {"column": "ill", "positive": 1, "negative": "1.0"}}, "must be different"),
    (
        {"target": {"column": "ill", "positive": float("nan"), "negative": "*"}},
        "positive label must be",
    ),
    ({"target": {"column": "ill", "positive": " ", "negative": "*"}}, "positive label must be"),
    ({"target": {"column": "ill", "positive": [1], "negative": "*"}}, "positive label must be"),
    (
        {"target": {"column": "age", "positive": 1, "negative": 0}},
        "target column 'age' cannot be a feature",
    ),
    ({"feature": []}, "at least one feature"),
    ({"feature": {}}, "feature must be a list"),
    ({"feature": [3]}, "each feature must be a table"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_schema_rules(change, message):
    with pytest.raises(SchemaError, match=message) as caught:
        Schema.from_dict(clinic(**change))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("key", ["name", "target", "feature"])
def test_required_keys(key):
    raw = clinic()
    del raw[key]
    with pytest.raises(SchemaError, match=f"must have {key}"):
        Schema.from_dict(raw)


REFUSED_FEATURES = [
    ({"thresholds": [1]}, "a feature's column must be"),
    ({"column": "a"}, "exactly one of thresholds, categories, binary"),
    ({"column": "a", "thresholds": [1], "binary": True}, "exactly one of"),
    ({"column": "a", "thresholds": [1], "missing": "x"}, "missing of 'a' must be a list, got 'x'"),
    ({"column": "a", "categories": ["x"], "range": [0, 1]}, "unknown key 'range'"),
    ({"column": "a", "thresholds": []}, "at least one threshold"),
    ({"column": "a", "thresholds": 3}, "thresholds must be a list"),
    ({"column": "a", "thresholds": [2, 1]}, "strictly increasing"),
    ({"column": "a", "thresholds": [1, 1.0]}, "strictly increasing"),
    ({"column": "a", "thresholds": [float("inf")]}, "finite"),
    ({"column": "a", "thresholds": [float("nan")]}, "finite"),
    ({"column": "a", "thresholds": [10**400]}, "finite"),
    ({"column": "a", "thresholds": [True]}, "finite numbers, got True"),
    ({"column": "a", "thresholds": ["1"]}, "finite numbers, got '1'"),
    ({"column": "a", "thresholds": [1], "range": [2, 0]}, "two increasing numbers"),
    ({"column": "a", "thresholds": [1], "range": [0]}, "two increasing numbers"),
    ({"column": "a", "thresholds": [0], "range": [0, 1]}, "above the low end"),
    ({"column": "a", "thresholds": [2], "range": [0, 1]}, "above the low end"),
    ({"column": "a", "thresholds": [1, 2], "name": "x"}, "one display name per encoded column"),
    ({"column": "a", "thresholds": [1], "name": "x", "names": ["x"]}, "not both"),
    ({"column": "a", "thresholds": [1, 2], "names": ["x", "x"]}, "'x' occurs twice"),
    ({"column": "a", "thresholds": [1], "names": [1]}, "each display name"),
    ({"column": "a", "categories": []}, "at least one category"),
    ({"column": "a", "categories": ["x", " x "]}, "'x' occurs twice"),
    ({"column": "a", "categories": [1, "1.0"]}, "must be distinct"),
    ({"column": "a", "categories": [1, True]}, "must be distinct"),
    ({"column": "a", "categories": [""]}, "category value must be non-empty"),
    ({"column": "a", "categories": [None]}, "category value must be non-empty"),
    ({"column": "a", "categories": [float("inf")]}, "category value must be finite"),
    ({"column": "a", "categories": ["x", {"name": "g", "values": ["x"]}]}, "'x' occurs twice"),
    ({"column": "a", "categories": [{"name": "g", "values": []}]}, "at least one value"),
    ({"column": "a", "categories": [{"name": "g"}]}, "must have a name and values"),
    ({"column": "a", "categories": [{"name": "g", "values": ["x"], "v": 1}]}, "unknown key 'v'"),
    ({"column": "a", "categories": ["x"], "missing": "y"}, "got 'y'"),
    ({"column": "a", "binary": False}, "binary of feature 'a' must be true"),
    ({"column": "a", "binary": True, "names": ["x"]}, "unknown key 'names'"),
    ({"column": "a", "binary": True, "name": ""}, "the name of 'a'"),
]


@pytest.mark.parametrize(("feature", "message"), REFUSED_FEATURES)
def test_feature_rules(feature, message):
    with pytest.raises(SchemaError, match=message) as caught:
        Schema.from_dict(with_feature(**feature))
    assert "\n" not in str(caught.value)


def test_two_features_may_share_a_raw_column_but_not_a_display_name():
    raw = clinic(feature=[{"column": "a", "thresholds": [1]}, {"column": "a", "thresholds": [1]}])
    with pytest.raises(SchemaError, match="'a >= 1' occurs twice"):
        Schema.from_dict(raw)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "column", "values", "positive", "thresholds", "categories"])
            | st.text(max_size=2),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@given(JSON)
def test_anything_that_is_not_a_schema_is_a_schema_error(raw):
    with pytest.raises(SchemaError):
        Schema.from_dict(raw)


@given(st.sampled_from(sorted(CLINIC)), JSON)
def test_a_corrupted_part_is_a_schema_error_or_a_schema(key, value):
    try:
        schema = Schema.from_dict(clinic(**{key: value}))
    except SchemaError:
        return
    assert Schema.from_dict(schema.to_dict()) == schema


@given(
    st.sampled_from(
        ["column", "thresholds", "range", "names", "name", "binary", "categories", "missing"]
    ),
    st.integers(0, 3),
    JSON,
)
def test_a_corrupted_feature_is_a_schema_error_or_a_schema(key, index, value):
    raw = clinic()
    raw["feature"][index][key] = value
    try:
        schema = Schema.from_dict(raw)
    except SchemaError:
        return
    assert Schema.from_dict(schema.to_dict()) == schema


def test_direct_construction_is_as_strict():
    target = Target(column="y", positive=1, negative="*")
    with pytest.raises(SchemaError, match="strictly increasing"):
        ThresholdFeature(column="a", thresholds=(2.0, 1.0))
    with pytest.raises(SchemaError, match="at least one category"):
        CategoryFeature(column="a", categories=())
    with pytest.raises(SchemaError, match="declared kind"):
        Schema(name="s", target=target, features=("a",))
    with pytest.raises(SchemaError, match="target must be"):
        Schema(name="s", target="y", features=(BinaryFeature(column="a"),))


def test_files(tmp_path):
    path = tmp_path / "s.toml"
    path.write_text(
        'name = "s"\ntarget = { column = "y", positive = 1, negative = 0 }\n'
        '[[feature]]\ncolumn = "a"\nbinary = true\n'
    )
    assert Schema.from_toml(path).column_names == ("a",)
    path.write_text("name = ")
    with pytest.raises(SchemaError, match="must be UTF-8 TOML"):
        Schema.from_toml(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(SchemaError, match="must be UTF-8 TOML"):
        Schema.from_toml(path)
    path.write_text('name = "s"')
    with pytest.raises(SchemaError, match=r"s\.toml: a schema must have target"):
        Schema.from_toml(path)
    with pytest.raises(SchemaError, match="readable.*No such file"):
        Schema.from_toml(tmp_path / "none.toml")
    with pytest.raises(SchemaError, match="readable"):
        Schema.from_toml(tmp_path)


def test_equal_width():
    schema = Schema.equal_width(2, n_thresholds=3, low=-2, high=2, names=["a", "target"])
    assert schema.column_names == (
        "a >= -1",
        "a >= 0",
        "a >= 1",
        "target >= -1",
        "target >= 0",
        "target >= 1",
    )
    assert schema.classes == (0, 1)
    assert schema.target.column not in schema.columns
    assert Schema.equal_width(1).column_names == ("x0 >= 0.5",)
    assert Schema.from_dict(schema.to_dict()) == schema


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_columns": 0}, "n_columns"),
        ({"n_columns": 1, "n_thresholds": 0}, "n_thresholds"),
        ({"n_columns": 1, "low": 1.0, "high": 0.0}, "increasing"),
        ({"n_columns": 1, "high": float("inf")}, "finite"),
        ({"n_columns": 2, "names": ["a"]}, "one name per column"),
        ({"n_columns": 2, "names": ["a", "a"]}, "'a' occurs twice"),
        ({"n_columns": 1, "classes": (1, 1)}, "different labels"),
    ],
)
def test_equal_width_rules(arguments, message):
    with pytest.raises(SchemaError, match=message):
        Schema.equal_width(**arguments)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((1, 1.0, "1", " 1.0 ", "+1", True, "True", "true", "TRUE"), "1"),
        ((0, -0.0, "0", "-0", "0.00", False, "false"), "0"),
        ((0.1, "0.1", "0.10"), "0.1"),
        (("1e0",), "1e0"),
        ((1e-05, "0.00001"), "0.00001"),
        ((1e16, 10**16), "10000000000000000"),
        (("007",), "007"),
        (("tRUE",), "tRUE"),
        ((float("inf"), "inf"), "inf"),
        (("1_0",), "1_0"),
    ],
)
def test_canonical_text(values, text):
    assert {canonical_text(value) for value in values} == {text}


@given(st.text(max_size=8) | st.integers() | st.floats() | st.booleans())
def test_canonical_text_is_idempotent_and_agrees_with_its_own_print(value):
    assert canonical_text(canonical_text(value)) == canonical_text(value)
    if "e" not in str(value):
        assert canonical_text(str(value)) == canonical_text(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_printed_number_reads_back(number):
    assert parse_number(str(number)) == number
    assert parse_number(canonical_text(number)) == number


@pytest.mark.parametrize(
    "text", ["nan", "inf", "-Infinity", "1e999", "1,5", "0x1", "1_0", "٣", ""]
)
def test_text_that_is_not_a_finite_number(text):
    assert parse_number(text) is None


MISTYPED = [
    ({"rows_per_units": 1}, "(did you mean 'rows_per_unit'?)"),
    ({"Features": []}, "(did you mean 'feature'?)"),
    ({"target": {"column": "ill", "positve": 1}}, "(did you mean 'positive'?)"),
    ({"feature": [{"column": "a", "treshold": [1]}]}, "(did you mean 'thresholds'?)"),
    ({"feature": [{"column": "a", "category": ["x"]}]}, "(did you mean 'categories'?)"),
    ({"feature": [{"column": "a", "thresholds": [1], "rnge": [0, 2]}]}, "mean 'range'?)"),
    (
        {"feature": [{"column": "a", "categories": [{"name": "x", "value": ["y"]}]}]},
        "(did you mean 'values'?)",
    ),
    (
        {"feature": [{"column": "a", "categories": ["own", "rent"], "missing": "onw"}]},
        "(did you mean 'own'?)",
    ),
    ({"exclusive": [["diabetc", "x"]]}, "(did you mean 'diabetic'?)"),
]


@pytest.mark.parametrize(("change", "guess"), MISTYPED)
def test_a_mistyped_name_is_answered_with_the_nearest_one(change, guess):
    with pytest.raises(SchemaError) as caught:
        Schema.from_dict(clinic(**change))
    assert guess in str(caught.value)


def test_a_name_that_is_like_none_is_answered_without_a_guess():
    for key in ("zzz", "x" * 10_000, 3):
        with pytest.raises(SchemaError) as caught:
            Schema.from_dict(clinic() | {key: 1})
        assert "did you mean" not in str(caught.value)
