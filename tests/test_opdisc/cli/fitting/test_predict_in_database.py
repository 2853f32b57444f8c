"""``opdisc predict --table NAME --database URL``: the answers of a CSV file of the same rows."""

import csv
import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from helpers.opdisc.cards import released
from helpers.opdisc.command_lines import assert_one_plain_sentence, told
from helpers.opdisc.engines import server_url

from opdisc.data import TableFormat, open_table
from opdisc.models import save_model

CANARY = "xq7canary"
ALL = ("--reasons", "3", "--points")
NAME = f"opdisc_predict_{os.getpid()}"

COLUMNS = {
    "nr": ("BIGINT", "thresholds", [3]),
    "size": ("DOUBLE PRECISION", "thresholds", [0.1, 38.3]),
    "narrow": ("REAL", "thresholds", [38.3]),
    "price": ("NUMERIC(9, 2)", "thresholds", [6.99, 38.3]),
    "code": ("BIGINT", "categories", [7, 8]),
    "text": ("TEXT", "thresholds", [0, 50]),
    "ward": ("TEXT", "categories", ["a b", "é", "7", "1"]),
    "flag": ("BOOLEAN", "binary", True),
    "day": ("DATE", "categories", ["2020-01-02"]),
    "moment": ("TIMESTAMP", "categories", ["2020-01-02", "2020-01-02 03:04:05.25"]),
}
"""Types of columns, and what the schema says of them."""

ROWS = [
    ["1", "38.3", "38.3", "38.30", "7", "5E1", "a b", "true", "2020-01-02", "2020-01-02 00:00:00"],
    ["2", "0.1", "0.1", "6.99", "8", " 50 ", "a  b", "false", "2020-01-03", "2020-01-02 03:04:05"],
    ["3", "0.30000000000000004", "38.299995", "7", "9", "+.5", "A B", "true", "0001-01-01", ""],
    ["4", "", "", "", "", "", "", "false", "", "2020-01-02 03:04:05.250000"],
    ["5", "-0", "1e10", "-0.01", "-7", "-", " 7.0", "1", "9999-12-31", "1999-12-31 23:59:59"],
    ["6", "1e300", "-38.3", "0", "70", "49.9", "e\u0301", "0", "", ""],
    ["7", "5e-324", "38.300003", "38.29", "0", "1e400", "TRUE", "1", "2020-01-02", ""],
]
"""What a CSV file says; a database gets it cell by cell."""

SCHEMA = {
    "name": "typed",
    "target": {"column": "ill", "positive": "yes", "negative": "*"},
    "missing_values": ["-"],
    "feature": [{"column": name, kind: said} for name, (_, kind, said) in COLUMNS.items()],
}
ROWS[6][5] = "1e30"
LABELS = ["yes", "No", "", "No", "yes ", "No", "yes"]
SIZE = sum(1 if kind == "binary" else len(said) for _, kind, said in COLUMNS.values())


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_model(released(SCHEMA, [3**at % 17 - 8 for at in range(SIZE)], start=2), "card.json")
    with open("rows.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([[*COLUMNS, "ill"], *map(whole, range(len(ROWS)))])


def whole(at):
    return [*ROWS[at], LABELS[at]]


def filled(run, types, mark):
    """Create and fill a table by what runs a statement."""
    named = ", ".join(f'"{name}" {kind}' for name, kind in types.items())
    run(f"CREATE TABLE {NAME} ({named})", ())
    for at in range(len(ROWS)):
        cells = [None if cell == "" else cell for cell in whole(at)]
        casts = ", ".join(f"CAST({mark} AS {kind})" for kind in types.values())
        run(f"INSERT INTO {NAME} VALUES ({casts})", cells)


def in_duckdb():
    import duckdb

    with duckdb.connect("bank.duckdb") as connection:
        filled(connection.execute, declared(), "?")
    return "bank.duckdb"


def in_sqlite():
    """Return a file with the numbers as numbers, and dates as the texts that SQLite keeps."""
    kinds = {"BOOLEAN": "INTEGER", "DATE": "TEXT", "TIMESTAMP": "TEXT"}
    types = {name: kinds.get(kind, kind) for name, kind in declared().items()}
    with closing(sqlite3.connect("bank.sqlite")) as connection, connection:
        truths = {"true": "1", "false": "0"}
        filled(
            lambda sql, cells: connection.execute(sql, [truths.get(c, c) for c in cells]),
            types,
            "?",
        )
    return "sqlite://bank.sqlite"


def in_postgres():
    import psycopg

    with psycopg.connect(server_url()) as connection:
        connection.execute(f"DROP TABLE IF EXISTS {NAME}")
        filled(connection.execute, declared(), "%s")
    return server_url()


def declared():
    return {name: kind for name, (kind, *_) in COLUMNS.items()} | {"ill": "TEXT"}


DATABASES = [
    in_sqlite,
    pytest.param(in_duckdb, marks=pytest.mark.extras("duckdb")),
    pytest.param(in_postgres, marks=pytest.mark.extras("psycopg")),
]


def own(header, rows):
    """Return the columns that ``predict`` adds, and which row each line of them is about."""
    found = [dict(zip(header, row, strict=True)) for row in rows]
    known = [name for name in header if name not in declared() or name == "nr"]
    return [{name: line[name] for name in known} for line in found]


def written(text):
    header, *rows = csv.reader(text.splitlines())
    assert header[: len(COLUMNS) + 1] == [*COLUMNS, "ill"]
    return own(header, rows)


@pytest.mark.parametrize("database", DATABASES)
def test_a_table_is_scored_as_a_csv_file_of_the_same_rows(database):
    place = ("--table", NAME, "--database", database())
    status, out, err = told("predict", "card.json", "rows.csv", *ALL)
    assert (status, err) == (0, "")
    expected = written(out)
    assert len({line["total"] for line in expected}) > 4
    assert {line["prediction"] for line in expected} == {"yes", "No"}
    for form in ((), ("--out", "-")):
        status, out, err = told("predict", "card.json", *place, *ALL, *form)
        assert (status, err) == (0, "") and written(out) == expected
    assert told("predict", "card.json", *place, *ALL, "--out", "s.csv")[0] == 0
    assert written(Path("s.csv").read_text(encoding="utf-8")) == expected
    status, out, err = told("predict", "card.json", *place, *ALL, "--json")
    assert (status, err) == (0, "")
    columns = json.loads(out)["columns"]
    assert [str(total) for total in columns["total"]] == [line["total"] for line in expected]
    assert columns["reason_1"] == [line["reason_1"] for line in expected]


@pytest.mark.extras("pyarrow")
@pytest.mark.parametrize("database", DATABASES)
def test_parquet_of_a_table_is_that_of_the_csv_file(database):
    from pyarrow import parquet

    place = ("--table", NAME, "--database", database())
    for given, out in ((("rows.csv",), "a.parquet"), (place, "b.parquet")):
        assert told("predict", "card.json", *given, *ALL, "--out", out)[0] == 0
    one, other = map(parquet.read_table, ("a.parquet", "b.parquet"))
    added = [name for name in one.column_names if name not in declared()]
    assert one.column_names == other.column_names and len(added) > 20
    assert one.select(added) == other.select(added)


@pytest.mark.parametrize("database", DATABASES)
def test_a_row_that_is_refused_leaves_no_file_and_no_cell(database):
    url = database()
    statement = f"UPDATE {NAME} SET text = '{CANARY}' WHERE nr = 5"
    if database is in_sqlite:
        with closing(sqlite3.connect("bank.sqlite")) as connection, connection:
            connection.execute(statement)
    else:
        import duckdb

        if database is in_duckdb:
            with duckdb.connect(url) as connection:
                connection.execute(statement)
        else:
            import psycopg

            with psycopg.connect(url) as connection:
                connection.execute(statement)
    place = ("--table", NAME, "--database", url)
    status, out, err = told("predict", "card.json", *place, "--out", "scored.csv")
    assert status == 1 and not Path("scored.csv").exists() and CANARY not in out + err
    assert_one_plain_sentence(status, out, err)


@pytest.mark.parametrize("database", DATABASES)
def test_every_pass_over_an_open_table_has_the_same_rows(database):
    url = database()
    with open_table(url.removeprefix("sqlite://"), TableFormat(table_name=NAME)) as table:
        first = [chunk.cells[0] for chunk in table.chunks([0], 2)]
        if database is in_postgres:
            import psycopg

            with psycopg.connect(url) as other:
                other.execute(f"DELETE FROM {NAME} WHERE nr > 2")
        assert [chunk.cells[0] for chunk in table.chunks([0], 2)] == first
        assert sum(first, []) == list("1234567")
        assert sum(chunk.n_rows for chunk in table.chunks([])) == 7
        assert next(iter(table.chunks([7, 0], 100))).cells[1] == list("1234567")


@pytest.mark.extras("duckdb")
def test_types_without_a_text_are_refused():
    import duckdb

    with duckdb.connect(in_duckdb()) as connection:
        connection.execute(f"ALTER TABLE {NAME} ADD COLUMN seen INTEGER[] DEFAULT [1]")
    place = ("--table", NAME, "--database", "bank.duckdb")
    status, out, err = told("predict", "card.json", *place)
    assert (status, out) == (1, "") and "text, numbers or dates" in err


def test_odd_names_of_columns_are_names():
    """To SQLite a name in quotation marks that it does not know is a text."""
    odd = ['a"b', " ward", "size"]
    features = [{"column": odd[0], "thresholds": [2]}, {"column": "ward", "categories": ["a"]}]
    save_model(released(SCHEMA | {"feature": features}, [1, 1]), "odd.json")
    with closing(sqlite3.connect("odd.sqlite")) as connection, connection:
        names = ", ".join('"' + name.replace('"', '""') + '"' for name in odd)
        connection.execute(f'CREATE TABLE "odd ""t" ({names})')
        connection.execute("INSERT INTO \"odd \"\"t\" VALUES (3, 'a', 0), (1, 'b', 0)")
    place = ("--table", 'odd "t', "--database", "odd.sqlite")
    status, out, err = told("predict", "odd.json", *place)
    assert (status, err) == (0, "")
    assert out.splitlines()[1:] == ["3,a,0,yes,2", "1,b,0,not yes,0"]


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ([], "Missing argument 'DATA'"),
        (["rows.csv", "--table", NAME], "in --database"),
        (["--database", "bank.sqlite"], "say which by --table"),
        (["rows.csv", "--table", NAME, "--database", "bank.sqlite"], "leave one out"),
        (["--table", NAME, "--database", f"mysql://me:{CANARY}@here/x"], "of another kind"),
        (["--table", "none", "--database", "bank.sqlite"], "must be in the database"),
        (["--table", NAME, "--database", "bank.sqlite", "--query", "SELECT 1"], "and a query"),
        (["--table", NAME, "--database", "bank.sqlite", "--out", "bank.sqlite"], "an input"),
        ([f"postgresql://me:{CANARY}@here/x"], "by --database"),
    ],
)
def test_a_table_that_is_nowhere_or_twice_is_refused(place, sentence):
    in_sqlite()
    status, out, err = told("predict", "card.json", *place)
    assert status in (1, 2) and not out and sentence in err and CANARY not in err
    assert_one_plain_sentence(status, out, err)
