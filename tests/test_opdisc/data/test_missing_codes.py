"""Codes among numbers: what is missing in one feature only, or says something of its own."""

import pandas as pd
import pytest
from helpers.opdisc.cards import released
from helpers.opdisc.entrances import REFUSED, agreed
from hypothesis import HealthCheck, given, settings, strategies as st

from opdisc import PrivateScorecardClassifier, Schema, count_rows, read_table
from opdisc.data.counting.ranks import count_below
from opdisc.data.encoding import encode_features
from opdisc.data.label_encoding import encode_labels
from opdisc.errors import SchemaError, TableError
from opdisc.models.card import card_content

TARGET = {"column": "ill", "positive": "yes", "negative": "no"}


def schema_of(*features, **more):
    return {"name": "survey", "target": TARGET, "feature": list(features)} | more


def cells(column, *texts):
    return [{column: text} for text in texts]


DAYS = {"column": "days", "thresholds": [1, 7.5, 15], "range": [0, 30]}
MONTHS = {"column": "months", "thresholds": [12, 24], "range": [0, 83]}
HELOC = MONTHS | {"codes": {"-7": "never", "-8": "missing", "-9": "missing"}}


def test_a_missing_code_is_missing_in_its_own_feature_only(tmp_path):
    age = {"column": "age", "thresholds": [5, 60]}
    schema = schema_of(DAYS | {"missing": [7, 77, 99, "R"]}, age, missing_values=["?"])
    pairs = [("7", "7"), ("7.0", "77"), ("8", "99"), ("99", "?"), ("R", "4"), ("", "")]
    rows = [{"days": days, "age": age} for days, age in pairs]
    said = [(3,), (3, 4), (0, 1, 3, 4), (), (), ()]
    assert agreed(schema, rows, tmp_path) == said
    assert agreed(schema, [{"days": "?", "age": "61"}], tmp_path) == [(3, 4)]
    assert agreed(schema, [{"days": "5", "age": "R"}], tmp_path) == [REFUSED]


@pytest.mark.parametrize("number", [-7, -7.0, "-7", "-7.0", " -7 ", "-7.00"])
def test_a_code_is_a_statement_or_missing_and_no_number(number, tmp_path):
    schema = schema_of(HELOC)
    assert Schema.from_dict(schema).column_names[-1] == "months = never"
    assert agreed(schema, [{"months": number}], tmp_path) == [(2,)]
    rows = cells("months", "-8", "-9.0", "-10", "0", "12", "30", "99", "")
    assert agreed(schema, rows, tmp_path) == [(), (), (), (), (0,), (0, 1), (0, 1), ()]


def test_what_is_not_declared_a_code_stays_clipped(tmp_path):
    low = {"column": "x", "thresholds": [1, 5], "range": [0, 9]}
    assert agreed(schema_of(low), cells("x", "-7", "99"), tmp_path) == [(), (0, 1)]


@given(
    st.dictionaries(
        st.sampled_from(["-7", "-8", "7.5", "99", "R", "0"]),
        st.sampled_from(["never", "missing", "refused"]),
        min_size=1,
    ),
    st.lists(st.sampled_from(["-7", "-7.0", "-8", "7.5", "7.50", "99", "0", "5", "20", "", "?"])),
)
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_codes_agree_with_a_naive_reading(tmp_path, codes, texts):
    schema = schema_of(
        {"column": "x", "thresholds": [1, 10], "codes": codes}, missing_values=["?"]
    )
    words = [word for word in dict.fromkeys(codes.values()) if word != "missing"]
    rows = cells("x", *texts, *codes)

    def naive(text):
        if text in ("", "?"):
            return ()
        number = text if text == "R" else float(text)
        for code, word in codes.items():
            if number == (code if code == "R" else float(code)):
                return () if word == "missing" else (2 + words.index(word),)
        return tuple(i for i, cut in enumerate((1, 10)) if number >= cut)

    assert agreed(schema, rows, tmp_path) == [naive(row["x"]) for row in rows]


def test_codes_of_a_yes_or_no(tmp_path):
    smoker = {"column": "smoker", "binary": True, "codes": {"7": "refused", "9": "missing"}}
    rows = cells("smoker", "1", "0", "7", "9", "7.0", "", "true")
    said = [(0,), (), (1,), (), (1,), (), (0,)]
    assert agreed(schema_of(smoker), rows, tmp_path) == said


def test_missing_codes_of_a_category(tmp_path):
    ward = {"column": "ward", "categories": ["1", "2"], "missing": [7, "9", "NA"]}
    schema = schema_of(ward)
    rows = cells("ward", "1", "2.0", "7", "9", "NA", "3", "")
    assert agreed(schema, rows, tmp_path) == [(0,), (1,), (), (), (), (), ()]
    feature = Schema.from_dict(schema).features[0]
    assert feature.missing is None and feature.missing_codes == ("7", "9", "NA")


def test_codes_do_not_count_where_thresholds_are_drawn():
    private = {"column": "months", "thresholds": {"quantiles": 2, "range": [0, 83]}}
    texts = ["-7"] * 5 + ["-8"] * 3 + ["12", "40", "80"]
    schema = Schema.from_dict(schema_of(private | {"codes": HELOC["codes"]}))
    table = pd.DataFrame({"months": texts, "ill": "yes"}, dtype="str")
    (below,) = count_below(table, schema, encode_labels(table, schema))
    assert below[0] == 0 and below[-1] == 3
    without = Schema.from_dict(schema_of(private))
    (clipped,) = count_below(table, without, encode_labels(table, without))
    assert clipped[0] == 8 and clipped[-1] == 11
    found = schema.with_thresholds([[12.0, 40.0]])
    assert found.missing_texts(found.features[0]) == ("", "-7", "-8", "-9")


def test_a_fit_learns_what_a_code_says(tmp_path):
    path = tmp_path / "t.csv"
    lines = [f"{m},{'no' if m == -7 else 'yes'}" for m in [-7, -8, 3, 30, 50] * 40]
    path.write_text("months,ill\n" + "\n".join(lines) + "\n", encoding="utf-8")
    model = PrivateScorecardClassifier(schema=schema_of(HELOC), epsilon=1e3, random_state=0)
    table = read_table(path)
    for fitted in (
        model.fit(table, table["ill"]),
        model.fit_counts(count_rows(path, schema_of(HELOC))),
    ):
        assert fitted.score(table, table["ill"]) == 1.0


def test_declared_codes_are_written_and_read_back():
    for feature in (
        HELOC,
        DAYS | {"missing": ["99", 77]},
        {"column": "s", "binary": True, "missing": [9]},
        {"column": "m", "thresholds": {"quantiles": 2, "range": [0, 83]}, "missing": [-7]},
        {"column": "w", "categories": ["a"], "missing": ["x"]},
    ):
        schema = Schema.from_dict(schema_of(feature))
        assert Schema.from_dict(schema.to_dict()) == schema
        assert schema.digest() != Schema.from_dict(schema_of(DAYS)).digest()


@pytest.mark.parametrize(
    ("feature", "said"),
    [
        (DAYS | {"missing": 7}, "missing of 'days' must be a list, got 7"),
        (DAYS | {"missing": [True]}, "list of codes, each text or a number, got True"),
        (DAYS | {"missing": [""]}, "list of codes, each text or a number, got ''"),
        (DAYS | {"missing": [float("nan")]}, "list of codes, each text or a number, got nan"),
        (DAYS | {"missing": ["7.5"]}, "7.5 is a threshold and a code; move the threshold"),
        (DAYS | {"codes": {"15": "lots"}}, "15 is a threshold and a code"),
        (DAYS | {"codes": {}}, "codes of 'days' must be a table from codes to what they say"),
        (DAYS | {"codes": ["-7"]}, "codes of 'days' must be a table"),
        (DAYS | {"codes": {"-7": 3}}, "what a code of 'days' says must be non-empty"),
        (DAYS | {"codes": {"-7": "a", "-7.0": "b"}}, "must be distinct, but one occurs twice"),
        (DAYS | {"codes": {"-7": "a"}, "missing": [-7]}, "must be distinct, but one occurs twice"),
        ({"column": "w", "categories": ["a"], "codes": {"b": "c"}}, "unknown key 'codes'"),
        ({"column": "w", "categories": ["a"], "missing": ["a"]}, "'a' of 'w' is both"),
        ({"column": "w", "binary": True, "missing": [1]}, "'1' occurs twice"),
        (
            {"column": "m", "thresholds": {"quantiles": 2, "range": [0, 83]}, "missing": [7]},
            "7 is a threshold and a code",
        ),
    ],
)
def test_a_wrong_declaration_of_codes_is_refused(feature, said):
    with pytest.raises(SchemaError, match=said):
        Schema.from_dict(schema_of(feature))


@pytest.mark.parametrize(
    ("feature", "missing"),
    [
        (DAYS, "7"),
        (DAYS, "30.0"),
        (DAYS, "0"),
        ({"column": "x", "thresholds": [1, 7, 15]}, "9"),
        ({"column": "x", "thresholds": {"quantiles": 2, "range": [0, 83]}}, "77"),
        ({"column": "x", "binary": True}, "1"),
        ({"column": "x", "categories": ["7"]}, "7"),
    ],
)
def test_a_mark_that_is_a_declared_value_is_no_mark_of_all_columns(feature, missing):
    said = "a category cannot be a missing value|missing_values must be no value of any column"
    with pytest.raises(SchemaError, match=said):
        Schema.from_dict(schema_of(feature, missing_values=[missing]))
    beyond = schema_of(feature, missing_values=["?", "-999"])
    assert Schema.from_dict(beyond).missing_values == ("", "?", "-999")


def test_models_made_before_still_load_and_say_what_is_missing():
    raw = Schema.from_dict(schema_of(DAYS, missing_values=["?"])).to_dict()
    stored = Schema.from_stored(raw | {"missing_values": ["", "7", "99"]})
    model = released(stored, (1, 2, 4))
    assert model.explain({"days": "7"}).total == 0 and model.explain({"days": "8"}).total == 3
    assert "A cell that is 7 or 99 is missing." in card_content(model).notes


def test_the_card_names_the_codes_and_its_example_is_none():
    days = {"column": "days", "thresholds": [1, 7], "missing": [77, 99]}
    content = card_content(released(schema_of(days, HELOC, missing_values=["?"]), (1, 5, 1, 2, 3)))
    assert "A cell that is ? is missing." in content.notes
    assert "days is no number where it is 77 or 99." in content.notes
    assert "months is no number where it is -7, -8 or -9." in content.notes
    assert dict(content.example)["days"] == "7"
    stored = Schema.from_stored(
        Schema.from_dict(schema_of(days)).to_dict() | {"missing_values": ["7", "8"]}
    )
    shown = card_content(released(stored, (1, 5)))
    (_, explanation), *_ = shown.sums
    assert dict(shown.example)["days"] not in ("7", "8")
    assert [points for _, points in explanation.statements] == [1, 5]


def test_a_refusal_names_no_code_of_the_rows(tmp_path):
    schema = Schema.from_dict(schema_of(DAYS))
    with pytest.raises(TableError) as caught:
        encode_features(pd.DataFrame({"days": ["secret"]}), schema)
    assert "secret" not in str(caught.value)
    assert "codes or missing" in str(caught.value)
