"""``opdisc predict``: columns of its own, two kinds of file, batches without rows, ``-``."""

import csv
import json
import os
import sys
from pathlib import Path

import pytest
from helpers.opdisc.cards import released, released_cards
from helpers.opdisc.command_lines import told

from opdisc.models import save_model

STORED = Path(__file__).parents[3] / "data" / "version_0_1_dev"

pytestmark = pytest.mark.usefixtures("folder")

SCHEMA = {
    "name": "w",
    "target": {"column": "ill", "positive": "yes", "negative": "no"},
    "feature": [
        {"column": "month", "thresholds": [10, 20]},
        {"column": "ward", "categories": ["a", "b"]},
    ],
}
MODEL = released(SCHEMA, (-1, 3, 2, 0))
ROWS = [["5", "a", "x"], ["15", "b", "y"], ["", "never", '=1,"'], ["20", "", ""]]
TEXT = 'month,ward,note\n5,a,x\n15,b,y\n,never,"=1,"""\n20,,\n'
WRITTEN = {
    "prediction": ["yes", "no", "no", "yes"],
    "total": ["2", "-1", "0", "2"],
    "reason_1": ["ward = a", "not: month >= 20", "not: month >= 20", "month >= 20"],
    "reason_2": ["not: month >= 10", "not: ward = a", "not: ward = a", ""],
    "points: month >= 10": ["0", "-1", "0", "-1"],
    "points: month >= 20": ["0", "0", "0", "3"],
    "points: ward = a": ["2", "0", "0", "0"],
}
ALL = ("--reasons", "2", "--points")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_model(MODEL, "card.json")
    Path("table.csv").write_text(TEXT)


def read(text):
    header, *lines = csv.reader(text.splitlines())
    return dict(zip(header, map(list, zip(*lines, strict=True)), strict=True))


def test_every_column_is_written():
    status, out, err = told("predict", "card.json", "table.csv", *ALL)
    assert (status, err) == (0, "")
    found = read(out)
    assert [[*cells] for cells in zip(*list(found.values())[:3], strict=True)] == ROWS
    assert dict(list(found.items())[3:]) == WRITTEN


def test_reasons_and_points_are_on_request():
    assert told("predict", "card.json", "table.csv")[1].splitlines()[1] == "5,a,x,yes,2"


@pytest.mark.extras("pyarrow")
def test_parquet_has_the_same_columns():
    import pyarrow.parquet as parquet

    assert told("predict", "card.json", "table.csv", *ALL, "--out", "s.csv")[0] == 0
    assert told("predict", "card.json", "table.csv", *ALL, "--out", "s.parquet")[0] == 0
    table = parquet.read_table("s.parquet")
    found = {name: table[name].to_pylist() for name in table.column_names}
    texts = {
        name: ["" if cell is None else str(cell) for cell in cells]
        for name, cells in found.items()
    }
    assert texts == read(Path("s.csv").read_text())
    kinds = {field.name: str(field.type) for field in table.schema}
    assert (kinds["total"], kinds["points: ward = a"]) == ("int64", "int64")
    assert {kinds[name] for name in ("month", "prediction", "reason_2")} == {"string"}


@pytest.mark.extras("pyarrow")
def test_parquet_is_read_back_by_the_same_command():
    told("predict", "card.json", "table.csv", "--out", "s.parquet")
    status, _, err = told("predict", "card.json", "s.parquet")
    assert status == 1 and "'prediction', which is written" in err


@pytest.mark.extras("pyarrow")
def test_parquet_of_two_columns_of_one_name_is_refused():
    Path("table.csv").write_text("month,ward,secret,secret\n5,a,1,2\n")
    status, out, err = told("predict", "card.json", "table.csv", "--out", "s.parquet")
    assert (status, out) == (1, "") and "different names" in err and "secret" not in err
    assert not Path("s.parquet").exists()
    assert told("predict", "card.json", "table.csv", "--out", "s.csv")[0] == 0


def test_parquet_without_pyarrow_is_refused_in_a_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    status, out, err = told("predict", "card.json", "table.csv", "--out", "s.parquet")
    assert (status, out) == (1, "") and "install opdisc[tables]" in err
    assert sorted(os.listdir()) == ["card.json", "table.csv"]


PARQUET = pytest.param("s.parquet", marks=pytest.mark.extras("pyarrow"))


@pytest.mark.parametrize("out", ["s.csv", PARQUET])
def test_a_batch_without_rows_is_no_error(out):
    Path("table.csv").write_text(TEXT.splitlines()[0] + "\n")
    status, _, err = told("predict", "card.json", "table.csv", *ALL, "--out", out)
    assert (status, err) == (0, "") and Path(out).exists()
    status, printed, _ = told("predict", "card.json", "table.csv", *ALL)
    assert status == 0 and len(printed.splitlines()) == 1
    status, printed, _ = told("predict", "card.json", "table.csv", "--json")
    assert json.loads(printed)["rows"] == 0 and json.loads(printed)["predictions"] == []


def test_json_has_the_columns_too():
    found = json.loads(told("predict", "card.json", "table.csv", *ALL, "--json")[1])
    assert found["predictions"] == WRITTEN["prediction"]
    assert {k: list(map(str, v)) for k, v in found["columns"].items()} == WRITTEN


@pytest.mark.parametrize("name", ["total", "reason_2", "points: ward = a"])
def test_a_column_of_an_own_name_is_refused(name):
    Path("table.csv").write_text(f"month,ward,{name}\n5,a,hidden\n")
    status, out, err = told("predict", "card.json", "table.csv", *ALL)
    assert (status, out) == (1, "") and f"'{name}', which is written" in err
    assert "hidden" not in err and err.count("\n") == 1


def test_a_column_of_the_schema_keeps_its_name():
    feature = {"column": "Total", "binary": True}
    save_model(released(SCHEMA | {"feature": [feature]}, (1,)), "card.json")
    Path("table.csv").write_text("Total\n1\n")
    assert told("predict", "card.json", "table.csv")[1] == "Total,prediction,total_\n1,yes,1\n"


def test_several_cards():
    record = SCHEMA | {"target": {"column": "ill", "classes": ["no", "little", "very"]}}
    save_model(released_cards(record, [(0, 1, 0, 0, 1), (0, 0, -1, 1, 0)]), "cards.json")
    found = read(told("predict", "cards.json", "table.csv", "--points")[1])
    assert found["total_1"] == ["0", "2", "0", "1"] and found["total_2"] == ["1", "0", "0", "-1"]
    assert found["points 1: month >= 10"] == ["0", "1", "0", "1"]
    status, out, err = told("predict", "cards.json", "table.csv", "--reasons", "1")
    assert (status, out) == (2, "") and "reasons need one scorecard" in err


@pytest.mark.parametrize("given", ["-1", "101", "x"])
def test_reasons_that_are_no_number_are_refused(given):
    assert told("predict", "card.json", "table.csv", "--reasons", given)[0] == 2


def test_standard_input_is_one_file():
    status, out, err = told("predict", "-", "-")
    assert (status, out) == (2, "") and "standard input is one file" in err


@pytest.mark.extras("pyarrow")
def test_a_linear_model_writes_its_prediction_only():
    import pyarrow.parquet as parquet

    given = ("predict", str(STORED / "linear_opsamp_regressor.json"), str(STORED / "table.csv"))
    assert told(*given, "--out", "s.parquet")[0] == 0
    assert told(*given, "--out", "s.csv")[0] == 0
    table = parquet.read_table("s.parquet")
    assert str(table.schema.field("prediction").type) == "double"
    numbers = read(Path("s.csv").read_text())["prediction"]
    assert table["prediction"].to_pylist() == list(map(float, numbers))
    status, out, err = told(*given, "--reasons", "1")
    assert (status, out) == (2, "") and "need a scorecard" in err


def test_standard_output_takes_one_form():
    status, out, err = told("predict", "card.json", "table.csv", "--out", "-", "--json")
    assert (status, out) == (2, "") and "takes one form" in err
