"""What engines say of cells: the same as the reader of rows, or that they are unsure."""

import decimal

import pytest
from helpers.opdisc import engines
from helpers.opdisc.hostile_cells import FEATURES, REFUSED, TARGETS, cells, reader_says

from opdisc.data.counting import count_rows
from opdisc.data.counting.cell_expressions import Cells, InexactColumn, Reals, Texts, unsayable
from opdisc.data.counting.spark import uncompared
from opdisc.data.counting.statements import schema_statements
from opdisc.data.schema import Schema
from opdisc.errors import TableError

TYPES = (
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("float64", "float32", "bool", "decimal5", "decimal15", "date", "ms", "us", "text", "blank"),
)
ENGINES = [*engines.ENGINES, pytest.param("pyspark", marks=engines.SPARK_MARKS)]


def lazy(table, engine):
    """Return a table of Arrow as a lazy one, and whether its engine compares letter by letter."""
    import narwhals

    if engine == "polars":
        import polars

        return narwhals.from_native(polars.from_arrow(table).lazy()), True
    if engine == "duckdb":
        import duckdb

        return narwhals.from_native(duckdb.from_arrow(table)), False
    if engine == "pyspark":
        frame = engines.spark_table(table)
        if any(uncompared(frame).values()):
            raise unsayable("x")
        return narwhals.from_native(frame), True
    return narwhals.from_native(engines.ibis_table(table, engine)), False


def held(column, engine):
    """Return the cells that an engine can hold."""
    import pyarrow as pa

    if engine not in ("postgres", "pyspark"):
        return column
    numbers = {"uint8": "int16", "uint16": "int32", "uint32": "int64", "uint64": "int64"}
    if str(column.type) in numbers:
        kept = [value for value in column.to_pylist() if value is None or value < 2**63]
        return pa.array(kept, numbers[str(column.type)])
    if str(column.type) == "string" and engine == "postgres":
        return pa.array([text for text in column.to_pylist() if not text or "\0" not in text])
    return column


def engine_says(schema, table, engine):
    """Return, for each row, its statements and its label, or None where the engine is unsure."""
    import narwhals as nw
    import pyarrow as pa

    frame, is_exact = lazy(table.append_column("at", pa.array(range(len(table)))), engine)
    types = frame.collect_schema()
    columns = {name: nw.col(name) for name in ("x", "y")}
    said = schema_statements(schema, columns, types, is_exact=is_exact)
    every = (*(each.code for each in said.features), said.positive, said.negative, said.unsure)
    asked = [expression.alias(f"s{at}") for at, expression in enumerate(every)]
    rows = frame.select(nw.col("at"), *asked).collect("pyarrow").sort("at").rows()
    found = []
    for _, *codes, positive, negative, unsure in rows:
        assert {type(each) for each in (positive, negative, unsure)} == {bool}
        coded = zip(said.features, codes, strict=True)
        true = [is_true for each, code in coded for is_true in each.truths(code)]
        label = int(positive) - int(negative)
        found.append(None if unsure else (*map(int, true), label))
    return found


def declared(feature, target="two"):
    raw = {"name": "s", "target": TARGETS[target], "feature": [feature], "missing_values": ["."]}
    return Schema.from_dict(raw)


def compare(schema, table, engine):
    """Return the rows of which an engine says something else, and those it is unsure of."""
    from pyarrow import compute as pc

    try:
        said = engine_says(schema, table, engine)
    except InexactColumn:
        return [], ["all"]
    except TableError:  # by its type: so does the reader, of every cell that is there
        there = table.filter(pc.equal(table["x"], table["x"]))  # no null, and no NaN
        return [each for each in reader_says(schema, there) if each is not REFUSED], ["all"]
    read = reader_says(schema, table)
    values = zip(table["x"].to_pylist(), table["y"].to_pylist(), read, said, strict=True)
    rows = list(values)
    wrong = [row for row in rows if row[3] is not None and row[2] != row[3]]
    return wrong, [row[:2] for row in rows if row[3] is None]


def table_of(x=None, y=None):
    import pyarrow as pa

    x = pa.array(["0"] * len(y)) if x is None else x
    y = pa.array(["yes"] * len(x)) if y is None else y
    return pa.table({"x": x, "y": y})


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", TYPES)
def test_an_engine_says_of_a_cell_what_the_reader_says_or_is_unsure(kind, engine):
    column = held(cells(60)[kind], engine)
    for feature in FEATURES.values():
        wrong, _ = compare(declared(feature), table_of(column), engine)
        assert wrong == [], feature
    for target in TARGETS:
        wrong, _ = compare(declared(FEATURES["numbers"], target), table_of(y=column), engine)
        assert wrong == [], target


TAME = {
    **{f"{sign}int{bits}": [None, 0, 1, 7, 39] for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": [None, float("nan"), 0.0, 1.0, 7.0, 38.3, 1e6] for bits in (32, 64)},
    **{f"decimal{digits}": [None, 0, 1, 7, 38] for digits in (5, 15)},
    "bool": [None, True, False],
    "text": [
        None,
        "",
        "7",
        "38.3",
        "-0.35",
        "NA",
        "c",
        "another one",
        "2024-01-02",
        "C\u00f3rdoba",
    ],
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", TAME)
def test_an_engine_is_sure_of_plain_cells(kind, engine):
    import pyarrow as pa

    values = TAME[kind]
    if kind.startswith("decimal"):
        values = [None if value is None else decimal.Decimal(value) for value in values]
    plain = held(pa.array(values, cells()[kind].type), engine)
    asked = ["codes"] if kind == "text" else ["numbers", "huge", "codes", "else"]
    for name in asked:
        assert compare(declared(FEATURES[name]), table_of(plain), engine) == ([], []), name
    if kind == "text":
        numbers = plain.take([0, 1, 2, 3, 4, 5])
        assert compare(declared(FEATURES["numbers"]), table_of(numbers), engine) == ([], [])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "fault", ["NaN is the greatest", "narrow numbers are wide ones", "no odd texts"]
)
def test_a_rule_that_is_left_out_is_found(monkeypatch, fault, engine):
    kind, feature = "float64", "numbers"
    if fault == "NaN is the greatest":
        monkeypatch.setattr(Reals, "missing", Cells.missing)
    elif fault == "narrow numbers are wide ones":
        kind = "float32"
        monkeypatch.setattr(Reals, "at_least", lambda cells, cut: cells.column >= cut)
    else:
        kind, feature = "text", "codes"
        monkeypatch.setattr(Texts, "odd_text", Cells.odd_text)
    assert compare(declared(FEATURES[feature]), table_of(held(cells()[kind], engine)), engine)[0]


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["text", "float64", "float32"])
def test_ten_thousand_hostile_texts_and_numbers(kind, engine):
    column = held(cells(10_000)[kind], engine)
    for feature in FEATURES.values():
        assert compare(declared(feature), table_of(column), engine)[0] == [], feature
    for target in TARGETS:
        schema = declared(FEATURES["numbers"], target)
        assert compare(schema, table_of(y=column), engine)[0] == [], target


@pytest.mark.long
@pytest.mark.parametrize("engine", ENGINES)
def test_many_categories_and_many_cuts_are_no_nest_too_deep(engine):
    import pyarrow as pa

    codes = [f"v{at}" for at in range(1_200)]
    texts = pa.array([None, *codes[::7], "another"])
    listed = {"column": "x", "categories": codes, "missing": "v3"}
    wrong, unsure = compare(declared(listed), table_of(texts), engine)
    assert (wrong, unsure) == ([], [])
    numbers = pa.array([None, *range(-1, 1_201, 7)])
    cuts = {"column": "x", "thresholds": list(range(1_200))}
    assert compare(declared(cuts), table_of(numbers), engine) == ([], [])


@pytest.mark.extras("narwhals", "pyarrow", "duckdb")
def test_a_collation_of_a_column_changes_no_answer():
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (x VARCHAR COLLATE NOCASE, y VARCHAR COLLATE NOCASE)")
        connection.execute(
            "INSERT INTO t VALUES ('c', 'yes'), ('C', 'no'), ('NONE', 'no'), ('A b', 'no')"
        )
        schema = declared(FEATURES["codes"])
        counts = count_rows(connection.table("t"), schema)
        plain = count_rows(connection.table("t").to_arrow_table(), schema)
        assert counts.points.tolist() == plain.points.tolist()
        assert counts.negatives.tolist() == plain.negatives.tolist()
        connection.execute("INSERT INTO t VALUES ('c', 'YES')")
        with pytest.raises(TableError, match="third label"):
            count_rows(connection.table("t"), schema)
