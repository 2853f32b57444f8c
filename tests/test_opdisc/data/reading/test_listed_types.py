"""A stored column whose type lists its categories is held to the rule of frames in memory."""

import pandas as pd
import pytest

from opdisc import PrivateScorecardClassifier, Schema, count_rows, read_table
from opdisc.cli.fitting.predict import predict_file
from opdisc.errors import TableError

_REFUSED = "'sex' must be able to hold a declared value, such as '1'"


def _schema(*values):
    return Schema.from_dict(
        {
            "name": "s",
            "target": {"column": "y", "positive": "yes", "negative": "no"},
            "feature": [{"column": "sex", "categories": list(values)}],
        }
    )


def _frame(values=("Male", "Female")):
    sex = pd.Categorical(["Male", "Female"] * 20, categories=values)
    return pd.DataFrame({"sex": sex, "y": ["yes", "no"] * 20})


def _parquet(folder):
    _frame().to_parquet(folder / "t.parquet")
    return folder / "t.parquet"


def _arrow(folder):
    _frame().to_feather(folder / "t.arrow")
    return folder / "t.arrow"


def _stream(folder):
    import pyarrow

    table = pyarrow.Table.from_pandas(_frame())
    with pyarrow.ipc.new_stream(folder / "t.arrows", table.schema) as stream:
        stream.write_table(table)
    return folder / "t.arrows"


_FILES = pytest.mark.parametrize("make", [_parquet, _arrow, _stream])


@pytest.mark.extras("pyarrow")
@_FILES
def test_a_file_with_labels_is_refused_where_codes_are_declared(make, tmp_path):
    path = make(tmp_path)
    with pytest.raises(TableError, match=_REFUSED) as refused:
        count_rows(path, _schema("1", "2"))
    assert "Male" not in str(refused.value)
    table = read_table(path)
    for rows in (table, table[::-1], table.copy()):
        with pytest.raises(TableError, match=_REFUSED):
            PrivateScorecardClassifier(schema=_schema("1", "2"), epsilon=1).fit(rows, rows["y"])
    assert count_rows(path, _schema("Male")).n_rows == 40


@pytest.mark.extras("pyarrow")
@_FILES
def test_codes_are_not_predicted_from_labels(make, tmp_path):
    frame = _frame().astype(str)
    codes = frame.assign(sex=frame["sex"].map({"Male": "1", "Female": "2"}))
    card = PrivateScorecardClassifier(schema=_schema("1", "2"), epsilon=50)
    model = card.fit(codes, codes["y"]).to_model()
    with pytest.raises(TableError, match=_REFUSED):
        list(predict_file(model, make(tmp_path)))


@pytest.mark.extras("pyarrow")
def test_every_part_of_a_file_may_list_the_declared_value(tmp_path):
    import pyarrow
    from pyarrow import parquet

    parts = [["Male"] * 20, ["1"] * 20]
    kind = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    sex = pyarrow.chunked_array([pyarrow.array(part).cast(kind) for part in parts])
    table = pyarrow.table({"sex": sex, "y": ["yes", "no"] * 20})
    parquet.write_table(table, tmp_path / "t.parquet", row_group_size=20)
    assert count_rows(tmp_path / "t.parquet", _schema("1")).n_rows == 40
    with pytest.raises(TableError, match="such as '2'"):
        count_rows(tmp_path / "t.parquet", _schema("2"))


@pytest.mark.extras("pyarrow")
def test_what_a_type_lists_decides_and_not_the_rows_of_a_file(tmp_path):
    _frame(("Male", "Female", "1")).to_feather(tmp_path / "t.arrow")
    assert count_rows(tmp_path / "t.arrow", _schema("1")).n_rows == 40


@pytest.mark.extras("pyarrow")
def test_labels_in_a_file_are_no_numbers(tmp_path):
    schema = Schema.from_dict(
        {
            "name": "s",
            "target": {"column": "y", "positive": "yes", "negative": "no"},
            "feature": [{"column": "sex", "thresholds": [1]}],
        }
    )
    with pytest.raises(TableError, match="'sex' must hold finite numbers"):
        count_rows(_parquet(tmp_path), schema)


@pytest.mark.extras("duckdb", "pyarrow")
def test_an_enum_of_duckdb_lists_its_values():
    import duckdb

    with duckdb.connect() as database:
        database.execute("CREATE TYPE sexes AS ENUM ('Male', 'Female')")
        database.execute("CREATE TABLE t AS SELECT 'Male'::sexes AS sex, 'yes' AS y")
        for source in (database.sql("FROM t"), database.cursor().execute("FROM t")):
            with pytest.raises(TableError, match=_REFUSED):
                count_rows(source, _schema("1", "2"))
        assert count_rows(database.cursor().execute("FROM t"), _schema("Male")).n_rows == 1


@pytest.mark.extras("polars", "pyarrow")
@pytest.mark.parametrize("write", ["write_parquet", "write_ipc"])
def test_a_categorical_of_polars_lists_nothing_in_a_file_either_and_an_enum_does(write, tmp_path):
    import polars as pl

    cells = ["Male", "Female"] * 20
    kinds = {"rows": pl.Categorical, "type": pl.Enum(["Male", "Female"])}
    for name, kind in kinds.items():
        frame = pl.DataFrame({"sex": pl.Series(cells, dtype=kind), "y": ["yes", "no"] * 20})
        getattr(frame, write)(tmp_path / name)
    assert count_rows(tmp_path / "rows", _schema("1", "2")).n_rows == 40
    with pytest.raises(TableError, match=_REFUSED):
        count_rows(tmp_path / "type", _schema("1", "2"))
