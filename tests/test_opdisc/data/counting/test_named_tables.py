"""Named tables of databases: the counts of a query for all of it, on fewer conditions."""

import sqlite3
import subprocess
import sys

import pytest
from helpers.opdisc.engines import ibis_table, server_url
from test_opdisc.data.counting.test_lazy_tables import CANARY, SCHEMA, arrow, rows

from opdisc import PrivateMulticlassClassifier, read_table
from opdisc.data import public_facts
from opdisc.data.counting import count_rows, named_tables, sources
from opdisc.data.reading import COLUMNS_UNSEEN, DTYPES_DECLARED, ROWS_ALONE
from opdisc.errors import FileMistake, TableError

QUERY = (DTYPES_DECLARED, COLUMNS_UNSEEN, ROWS_ALONE)
PRIVATE = SCHEMA.to_dict()
PRIVATE["feature"][0] = {"column": "age", "thresholds": {"quantiles": 2, "range": [0, 99]}}


def in_duckdb(folder, statement='CREATE TABLE "my ""loans" AS FROM given', table=None):
    import duckdb

    path = folder / "main"  # as its first schema is called
    with duckdb.connect(str(path)) as connection:
        connection.register("given", arrow(rows()) if table is None else table)
        connection.execute(statement)
    return path


def in_sqlite(folder):
    """Return a file with a table, a view of it and one that a module makes."""
    path, table = folder / "lite", arrow(rows())
    columns = ", ".join(table.column_names)
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TABLE loans ({columns})")
        marks = ", ".join("?" * table.num_columns)
        cells = [
            [None if cell is None else cell if isinstance(cell, int | float) else str(cell)]
            for column in table.columns
            for cell in column.to_pylist()
        ]
        n = table.num_rows
        for at in range(n):
            connection.execute(
                f"INSERT INTO loans VALUES ({marks})",
                [cells[at + n * column][0] for column in range(table.num_columns)],
            )
        connection.execute("CREATE VIEW seen AS SELECT * FROM loans")
        connection.execute(f"CREATE VIRTUAL TABLE made USING fts5({columns})")
    connection.close()
    return path


@pytest.fixture
def asked(monkeypatch):
    """Return a list that grows by whether an engine counts, table by table."""
    found, whole = [], sources._add_in_place

    def noted(*arguments):
        found.append(whole(*arguments))
        return found[-1]

    monkeypatch.setattr(sources, "_add_in_place", noted)
    return found


@pytest.mark.extras("duckdb", "narwhals", "pyarrow")
@pytest.mark.parametrize("name", ['my "loans', 'main.my "loans'])
def test_duckdb_counts_its_own_table_and_the_conditions_of_a_query_are_gone(tmp_path, asked, name):
    path = in_duckdb(tmp_path)
    counts = count_rows(path, SCHEMA, table_name=name)
    expected = count_rows(path, SCHEMA, query='FROM "my ""loans"')
    assert asked == [True, False]
    assert counts.points.tolist() == expected.points.tolist()
    assert counts.positives.tolist() == expected.positives.tolist()
    assert counts.negatives.tolist() == expected.negatives.tolist()
    assert counts.n_rows == expected.n_rows == 400
    assert counts.assumptions == (DTYPES_DECLARED,) and expected.assumptions == QUERY
    assert public_facts(path, table_name=name) == (400, (DTYPES_DECLARED,))
    with pytest.raises(TableError, match="given twice"):
        counts + count_rows(path, SCHEMA, table_name=name)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["main"]


@pytest.mark.extras("duckdb", "pyarrow")
@pytest.mark.parametrize("kind", [in_duckdb, in_sqlite])
def test_a_name_is_a_text(tmp_path, kind):
    path = kind(tmp_path)
    for read in (public_facts, read_table, lambda path, **name: count_rows(path, SCHEMA, **name)):
        for bad in (5, b"loans"):
            with pytest.raises(TableError, match="the name of a table must be a text"):
                read(path, table_name=bad)


@pytest.mark.extras("duckdb", "narwhals", "pyarrow")
def test_a_view_is_a_query_and_keeps_its_conditions(tmp_path, asked):
    path = in_duckdb(tmp_path, "CREATE TABLE t AS FROM given; CREATE VIEW v AS FROM t")
    counts = count_rows(path, SCHEMA, table_name="v")
    assert counts.assumptions == QUERY and asked == [True]
    assert public_facts(path, table_name="v") == (400, QUERY)
    assert counts.points.tolist() == count_rows(path, SCHEMA, table_name="t").points.tolist()


@pytest.mark.extras("duckdb", "narwhals", "pyarrow")
def test_a_collation_of_a_stored_column_merges_no_letters(tmp_path, asked):
    statement = (
        "CREATE TABLE t AS FROM given; "
        "ALTER TABLE t ALTER ward TYPE VARCHAR COLLATE NOCASE; "
        "UPDATE t SET ward = 'A' WHERE ward = 'a'"
    )
    path = in_duckdb(tmp_path, statement, arrow(rows(60) | {"ward": ["a", "x"] * 30}))
    counts = count_rows(path, SCHEMA, table_name="t")
    assert counts.points.tolist() == count_rows(path, SCHEMA, query="FROM t").points.tolist()
    assert asked == [True, False]


@pytest.mark.extras("duckdb", "narwhals", "pyarrow")
def test_private_thresholds_several_classes_and_odd_types_read_the_rows(tmp_path, asked):
    path = in_duckdb(
        tmp_path, "CREATE TABLE t AS SELECT *, age::DECIMAL(30, 2) AS long FROM given"
    )
    counts = count_rows(path, PRIVATE, table_name="t")
    assert counts.ranks[0].tolist() == count_rows(arrow(rows()), PRIVATE).ranks[0].tolist()
    schema = SCHEMA.to_dict() | {"feature": [{"column": "long", "thresholds": [40]}]}
    del schema["exclusive"]
    assert count_rows(path, schema, table_name="t").n_rows == 400
    assert asked == [False, False]
    table = read_table(path, table_name="t")
    assert len(table) == 400
    raw = SCHEMA.to_dict() | {
        "target": {"column": "seen", "classes": ["2020-01-02", "2021-01-02"]}
    }
    raw["feature"] = [each for each in raw["feature"] if each["column"] != "seen"]
    model = PrivateMulticlassClassifier(schema=raw, random_state=0).fit(table, table["seen"])
    assert model.receipt_.conditions[0] and ROWS_ALONE not in model.receipt_.conditions


@pytest.mark.extras("pyarrow")
def test_sqlite_is_read_row_by_row(tmp_path, asked):
    path = in_sqlite(tmp_path)
    counts = count_rows(path, SCHEMA, table_name="loans")
    expected = count_rows(path, SCHEMA, query="SELECT * FROM loans")
    assert asked == [False, False]
    assert counts.points.tolist() == expected.points.tolist()
    assert counts.assumptions == (DTYPES_DECLARED,) and expected.assumptions == QUERY
    assert public_facts(path, table_name="loans") == (400, (DTYPES_DECLARED,))
    assert public_facts(path, table_name="seen") == (400, QUERY)
    with pytest.raises(TableError, match="at least one row"):
        public_facts(path, table_name="made")


@pytest.mark.extras("duckdb", "pyarrow")
@pytest.mark.parametrize("name", ["LOANS", "loan", "", "other.loans", 'loans"; DROP TABLE t --'])
@pytest.mark.parametrize("kind", [in_duckdb, in_sqlite])
def test_a_table_that_is_not_there_is_refused(tmp_path, kind, name):
    path = kind(tmp_path)
    with pytest.raises(TableError, match="a named table must be in the database"):
        count_rows(path, SCHEMA, table_name=name)
    with pytest.raises(TableError, match="a named table must be in the database"):
        read_table(path, table_name=name)


@pytest.mark.extras("duckdb", "narwhals", "pyarrow")
def test_names_may_hold_dots_where_they_are_those_of_one_table(tmp_path):
    statement = """
        CREATE TABLE "v1.2" AS FROM given;
        CREATE SCHEMA "a.b"; CREATE TABLE "a.b"."c.d" AS FROM given;
        CREATE SCHEMA a; CREATE TABLE a.t AS FROM given; CREATE TABLE "a.t" AS FROM given LIMIT 9
    """
    path = in_duckdb(tmp_path, statement)
    for name in ("v1.2", "main.v1.2", "a.b.c.d", "main.a.t"):
        n_rows = 9 if name == "main.a.t" else 400
        assert count_rows(path, SCHEMA, table_name=name).n_rows == n_rows
        assert len(read_table(path, table_name=name)) == n_rows
    for read in (public_facts, read_table):
        with pytest.raises(TableError, match=r"must be one, but 'a\.t' is 2"):
            read(path, table_name="a.t")


@pytest.mark.extras("duckdb", "narwhals", "pyarrow")
@pytest.mark.parametrize("named", [{"table_name": "t"}, {"query": "FROM t"}])
def test_a_file_that_another_program_writes_to_says_so(tmp_path, named):
    path = in_duckdb(tmp_path, "CREATE TABLE t AS FROM given")
    program = (
        "import duckdb, sys; held = duckdb.connect(sys.argv[1]); print(1, flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout.readline() == "1\n"
        with pytest.raises(TableError, match="end the programs that write to it"):
            count_rows(path, SCHEMA, **named)
        other.communicate("\n")
    assert count_rows(path, SCHEMA, **named).n_rows == 400


@pytest.mark.extras("duckdb", "narwhals", "pyarrow")
def test_a_stored_table_that_is_refused_says_no_cell(tmp_path, capfd):
    statement = "CREATE TABLE t AS FROM given; UPDATE t SET ill = 'xq7canary' WHERE rowid = 3"
    path = in_duckdb(tmp_path, statement)
    with pytest.raises(TableError, match="target column 'ill'|third label") as caught:
        count_rows(
            path,
            SCHEMA.to_dict() | {"target": {**SCHEMA.to_dict()["target"], "negative": "no"}},
            table_name="t",
        )
    assert CANARY not in str(caught.value) + "".join(capfd.readouterr())


@pytest.mark.extras("duckdb", "pyarrow")
def test_a_view_reaches_no_other_file(tmp_path):
    (tmp_path / "other.csv").write_text("a\n1\n")
    statement = f"CREATE VIEW t AS FROM '{tmp_path / 'other.csv'}'"
    path = in_duckdb(tmp_path, statement)
    for read in (
        lambda: count_rows(path, SCHEMA, table_name="t"),
        lambda: read_table(path, table_name="t"),
    ):
        with pytest.raises(TableError, match="stopped"):
            read()


def test_a_name_is_for_a_database_and_no_other_place_is_one(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(FileMistake, match="a named table is for a DuckDB or SQLite file"):
        count_rows(tmp_path / "t.csv", SCHEMA, table_name="t")
    with pytest.raises(FileMistake, match="a name and a query"):
        read_table(tmp_path / "t.csv", table_name="t", query="SELECT 1")
    with pytest.raises(TableError, match="readable file"):
        count_rows(tmp_path / "none", SCHEMA, table_name="t")
    with pytest.raises(FileMistake, match="must have a name"):
        read_table("postgresql://here/there")


@pytest.mark.extras("psycopg")
def test_a_server_that_does_not_answer_is_refused_without_its_url(monkeypatch):
    monkeypatch.setattr(named_tables, "are_installed", lambda *_: False)
    url = f"postgresql://me:{CANARY}@127.0.0.1:1/there?connect_timeout=2"
    with pytest.raises(TableError, match="a server must take the connection") as caught:
        count_rows(url, SCHEMA, table_name="t")
    assert CANARY not in str(caught.value) and caught.value.__cause__ is None
    with pytest.raises(TableError, match="but a server gives them once"):
        count_rows(url, PRIVATE, table_name="t")


@pytest.mark.extras("narwhals", "pyarrow", "ibis", "psycopg")
def test_a_schema_of_a_server_may_hold_dots(asked):
    import psycopg

    url = server_url()
    with psycopg.connect(url, autocommit=True) as server:
        base = server.info.dbname
        name = ibis_table(arrow(rows()), "postgres", temp=False).get_name()
        for schema, limit in (("decoy", 9), (f"{base}.decoy", 30), ("y.z", 40)):
            server.execute(f'CREATE SCHEMA "{schema}"')
            server.execute(
                f'CREATE TABLE "{schema}".t AS SELECT * FROM public."{name}" LIMIT {limit}'
            )
        try:
            found = [
                count_rows(url, SCHEMA, table_name=each).n_rows
                for each in ("decoy.t", f"{base}.decoy.t", "y.z.t")
            ]
        finally:
            server.execute(f'DROP SCHEMA decoy, "{base}.decoy", "y.z" CASCADE')
    assert found == [9, 30, 40] and asked == [True] * 3


@pytest.mark.extras("narwhals", "pyarrow", "ibis", "psycopg")
def test_a_server_counts_what_its_rows_say(asked, monkeypatch):
    table = arrow(rows())
    name = ibis_table(table, "postgres", temp=False).get_name()
    url = server_url()
    counts = count_rows(url, SCHEMA, table_name=name)
    expected = count_rows(table, SCHEMA)
    assert asked == [True] and counts.assumptions == (DTYPES_DECLARED,)
    assert counts.points.tolist() == expected.points.tolist()
    assert counts.positives.tolist() == expected.positives.tolist()
    assert public_facts(url, table_name=name) == (400, (DTYPES_DECLARED,))
    with pytest.raises(TableError, match="given twice"):
        counts + count_rows(url, SCHEMA, table_name=f"{name}")
    monkeypatch.setattr(named_tables, "are_installed", lambda *_: False)
    by_rows = count_rows(url, SCHEMA, table_name=f"public.{name}")
    assert asked == [True, True, False]
    assert by_rows.points.tolist() == expected.points.tolist()
    with pytest.raises(TableError, match="a named table must be in the database"):
        count_rows(url, SCHEMA, table_name=name.upper())
