"""A yes/no column: which values say yes and no, and that no third one is read."""

import pandas as pd
import pytest
from helpers.opdisc.cards import released
from helpers.opdisc.entrances import REFUSED, agreed

from opdisc import PrivateScorecardClassifier, Schema, count_rows
from opdisc.data.encoding import encode_features
from opdisc.errors import SchemaError, TableError
from opdisc.models import card_python
from opdisc.models.card import card_content


def schema_of(binary, **more):
    target = {"column": "ill", "positive": "yes", "negative": "no"}
    feature = {"column": "sex", "binary": binary, **more}
    return {"name": "t", "target": target, "missing_values": ["?"], "feature": [feature]}


def cells(*texts):
    return [{"sex": text} for text in texts]


YES_NO = {"one": "Yes", "zero": "No"}
BOXES = {"one": ["1", "Checked"], "zero": ["0", "Unchecked", ""]}


@pytest.mark.parametrize(
    ("binary", "yes", "no"),
    [
        (True, ["1", "1.0", "+1", "true", "TRUE", " 1 "], ["0", "0.0", "-0", "false", "", "?"]),
        (YES_NO, ["Yes", " Yes\t"], ["No", "", "?"]),
        ({"one": 2, "zero": 1}, ["2", "2.0"], ["1", "1.0", "true", "?", ""]),
        (BOXES, ["1", "Checked", "true"], ["0", "Unchecked", "", "?"]),
        ({"one": [True], "zero": [False]}, ["1", "true"], ["0", "false"]),
        ({"one": "02", "zero": "2"}, ["02"], ["2", "2.0"]),
    ],
)
def test_every_entrance_reads_yes_and_no(binary, yes, no, tmp_path):
    rows = cells(*yes, *no)
    assert agreed(schema_of(binary), rows, tmp_path) == [(0,)] * len(yes) + [()] * len(no)


@pytest.mark.parametrize(
    ("binary", "others"),
    [
        (True, ["2", "-1", "0.4", "0.5", "0.6", "100", "yes", "1e0", "01", "nan"]),
        (YES_NO, ["yes", "NO", "1", "0", "Maybe"]),
        ({"one": 2, "zero": 1}, ["0", "3", "1.5", "two"]),
        (BOXES, ["checked", "2", "x"]),
    ],
)
def test_a_third_value_is_refused_by_every_entrance(binary, others, tmp_path):
    for text in others:
        said = agreed(schema_of(binary), cells(text), tmp_path)
        if text == "nan":  # the one text that SQL cannot tell from a missing number
            assert said.pop("sql") == ((),)
            assert set(said.values()) == {(REFUSED,)}
        else:
            assert said == [REFUSED]


@pytest.mark.parametrize("dtype", ["int64", "float64", "float32", "Int64", "object"])
def test_a_column_coded_one_and_two_is_refused_before_anything_is_spent(dtype):
    table = pd.DataFrame({"sex": pd.Series([1, 2] * 30, dtype=dtype), "ill": ["yes", "no"] * 30})
    schema = Schema.from_dict(schema_of(True))
    model = PrivateScorecardClassifier(schema=schema, epsilon=60.0)
    said = "column 'sex' must hold only the values that its schema declares to say yes or no"
    for call in (
        lambda: model.fit(table, table["ill"]),
        lambda: count_rows(table, schema),
        lambda: released(schema, (1,)).predict(table),
    ):
        with pytest.raises(TableError, match=said) as caught:
            call()
        assert "2" not in str(caught.value)
    declared = Schema.from_dict(schema_of({"one": 2, "zero": 1}))
    assert encode_features(table, declared)[:, 1].tolist() == [0, 1] * 30
    fitted = PrivateScorecardClassifier(schema=declared, epsilon=1e3, random_state=0)
    assert fitted.fit(table, table["ill"]).score(table, table["ill"]) == 1.0


@pytest.mark.parametrize("values", [[True, False], [1, 0], [1.0, None], ["1", 0], ["true", None]])
def test_plain_values_have_any_type(values):
    table = pd.DataFrame({"sex": values})
    assert encode_features(table, Schema.from_dict(schema_of(True)))[:, 1].tolist() == [1, 0]


def test_missing_codes_and_groups_that_exclude_each_other(tmp_path):
    schema = schema_of(YES_NO, missing=["Refused", 9])
    schema["feature"].append({"column": "b", "binary": {"one": [2], "zero": [1]}, "missing": [9]})
    schema["exclusive"] = [["b", "sex"]]
    rows = [
        {"sex": sex, "b": b}
        for sex, b in [("Yes", "1"), ("Yes", "2"), ("Refused", "2"), ("9", "9"), ("No", "1")]
    ]
    assert agreed(schema, rows, tmp_path) == [(0,), (1,), (1,), (), ()]
    assert agreed(schema, [{"sex": "No", "b": "0"}], tmp_path) == [REFUSED]


def test_codes_that_numbers_do_not_keep_need_text():
    schema = Schema.from_dict(schema_of({"one": "02", "zero": "01"}))
    with pytest.raises(TableError, match="must hold text, since a number does not keep"):
        encode_features(pd.DataFrame({"sex": [1, 2]}), schema)
    namespace = {}
    exec(card_python(released(schema, (1,))), namespace)
    with pytest.raises(ValueError, match="text is needed"):
        namespace["score"]({"sex": 2})


def test_the_card_says_which_value_counts():
    for binary, line, name in (
        (True, "yes", "sex"),
        ({"one": 2, "zero": 1}, "2", "sex = 2"),
        (BOXES, "1 or Checked", "sex = 1"),
    ):
        model = released(schema_of(binary), (3,))
        content = card_content(model)
        assert content.parts[0].groups[0].lines == ((line, 3),)
        assert model.schema.column_names == (name,)
        assert dict(content.example)["sex"] == model.schema.features[0].one[0]
        assert content.sums[0][1].total == 3


def test_values_are_written_and_read_back():
    for binary in (True, YES_NO, BOXES):
        schema = Schema.from_dict(schema_of(binary))
        assert Schema.from_dict(schema.to_dict()) == schema
    assert Schema.from_dict(schema_of(True)).to_dict()["feature"][0]["binary"] is True
    plain = {"one": [1], "zero": [0]}
    assert Schema.from_dict(schema_of(plain)) == Schema.from_dict(schema_of(True))


@pytest.mark.parametrize(
    ("binary", "said"),
    [
        (False, "binary of feature 'sex' must be true, or a table"),
        ("yes", "binary of feature 'sex' must be true, or a table"),
        ({"one": 1}, "must be true, or a table of the values"),
        ({"one": 1, "zero": 0, "two": 2}, "must be true, or a table of the values"),
        ({"one": [], "zero": [0]}, "but one side has none"),
        ({"one": "", "zero": "0"}, "must be non-empty text or a number, got ''"),
        ({"one": ["1", "a"], "zero": [1.0]}, "'1' occurs twice"),
        ({"one": "?", "zero": "No"}, "missing_values must be no value of any column"),
        ({"one": float("inf"), "zero": 0}, "must be finite"),
    ],
)
def test_a_wrong_declaration_of_yes_and_no_is_refused(binary, said):
    with pytest.raises(SchemaError, match=said):
        Schema.from_dict(schema_of(binary))
