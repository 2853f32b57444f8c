"""A card as an Excel file: an evaluator that we did not write gives its totals and answers."""

import io
import random

import numpy as np
import pandas as pd
import pytest
from helpers.opdisc.cards import any_cards, released
from helpers.opdisc.exported import held_row, read_columns, shown_model, told
from helpers.opdisc.sheets import Sheet

from opdisc import PrivateScorecardClassifier
from opdisc.errors import ModelFileError
from opdisc.models import card_workbook

pytestmark = pytest.mark.extras("openpyxl")

TARGET = {"column": "ill", "positive": "yes", "negative": "no"}


def a_card(*features, points, **target):
    return released({"name": "w", "target": TARGET | target, "feature": [*features]}, points)


def cells(content):
    import openpyxl

    sheet = openpyxl.load_workbook(io.BytesIO(content)).active
    return [cell for line in sheet.iter_rows() for cell in line if cell.value is not None]


@pytest.mark.long
@pytest.mark.extras("formulas")
@pytest.mark.parametrize("seed", range(10))
def test_the_sheet_scores_as_the_model_does(seed, tmp_path):
    rng = random.Random(seed)
    for _ in range(5):
        model = shown_model(rng, digits=15)
        sheet, read = Sheet(card_workbook(model), tmp_path), read_columns(model)
        for _ in range(20):
            row = held_row(rng, model.schema)
            row = {name: cell if name in read else None for name, cell in row.items()}
            total, answer = sheet(row)
            found = None if total == "cannot be read" else (total, answer)
            assert found == told(model, row)


@pytest.mark.slow
@pytest.mark.extras("formulas")
def test_a_logistic_card_gives_its_chances(tmp_path):
    schema = {
        "name": "ward",
        "target": TARGET,
        "feature": [{"column": "age", "thresholds": [40, 65], "range": [0, 120]}],
    }
    rows = pd.DataFrame({"age": [30, 50, 70, 90] * 50})
    ill = np.where(rows["age"] > 60, "yes", "no")
    for scale in (None, {"points0": 600, "odds0": 50, "pdo": 20, "high": "no"}):
        fitted = PrivateScorecardClassifier(
            epsilon=5, schema=schema, mechanism="logistic", odds_scale=scale
        ).fit(rows, ill)
        model = fitted.to_model()
        sheet = Sheet(card_workbook(model), tmp_path)
        towards = list(model.schema.classes).index(model.scorecard.classes[1])
        for at, chances in enumerate(model.predict_proba(rows)[:4]):
            _, answer, chance = sheet({"age": float(rows["age"][at])})
            assert answer == model.predict(rows)[at]
            assert chance == pytest.approx(chances[towards], abs=1e-12)


@pytest.mark.slow
@pytest.mark.extras("formulas")
def test_a_broken_sheet_would_be_noticed(tmp_path, monkeypatch):
    model = a_card({"column": "x", "thresholds": [3, 5]}, points=[1, 2])

    def totals():
        sheet = Sheet(card_workbook(model), tmp_path)
        return [sheet({"x": x})[0] for x in (None, 2.0, 3.0, 5.0)]

    assert totals() == [0, 0, 1, 3]
    monkeypatch.setattr("opdisc.models.exports.workbook._number", lambda number: f"{number + 1}")
    assert totals() != [0, 0, 1, 3]


def test_what_begins_as_a_formula_stays_a_text():
    values = ["=1+1", '=HYPERLINK("http://a.b")', "+1", "@SUM(1)"]
    feature = {"column": "=2+2", "categories": values}
    model = a_card(feature, points=[1, 2, 3, 4], positive="=3+3", negative='" & 1')
    formulas = [cell.value for cell in cells(card_workbook(model)) if cell.data_type == "f"]
    assert formulas and all(f.startswith(("=C", "=IF(", "=OR(", "=AND(")) for f in formulas)
    texts = [cell for cell in cells(card_workbook(model)) if str(cell.value).startswith("=2+2")]
    assert texts and all(cell.data_type == "s" and cell.quotePrefix for cell in texts)
    assert any('"=3+3",""" & 1"' in formula for formula in formulas)


def test_equal_cards_are_equal_files_and_only_cells_to_fill_in_are_open():
    model = a_card(
        {"column": "x", "thresholds": [3, 5]},
        {"column": "ward", "categories": ["1-2", "b"]},
        points=[1, 2, 3, 4],
    )
    assert card_workbook(model) == card_workbook(model)
    import openpyxl

    sheet = openpyxl.load_workbook(io.BytesIO(card_workbook(model)))["Card"]
    assert sheet.protection.sheet
    opened = [c for line in sheet.iter_rows() for c in line if not c.protection.locked]
    names = [(sheet[f"A{cell.row}"].value, cell.number_format) for cell in opened]
    assert names == [("x", "General"), ("ward", "@")]


@pytest.mark.parametrize(
    ("feature", "points", "why"),
    [
        ({"column": "x", "thresholds": [0.30000000000000004]}, [1], "numbers of 15 digits"),
        ({"column": "x", "categories": ["a" * 300]}, [1], "texts of 255"),
        ({"column": "x", "categories": ["_x0041_"]}, [1], "without such as _x0041_"),
        ({"column": "x", "binary": True}, [10**15], r"below 10\^15"),
    ],
)
def test_what_a_sheet_cannot_say_is_refused(feature, points, why):
    with pytest.raises(ModelFileError, match=why):
        card_workbook(a_card(feature, points=points))


def test_a_long_list_and_several_cards_are_refused():
    many = {"name": "many", "values": [f"{k:0200}" for k in range(60)]}
    with pytest.raises(ModelFileError, match="8000 characters"):
        card_workbook(a_card({"column": "x", "categories": [many, "b"]}, points=[1, 0]))
    with pytest.raises(ModelFileError, match="holds one scorecard"):
        card_workbook(any_cards(random.Random(1), "tree"))
    both = [{"column": "x", "thresholds": [3]}, {"column": "x", "categories": ["never"]}]
    with pytest.raises(ModelFileError, match="a value that is no number"):
        card_workbook(a_card(*both, points=[1, 2]))
