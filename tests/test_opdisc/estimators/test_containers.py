"""One table of cells in every container: every entrance gives one answer for the same cells."""

import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from opdisc import (
    OPSampClassifier,
    PrivateMulticlassClassifier,
    PrivateScorecardClassifier,
    PrivateSimplexRegressor,
    Schema,
    count_rows,
    load_model,
    read_table,
    save_model,
)
from opdisc.data.reading import COLUMNS_UNSEEN, DTYPES_DECLARED, ROWS_ALONE
from opdisc.errors import TableError
from opdisc.models import card_python, card_sql_text

SCHEMA = Schema.from_dict(
    {
        "name": "fever",
        "missing_values": ["99.9"],
        "target": {"column": "ill", "positive": 0.1, "negative": 0.3},
        "feature": [
            {"column": "temperature", "thresholds": [38.3, 39.1], "range": [30, 45]},
            {"column": "dose", "categories": [0.7, 16.6]},
            {"column": "share", "thresholds": [0.1]},
            {"column": "smoker", "binary": True},
        ],
    }
)
CELLS = {
    "smoker": [1.0, 0.0, None, 1.0, 0.0, 1.0],
    "note": [0.2, 0.2, None, 0.4, 0.5, 0.6],  # nobody declared it
    "ill": [0.1, 0.3, 0.1, None, 0.1, 0.3],
    "share": [0.1, 0.1, None, 0.2, 0.0, 0.1],
    "dose": [0.7, 16.6, 0.8, 0.7, None, 99.9],
    "temperature": [38.3, 38.2, 39.1, 99.9, 38.3, None],
}
ROWS = pd.DataFrame({name: cells * 30 for name, cells in CELLS.items()}, dtype=float)
TRUE = {  # by hand: temperature >= 38.3, >= 39.1, dose 0.7, 16.6, share >= 0.1, smoker
    "0": (1, 0, 1, 0, 1, 1),
    "1": (0, 0, 0, 1, 1, 0),
    "2": (1, 1, 0, 0, 0, 0),
    "3": (0, 0, 1, 0, 1, 1),
    "4": (1, 0, 0, 0, 0, 0),
    "5": (0, 0, 0, 0, 1, 1),
}


def arrow(kind):
    import pyarrow as pa

    return pa.table({n: pa.array(ROWS[n], kind(pa), from_pandas=True) for n in ROWS})


def arrow_with_nan(kind):
    """Return NaN where a cell is missing, and not null."""
    import pyarrow as pa

    return pa.table({n: pa.array(ROWS[n].to_numpy().astype(kind)) for n in ROWS})


def arrow_decimals():
    import pyarrow as pa

    kind = pa.decimal128(6, 2)
    return pa.table({n: pa.array(decimals(ROWS[n]), kind) for n in ROWS})


def arrow_dictionaries():
    import pyarrow as pa

    table = arrow(lambda pa: pa.float32())
    columns = [column.dictionary_encode() for column in table.columns]
    return pa.table(columns, names=table.column_names)


def in_pandas(table):
    return table.to_pandas(types_mapper=pd.ArrowDtype)


def decimals(cells):
    return [None if math.isnan(cell) else Decimal(f"{cell:.2f}") for cell in cells]


def in_polars(name):
    import polars as pl

    kind = getattr(pl, name)
    cells = {n: [None if math.isnan(c) else c for c in ROWS[n]] for n in ROWS}
    if name == "Categorical":
        cells = {n: [None if c is None else str(c) for c in column] for n, column in cells.items()}
    frame = pl.DataFrame(cells)
    return frame.cast(kind(10, 2) if name == "Decimal" else kind)


def objects(make):
    return pd.DataFrame({n: pd.Series([make(c) for c in ROWS[n]], dtype=object) for n in ROWS})


def narrow_or_none(cell):
    return None if math.isnan(cell) else np.float32(cell)


def sparse(kind):
    return pd.DataFrame({n: pd.arrays.SparseArray(ROWS[n].to_numpy(kind)) for n in ROWS})


PANDAS = {
    "float64": lambda: ROWS,
    "float32": lambda: ROWS.astype("float32"),
    "float16": lambda: ROWS.astype("float16"),
    "Float32": lambda: ROWS.astype("Float32"),
    "Float64": lambda: ROWS.astype("Float64"),
    "category of float32": lambda: ROWS.astype("float32").astype("category"),
    "Sparse[float32]": lambda: sparse(np.float32),
    "objects of float32": lambda: objects(narrow_or_none),
    "objects of float32, NaN": lambda: objects(np.float32),
    "objects of float16, NaN": lambda: objects(np.float16),
    "objects of Decimal": lambda: pd.DataFrame(
        {n: pd.Series(decimals(ROWS[n]), dtype=object) for n in ROWS}
    ),
    "longdouble": lambda: ROWS.astype(np.longdouble),
    "mixed": lambda: ROWS.astype({"temperature": "float32", "ill": "Float32"}),
    "repeated index": lambda: ROWS.astype("float32").set_axis([7] * len(ROWS)),
}
ARROW = {
    "arrow float32": lambda: arrow(lambda pa: pa.float32()),
    "arrow float32, NaN": lambda: arrow_with_nan(np.float32),
    "arrow float16": lambda: arrow_with_nan(np.float16),
    "arrow double": lambda: arrow(lambda pa: pa.float64()),
    "arrow double, NaN": lambda: arrow_with_nan(np.float64),
    "arrow decimal": arrow_decimals,
    "arrow dictionary of float32": arrow_dictionaries,
}
IN_PANDAS = {
    f"pandas, {name}": lambda make=make: in_pandas(make()) for name, make in ARROW.items()
} | {"batch": lambda: arrow(lambda pa: pa.float32()).combine_chunks().to_batches()[0]}
POLARS = {
    f"polars {name}": lambda name=name: in_polars(name)
    for name in ("Float32", "Float64", "Decimal", "String", "Categorical", "Float16")
}


def cases(found, *modules):
    """Return containers, each where its library is installed."""
    marks = [pytest.mark.extras(*modules)] if modules else []
    return [pytest.param(make, id=name, marks=marks) for name, make in found.items()]


FRAMES = [
    *cases(PANDAS),
    *cases(ARROW | IN_PANDAS, "pyarrow"),
    *cases(POLARS, "polars", "narwhals"),
]


def made(make):
    try:
        return make()
    except AttributeError as error:
        if "Float16" not in str(error):
            raise
        pytest.skip("this polars has no Float16")


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """Counts and card of the same cells as a text file."""
    path = tmp_path_factory.mktemp("cells") / "t.csv"
    ROWS.to_csv(path, index=False)
    counts = count_rows(path, SCHEMA)
    card = fitted().fit_counts(counts)
    assert counts.assumptions == ()
    return path, counts, card


def fitted():
    return PrivateScorecardClassifier(schema=SCHEMA, epsilon=50.0, random_state=0)


def same_counts(found, counts):
    return all(
        np.array_equal(getattr(found, part), getattr(counts, part))
        for part in ("points", "positives", "negatives")
    )


def truth_of(card):
    """Return the answers to all rows, from the table written by hand."""
    encoded = np.array([(1, *true) for true in TRUE.values()] * 30)
    totals = card.scorecard_.scores(encoded)
    return np.where(totals >= 1, 0.1, 0.3)


def test_the_text_file_says_what_is_written_by_hand(expected):
    path, counts, card = expected
    labelled = {TRUE[str(i)] for i, label in enumerate(CELLS["ill"]) if label is not None}
    assert {tuple(point[1:]) for point in counts.points.tolist()} == labelled
    assert (card.predict(read_table(path)) == truth_of(card)).all()
    assert len(set(truth_of(card))) == 2


@pytest.mark.parametrize("make", FRAMES)
def test_frames_of_every_kind_give_one_answer(make, expected):
    _, counts, card = expected
    frame = made(make)
    found = count_rows(frame, SCHEMA)
    assert found.assumptions == (DTYPES_DECLARED, COLUMNS_UNSEEN)
    assert same_counts(found, counts) and same_counts(
        count_rows(frame, SCHEMA, chunk_cells=7), counts
    )
    model = fitted().fit(frame, frame["ill"])
    assert model.scorecard_ == card.scorecard_
    seedless = PrivateScorecardClassifier(schema=SCHEMA).fit(frame, frame["ill"])
    assert seedless.receipt_.conditions == (DTYPES_DECLARED, COLUMNS_UNSEEN)
    for who in (model, card, card.to_model()):
        assert (np.asarray(who.predict(frame), dtype=float) == truth_of(card)).all()


SCALARS = {
    "float": float,
    "float32": np.float32,
    "float16": np.float16,
    "float32 or NA": lambda cell: pd.NA if math.isnan(cell) else np.float32(cell),
    "float32 or None": narrow_or_none,
    "Decimal": lambda cell: Decimal("NaN" if math.isnan(cell) else f"{cell:.2f}"),
    "text": lambda cell: "" if math.isnan(cell) else str(cell),
}


@pytest.mark.parametrize("name", SCALARS)
def test_code_and_explanations_read_cells_of_every_type(name, expected):
    card, code = expected[2], {}
    exec(card_python(card.to_model()), code)
    for number, answer in enumerate(truth_of(card)[:6]):
        cells = {name_: SCALARS[name](ROWS[name_][number]) for name_ in SCHEMA.columns}
        assert code["predict"](cells) == answer
        assert card.to_model().explain(cells).answer == answer
        assert card.to_model().explain(list(cells.values())).answer == answer
        assert (card.predict([list(cells.values())]) == answer).all()


ARROW = pytest.param("float[pyarrow]", marks=pytest.mark.extras("pyarrow"))


@pytest.mark.parametrize("kind", ["float64", "float32", "Float32", ARROW])
def test_a_row_taken_from_a_frame_is_explained_as_it_is_predicted(kind, expected):
    card = expected[2]
    frame = ROWS.astype(kind)
    for number, answer in enumerate(truth_of(card)[:6]):
        for row in (frame.iloc[number], frame.iloc[[number]]):
            assert card.to_model().explain(row).answer == answer


@pytest.mark.extras("pyarrow")
@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
@pytest.mark.parametrize("nan", [False, True])
def test_typed_files_give_the_same_answer(kind, nan, tmp_path, expected):
    import pyarrow as pa
    from pyarrow import ipc, parquet

    _, counts, card = expected
    table = pa.table({n: pa.array(ROWS[n].to_numpy(kind), from_pandas=not nan) for n in ROWS})
    parquet.write_table(table, tmp_path / "t.parquet")
    with ipc.new_file(str(tmp_path / "t.arrow"), table.schema) as writer:
        writer.write_table(table)
    for path in (tmp_path / "t.parquet", tmp_path / "t.arrow"):
        found = count_rows(path, SCHEMA)
        assert same_counts(found, counts) and found.assumptions == (DTYPES_DECLARED,)
        assert (card.predict(read_table(path)) == truth_of(card)).all()
        read = pd.read_parquet if path.suffix == ".parquet" else pd.read_feather
        assert same_counts(count_rows(read(path), SCHEMA), counts)


@pytest.fixture
def database():
    import duckdb

    with duckdb.connect(config={"threads": 1}) as connection:
        columns = ", ".join(f"{name} FLOAT" for name in CELLS)
        connection.execute(f"CREATE TABLE people ({columns})")
        rows = [[None if math.isnan(c) else c for c in row] for row in ROWS.to_numpy().tolist()]
        marks = ", ".join("?" * len(CELLS))
        connection.executemany(f"INSERT INTO people VALUES ({marks})", rows)
        yield connection


@pytest.mark.extras("pyarrow", "duckdb", "narwhals")
def test_duckdb_gives_the_same_answer(database, tmp_path, expected):
    _, counts, card = expected
    query = "SELECT * FROM people"
    for ask in (database.sql, database.execute, database.cursor().execute, database.cursor().sql):
        found = count_rows(ask(query), SCHEMA, chunk_cells=100)
        assert same_counts(found, counts)
        assert found.assumptions == (DTYPES_DECLARED, COLUMNS_UNSEEN, ROWS_ALONE)
    for frame in (database.sql(query).df(), database.sql(query).to_arrow_table()):
        assert (card.predict(frame) == truth_of(card)).all()
        assert fitted().fit(frame, frame["ill"]).scorecard_ == card.scorecard_
    with pytest.raises(TableError, match="collect it first"):
        card.predict(database.sql(query))
    database.execute(f"COPY people TO '{tmp_path / 't.parquet'}'")
    assert same_counts(count_rows(tmp_path / "t.parquet", SCHEMA), counts)


@pytest.mark.extras("duckdb")
def test_a_query_on_a_database_file_gives_the_same_answer(tmp_path, expected):
    import duckdb

    with duckdb.connect(str(tmp_path / "people.db")) as connection:
        connection.execute(f"CREATE TABLE people AS SELECT * FROM read_csv('{expected[0]}')")
        narrow = ", ".join(f"CAST({name} AS FLOAT) AS {name}" for name in CELLS)
        connection.execute(f"CREATE TABLE narrow AS SELECT {narrow} FROM people")
    for table in ("people", "narrow"):
        found = count_rows(tmp_path / "people.db", SCHEMA, query=f"SELECT * FROM {table}")
        assert same_counts(found, expected[1])


@pytest.mark.extras("duckdb")
@pytest.mark.parametrize("kind", ["FLOAT", "DOUBLE", "DECIMAL(6, 2)", "TEXT"])
def test_the_card_as_sql_gives_the_same_answer(database, kind, expected):
    card = expected[2]
    narrow = ", ".join(f"CAST(CAST({name} AS TEXT) AS {kind}) AS {name}" for name in CELLS)
    database.execute(f"CREATE TABLE your_table AS SELECT {narrow} FROM people")
    answers = [row[-1] for row in database.execute(card_sql_text(card.to_model())).fetchall()]
    assert [float(answer) for answer in answers] == truth_of(card).tolist()


# --- columns by name, cells by place -------------------------------------------------------------


def arrays():
    cells = ROWS[list(SCHEMA.columns)]
    narrow = cells.to_numpy("float32")
    return {
        "float64": cells.to_numpy(),
        "float32": narrow,
        "float32 by columns": np.asfortranarray(narrow),
        "float16": cells.to_numpy("float16"),
        "objects": np.array([list(row) for row in narrow], dtype=object),
        "list of arrays": list(narrow),
        "lists": [list(row) for row in narrow],
        "mixed lists": [[np.float32(r[0]), *(str(c) if c == c else None for c in r[1:])]
                        for r in cells.to_numpy()],
    }  # fmt: skip


@pytest.mark.parametrize("name", arrays())
def test_an_array_goes_by_place_and_keeps_its_precision(name, expected):
    card, X = expected[2], arrays()[name]
    assert (card.predict(X) == truth_of(card)).all()
    for labels in (ROWS["ill"], ROWS["ill"].to_numpy("float32"), ROWS["ill"].tolist()):
        assert fitted().fit(X, labels).scorecard_ == card.scorecard_
    kept = ROWS["ill"].notna().to_numpy()
    some = [row for row, keep in zip(X, kept, strict=True) if keep]
    share = np.mean(truth_of(card)[kept] == ROWS["ill"][kept])
    for labels in (ROWS["ill"][kept], ROWS["ill"][kept].astype("float32")):
        assert card.score(some, labels) == pytest.approx(share)


@pytest.mark.parametrize("make", FRAMES)
def test_a_declared_column_that_is_missing_is_named_and_no_other(make, expected):
    frame, card = made(make), expected[2]
    names = [name for name in SCHEMA.columns if name != "dose"]
    if isinstance(frame, pd.DataFrame):
        less = frame[[*names, "note"]].rename(columns={"note": "Dose"})
    elif hasattr(frame, "with_columns"):
        less = frame.select([*names, "note"]).rename({"note": "Dose"})
    else:
        less = frame.select([*names, "note"])
        rename = less.rename_columns if hasattr(less, "rename_columns") else None
        less = rename([*names, "Dose"]) if rename else less
    for use in (
        lambda: card.predict(less),
        lambda: card.to_model().predict(less),
        lambda: fitted().fit(less, frame["ill"]),
    ):
        with pytest.raises(TableError, match="'dose' is missing") as caught:
            use()
        assert "note" not in str(caught.value) and "Dose" not in str(caught.value)


class Unknown:
    """A frame of a library that nobody knows."""

    columns = ("dose", "temperature")

    def __array__(self, dtype=None, copy=None):
        return ROWS[list(SCHEMA.columns)].to_numpy(dtype=dtype)


@pytest.mark.extras("narwhals")
def test_names_that_nobody_can_read_are_refused_and_not_taken_by_place(expected):
    named = np.zeros(3, dtype=[(name, "f4") for name in SCHEMA.columns])
    for table in (Unknown(), named):
        with pytest.raises(TableError, match="a table with column names must be a frame of"):
            expected[2].predict(table)


@pytest.mark.extras("polars", "narwhals", "pyarrow")
def test_pipelines_and_other_estimators_go_by_name():
    frames = {
        "pandas": ROWS,
        "polars": in_polars("Float32"),
        "arrow": arrow(lambda pa: pa.float32()),
    }
    schema = Schema.from_dict(
        SCHEMA.to_dict() | {"target": {"column": "ill", "classes": [0.1, 0.3, 0.5]}}
    )
    for make in (
        fitted,
        lambda: PrivateMulticlassClassifier(schema=schema, epsilon=50.0, random_state=0),
    ):
        found = []
        for frame in frames.values():
            pipeline = make_pipeline(FunctionTransformer(), make())
            pipeline.fit(frame, frame["ill"])
            found.append([pipeline.predict(other).tolist() for other in frames.values()])
        assert found == [[found[0][0]] * 3] * 3


@pytest.mark.extras("polars", "narwhals", "pyarrow")
@pytest.mark.parametrize("name", ["polars", "arrow", "pandas"])
def test_without_a_schema_the_rule_of_scikit_learn_on_names_holds(name, tmp_path):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": rng.random(60), "b": rng.random(60)}).round(2).astype("float32")
    y = (rows["a"] > 0.5).astype(int).to_numpy()
    if name == "polars":
        import polars as pl

        def make(columns):
            return pl.DataFrame({n: pl.Series(rows[n].to_numpy()) for n in columns})
    elif name == "arrow":
        import pyarrow as pa

        def make(columns):
            return pa.table({n: rows[n].to_numpy() for n in columns})
    else:

        def make(columns):
            return rows[columns]

    doubles = np.array([[float(str(cell)) for cell in row] for row in rows.to_numpy()])
    for model in (
        PrivateScorecardClassifier(epsilon=50.0, random_state=0),
        OPSampClassifier(epsilon=5.0, delta=1e-6, feature_range=(0, 1), random_state=0),
        PrivateSimplexRegressor(epsilon=5.0, value_bound=1.0, random_state=0),
    ):
        model.fit(make(["a", "b"]), y)
        assert model.feature_names_in_.tolist() == ["a", "b"]
        with pytest.raises(ValueError, match="[Tt]he feature names should match"):
            model.predict(make(["b", "a"]))
        path = tmp_path / f"{type(model).__name__}.json"
        save_model(model, path)
        expected = model.predict(pd.DataFrame(doubles, columns=["a", "b"]))
        assert (model.predict(make(["a", "b"])) == expected).all()
        saved = load_model(path)
        for columns in (["a", "b"], ["b", "a"]):
            assert (saved.predict(make(columns)).astype(float) == expected).all()
