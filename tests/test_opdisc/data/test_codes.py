"""Codes that look like numbers: a category is a number only where it is plainly written as one."""

import numpy as np
import pandas as pd
import pytest
from helpers.opdisc.entrances import REFUSED, agreed, answers
from hypothesis import HealthCheck, given, settings, strategies as st

from opdisc import Schema, count_rows, read_table
from opdisc.data import canonical_text, encode_features
from opdisc.errors import SchemaError, TableError

PLAIN = {
    "50": ["50", "50.0", "+50", " 50 ", "50.00"],
    "5": ["5", "5.0", "+5"],
    "2.5": ["2.5", "2.50", "+2.5"],
    "0": ["0", "-0", "0.0", "false", "False"],
    "1": ["1", "1.0", "true", "TRUE"],
}
"""Texts that are one number, by its text."""

CODES = (
    *("5E1", "5e1", "5e+1", "1e3", "1E400", "5E01", "50E0", "1d3", "05", "007", "+05", "00"),
    *("0x10", "1_000", "1,000", "1/2", "5 0", "5.", ".5", "--5", "5-", "٥", "inf", "nan"),
)
"""Texts that are no number, each itself only."""


def one_column(*categories, **more):
    feature = {"column": "unit", "categories": list(categories), **more}
    target = {"column": "ill", "positive": "yes", "negative": "no"}
    return {"name": "units", "target": target, "feature": [feature]}


def unit(*cells):
    return [{"unit": cell} for cell in cells]


@pytest.mark.parametrize(("text", "spelled"), PLAIN.items())
def test_a_plainly_written_number_is_one_however_it_is_spelled(text, spelled, tmp_path):
    said = [(0,)] * len(spelled) + [()]
    for declared in spelled:
        assert agreed(one_column(declared), unit(*spelled, "5E1"), tmp_path) == said


def test_a_code_is_true_of_itself_only_at_every_entrance(tmp_path):
    numbers = sum(PLAIN.values(), [])
    rows = unit(*(f" {code} " for code in CODES), *numbers)
    said = [(i,) for i in range(len(CODES))] + [()] * len(numbers)
    assert agreed(one_column(*CODES), rows, tmp_path) == said


def test_a_code_and_the_number_that_it_would_be_are_two_categories(tmp_path):
    codes = ["5E1", "50", "1e3", "1000", "05", "5"]
    assert agreed(one_column(*codes), unit(*codes), tmp_path) == [(i,) for i in range(6)]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1e-05, "0.00001"),
        (np.float64(1e15), "1000000000000000"),
        (np.float32(1e-5), "0.00001"),
        (5e1, "50"),
        (1e-300, "1e-300"),
    ],
)
def test_a_number_is_no_code_because_it_is_printed_with_an_exponent(number, text):
    assert canonical_text(number) == text == canonical_text(text)
    schema = Schema.from_dict(one_column(float(str(number))))
    for others in ([], [3.0], ["x"]):
        table = pd.DataFrame({"unit": [number, *others]}, dtype=object if others else None)
        assert encode_features(table, schema)[:, 1].tolist() == [1, 0][: len(table)]


@pytest.mark.parametrize("code", ["5E1", "05", "1e3", "007"])
@pytest.mark.parametrize("cells", [[50.0, 3.0], [50, 3], ["5E1", 50], [np.nan, 3.0]])
def test_codes_are_refused_in_a_column_of_numbers(code, cells):
    schema = Schema.from_dict(one_column(code, "4W2"))
    with pytest.raises(TableError, match=f"declared value '{code}'"):
        encode_features(pd.DataFrame({"unit": cells}), schema)


ZEROS = ["5", "05", "5.0", "5.00", "005", "+5", "5E0", "true", "1", "-0", "0", "1.0"]
"""Codes with zeros at either end, and others that would be one number."""


@pytest.mark.parametrize("around", ["{}", " {}\t"])
def test_a_column_declared_text_keeps_every_code_apart(around, tmp_path):
    cells = [*ZEROS, "50", "", "True", "00"]
    said = [(i,) for i in range(len(ZEROS))] + [()] * 4
    rows = unit(*map(around.format, cells))
    assert agreed(one_column(*ZEROS, text=True), rows, tmp_path) == said


CODE = st.text("05.E+-1t", min_size=1, max_size=6)


@given(st.lists(CODE, unique=True, min_size=1), st.lists(CODE))
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_texts_stay_apart_in_a_column_declared_text(tmp_path, categories, others):
    cells = [*categories, *others]
    said = [(categories.index(c),) if c in categories else () for c in cells]
    assert agreed(one_column(*categories, text=True), unit(*cells), tmp_path) == said


def test_missing_cells_and_groups_of_a_column_declared_text(tmp_path):
    group = {"name": "fives", "values": ["5", "5.0"]}
    schema = one_column(group, "05", text=True, missing="05") | {"missing_values": ["?", "-9"]}
    said = {"": (1,), "?": (1,), "-9": (1,), "-9.0": (), "5.0": (0,), "5.00": (), "05": (1,)}
    assert agreed(schema, unit(*said), tmp_path) == list(said.values())


@pytest.mark.parametrize("cells", [[5, 6], [5.0, None], [True, False], ["5", 6]])
def test_a_column_declared_text_must_hold_text(cells):
    schema = Schema.from_dict(one_column("A", "B", text=True))
    with pytest.raises(TableError, match="'unit' must hold text.*but it holds numbers"):
        encode_features(pd.DataFrame({"unit": cells}), schema)
    with pytest.raises(TableError, match="must hold text"):
        count_rows(pd.DataFrame({"unit": cells, "ill": ["yes", "no"]}), schema)


def test_a_number_in_a_python_row_is_refused_where_text_is_declared(tmp_path):
    found = answers(one_column("5", "A", text=True), unit(5), tmp_path)
    assert found.pop("sql") == ((0,),)  # the table's column is text there
    assert set(found.values()) == {(REFUSED,)}


def test_a_column_declared_text_is_written_and_read_back():
    schema = Schema.from_dict(one_column(*ZEROS, text=True))
    assert Schema.from_dict(schema.to_dict()) == schema
    assert schema.to_dict()["feature"][0]["text"] is True
    assert [category.values for category in schema.features[0].categories] == [(z,) for z in ZEROS]
    assert "text" not in Schema.from_dict(one_column("5")).to_dict()["feature"][0]


@pytest.mark.parametrize(
    ("categories", "text", "said"),
    [
        ([5, "A"], True, "must be text in quotes, got 5"),
        ([{"name": "a", "values": [5.0]}], True, "must be text in quotes, got 5.0"),
        ([True], True, "must be text in quotes, got True"),
        (["A", " A"], True, "'A' occurs twice"),
        (["A"], "yes", "text of 'unit' must be true or false, got 'yes'"),
        (["A"], 1, "text of 'unit' must be true or false, got 1"),
        (["5", "5.0"], False, "'5' occurs twice"),
    ],
)
def test_a_wrong_declaration_of_text_is_refused(categories, text, said):
    with pytest.raises(SchemaError, match=said):
        Schema.from_dict(one_column(*categories, text=text))


@pytest.mark.extras("openpyxl", "pyarrow", "polars")
@pytest.mark.parametrize("text", [False, True])
def test_typed_containers_refuse_numbers_where_codes_are_declared(text, tmp_path):
    import polars
    import pyarrow

    schema = Schema.from_dict(one_column("5E1", "4W2", text=text))
    numbers = pd.DataFrame({"unit": [50.0, 3.0], "ill": ["yes", "no"]})
    codes = pd.DataFrame({"unit": ["5E1", "3E0"], "ill": ["yes", "no"]})
    for table in (numbers, codes):
        table.to_excel(tmp_path / "t.xlsx", index=False)
        table.to_parquet(tmp_path / "t.parquet", index=False)
        sources = [tmp_path / "t.xlsx", tmp_path / "t.parquet"]
        read = [*sources, pyarrow.Table.from_pandas(table), polars.from_pandas(table), table]
        encoded = [lambda path=path: encode_features(read_table(path), schema) for path in sources]
        counted = [lambda source=source: count_rows(source, schema).points for source in read]
        for call in (*encoded, *counted):
            if table is numbers:
                with pytest.raises(TableError, match="must hold text"):
                    call()
            else:
                assert sorted(call()[:, 1].tolist()) == [0, 1]
