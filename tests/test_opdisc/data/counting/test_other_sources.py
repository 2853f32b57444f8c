"""Typed files, databases and other libraries: the same counts, the same model."""

import datetime
import sqlite3

import numpy as np
import pandas as pd
import pytest

from opdisc import PrivateScorecardClassifier, read_table
from opdisc.data.counting import count_rows
from opdisc.data.reading import (
    COLUMNS_UNSEEN,
    DTYPES_DECLARED,
    ROWS_ALONE,
    count_lines,
    read_header,
)
from opdisc.data.schema import Schema
from opdisc.errors import FileMistake, TableError

SCHEMA = Schema.from_dict(
    {
        "name": "s",
        "target": {"column": "ill", "positive": "yes", "negative": "no"},
        "missing_values": ["NA"],
        "feature": [
            {"column": "age", "thresholds": [40, 65]},
            {"column": "ward", "categories": ["a", 1, "x"], "missing": "a"},
            {"column": "code", "categories": [7, 9]},
            {"column": "dose", "thresholds": [0.7], "range": [0, 1]},
            {"column": "seen", "categories": ["2020-01-02"]},
            {"column": "smoker", "binary": True},
        ],
    }
)
TYPED = {
    "note": ["n"] * 60,
    "age": [30, 50, None, 70] * 15,
    "ward": ["a", "1", None, "NA", "x"] * 12,
    "code": [7, 8, 9] * 20,
    "dose": [0.7, 0.1, float("nan")] * 20,
    "seen": [datetime.date(2020, 1, 2), datetime.date(2021, 1, 2)] * 30,
    "smoker": [True, False, None] * 20,
    "ill": ["yes", "no", "no", None] * 15,
}
TEXTS = pd.DataFrame(
    {
        name: ["" if v is None or v != v else str(v) for v in values]
        for name, values in TYPED.items()
    },
    dtype="str",
)
CANARY = "xq7canary"


def table_of(values, kind):
    import pyarrow as pa

    types = {"age": pa.int64(), "dose": pa.float32(), "code": pa.int32()}
    if kind == "wide":
        types = {"age": pa.float64(), "dose": pa.float64(), "code": pa.int64()}
    fields = {n: pa.array(v, type=types.get(n), from_pandas=True) for n, v in values.items()}
    if kind == "dictionary":
        fields["ward"] = fields["ward"].dictionary_encode()
    return pa.table(fields)


def written(path, kind, values=TYPED):
    """Write a typed file of a kind."""
    if kind.startswith("parquet"):
        import pyarrow.parquet as pq

        pq.write_table(table_of(values, kind.partition("-")[2]), path, row_group_size=17)
    elif kind in ("file", "stream"):
        from pyarrow import ipc

        table = table_of(values, "")
        make = ipc.new_file if kind == "file" else ipc.new_stream
        with make(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=13)
    else:
        import openpyxl

        book = openpyxl.Workbook()
        sheet = book.active
        sheet.append(list(values))
        for row in zip(*values.values(), strict=True):
            sheet.append([None if v != v else str(v) if isinstance(v, datetime.date) else v
                          for v in row])  # fmt: skip
        book.save(path)
    return path


excel = pytest.mark.extras("openpyxl")


def kinds(*names):
    """Return kinds of typed files, each where its reader is installed."""
    return [
        pytest.param(name, marks=pytest.mark.extras("openpyxl" if name == "excel" else "pyarrow"))
        for name in names
    ]


KINDS = kinds("parquet", "parquet-wide", "parquet-dictionary", "file", "stream", "excel")


@pytest.mark.parametrize("kind", KINDS)
def test_typed_files_are_read_value_by_value(tmp_path, kind):
    path = written(tmp_path / "table", kind)
    expected = count_rows(TEXTS, SCHEMA)
    assert read_header(path) == tuple(TYPED)
    assert count_lines(path) == 60
    for chunk_cells in (1, 40, 2**18):
        counts = count_rows(path, SCHEMA, chunk_cells=chunk_cells)
        assert counts.assumptions == (DTYPES_DECLARED,)
        assert np.array_equal(counts.points, expected.points)
        assert np.array_equal(counts.positives, expected.positives)
        assert np.array_equal(counts.negatives, expected.negatives)
    receipt = PrivateScorecardClassifier(schema=SCHEMA).fit_counts(counts).receipt_
    assert receipt.conditions == (DTYPES_DECLARED,)
    table = read_table(path, columns=["ward", "code"])
    assert table["ward"].tolist() == TEXTS["ward"].tolist()
    assert table["code"].tolist() == TEXTS["code"].tolist()
    whole = read_table(path)
    conditions = PrivateScorecardClassifier(schema=SCHEMA).fit(whole, whole["ill"]).receipt_
    assert DTYPES_DECLARED in conditions.conditions


@pytest.mark.parametrize("kind", kinds("parquet", "file", "excel"))
def test_codes_that_numbers_do_not_keep_are_refused_in_typed_files(tmp_path, kind):
    path = written(tmp_path / "table", kind)
    lost = Schema.from_dict(
        SCHEMA.to_dict() | {"feature": [{"column": "code", "categories": ["007"]}]}
    )
    with pytest.raises(TableError, match="does not keep the declared value '007'"):
        count_rows(path, lost)


@pytest.mark.parametrize("kind", kinds("parquet", "file", "excel"))
def test_damaged_typed_files_are_refused_in_one_sentence(tmp_path, kind):
    data = written(tmp_path / "table", kind).read_bytes()
    for damaged in (data[:40], data[: len(data) // 2], data[:60] + b"?" * 40 + data[100:]):
        (tmp_path / "damaged").write_bytes(damaged)
        try:
            count_rows(tmp_path / "damaged", SCHEMA)
        except TableError as error:
            assert "\n" not in str(error)


@pytest.mark.extras("pyarrow")
def test_lists_and_bytes_are_no_cells(tmp_path):
    for odd in ([[1, 2]] * 60, [CANARY.encode()] * 60):
        path = written(tmp_path / "table", "parquet", TYPED | {"ward": odd})
        with pytest.raises(TableError, match="has a cell of another type") as caught:
            count_rows(path, SCHEMA)
        assert CANARY not in str(caught.value)


def test_a_text_whose_header_begins_like_a_typed_file(tmp_path):
    (tmp_path / "t.csv").write_text("PAR1,b\n1,2\n")
    assert read_header(tmp_path / "t.csv") == ("PAR1", "b")


@excel
def test_blank_rows_of_a_sheet(tmp_path):
    import openpyxl

    book = openpyxl.Workbook()
    for row in (["a", "b"], [1, None], [None, None], [None, None]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    assert read_table(tmp_path / "t.xlsx").to_dict("list") == {"a": ["1"], "b": [""]}
    for more in ([5, 6], [1, 2, CANARY]):
        book.active.append(more)
        book.save(tmp_path / "t.xlsx")
        with pytest.raises(TableError, match="every line of a table") as caught:
            read_table(tmp_path / "t.xlsx")
        assert CANARY not in str(caught.value)


@pytest.fixture
def workbook(tmp_path):
    """Write a workbook of two tables."""
    import openpyxl

    book = openpyxl.Workbook()
    book.active.title = "notes"
    book.active.append(["about"])
    book.active.append([CANARY])
    sheet = book.create_sheet("2026 Q1")
    sheet.append(list(TEXTS.columns))
    for row in TEXTS.to_numpy().tolist():
        sheet.append(row)
    book.save(tmp_path / "loans.xlsx")
    return tmp_path / "loans.xlsx"


@excel
def test_a_sheet_is_read_by_its_name(workbook):
    assert read_header(workbook) == ("about",)
    assert read_header(workbook, sheet="2026 Q1") == tuple(TEXTS.columns)
    assert count_lines(workbook, sheet="2026 Q1") == len(TEXTS)
    read = read_table(workbook, sheet="2026 Q1")
    assert read["ward"].tolist() == TEXTS["ward"].tolist()
    counts, expected = count_rows(workbook, SCHEMA, sheet="2026 Q1"), count_rows(TEXTS, SCHEMA)
    assert np.array_equal(counts.points, expected.points)


@excel
@pytest.mark.parametrize("sheet", ["2026 q1", "", "notes\n"])
def test_a_missing_sheet_is_refused_without_the_names_of_the_others(workbook, sheet):
    for read in (read_header, read_table, count_lines):
        with pytest.raises(TableError, match="must name a sheet of the workbook") as caught:
            read(workbook, sheet=sheet)
        told = str(caught.value)
        assert "Q1" not in told.replace(str(workbook), "") and "\n" not in told


@pytest.mark.parametrize("kind", ["text", *kinds("parquet", "file"), "database"])
def test_a_sheet_of_another_kind_of_file_is_refused(tmp_path, kind):
    path = tmp_path / "table"
    if kind == "text":
        path.write_text("a,b\n1,2\n")
    elif kind == "database":
        sqlite3.connect(path).execute("CREATE TABLE t (a)").connection.close()
    else:
        written(path, kind)
    with pytest.raises(TableError, match="a sheet is for an Excel file") as caught:
        read_header(path, sheet="x")
    assert "\n" not in str(caught.value)


# --- databases -----------------------------------------------------------------------------------


def database(path, kind):
    columns = ", ".join(f'"{name}"' for name in TYPED)
    rows = [
        tuple(None if v != v else str(v) if isinstance(v, datetime.date) else v for v in row)
        for row in zip(*TYPED.values(), strict=True)
    ]
    marks = ", ".join("?" * len(TYPED))
    if kind == "sqlite":
        with sqlite3.connect(path) as connection:
            connection.execute(f"CREATE TABLE people ({columns})")
            connection.executemany(f"INSERT INTO people VALUES ({marks})", rows)
        connection.close()
        return path
    import duckdb

    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE people (note VARCHAR, age INTEGER, ward VARCHAR, code BIGINT, "
            "dose DECIMAL(3, 2), seen DATE, smoker BOOLEAN, ill VARCHAR)"
        )
        connection.executemany(f"INSERT INTO people VALUES ({marks})", rows)
    return path


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_query_is_a_table_whose_rows_nobody_can_vouch_for(tmp_path, kind):
    path = database(tmp_path / "people", kind)
    query = "SELECT * FROM people"
    expected = count_rows(TEXTS, SCHEMA)
    assert read_header(path, query=query) == tuple(TYPED)
    assert count_lines(path, query=query + " WHERE code = 7") == 20
    for chunk_cells in (1, 2**18):
        counts = count_rows(path, SCHEMA, query=query, chunk_cells=chunk_cells)
        assert np.array_equal(counts.points, expected.points)
        assert np.array_equal(counts.positives, expected.positives)
    assert counts.assumptions == (DTYPES_DECLARED, COLUMNS_UNSEEN, ROWS_ALONE)
    receipt = PrivateScorecardClassifier(schema=SCHEMA).fit_counts(counts).receipt_
    assert receipt.guarantee == "CONDITIONAL" and ROWS_ALONE in receipt.conditions
    assert not list(tmp_path.glob("*.wal"))


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
@pytest.mark.parametrize(
    "query",
    [
        "SELEC",
        "SELECT * FROM nowhere",
        "DROP TABLE people",
        "INSERT INTO people SELECT * FROM people",
        f"SELECT CAST('{CANARY}' || ward AS INTEGER) / 0 AS age FROM elsewhere",
        "",
    ],
)
def test_a_query_that_fails_or_writes_is_refused_without_a_cell(tmp_path, kind, query):
    path = database(tmp_path / "people", kind)
    before = path.read_bytes()
    with pytest.raises(TableError) as caught:
        count_rows(path, SCHEMA, query=query)
    assert CANARY not in str(caught.value) and "\n" not in str(caught.value)
    assert path.read_bytes() == before


def test_a_cell_that_a_query_cannot_convert_is_not_named(tmp_path):
    path = database(tmp_path / "people", "duckdb")
    with pytest.raises(TableError, match="stopped .ConversionException") as caught:
        count_rows(path, SCHEMA, query="SELECT CAST(ward AS INTEGER) AS age, * FROM people")
    assert "'a'" not in str(caught.value)


def test_a_query_reads_its_database_only(tmp_path):
    path = database(tmp_path / "people", "duckdb")
    (tmp_path / "other.csv").write_text("a\n1\n")
    with pytest.raises(TableError, match="stopped"):
        read_table(path, query=f"SELECT * FROM '{tmp_path / 'other.csv'}'")


def test_databases_need_a_query_and_other_files_take_none(tmp_path):
    path = database(tmp_path / "people", "sqlite")
    with pytest.raises(FileMistake, match="needs a query"):
        count_rows(path, SCHEMA)
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(FileMistake, match="for a DuckDB or SQLite file"):
        count_lines(tmp_path / "t.csv", query="SELECT 1")


@pytest.mark.parametrize(
    "kind", ["cursor", pytest.param("relation", marks=pytest.mark.extras("pyarrow"))]
)
def test_cursors_and_relations_are_sources(tmp_path, kind):
    import duckdb

    expected = count_rows(TEXTS, SCHEMA)
    with duckdb.connect(str(database(tmp_path / "people", "duckdb"))) as connection:
        ask = connection.execute if kind == "cursor" else connection.sql
        counts = count_rows(ask("SELECT * FROM people"), SCHEMA, chunk_cells=30)
        assert np.array_equal(counts.positives, expected.positives)
        assert ROWS_ALONE in counts.assumptions


# --- other libraries -----------------------------------------------------------------------------


@pytest.mark.extras("pyarrow", "narwhals", "polars")
def test_frames_of_polars_and_arrow():
    expected = count_rows(TEXTS, SCHEMA)
    frames = [table_of(TYPED, "")]
    import polars

    frames.append(polars.DataFrame(TYPED, strict=False))
    for frame in frames:
        counts = count_rows(frame, SCHEMA, chunk_cells=20)
        assert np.array_equal(counts.points, expected.points)
        assert np.array_equal(counts.positives, expected.positives)
        assert counts.assumptions == (DTYPES_DECLARED, COLUMNS_UNSEEN)
    assert count_rows(frames, SCHEMA).n_rows == 120


@pytest.mark.extras("pyarrow")
@pytest.mark.parametrize("column", ["ward", "note"])
def test_dictionaries_of_views_and_keys_of_visits_are_read(tmp_path, column):
    """As polars 2 writes categories and DuckDB 2 keys: Arrow has no function of its own."""
    import uuid

    import pyarrow as pa
    from pyarrow import ipc, parquet

    if not hasattr(pa, "uuid"):
        pytest.skip("this Arrow has no keys")
    keys = [uuid.UUID(int=number % 3) for number in range(60)]
    texts = pa.array(["a", "1", "x"], pa.string_view())
    views = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2] * 15, pa.uint32()), texts)
    plain = [{"a": "a", "1": "1", "x": "x", None: ""}[text] for text in views.to_pylist()]
    table = table_of(TYPED, "")
    at = table.column_names.index(column)
    viewed = table.set_column(at, column, views)
    with ipc.new_file(str(tmp_path / "t.arrow"), viewed.schema) as writer:
        writer.write_table(viewed)
    keyed = table.set_column(at, column, pa.array([key.bytes for key in keys], pa.uuid()))
    parquet.write_table(keyed, tmp_path / "t.parquet")
    for path, cells in (("t.arrow", plain), ("t.parquet", list(map(str, keys)))):
        expected = count_rows(TEXTS.assign(**{column: cells}), SCHEMA)
        for source in (tmp_path / path, viewed if path == "t.arrow" else keyed):
            counts = count_rows(source, SCHEMA, chunk_cells=70)
            assert np.array_equal(counts.points, expected.points)
            assert np.array_equal(counts.positives, expected.positives)
        assert read_table(tmp_path / path)[column].tolist() == cells


@pytest.mark.extras("polars", "pyarrow")
@pytest.mark.parametrize("kind", ["Categorical", "Enum"])
def test_categories_that_polars_wrote_are_read(tmp_path, kind):
    import polars

    cast = polars.Categorical if kind == "Categorical" else polars.Enum(["x", "1", "a"])
    frame = polars.DataFrame({"ward": ["a", None, "1"], "note": ["a", "x", "x"]})
    frame.cast(cast).write_ipc(tmp_path / "t.arrow")
    assert read_table(tmp_path / "t.arrow").to_dict("list") == {
        "ward": ["a", "", "1"],
        "note": ["a", "x", "x"],
    }


# --- clusters ------------------------------------------------------------------------------------


def table_on(cluster, can):
    """Return what looks like a table of a cluster, and says a cell if it is computed."""

    def computed(self, *_):
        raise AssertionError(CANARY)

    names = dict.fromkeys((can, "compute", "to_pandas", "__iter__", "__narwhals_lazyframe__"))
    made = {name: computed for name in names} | {"columns": list(TYPED), "__module__": cluster}
    return type("Table", (), made)()


@pytest.mark.parametrize(
    ("cluster", "can", "name"),
    [
        ("dask.dataframe.dask_expr._collection", "to_delayed", "Dask"),
        ("ray.data.dataset", "map_batches", "Ray"),
        (
            "pyspark.sql.dataframe",
            "toLocalIterator",
            "Spark Connect, or PySpark before version 4,",
        ),
        ("pyspark.sql.connect.dataframe", "toLocalIterator", "Spark Connect, .*"),
    ],
)
def test_a_table_on_a_cluster_is_refused_before_any_part_is_made(cluster, can, name):
    table = table_on(cluster, can)
    for source in (table, [TEXTS, table]):
        with pytest.raises(TableError, match=f"but {name} holds this one; write it as Parquet"):
            count_rows(source, SCHEMA)


def test_parts_that_were_computed_are_added_up():
    parts = (TEXTS.iloc[first : first + 13] for first in range(0, len(TEXTS), 13))
    counts = count_rows(parts, SCHEMA)
    assert counts.points.tolist() == count_rows(TEXTS, SCHEMA).points.tolist()


@pytest.mark.extras("dask")
def test_a_table_of_dask_is_refused():
    import dask.dataframe as frames

    with pytest.raises(TableError, match="but Dask holds this one"):
        count_rows(frames.from_pandas(TEXTS, npartitions=2), SCHEMA)


@pytest.mark.extras("ray")
def test_a_table_of_ray_is_refused():
    from ray import data

    with pytest.raises(TableError, match="but Ray holds this one"):
        count_rows(data.from_pandas(TEXTS), SCHEMA)
