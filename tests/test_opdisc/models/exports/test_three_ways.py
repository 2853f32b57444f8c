"""What is counted in an engine, scored by a card's SQL and read row by row is one thing.

Two generators write it: expressions for counting, text for SQL. Hostile cells of every type hold
them together on DuckDB, statement by statement. A card whose points are powers of two tells by its
total which statements are true.
"""

from functools import cache

import pytest
from helpers.opdisc.cards import released
from helpers.opdisc.hostile_cells import FEATURES, REFUSED, cells, reader_says
from test_opdisc.data.counting.test_statements import TYPES, declared, engine_says, table_of

from opdisc.errors import TableError
from opdisc.models import card_sql, card_sql_text

pytestmark = pytest.mark.extras("duckdb", "narwhals", "pyarrow")

NUMBERS = ("numbers", "huge")
QUICK = ("int64", "float64", "bool", "text")
KINDS = [kind if kind in QUICK else pytest.param(kind, marks=pytest.mark.slow) for kind in TYPES]
MINUS_SAS_ZERO = -(2.0**-260)


def sql_says(schema, table, form, change=lambda sql: sql):
    """Return, for each row, its statements as the SQL adds them up, or None without a total."""
    import duckdb
    import pyarrow as pa

    sql = change(form(released(schema, [2**at for at in range(schema.n_columns)])))
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("given", table.append_column("nr", pa.array(range(len(table)))))
        connection.execute("CREATE TABLE your_table AS FROM given")
        total = connection.sql(sql).project("nr, total").order("nr").fetchall()
    bits = range(schema.n_columns)
    return [None if said is None else tuple(said >> bit & 1 for bit in bits) for _, said in total]


@cache
def told(name, kind):
    """Return a schema and a table, and what the reader and the engine that counts say of it."""
    schema, table = declared(FEATURES[name]), table_of(cells()[kind])
    read = [said if said is REFUSED else said[:-1] for said in reader_says(schema, table)]
    try:
        counted = [said and said[:-1] for said in engine_says(schema, table, "duckdb")]
    except TableError:  # by its type
        counted = [None] * len(read)
    return schema, table, read, counted


def three_ways(name, kind, form, **more):
    """Return each cell with what the reader, the engine that counts, and the SQL say of it.

    None: unsure, or no total.
    """
    schema, table, read, counted = told(name, kind)
    by_sql = sql_says(schema, table, form, **more)
    return list(zip(table["x"].to_pylist(), read, counted, by_sql, strict=True))


def is_declared_exception(name, cell):
    """Return whether the SQL for text says that it reads such a cell in another way."""
    if name in NUMBERS:
        said = str(cell).strip()
        return (
            said in ("nan", "NaN", "1e400") or cell == MINUS_SAS_ZERO or "-5.397605346934" in said
        )
    if name == "else":  # a number that is none is a text as any other there
        return cell != cell
    if name == "texts":  # codes must be text
        return not isinstance(cell, str)
    return name in ("binary", "sides") and str(cell).strip() in ("nan", "NaN")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FEATURES)
def test_sql_for_text_says_what_is_counted_and_what_is_read(name, kind):
    sure = 0
    for cell, read, counted, by_sql in three_ways(name, kind, card_sql_text):
        assert counted in (None, read), cell
        if not is_declared_exception(name, cell):
            assert by_sql is None or by_sql == read, cell
        sure += counted is not None and counted == by_sql
    assert sure or kind in ("date", "ms", "us") or name == "texts" or name == "sides"


def is_read_as_it_stands(cell):
    """Return whether a text is spelled as the reader compares it."""
    from opdisc.data.cells import canonical_text

    return not isinstance(cell, str) or (cell == canonical_text(cell) and cell.lower() != "nan")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FEATURES)
def test_plain_sql_says_the_same_of_columns_of_its_types(name, kind):
    """An engine refuses it for a column of another type; 4 bytes and infinities are told there."""
    import duckdb

    try:
        found = three_ways(name, kind, card_sql)
    except duckdb.Error as error:
        assert "onver" in str(error) or "mix values" in str(error) or "invalid" in str(error)
        return
    for cell, read, counted, by_sql in found:
        assert counted in (None, read), cell
        is_told = kind == "float32" or cell == MINUS_SAS_ZERO or not is_read_as_it_stands(cell)
        is_infinite = isinstance(cell, float) and abs(cell) == float("inf")
        if not (is_told or is_infinite):
            assert by_sql is None or by_sql == read, cell


def test_plain_sql_runs_on_columns_of_its_types():
    for name, kind in (
        *((name, kind) for name in NUMBERS for kind in ("int8", "uint64", "float64", "decimal15")),
        *(("binary", kind) for kind in ("bool", "int32", "float64", "text")),
        *((name, "text") for name in ("codes", "else", "texts", "sides")),
    ):
        found = three_ways(name, kind, card_sql)
        assert sum(by_sql is not None and by_sql == read for _, read, _, by_sql in found) > 2


@pytest.mark.parametrize(
    ("name", "kind", "form", "old", "new"),
    [
        ("numbers", "float64", card_sql_text, ">= 38.3", "> 38.3"),
        ("numbers", "float32", card_sql_text, "<> ''", "= ''"),
        ("codes", "text", card_sql_text, "RTRIM(text_1, '0')", "text_1"),
        ("numbers", "decimal5", card_sql, "BETWEEN 38.3", "BETWEEN 38.31"),
        ("else", "text", card_sql, "COALESCE(t.\"x\", '')", 't."x"'),
    ],
)
def test_a_change_of_the_sql_is_found(name, kind, form, old, new):
    def change(sql):
        assert old in sql
        return sql.replace(old, new)

    whole, broken = three_ways(name, kind, form), three_ways(name, kind, form, change=change)
    assert [line[3] for line in whole] != [line[3] for line in broken]
