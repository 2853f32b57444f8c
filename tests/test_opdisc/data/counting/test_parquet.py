"""Parquet files: embedded DuckDB counts what the reader of rows counts, on no disk."""

import pytest
from test_opdisc.data.counting.test_lazy_tables import CANARY, SCHEMA, arrow, rows

from opdisc.data.counting import count_rows, parquet, sources
from opdisc.data.reading import DTYPES_DECLARED
from opdisc.data.schema import Schema
from opdisc.errors import TableError

pytestmark = pytest.mark.extras("duckdb", "narwhals", "pyarrow")


def written(folder, table, name="table"):
    from pyarrow.parquet import write_table

    write_table(table, folder / name, row_group_size=37)
    return folder / name


def by_rows(monkeypatch, path, schema=SCHEMA):
    with monkeypatch.context() as patch:
        patch.setattr(sources, "_add_in_place", lambda *_: False)
        return count_rows(path, schema)


@pytest.fixture
def asked(monkeypatch):
    """Return a list that grows by whether DuckDB counts, file by file."""
    found, whole = [], sources._add_in_place

    def noted(*arguments):
        found.append(whole(*arguments))
        return found[-1]

    monkeypatch.setattr(sources, "_add_in_place", noted)
    return found


def test_duckdb_counts_what_the_reader_counts(tmp_path, monkeypatch, asked):
    path = written(tmp_path, arrow(rows()))
    counts, expected = count_rows(path, SCHEMA), by_rows(monkeypatch, path)
    assert counts == expected and asked == [True]
    assert counts.assumptions == expected.assumptions == (DTYPES_DECLARED,)
    with pytest.raises(TableError, match="given twice"):
        count_rows([path, path], SCHEMA)


@pytest.mark.parametrize(
    "kind", ["long decimal", "dictionary", "capital", "pattern", "thresholds"]
)
def test_what_duckdb_would_read_in_another_way_goes_to_the_reader(
    tmp_path, monkeypatch, asked, kind
):
    import pyarrow as pa

    table, schema = arrow(rows(60)), SCHEMA
    at = table.column_names.index("ward")
    if kind == "long decimal":
        table = table.drop_columns(["age"])
        table = table.append_column("age", pa.array([40] * 60).cast(pa.decimal128(30, 2)))
    elif kind == "dictionary":
        table = table.set_column(at, "ward", table["ward"].dictionary_encode())
    elif kind == "capital":
        table = table.append_column("AGE", pa.array([0] * 60))
    elif kind == "thresholds":
        raw = SCHEMA.to_dict()
        raw["feature"][0] = {"column": "age", "thresholds": {"quantiles": 2, "range": [0, 99]}}
        schema = Schema.from_dict(raw)
    path = written(tmp_path, table, "t[a]ble" if kind == "pattern" else "table")
    assert count_rows(path, schema) == by_rows(monkeypatch, path, schema)
    assert asked == [False]


def test_a_refusal_is_that_of_the_reader(tmp_path, monkeypatch, asked):
    import pyarrow as pa

    good = arrow(rows(60))
    for column, cells in (("ill", ["N/A", *["yes"] * 59]), ("age", [CANARY] * 60)):
        table = good.drop_columns([column]).append_column(column, pa.array(cells))
        path = written(tmp_path, table)
        said = []
        for count in (count_rows, lambda *given: by_rows(monkeypatch, *given)):
            with pytest.raises(TableError) as caught:
                count(path, SCHEMA)
            said.append(str(caught.value))
        assert said[0] == said[1] and CANARY not in said[0]
    with pytest.raises(TableError, match="'age' is missing"):
        count_rows(written(tmp_path, good.drop_columns(["age"])), SCHEMA)


def test_what_does_not_fit_into_memory_is_refused_and_no_disk_is_used(tmp_path, monkeypatch):
    import numpy as np
    import pyarrow as pa

    digits = np.random.default_rng(0).integers(0, 2, (20, 100_000))
    table = pa.table({f"x{at}": column for at, column in enumerate(digits)} | {"y": digits[0]})
    features = [{"column": f"x{at}", "binary": True} for at in range(20)]
    target = {"column": "y", "positive": 1, "negative": 0}
    schema = Schema.from_dict({"name": "s", "target": target, "feature": features})
    path = written(tmp_path, table)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(parquet, "SETTINGS", parquet.SETTINGS | {"memory_limit": "4MB"})
    with pytest.raises(
        TableError, match="in memory, but on .*OutOfMemory.*; give it more"
    ) as caught:
        count_rows(path, schema)
    assert caught.value.__cause__ is None and [each.name for each in tmp_path.iterdir()] == [
        "table"
    ]


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_nan_is_missing_though_the_file_says_that_a_column_has_none(kind, tmp_path, monkeypatch):
    """The file states the range of what is not NaN: DuckDB 2.0.1 then finds no NaN by isnan."""
    import duckdb
    import numpy as np
    import pyarrow

    schema = Schema.from_dict(
        {
            "name": "nan",
            "target": {"column": "ill", "positive": 1, "negative": 0},
            "feature": [
                {"column": "one", "categories": [1.5]},
                {"column": "many", "thresholds": [2, 5]},
            ],
        }
    )
    cells = {
        "one": np.array([1.5, np.nan, 1.5, np.nan] * 9),  # its least is its largest
        "many": np.array([1.0, 3.0, np.nan, np.nan] * 9),
        "ill": np.array([1.0, 0.0, np.nan, 1.0] * 9),
    }
    table = pyarrow.table({name: pyarrow.array(c.astype(kind)) for name, c in cells.items()})
    path = written(tmp_path, table, "nan.parquet")
    expected = by_rows(monkeypatch, path, schema)
    assert expected.points.tolist() == [[1, 0, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0]]
    with duckdb.connect() as connection:
        relation = connection.sql(f"SELECT * FROM read_parquet('{path}')")
        for found in (count_rows(path, schema), count_rows(relation, schema)):
            assert found.points.tolist() == expected.points.tolist()
            assert found.positives.tolist() == expected.positives.tolist()
            assert found.negatives.tolist() == expected.negatives.tolist()


def test_a_folder_whose_name_is_a_pattern_adds_no_other_file(tmp_path, monkeypatch):
    import pyarrow

    table = pyarrow.table({"x0": [0.0, 1.0], "x1": [0.0, 0.0], "target": [0, 1]})
    for name in ("e*", "e1", "e2"):
        (tmp_path / name).mkdir()
        written(tmp_path / name, table, "t.parquet")
    monkeypatch.chdir(tmp_path / "e*")
    assert count_rows("t.parquet", Schema.equal_width(2)).n_rows == 2


def test_what_is_above_a_link_is_where_the_link_leads(tmp_path):
    """``link/..`` is the folder above the linked one, and not the folder that has the link."""
    import pyarrow

    (tmp_path / "real" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real" / "deep")
    columns = {"x0": [0.0, 1.0], "x1": [0.0, 0.0], "target": [0, 1]}
    written(tmp_path / "real", pyarrow.table(columns), "t.parquet")
    more = {name: cells * 3 for name, cells in columns.items()}
    written(tmp_path, pyarrow.table(more), "t.parquet")
    assert count_rows(tmp_path / "link" / ".." / "t.parquet", Schema.equal_width(2)).n_rows == 2
