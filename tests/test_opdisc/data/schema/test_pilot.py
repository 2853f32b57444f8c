"""Schemas from public rows: each kind of column, and that every pilot's schema reads the pilot."""

import tomllib

import pandas as pd
import pytest
from hypothesis import example, given, settings, strategies as st

from opdisc.data.encoding import encode_features
from opdisc.data.label_encoding import encode_classes, encode_labels
from opdisc.data.schema import Schema, draft_schema, pilot_draft
from opdisc.data.schema.pilot import MOST_CATEGORIES, draft_column
from opdisc.data.schema.round_cuts import round_cuts, round_range
from opdisc.errors import is_plain

CELLS = st.one_of(
    st.sampled_from(["", "NA", "nan", "?", "none", "-", "unknown", "yes", "No", "no", "1", "0"]),
    st.sampled_from(
        ["2", "1.0", "true", "False", "05", "5", "1e3", "1e400", "inf", "*", "2024-01-05"]
    ),
    st.sampled_from(["<fill in>", "a\x1bb", "\u202e", "é", 'a "b" \\', "x" * 600, "9" * 20]),
    st.integers(-20, 99).map(str),
    st.floats(-1e6, 1e6).map(str),
)


def drafted(columns, label="y"):
    """Return the schema that public rows make, read back from its file."""
    draft = pilot_draft(columns, label)
    text = draft_schema(
        tuple(columns),
        data="t.csv",
        name="t",
        target={"column": label, **draft.target},
        features=draft.features,
        missing=draft.missing,
        pilot="p.csv",
        notes=draft.notes,
    )
    assert all(is_plain(line) for line in text.split("\n"))
    return text, Schema.from_dict(tomllib.loads(text))


@st.composite
def pilots(draw):
    rows = draw(st.integers(4, 30))
    kinds = st.one_of(CELLS, st.sampled_from(draw(st.lists(CELLS, min_size=1, max_size=4))))
    column = st.lists(kinds, min_size=rows, max_size=rows)
    alike = st.lists(CELLS, min_size=2, max_size=3).flatmap(
        lambda few: st.lists(st.sampled_from(few), min_size=rows, max_size=rows)
    )
    names = ["age", "b", "c id"]
    pilot = {name: draw(st.one_of(column, alike)) for name in names}
    labels = st.sampled_from(
        draw(st.sampled_from([["x", "z", "", "NA"], ["0", "1"], list("rst")]))
    )
    pilot["y"] = ["x", "z"] + draw(st.lists(labels, min_size=rows - 2, max_size=rows - 2))
    return pilot | {"always": ["1", "0"] * (rows // 2) + ["1"] * (rows % 2)}


@settings(max_examples=150, deadline=None)
@given(pilots())
@example(
    {"age": ["1", "NA", "nan", "-"], "y": ["x", "z", "z", "?"], "always": ["1", "0", "1", ""]}
)
def test_every_pilot_makes_a_schema_that_reads_all_its_rows(pilot):
    _, schema = drafted(pilot)
    table = pd.DataFrame(pilot, dtype="str")
    encode_features(table, schema)
    if schema.is_multiclass:
        encode_classes(table["y"], schema.target.labels, "y", schema.missing_values)
    else:
        assert set(encode_labels(table, schema)) >= {-1, 1}


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=60))
@example([1e308, -1e308])
@example([0.0, 5e-324])
@example([0.0] * 50 + [1.0])
def test_round_cuts_lie_inside_the_numbers_and_cut_them_in_about_fifths(numbers):
    if len(set(numbers)) < 2:
        return
    cuts, bounds = round_cuts(numbers), round_range(numbers)
    assert 1 <= len(cuts) <= 4
    assert all(a < b for a, b in zip(cuts, cuts[1:], strict=False))
    assert min(numbers) < cuts[0] and cuts[-1] <= max(numbers)
    below = [sum(number < cut for number in numbers) for cut in cuts]
    ordered = sorted(numbers)
    fifths = [sum(n < ordered[k * len(ordered) // 5] for n in numbers) for k in (1, 2, 3, 4)]
    if min(ordered[k * len(ordered) // 5] for k in (1, 2, 3, 4)) > ordered[0]:
        for count in below:
            assert min(abs(count - fifth) for fifth in fifths) <= 0.1 * len(numbers)
    if bounds is not None:
        assert bounds[0] <= min(numbers) and max(numbers) <= bounds[1]


@pytest.mark.parametrize(
    ("numbers", "cuts", "bounds"),
    [
        (range(18, 91), (30, 50, 60, 80), (10, 90)),
        (range(1998, 2008), (2000, 2002, 2004, 2006), (1998, 2007)),
        ([0] * 90 + [3] * 10, (3,), (0, 3)),
        ([0.1, 1, 10, 100, 1000, 10_000], (1, 10, 100, 1000), (0, 10_000)),
    ],
)
def test_cuts_are_round(numbers, cuts, bounds):
    assert round_cuts([float(number) for number in numbers]) == cuts
    assert round_range([float(number) for number in numbers]) == bounds


@pytest.mark.parametrize(
    ("cells", "facts"),
    [
        (["1", "0", "1.0"], {"binary": True}),
        (["true", "False", "TRUE"], {"binary": True}),
        (["yes", "no", "no"], {"binary": {"one": "yes", "zero": "no"}}),
        (["Yes", "no", "yes"], {"binary": {"one": ["Yes", "yes"], "zero": "no"}}),
        (["1", "2", "2"], {"binary": {"one": "2", "zero": "1"}}),
        (["own", "rent", "own", "rent", "rent"], {"categories": ["rent", "own"]}),
        (["none", "one", "none", "one", "none"], {"categories": ["none", "one"]}),
        (["a", "a", "b", "b", "b", "once"], {"categories": ["b", "a"]}),
        (["05", "05", "07", "07"], {"categories": ["05", "07"]}),
        (["1", "2", "3", "none"], {"thresholds": [2, 3], "range": [1, 3], "missing": ["none"]}),
    ],
)
def test_each_kind_of_column(cells, facts):
    assert draft_column("c", cells).facts == facts


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("patient", [f"p{i}" for i in range(30)]),
        ("row", [str(i) for i in range(30)]),
        ("phone", [str(600_000 + 7_919 * i % 99_991) for i in range(30)]),
        ("Customer ID", ["4", "4", "5", "6"]),
        ("pair_id", ["a", "a", "b", "b"]),
        ("born", [f"19{i}-01-0{i % 9 + 1}" for i in range(40, 70)]),
        ("seen", [f"{i}.12.2020" for i in range(10, 30)]),
        ("always", ["x"] * 9),
        ("empty", []),
    ],
)
def test_identifiers_dates_and_constants_are_left_out(name, cells):
    assert draft_column(name, cells).facts is None


def test_the_most_frequent_categories_stay():
    cells = [f"t{i:02}" for i in range(20) for _ in range(2 + i)]
    kept = draft_column("c", cells).facts["categories"]
    assert kept == [f"t{i:02}" for i in range(19, 19 - MOST_CATEGORIES, -1)]


def test_codes_are_named_in_a_comment_and_not_guessed():
    draft = draft_column("months", ["5", "8", "12", "20", "99", "99", "-9", "-9"])
    assert "missing" not in draft.facts and "missing = [-9, 99]" in draft.note
    assert "missing" not in draft_column("t", ["5", "8", "12", "20", "98", "98"]).note


def test_marks_of_missing_values_are_declared_for_every_column():
    text, schema = drafted({"age": ["30", "40", "NA", "?"], "y": ["no", "yes", "Unknown", "no"]})
    assert schema.missing_values == ("", "?", "NA", "Unknown")
    assert text.count("From the pilot") == 3


@pytest.mark.parametrize(
    ("labels", "target"),
    [
        (["no", "yes"], {"positive": "yes", "negative": "no"}),
        (["1", "0", "1"], {"positive": 1, "negative": 0}),
        (["good", "good", "bad"], {"positive": "bad", "negative": "good"}),
        (["2", "10", "1", "1"], {"classes": [1, 2, 10]}),
        (["ok", "ok", "NA", ""], {}),
        (["*", "x"], {}),
        ([str(i) for i in range(50)], {}),
    ],
)
def test_labels(labels, target):
    draft = pilot_draft({"y": labels}, "y")
    assert draft.target == target
    assert draft.features == {} and ("left blank" in draft.notes["y"]) == (not target)
