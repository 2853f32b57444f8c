"""The owner's check of a table in memory, and columns whose type lists their categories."""

from dataclasses import replace

import pandas as pd
import pytest

import opdisc
from opdisc import PrivateScorecardClassifier, Schema, check_table, count_rows
from opdisc.data.encoding import encode_features
from opdisc.data.label_encoding import encode_label_values
from opdisc.data.value_labels import listed_categories
from opdisc.errors import SchemaError, TableError

TARGET = {"column": "ill", "positive": 1, "negative": 0}
SEX = {"column": "sex", "categories": [1]}
CODED = {"column": "sex", "binary": {"one": 2, "zero": 1}}
PAIN = {"column": "pain", "thresholds": [2], "range": [0, 9]}


def schema_of(*features, **more):
    return Schema.from_dict({"name": "t", "target": TARGET, "feature": list(features)} | more)


def labelled(column, *labels):
    cells = pd.Categorical([*labels] * 30, categories=[*labels])
    return pd.DataFrame({column: cells, "ill": [0, 1] * (15 * len(labels))})


def in_polars(table):
    import polars as pl

    return pl.from_pandas(table)


def in_enum(table):
    import polars as pl

    cast = {n: pl.Enum(table[n].cat.categories.tolist()) for n in table if n != "ill"}
    return pl.from_pandas(table).cast(cast)


def in_arrow(table):
    import pyarrow as pa

    return pa.Table.from_pandas(table)


def in_arrow_dtypes(table):
    return in_arrow(table).to_pandas(types_mapper=pd.ArrowDtype)


def in_stata(table, folder):
    table.to_stata(folder / "t.dta", write_index=False)
    return pd.read_stata(folder / "t.dta")


def itself(table):
    return table


FRAMES = [
    itself,
    *(
        pytest.param(make, marks=pytest.mark.extras("polars", "pyarrow", "narwhals"))
        for make in (in_enum, in_arrow, in_arrow_dtypes)
    ),
]


@pytest.mark.parametrize("make", FRAMES)
@pytest.mark.parametrize("feature", [SEX, CODED, {**SEX, "categories": ["A"], "text": True}])
def test_labels_in_the_place_of_codes_are_refused_from_the_type_alone(make, feature):
    table, schema = make(labelled("sex", "Male", "Female")), schema_of(feature)
    model = PrivateScorecardClassifier(schema=schema, epsilon=20.0)
    first = schema.features[0].values[0]
    for call in (lambda: model.fit(table, [0, 1] * 30), lambda: count_rows(table, schema)):
        with pytest.raises(TableError) as caught:
            call()
        said = str(caught.value)
        assert f"'sex' must be able to hold a declared value, such as '{first}'" in said
        assert "convert_categoricals=False" in said and "declare the labels" in said
        assert "Male" not in said and "missing_values" not in said


@pytest.mark.parametrize("make", FRAMES)
def test_declared_labels_are_read(make):
    table = make(labelled("sex", "Male", "Female"))
    schema = schema_of({**SEX, "categories": ["Male"]})
    counts = count_rows(table, schema)
    assert counts.n_rows == 60 and sorted(counts.points[:, 1].tolist()) == [0, 1]
    assert listed_categories(pd.Series([1, 2])) == ()


def test_what_a_type_lists_decides_and_not_the_rows():
    """Rows of other categories are read as ever, as long as the type lists a declared one."""
    cells = pd.Categorical(["b", "c"], categories=["a", "b", "c"])
    schema = schema_of({"column": "w", "categories": ["a"]})
    assert encode_features(pd.DataFrame({"w": cells}), schema)[:, 1].tolist() == [0, 0]
    numbers = pd.Categorical([2.5, 3.0])
    schema = schema_of({"column": "w", "categories": ["3"]})
    assert encode_features(pd.DataFrame({"w": numbers}), schema)[:, 1].tolist() == [0, 1]


@pytest.mark.parametrize("make", FRAMES)
def test_labels_in_the_place_of_numbers_are_refused_and_no_column_is_given_up(make):
    for labels in (("none", "a little"), ("none", "3", "5")):
        table = make(labelled("pain", *labels))
        with pytest.raises(TableError, match="column 'pain' must hold") as caught:
            count_rows(table, schema_of(PAIN))
        said = str(caught.value)
        assert not any(label in said for label in labels) and "missing_values" not in said
        if make is itself or len(labels) == 2:
            assert "convert_categoricals=False" in said


@pytest.mark.extras("polars", "pyarrow", "narwhals")
def test_a_categorical_of_polars_lists_nothing_so_its_rows_are_read_as_texts():
    table = in_polars(labelled("sex", "Male", "Female"))
    schema = schema_of({**SEX, "categories": ["Other", "Male"]})
    parts = [table.filter(table["sex"] == sex) for sex in ("Female", "Male")]
    counts = count_rows(parts, schema)
    assert sorted(counts.points[:, 2].tolist()) == [0, 1]


@pytest.mark.parametrize("make", FRAMES)
def test_a_type_that_lists_missing_values_only_is_read(make):
    table = make(labelled("sex", "?", "NA"))
    schema = schema_of(SEX)
    schema = replace(schema, missing_values=("", "?", "NA"))
    assert not count_rows(table, schema).points[:, 1:].any()


def test_labels_of_a_target_are_refused_from_the_type_too():
    cells = pd.Series(pd.Categorical(["yes", "no"]))
    with pytest.raises(TableError, match="'ill' must be able to hold a declared value"):
        encode_label_values(cells, schema_of(SEX))
    assert encode_label_values(pd.Series(pd.Categorical([1, 0])), schema_of(SEX)).tolist() == [
        1,
        -1,
    ]


def test_a_file_of_stata_fits_as_the_refusal_says(tmp_path):
    table = labelled("sex", "Male", "Female")
    table.insert(1, "pain", [1, 5] * 30)
    read = in_stata(table, tmp_path)
    schema = schema_of({**SEX, "categories": [1]}, PAIN)
    with pytest.raises(TableError, match="convert_categoricals=False"):
        count_rows(read, schema)
    codes = pd.read_stata(tmp_path / "t.dta", convert_categoricals=False)
    assert sorted(count_rows(codes, schema).points[:, 1].tolist()) == [0, 1]


def test_the_owner_sees_what_is_not_declared():
    schema = schema_of(
        {"column": "sex", "categories": ["Male"]},
        {"column": "smoker", "binary": True},
        {"column": "months", "thresholds": [12], "range": [0, 83], "codes": {"-7": "never"}},
        {"column": "zip", "categories": ["02139"], "text": True, "missing": ["x"]},
        missing_values=["?"],
    )
    table = pd.DataFrame(
        {
            "sex": ["Male", "male", "?", None],
            "smoker": [1, 2, 0, None],
            "months": ["-7", "-8", "99", "old"],
            "zip": ["02139", "2139", "x", "2139"],
            "ill": [1, 0, None, 7],
        }
    )
    found = check_table(table, schema)
    assert str(found).splitlines()[0].startswith("NOT PRIVATE")
    assert found.sentences[0].startswith("a fit would refuse: column")
    assert found.sentences[1:] == (
        "1 of 4 rows have no label, and teach nothing: row 2",
        "ill: '7' is not declared, row 3",
        "sex: 'male' is not declared (did you mean 'Male'?), row 1",
        "smoker: '2' is not declared, row 1",
        "months: no number on row 3",
        "months: -8 is outside the declared range from 0 to 83, row 1",
        "months: 99 is outside the declared range from 0 to 83, row 2",
        "months: 'old' is not declared, row 3",
        "zip: '2139' is not declared (did you mean '02139'?), rows 1, 3",
    )


@pytest.mark.parametrize("make", FRAMES)
def test_every_frame_is_checked(make):
    table = make(labelled("sex", "Male", "male"))
    found = check_table(table, schema_of({**SEX, "categories": ["Male"]}))
    shown = ", ".join(map(str, range(1, 40, 2)))
    assert found.sentences == (
        f"sex: 'male' is not declared (did you mean 'Male'?), rows {shown} and 10 more",
    )


def test_private_thresholds_are_checked_before_they_are_found():
    schema = schema_of({"column": "m", "thresholds": {"quantiles": 2, "range": [0, 83]}})
    table = pd.DataFrame({"m": [-9.0, 12.0, 100.0, None], "ill": [0, 1, 0, 1]})
    assert check_table(table, schema).sentences == (
        "m: -9 is outside the declared range from 0 to 83, row 0",
        "m: 100 is outside the declared range from 0 to 83, row 2",
    )


def test_a_table_that_fits_or_cannot_be_checked():
    schema = schema_of(SEX)
    table = pd.DataFrame({"sex": [1, 1], "ill": [0, 1]})
    assert check_table(table, schema).sentences == ("every cell of a declared column is declared",)
    assert opdisc.check_table is check_table
    with pytest.raises(TableError, match="'ill' is missing"):
        check_table(table[["sex"]], schema)
    with pytest.raises(SchemaError):
        check_table(table, {"name": "t"})
    with pytest.raises(TableError, match="must be a pandas DataFrame"):
        check_table([[1, 2]], schema)
