"""Lazy tables: counts of the rows in memory, and refusals without a cell or a number of rows."""

import datetime
import random

import pytest
from helpers.opdisc.engines import ENGINES, ibis_table
from helpers.opdisc.hostile_cells import TEXTS

from opdisc import PrivateScorecardClassifier
from opdisc.data.counting import count_rows, lazy_tables, reads_twice
from opdisc.data.reading import COLUMNS_UNSEEN, DTYPES_DECLARED, ROWS_ALONE
from opdisc.data.schema import Schema
from opdisc.errors import TableError

CANARY = "xq7canary"
TARGET = {"column": "ill", "positive": "yes", "negative": "*"}
SCHEMA = Schema.from_dict(
    {
        "name": "s",
        "target": TARGET,
        "missing_values": ["NA"],
        "exclusive": [["a", "b"]],
        "feature": [
            {"column": "age", "thresholds": [40, 65]},
            {"column": "ward", "categories": ["a", "7", "x"], "missing": "a"},
            {"column": "dose", "thresholds": [0.7], "range": [0, 1]},
            {"column": "seen", "categories": ["2020-01-02"]},
            {"column": "a", "binary": True},
            {"column": "b", "binary": True},
        ],
    }
)


def rows(number=400, seed=0):
    """Return typed columns with hostile texts that are read, none of which is refused."""
    choose = random.Random(seed)
    wards = ("a", "7", "x", None, "", "NA", *(text for text in TEXTS if "\0" not in text))
    days = (None, datetime.date(2020, 1, 2), datetime.date(2021, 1, 2))
    return {
        "note": [CANARY] * number,
        "age": choose.choices((None, 30, 40, 64, 65, 90), k=number),
        "ward": choose.choices(wards, k=number),
        "dose": choose.choices((None, float("nan"), 0.7, 0.69, 1.5, -2.0, 2.0**-260), k=number),
        "seen": choose.choices(days, k=number),
        "a": choose.choices((None, True, False), k=number),
        "b": choose.choices((None, True, False), k=number),
        "ill": choose.choices(("yes", "no", " yes ", None, "", "Yes", "0"), k=number),
    }


def arrow(values):
    import pyarrow as pa

    types = {"dose": pa.float32(), "age": pa.int16()}
    return pa.table({name: pa.array(column, types.get(name)) for name, column in values.items()})


def lazy(table, engine):
    """Return a lazy table; DuckDB's is a relation of a connection of its own."""
    if engine == "polars":
        import polars

        return polars.from_arrow(table).lazy()
    if engine == "duckdb":
        import duckdb

        return duckdb.connect().from_arrow(table)
    return ibis_table(table, engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_counts_what_the_reader_counts(engine):
    table = arrow(rows())
    expected, counts = count_rows(table, SCHEMA), count_rows(lazy(table, engine), SCHEMA)
    assert counts.points.tolist() == expected.points.tolist()
    assert counts.positives.tolist() == expected.positives.tolist()
    assert counts.negatives.tolist() == expected.negatives.tolist()
    assert counts.n_rows == expected.n_rows == 400
    assert counts.assumptions == (DTYPES_DECLARED, COLUMNS_UNSEEN, ROWS_ALONE)
    fitted = [
        PrivateScorecardClassifier(schema=SCHEMA, random_state=1).fit_counts(each)
        for each in (counts, expected)
    ]
    assert fitted[0].scorecard_ == fitted[1].scorecard_
    assert fitted[0].receipt_.epsilon == fitted[1].receipt_.epsilon


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
def test_many_columns_are_no_nest_too_deep(engine):
    choose = random.Random(1)
    cells = (None, True, False)
    table = {f"c{at}": [True, False, *choose.choices(cells, k=20)] for at in range(1_200)}
    features = [{"column": name, "binary": True} for name in table]
    schema = Schema.from_dict({"name": "s", "target": TARGET, "feature": features})
    table = arrow(table | {"ill": choose.choices(("yes", "no"), k=22)})
    counts, expected = count_rows(lazy(table, engine), schema), count_rows(table, schema)
    assert counts.points.tolist() == expected.points.tolist()
    assert counts.negatives.tolist() == expected.negatives.tolist()


@pytest.mark.parametrize("engine", ENGINES)
def test_only_rows_that_an_engine_is_unsure_of_are_read(engine, monkeypatch):
    values = rows() | {
        "ward": ["a", "b"] * 200,
        "dose": [0.5, 0.7] * 200,
        "ill": ["yes", "no"] * 200,
    }
    monkeypatch.setattr(lazy_tables, "_add_unsure", None)
    counts = count_rows(lazy(arrow(values), engine), SCHEMA)
    assert counts.points.tolist() == count_rows(arrow(values), SCHEMA).points.tolist()
    with pytest.raises(TableError, match="TypeError"):
        count_rows(lazy(arrow(values | {"ward": ["a", " a"] * 200}), engine), SCHEMA)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("column", "cells", "sentence"),
    [
        ("age", ["40", CANARY], "column 'age' must hold finite numbers"),
        ("dose", [0.5, float("inf")], "column 'dose' must hold finite numbers"),
        ("a", ["1", CANARY], "column 'a' must hold only the values"),
        ("ill", ["yes", "N/A"], "a text that programs write for a missing one"),
        (
            "age",
            [datetime.date(2020, 1, 2)] * 2,
            "a column that an engine compares|finite numbers",
        ),
        ("ward", [b"a", CANARY.encode()], "a column that an engine compares|of another type"),
        ("ward", [["a"], [CANARY]], "a column that an engine compares|of another type"),
    ],
)
def test_what_the_reader_refuses_is_refused_without_a_cell(engine, column, cells, sentence, capfd):
    import pyarrow as pa

    table = arrow(rows(2)).drop_columns([column]).append_column(column, pa.array(cells))
    with pytest.raises(TableError, match=sentence) as caught:
        count_rows(lazy(table, engine), SCHEMA)
    assert CANARY not in str(caught.value) + "".join(capfd.readouterr())


@pytest.mark.parametrize("engine", ENGINES)
def test_what_an_engine_says_of_a_fault_of_its_own_is_not_told(engine, capfd):
    table = arrow(rows(20) | {"note": [f"{CANARY}-{at}" for at in range(20)]})
    if engine == "polars":
        import polars

        source = lazy(table, engine).with_columns(age=polars.col("note").cast(polars.Int64))
    elif engine == "duckdb":
        source = lazy(table, engine).project("* EXCLUDE (age), CAST(note AS BIGINT) AS age")
    else:
        source = lazy(table, engine)
        source = source.mutate(age=source.note.cast("int64"))
    with pytest.raises(TableError, match="must run to its end on the database") as caught:
        count_rows(source, SCHEMA)
    assert CANARY not in str(caught.value) + "".join(capfd.readouterr())
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("engine", ENGINES)
def test_names_of_columns_are_found_exactly(engine):
    table = arrow(rows(20))
    odd = ["note", "age", '"wa" rd.', "Dose'", "seen", " a ", "b", "c0"]
    columns = dict(zip(table.column_names, map(str.strip, odd), strict=True))
    raw = SCHEMA.to_dict()
    raw["target"]["column"] = columns["ill"]
    for feature in raw["feature"]:
        feature["column"] = columns[feature["column"]]
    named = table.rename_columns(odd)
    counts = count_rows(lazy(named, engine), Schema.from_dict(raw))
    assert counts.points.tolist() == count_rows(named, Schema.from_dict(raw)).points.tolist()
    with pytest.raises(TableError, match="'age' is missing"):
        count_rows(lazy(table.drop_columns(["age"]), engine), SCHEMA)


@pytest.mark.extras("narwhals", "ibis")
def test_a_database_whose_types_bind_no_cell_is_refused():
    import ibis

    connection = ibis.sqlite.connect()
    connection.raw_sql("CREATE TABLE t (x REAL, y TEXT)").close()
    with pytest.raises(TableError, match="one of DuckDB or PostgreSQL to be counted there"):
        count_rows(connection.table("t"), SCHEMA)


@pytest.mark.extras("narwhals", "pyarrow", "polars")
def test_names_that_differ_in_capital_letters_are_refused_as_engines_take_one_for_the_other():
    table = arrow(rows(20))
    twice = table.append_column("AGE", table["age"])
    with pytest.raises(TableError, match="differ in more than capital letters"):
        count_rows(lazy(twice, "polars"), SCHEMA)
    assert count_rows(lazy(table.append_column("NOTE", table["note"]), "polars"), SCHEMA)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_lazy_table_is_counted_once_and_private_thresholds_need_its_rows(engine):
    source = lazy(arrow(rows(40)), engine)
    with pytest.raises(TableError, match="given twice"):
        count_rows([source, source], SCHEMA)
    raw = SCHEMA.to_dict()
    raw["feature"][0] = {"column": "age", "thresholds": {"quantiles": 2, "range": [0, 99]}}
    if engine == "duckdb":  # whose rows can be read
        counts = count_rows(source, raw)
        assert counts.ranks[0].tolist() == count_rows(arrow(rows(40)), raw).ranks[0].tolist()
    else:
        assert not reads_twice(source)
        with pytest.raises(TableError, match="rows are read twice for private thresholds"):
            count_rows(source, raw)
    both = count_rows([source, arrow(rows(40, seed=1))], SCHEMA)
    assert both.n_rows == 80


@pytest.mark.extras("narwhals", "pyarrow", "duckdb")
def test_a_relation_of_a_type_that_no_engine_compares_is_read_row_by_row():
    import duckdb

    with duckdb.connect() as connection:
        relation = connection.sql(
            "SELECT * FROM (VALUES (5::DECIMAL(30, 2), 'yes'), (50, 'no')) t (age, ill)"
        )
        schema = SCHEMA.to_dict() | {"feature": [{"column": "age", "thresholds": [40]}]}
        counts = count_rows(relation, {k: v for k, v in schema.items() if k != "exclusive"})
        assert counts.points.tolist() == [[1, 0], [1, 1]]


@pytest.mark.extras("narwhals", "pyarrow", "polars")
def test_enumerations_that_list_no_declared_value_are_refused_by_their_type():
    import polars

    frame = polars.from_arrow(arrow(rows(20)))
    for listed, is_read in ((["x", "q"], True), (["q", "z"], False)):
        enum = frame.with_columns(ward=polars.Series(listed * 10, dtype=polars.Enum(listed)))
        if is_read:
            found = count_rows(enum.lazy(), SCHEMA)
            assert found.points.tolist() == count_rows(enum, SCHEMA).points.tolist()
        else:
            with pytest.raises(TableError, match="its type lists other categories only"):
                count_rows(enum.lazy(), SCHEMA)
    values = frame.with_columns(polars.col("ward").cast(polars.Categorical))
    found = count_rows(values.lazy(), SCHEMA)
    assert found.points.tolist() == count_rows(values, SCHEMA).points.tolist()


@pytest.mark.extras("duckdb", "narwhals", "polars", "pyarrow")
def test_no_traceback_has_what_an_engine_says_of_a_cell():
    import traceback

    import duckdb
    import polars

    schema, cells = Schema.equal_width(2), {"a": ["1", CANARY], "x1": [0, 1], "y": [0, 1]}
    frame = polars.DataFrame(cells)
    with duckdb.connect() as connection:
        connection.register("cells", frame.to_arrow())
        for table in (
            connection.sql("SELECT CAST(a AS INTEGER) AS x0, x1, y AS target FROM cells"),
            frame.lazy().select(polars.col("a").cast(int).alias("x0"), "x1", target="y"),
        ):
            with pytest.raises(TableError) as caught:
                count_rows(table, schema)
            shown = "".join(traceback.format_exception(caught.value))
            assert CANARY not in shown and "TableError" in shown


@pytest.mark.extras("duckdb", "narwhals", "polars", "pyarrow")
def test_a_millisecond_is_no_finer_moment():
    import datetime

    import duckdb
    import polars
    import pyarrow

    moment = "2024-01-02 03:04:05.123"
    schema = Schema.from_dict(
        {
            "name": "moments",
            "target": {"column": "t", "positive": 1, "negative": 0},
            "feature": [{"column": "d", "categories": [f"{moment}456", moment]}],
        }
    )
    cells = [datetime.datetime.fromisoformat(moment)] * 2
    for unit in ("ms", "us"):
        table = pyarrow.table({"d": pyarrow.array(cells, pyarrow.timestamp(unit)), "t": [0, 1]})
        with duckdb.connect() as connection:
            for source in (table, polars.from_arrow(table).lazy(), connection.from_arrow(table)):
                assert count_rows(source, schema).points.tolist() == [[1, 0, 1]]


@pytest.mark.extras("duckdb", "narwhals", "polars", "pyarrow")
def test_a_date_that_python_has_not_is_one_sentence():
    import duckdb
    import polars
    import pyarrow

    schema = Schema.from_dict(
        {
            "name": "dates",
            "target": {"column": "t", "positive": 1, "negative": 0},
            "feature": [{"column": "d", "categories": ["2024-01-02"]}],
        }
    )
    days = pyarrow.array([1_234_567_890, 0], pyarrow.int32()).cast(pyarrow.date32())
    table = pyarrow.table({"d": days, "t": [0, 1]})
    with duckdb.connect() as connection:
        for source in (table, polars.from_arrow(table).lazy(), connection.from_arrow(table)):
            with pytest.raises(TableError) as caught:
                count_rows(source, schema)
            assert "1234567890" not in str(caught.value) and "days" not in str(caught.value)
