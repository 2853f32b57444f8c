"""SQL a person can read: on each engine a table of typed columns has the card's answers."""

import random

import numpy as np
import pandas as pd
import pytest
from helpers.opdisc.cards import any_cards, any_model, any_row, released, released_cards
from helpers.opdisc.exported import near, read_columns, shown_model, told
from helpers.opdisc.sql_engines import (
    DOUBLE,
    on_duckdb,
    on_postgresql,
    on_sqlite,
    quoted,
    scored,
    typed,
)
from hypothesis import given, settings, strategies as st

from opdisc import PrivateScorecardClassifier
from opdisc.data.encoding import encode_features
from opdisc.errors import ModelFileError, TableError
from opdisc.models import card_python, card_sql, card_sql_text

TARGET = {"column": "ill", "positive": "yes", "negative": "no"}
ENGINES = [
    pytest.param(on_sqlite, id="sqlite"),
    pytest.param(on_duckdb, id="duckdb", marks=pytest.mark.extras("duckdb")),
    pytest.param(on_postgresql, id="postgresql", marks=pytest.mark.extras("psycopg")),
]
on_each = pytest.mark.parametrize("engine", ENGINES)


def answers(engine, model, kinds, rows):
    """Return total and answer of each row, None where there is no total."""
    found = scored(engine, card_sql(model), kinds, rows)
    return [
        None if line["total"] is None else (line["total"], line["prediction"]) for line in found
    ]


@on_each
@given(st.integers(0, 2**32))
@settings(max_examples=6, deadline=None)
def test_the_answers_are_the_cards(engine, seed):
    rng = random.Random(seed)
    model = shown_model(rng)
    kinds, rows = typed(rng, model)
    assert {name for name in kinds if f"--   {quoted(name)}: " in card_sql(model)} == read_columns(
        model
    )
    assert answers(engine, model, kinds, rows) == [told(model, row) for row in rows]


WARD = released(
    {
        "name": "ward",
        "target": TARGET,
        "missing_values": ["-3000", "?"],
        "exclusive": [["first", "second"]],
        "feature": [
            {
                "column": "age",
                "thresholds": [-2000, 0.1, 0.30000000000000004, 40],
                "missing": [-5],
            },
            {"column": "code", "categories": [1, 2.5, {"name": "o", "values": [-3, 0]}]},
            {"column": "count", "categories": [7, 8], "missing": "8"},
            {"column": "ward", "categories": ["a", "it's"], "missing": "a"},
            {"column": "day", "categories": ["2020-01-02", "007"]},
            {"column": "flag", "binary": True},
            {"column": "side", "binary": {"one": [1], "zero": [2]}},
            {"column": "first", "binary": True},
            {"column": "second", "binary": {"one": ["y"], "zero": ["n"]}},
        ],
    },
    (1, -2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536),
    start=-7,
)
NAN = float("nan")
CELLS = {
    "age": [
        None,
        -5.0,
        NAN,
        -3000.0,
        *(n for cut in (-2000, 0.1, 0.30000000000000004) for n in near(cut)),
    ],
    "code": [None, NAN, 1.0, 2.5, -3.0, 0.0, -0.0, 4.0, -3000.0],
    "count": [None, 7, 8, 9, -3000],
    "ward": [None, "", "a", "it's", "?", "else", "A"],
    "day": [None, "2020-01-02", "007", "7"],
    "flag": [None, True, False],
    "side": [None, NAN, 1.0, 2.0, *([1.0, 2.0] * 20), 3.0],
    "first": [None, 1, 0, *([1, 0] * 40), 2],
    "second": [None, "y", "n", "?", *(["y", "n"] * 40), "maybe"],
}
KINDS = {
    "age": DOUBLE,
    "code": DOUBLE,
    "count": "BIGINT",
    "ward": "TEXT",
    "day": "TEXT",
    "flag": "BOOLEAN",
    "side": DOUBLE,
    "first": "INTEGER",
    "second": "TEXT",
}


def all_told(rows):
    """Return total and answer of each row by the encoder; None of a row with an unknown side."""
    unknown = {"side": 3.0, "first": 2, "second": "maybe"}
    read = [row for row in rows if not any(row[name] == cell for name, cell in unknown.items())]
    encoded = encode_features(pd.DataFrame(read, dtype=object), WARD.schema)
    totals = (encoded @ np.array(WARD.scorecard.hypothesis)).tolist()
    said = iter([(total, WARD.scorecard.classes[total >= 1]) for total in totals])
    kept = set(map(id, read))
    return [next(said) if id(row) in kept else None for row in rows]


@on_each
def test_a_thousand_rows_with_missing_and_unknown_cells_are_right(engine):
    rng = random.Random(0)
    rows = [{name: rng.choice(pool) for name, pool in CELLS.items()} for _ in range(1000)]
    expected = all_told(rows)
    assert 10 < expected.count(None) < 200 and len(set(expected)) > 300
    assert answers(engine, WARD, KINDS, rows) == expected
    broken = card_sql(WARD).replace("BETWEEN 40 AND 1e308", "BETWEEN 41 AND 1e308")
    broken = broken.replace("t.\"ward\" = 'a' OR ", "")
    found = scored(engine, broken, KINDS, rows)
    assert [line["total"] for line in found] != [each and each[0] for each in expected]


def test_statements_read_as_a_person_writes_them():
    schema = {
        "name": "w",
        "target": TARGET,
        "feature": [
            {"column": "month", "thresholds": [25, 40]},
            {"column": "ward", "categories": ["a", "b"]},
        ],
    }
    lines = card_sql(released(schema, (-1, 0, 2, 3), start=4)).splitlines()
    assert '    + CASE WHEN t."month" BETWEEN 25 AND 1e308 THEN -1 ELSE 0 END' in lines
    told_ward = "CASE WHEN t.\"ward\" = 'a' THEN 2 WHEN t.\"ward\" = 'b' THEN 3 ELSE 0 END"
    assert f"    + {told_ward}" in lines
    assert '--   "month": number' in lines and '--   "ward": text' in lines
    assert len(lines) < 30


@on_each
@pytest.mark.parametrize("form", [card_sql, card_sql_text])
def test_names_of_its_own_give_way_to_columns(engine, form):
    names = ["total", "Prediction", "card_total", "start", "scored", "t", "blanks", "text_1"]
    features = [{"column": name, "binary": True} for name in names]
    model = released({"name": "w", "target": TARGET, "feature": features}, [1] * 8, start=-3)
    rng = random.Random(2)
    rows = [{name: rng.choice("01") for name in names} for _ in range(50)]
    found = scored(engine, form(model), dict.fromkeys(names, "TEXT"), rows)
    for line, row in zip(found, rows, strict=True):
        assert (line["total_"], line["prediction_"]) == told(model, row)
        assert {name: line[name] for name in names} == row


@on_each
@pytest.mark.parametrize("form", [card_sql, card_sql_text])
def test_a_column_that_the_schema_does_not_know_is_never_taken_for_the_total(engine, form):
    feature = {"column": "x", "binary": True}
    model = released({"name": "w", "target": TARGET, "feature": [feature]}, [1])
    kinds = {"x": "TEXT", "total": "INTEGER"}
    with pytest.raises(Exception, match="(?i)ambiguous"):
        scored(engine, form(model), kinds, [{"x": "1", "total": 0}])


@pytest.mark.parametrize("kind", ["TEXT", "", "INTEGER", "REAL"])
def test_text_that_sqlite_keeps_among_numbers_has_no_total(kind):
    features = [{"column": "x", "thresholds": [3]}, {"column": "y", "categories": [7]}]
    model = released({"name": "w", "target": TARGET, "feature": features}, [1, 2])
    for column in ("x", "y"):
        rows = [{"x": None, "y": None} | {column: cell} for cell in ("seven", "", "7", 7, None)]
        found = scored(on_sqlite, card_sql(model), {"x": kind, "y": kind}, rows)
        points = 1 if column == "x" else 2
        number = None if kind == "TEXT" else points
        text = points if kind in ("INTEGER", "REAL") else None
        assert [line["total"] for line in found] == [None, None, text, number, 0]


def with_risks():
    schema = {
        "name": "w",
        "target": TARGET,
        "feature": [{"column": "age", "thresholds": [40, 65], "range": [0, 120]}],
    }
    rows = pd.DataFrame({"age": [30, 50, 70, 90] * 250})
    ill = ["no", "no", "yes", "yes"] * 250
    for more in ({"mechanism": "logistic"}, {"risk_budget": 0.5}):
        yield (
            PrivateScorecardClassifier(epsilon=5, schema=schema, random_state=0, **more)
            .fit(rows, ill)
            .to_model()
        )


@on_each
def test_the_probability_is_that_of_the_card(engine):
    rows = [{"age": age} for age in (0, 40, 64, 65, 120, None)]
    for model in with_risks():
        chances = model.predict_proba(pd.DataFrame(rows, dtype=object))
        high = list(model.schema.classes).index(model.scorecard.classes[1])
        for form in (card_sql, card_sql_text):
            found = scored(engine, form(model), {"age": "INTEGER"}, rows)
            said = [float(line["probability"]) for line in found]
            assert said == pytest.approx(chances[:, high].tolist(), abs=1e-12)
        namespace = {}
        exec(card_python(model), namespace)
        said = [namespace["scored"](row) for row in rows]
        assert [list(each) for each in said] == [["prediction", "total", "probability"]] * 6
        assert [each["probability"] for each in said] == pytest.approx(chances[:, high].tolist())
        assert [(each["total"], each["prediction"]) for each in said] == [
            told(model, row) for row in rows
        ]


@on_each
@pytest.mark.parametrize("strategy", ["tree", "one_versus_rest"])
def test_several_classes_are_told_apart(engine, strategy):
    for seed in range(6):
        rng = random.Random(seed)
        model = any_cards(rng, strategy)
        kinds, rows = typed(rng, model)
        found = scored(engine, card_sql(model), kinds, rows)
        for line, row in zip(found, rows, strict=True):
            try:
                way = model.explain(row)
            except TableError:
                assert line["prediction"] is None
                continue
            assert line["prediction"] == str(way.answer)
            assert all(line[f"total_{number}"] == one.total for number, one in way.cards)


@on_each
@given(st.integers(0, 2**32))
@settings(max_examples=6, deadline=None)
def test_text_is_read_as_the_model_reads_it(engine, seed):
    rng = random.Random(seed)
    model = any_model(rng)
    rows = [any_row(rng, model.schema) for _ in range(12)]
    rows = [
        {name: cell if name in read_columns(model) else None for name, cell in row.items()}
        for row in rows
    ]
    found = scored(engine, card_sql_text(model), dict.fromkeys(rows[0], "TEXT"), rows)
    said = [
        None if line["total"] is None else (line["total"], line["prediction"]) for line in found
    ]
    assert said == [told(model, row) for row in rows]


def test_cards_that_take_a_column_for_two_types_are_refused():
    features = [{"column": "x", "thresholds": [3]}, {"column": "x", "categories": ["never"]}]
    target = TARGET | {"classes": ["a", "b", "c"]}
    del target["positive"], target["negative"]
    schema = {"name": "w", "target": target, "feature": features}
    with pytest.raises(ModelFileError, match="must have one type"):
        card_sql(released_cards(schema, [(0, 1, 0), (0, 0, 1)]))
    assert card_sql(released_cards(schema, [(0, 1, 0), (0, 2, 0)])).count(" BETWEEN 3 ") == 2


def test_what_typed_columns_cannot_say_is_refused():
    both = [{"column": "x", "thresholds": [3]}, {"column": "x", "categories": ["never"]}]
    model = released({"name": "w", "target": TARGET, "feature": both}, [1, 2])
    with pytest.raises(ModelFileError, match="must have one type, but statements take 'x'"):
        card_sql(model)
    assert "never" in card_sql_text(model)


@pytest.mark.parametrize("size", [299, 1000])
def test_long_sums_stay_within_limits(size):
    features = [{"column": f"c{i}", "binary": True} for i in range(size)]
    model = released({"name": "w", "target": TARGET, "feature": features}, [1] * size)
    row = {f"c{i}": i % 2 for i in range(size)}
    (line,) = scored(on_sqlite, card_sql(model), dict.fromkeys(row, "INTEGER"), [row])
    assert line["total"] == size // 2
