"""One text of a cell at every entrance (docs/cells.md), and what no entrance takes."""

import datetime
import re
import unicodedata
from pathlib import Path

import faults_entrances
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from opdisc import PrivateScorecardClassifier, Schema, count_rows, read_table
from opdisc.data import canonical_text, plain_text, spellings
from opdisc.data.reading.cell_texts import cell_texts
from opdisc.errors import TableError

CANARY = "Canary-Smith"
ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.extras(*faults_entrances.NEEDS[name])])
        if name in faults_entrances.NEEDS
        else name
        for name in faults_entrances.NAMES
    ],
)
def test_every_entrance_makes_the_same_of_a_cell(name):
    tried, lost = faults_entrances.disagreements(f"{name}:")
    assert lost == [] and tried >= 25


def test_the_page_has_the_same_table():
    page = (ROOT / "docs" / "cells.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| ([^|]+?) \| [^|]+ \| (\w+) \|$", page, re.MULTILINE))
    assert rows == {cell.name: cell.verdict for cell in faults_entrances.CELLS}


TEXTS = st.text(st.sampled_from("aeo\u0301\u0308\u00e9 \t\n\u00a0\u202f\u3000-:.T+0123456789"))


@given(TEXTS)
def test_the_plain_text_is_its_own_and_looks_alike(text):
    plain = plain_text(text)
    assert plain_text(plain) == plain == " ".join(plain.split())
    assert canonical_text(plain) == canonical_text(text) == canonical_text(canonical_text(text))
    for form in ("NFC", "NFD"):
        assert plain_text(unicodedata.normalize(form, text)) == plain
    assert plain_text(f"\u00a0{text} ") == plain
    assert {plain_text(each) for each in spellings(plain)} == {plain}


@given(
    st.datetimes(min_value=datetime.datetime(1678, 1, 1), max_value=datetime.datetime(2261, 1, 1))
)
def test_a_moment_has_one_text_whatever_held_it(moment):
    held = (moment, pd.Timestamp(moment), np.datetime64(moment, "us"), moment.isoformat())
    assert len({plain_text(each) for each in (*held, str(moment))}) == 1
    midnight = datetime.datetime.combine(moment.date(), datetime.time())
    assert plain_text(midnight) == plain_text(moment.date()) == str(moment.date())


class Other:
    """A value of a type that nobody knows."""

    def __str__(self):
        return CANARY


@pytest.mark.parametrize(
    "value",
    [CANARY.encode(), bytearray(b"now"), [CANARY], (CANARY,), {CANARY}, {"a": CANARY}, 1j, Other()]
    + [datetime.timedelta(1), np.timedelta64(1, "D"), np.array([1, 2]), np.bytes_(b"now")],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("column", ["x", "ill"])
def test_what_has_no_text_is_refused_before_anything_is_spent(value, column):
    schema = {
        "name": "clinic",
        "target": {"column": "ill", "positive": "now", "negative": "b"},
        "feature": [{"column": "x", "categories": ["now", "former"]}],
    }
    rows = {"x": ["now", "b"] * 4, "ill": ["now", "b"] * 4}
    cells = pd.Series(rows[column], dtype=object)
    cells[3] = value
    frame = pd.DataFrame(rows | {column: cells})
    for use in (
        lambda: PrivateScorecardClassifier(schema=schema).fit(frame, frame["ill"]),
        lambda: count_rows(frame, schema),
    ):
        with pytest.raises(TableError, match="another type") as caught:
            use()
        assert CANARY not in str(caught.value)


def test_the_zero_of_read_sas_is_a_zero_in_every_kind_of_column():
    zero = 2.0**-260
    frame = pd.DataFrame({"quit": [zero, 1.0, zero, 2.0], "ill": [zero, 1.0, 1.0, zero]})
    schema = {
        "name": "sas",
        "target": {"column": "ill", "positive": 1, "negative": 0},
        "missing_values": ["2"],
        "feature": [{"column": "quit", "categories": [0]}],
    }
    numbers = schema | {
        "missing_values": ["0"],
        "target": {"column": "ill", "positive": 1, "negative": "no"},
        "feature": [{"column": "quit", "thresholds": [-1]}],
    }
    for declared in (schema, numbers):
        rounded = count_rows(frame.round(), Schema.from_dict(declared))
        for rows in (frame, frame.astype(str), frame.astype(object)):
            found = count_rows(rows, Schema.from_dict(declared))
            assert np.array_equal(found.points, rounded.points)
            assert np.array_equal(found.positives, rounded.positives)


# --- quotation marks after a space ---------------------------------------------------------------


@pytest.mark.parametrize("between", [", ", ",  ", "; ", "| "])
@pytest.mark.parametrize("header", ["age{0}\"ward, or 'x'; |\"{0}ill", "age{0}ward{0}ill"])
def test_a_quotation_mark_after_spaces_opens_a_cell(tmp_path, between, header):
    names = header.format(between)
    path = tmp_path / "t.csv"
    path.write_text(f'{names}\n1{between}"a, ""b""; |"{between}yes\n2{between} "c"{between}no\n')
    read = read_table(path)
    assert read.columns[1] in ("ward", "ward, or 'x'; |")
    assert read.iloc[:, 1].tolist() == ['a, "b"; |', "c"]


@pytest.mark.parametrize("blank", ["\t", "\u00a0", " \u3000"])
@pytest.mark.parametrize("line", ['age,{}"ward",ill\n1,a,yes\n', 'age,ward,ill\n1,{}"a",yes\n'])
def test_a_quotation_mark_after_other_white_space_is_refused(tmp_path, blank, line):
    path = tmp_path / "t.csv"
    path.write_text(line.format(blank), encoding="utf-8")
    with pytest.raises(TableError, match="quotation marks"):
        read_table(path)


def test_other_spaces_of_a_line_with_quotation_marks_stay(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,b,c\n "x, ""y""\n z, "" w", b,"c"\n5", 6", d\n')
    assert read_table(path).to_numpy().tolist() == [
        ['x, "y"\n z, " w', " b", "c"],
        ['5"', ' 6"', " d"],
    ]


def test_spaces_may_be_the_delimiter(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a b c\n1  "x y"\n')
    assert read_table(path, delimiter=" ").iloc[0].tolist() == ["1", "", "x y"]


@given(st.one_of(st.floats(allow_nan=False), st.integers(), st.integers(-(10**18), 10**18)))
def test_a_number_in_a_typed_column_has_its_plain_text(number):
    assert cell_texts([number]) == ([plain_text(number)], True)
