"""Code that scores: SQL, Python and explanations answer as the model does, on any row."""

import importlib.util
import math
import random
import sqlite3
import subprocess
import sys

import pandas as pd
import pytest
from helpers.opdisc.cards import UNREADABLE, any_model, any_row, released
from hypothesis import given, settings, strategies as st

from opdisc.data.cells import canonical_text
from opdisc.errors import ModelFileError, TableError
from opdisc.models import card_python, card_sql_text

SEEDS = st.integers(0, 2**32)
ROWS = 12


def expected(model, row):
    """Return the total of one row, None where the encoder refuses it."""
    try:
        return model.explain(row).total
    except TableError:
        return None


def label(model, total):
    return None if total is None else model.scorecard.classes[int(total >= 1)]


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def tables(columns, kinds, rows):
    """Return statements that make the table of some rows, each with its parameters."""
    declared = ", ".join(f"{quoted(n)} {k}" for n, k in zip(columns, kinds, strict=True))
    marks = ", ".join("?" * len(columns))
    yield f"CREATE TABLE your_table ({declared})", []
    for row in rows:
        yield f"INSERT INTO your_table VALUES ({marks})", [row[name] for name in columns]


def in_sqlite(sql, columns, kinds, rows):
    with sqlite3.connect(":memory:") as connection:
        for statement, values in tables(columns, kinds, rows):
            connection.execute(statement, values)
        return connection.execute(sql).fetchall()


def in_duckdb(sql, columns, kinds, rows):
    import duckdb

    with duckdb.connect(config={"threads": 1}) as connection:
        for statement, values in tables(columns, kinds, rows):
            connection.execute(statement, values)
        return connection.execute(sql).fetchall()


ENGINES = [in_sqlite, in_duckdb]
INSTALLED = ENGINES if importlib.util.find_spec("duckdb") else [in_sqlite]
"""For tests that ask the model once and all engines for the same."""


def loaded(model):
    """Return the functions of the Python form."""
    namespace = {}
    exec(compile(card_python(model), "card.py", "exec"), namespace)
    return namespace["score"], namespace["predict"]


def scored(call, row):
    try:
        return call(row)
    except ValueError:
        return None


def used(model):
    """Return whether a column has a say: the code reads no other."""
    names, points = [], iter(model.scorecard.points)
    for feature in model.schema.features:
        if any([next(points) for _ in feature.column_names]):
            names.append(feature.column)
    groups = [group for group in model.schema.exclusive if set(group) & set(names)]
    return {*names, *(column for group in groups for column in group)}


def tame(model, row):
    """Return the row with readable cells where the code does not read."""
    return {name: cell if name in used(model) else None for name, cell in row.items()}


@given(SEEDS)
@settings(max_examples=60, deadline=None)
def test_python_code_scores_as_the_model_does(seed):
    rng = random.Random(seed)
    model = any_model(rng)
    score, predict = loaded(model)
    for _ in range(ROWS):
        row = tame(model, any_row(rng, model.schema, unreadable=0.1))
        total = expected(model, row)
        assert scored(score, row) == total
        assert scored(predict, row) == label(model, total)


@pytest.mark.slow
@given(SEEDS)
@settings(max_examples=60, deadline=None)
def test_sql_scores_a_table_of_text_as_the_model_does(seed):
    rng = random.Random(seed)
    model = any_model(rng)
    rows = [tame(model, any_row(rng, model.schema)) for _ in range(ROWS)]
    totals = [expected(model, row) for row in rows]
    columns = list(model.schema.columns)
    for engine in INSTALLED:
        found = engine(card_sql_text(model), columns, ["TEXT"] * len(columns), rows)
        for row, true, (*cells, total, answer) in zip(rows, totals, found, strict=True):
            assert cells == [row[name] for name in columns]
            assert total == true
            assert answer == (None if total is None else str(label(model, total)))


TYPED = released(
    {
        "name": "typed",
        "target": {"column": "ill", "positive": "yes", "negative": "no"},
        "missing_values": ["-999", "?"],
        "feature": [
            {"column": "double", "thresholds": [0.1, 0.30000000000000004, 1e15]},
            {"column": "whole", "thresholds": [-5, 3]},
            {"column": "flag", "binary": True},
            {"column": "code", "categories": [1, 2.5, 100, {"name": "o", "values": [-3, 0]}]},
            {"column": "count", "categories": [7, 8], "missing": "8"},
            {"column": "long", "categories": [10**15]},
        ],
    },
    (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096),
)


def test_sql_and_python_score_a_table_of_numbers_as_the_model_does():
    rng = random.Random(0)
    doubles = (0.1, 0.3, 0.30000000000000004, 0.29999999999999993, -1e300, 1e15, 1e-7, 999999.5)
    pools = {
        "double": [*doubles, math.nextafter(0.1, 0), -999.0, None],
        "whole": [-5, -6, 3, 2, 2**53 + 1, -999, None],
        "flag": [True, False, None],
        "code": [1.0, 2.5, 100.0, -3.0, 0.0, -0.0, 4.0, None],
        "count": [7, 8, 9, -999, None],
        "long": [10**15, 1, None],
    }
    rows = [{name: rng.choice(pool) for name, pool in pools.items()} for _ in range(300)]
    kinds = ["DOUBLE PRECISION", "BIGINT", "BOOLEAN", "DOUBLE PRECISION", "BIGINT", "BIGINT"]
    totals = [expected(TYPED, row) for row in rows]
    for engine in INSTALLED:
        found = engine(card_sql_text(TYPED), list(pools), kinds, rows)
        assert [line[-2] for line in found] == totals
    score, _ = loaded(TYPED)
    assert [score(row) for row in rows] == totals


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("cell", UNREADABLE)
def test_a_number_that_cannot_be_read_is_refused_by_all(engine, cell):
    row = {"double": cell, "whole": "1", "flag": "1", "code": "1", "count": "7", "long": ""}
    assert expected(TYPED, row) is None
    score, _ = loaded(TYPED)
    with pytest.raises(ValueError, match="a number is needed in the column 'double'"):
        score(row)
    (line,) = engine(card_sql_text(TYPED), list(row), ["TEXT"] * 6, [row])
    assert line[-2:] == (None, None)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("column", "cell", "total"),
    [("double", "\u00a01", None), ("long", "1e15", None), ("double", "nan", 0)],
)
def test_sql_differs_from_the_model_only_where_it_says_so(engine, column, cell, total):
    row = dict.fromkeys(("double", "whole", "flag", "code", "count", "long"), None) | {
        "count": "9"
    }
    (line,) = engine(card_sql_text(TYPED), list(row), ["TEXT"] * 6, [row | {column: cell}])
    assert line[-2] == total


def test_codes_that_numbers_do_not_keep_must_be_text():
    schema = {
        "name": "zip",
        "target": {"column": "ill", "positive": "yes", "negative": "no"},
        "feature": [{"column": "zip", "categories": ["02139", "10115"]}],
    }
    model = released(schema, (1, 2))
    score, _ = loaded(model)
    assert score({"zip": "02139"}) == 1 and score({"zip": None}) == 0
    for call in (score, model.explain):
        with pytest.raises(ValueError, match="text"):
            call({"zip": 2139})


def test_a_row_without_a_column_is_refused():
    score, predict = loaded(TYPED)
    for call in (score, predict, TYPED.explain):
        with pytest.raises(ValueError, match="'double'"):
            call({"whole": 1})


def test_a_card_without_points_has_one_answer_in_all_forms():
    model = released(TYPED.schema, (0,) * TYPED.schema.n_columns, start=1)
    rows = [dict.fromkeys(model.schema.columns, cell) for cell in ("0", "1")]
    found = in_sqlite(card_sql_text(model), list(rows[0]), ["TEXT"] * 6, rows)
    assert [line[-2:] for line in found] == [(1, "yes"), (1, "yes")]
    assert [loaded(model)[1](row) for row in rows] == ["yes", "yes"]


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "size"), [(in_sqlite, 1000), (in_duckdb, 120)])
def test_many_columns_are_scored(engine, size):
    names = [f"c{i}" for i in range(size)]
    schema = {
        "name": "wide",
        "target": {"column": "ill", "positive": "yes", "negative": "no"},
        "feature": [{"column": name, "binary": True} for name in names],
    }
    model = released(schema, [1 + i % 2 for i in range(size)])
    row = {name: str(i % 3 % 2) for i, name in enumerate(names)}
    (line,) = engine(card_sql_text(model), names, ["TEXT"] * size, [row])
    assert line[-2] == expected(model, row) == loaded(model)[0](row)


def test_the_python_form_runs_alone(tmp_path):
    (tmp_path / "card.py").write_text(card_python(TYPED), encoding="utf-8")
    row = {"double": 1.0, "whole": 4, "flag": True, "code": "2.50", "count": None, "long": None}
    run = subprocess.run(
        [sys.executable, "-S", "-c", f"import card; print(card.score({row!r}))"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert int(run.stdout) == expected(TYPED, row)


@pytest.mark.parametrize("value", ["a\0b", "a\ud800b"])
def test_a_value_that_sql_cannot_hold_is_refused(value):
    schema = {
        "name": "null",
        "target": {"column": "ill", "positive": "yes", "negative": "no"},
        "feature": [{"column": "x", "categories": [{"name": "c", "values": [value]}]}],
    }
    model = released(schema, (1,))
    with pytest.raises(ModelFileError, match="SQL text cannot hold"):
        card_sql_text(model)
    assert loaded(model)[0]({"x": value}) == 1


@pytest.mark.slow
@given(SEEDS)
@settings(max_examples=30, deadline=None)
def test_an_explanation_adds_up_to_the_answer(seed):
    rng = random.Random(seed)
    model = any_model(rng)
    for _ in range(ROWS):
        row = any_row(rng, model.schema, unreadable=0)
        explained = model.explain(row)
        assert explained.start + sum(p for _, p in explained.statements) == explained.total
        table = pd.DataFrame([row], columns=list(model.schema.columns))
        assert explained.answer == model.predict(table)[0]
        assert canonical_text(explained.answer) in str(explained) or explained.answer is True
        assert model.explain(table) == model.explain(table.iloc[0]) == explained
        assert model.explain(list(row.values())) == explained or len(row) != table.shape[1]


def test_one_row_is_explained_at_a_time():
    with pytest.raises(TableError, match="must be one row"):
        TYPED.explain(pd.DataFrame({"double": ["1", "2"]}))
    with pytest.raises(TableError, match="one cell for each column of the schema, in order: 6"):
        TYPED.explain(["1", "2"])
