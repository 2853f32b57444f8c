"""Tables of typed columns in SQLite, DuckDB and PostgreSQL, scored by a card's SQL."""

import contextlib
import re
import sqlite3

from helpers.opdisc.engines import server_url
from helpers.opdisc.exported import held_row

from opdisc.models import card_sql

READ = re.compile('^--   "((?:[^"]|"")*)": (.*)$', re.MULTILINE)
DOUBLE = "DOUBLE PRECISION"


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


@contextlib.contextmanager
def on_sqlite():
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        yield connection.cursor(), "?"


@contextlib.contextmanager
def on_duckdb():
    import duckdb

    with duckdb.connect(config={"threads": 1}) as connection:
        yield connection, "?"


@contextlib.contextmanager
def on_postgresql():
    import psycopg

    with psycopg.connect(server_url()) as connection:
        yield connection.cursor(), "%s"
        connection.rollback()


def scored(engine, sql, kinds, rows):
    """Return the lines that an engine makes of a table of some rows, in their order."""
    names = ", ".join(f"{quoted(name)} {kind}" for name, kind in kinds.items())
    with engine() as (cursor, mark):
        cursor.execute(f"CREATE TEMPORARY TABLE your_table (row_at INTEGER, {names})")
        marks = f"({', '.join([mark] * (1 + len(kinds)))})"
        for start in range(0, len(rows), 100):
            some = list(enumerate(rows))[start : start + 100]
            values = [cell for at, row in some for cell in (at, *(row[name] for name in kinds))]
            cursor.execute(
                f"INSERT INTO your_table VALUES {', '.join([marks] * len(some))}", values
            )
        cursor.execute(sql)
        names = [each[0] for each in cursor.description]
        found = [dict(zip(names, line, strict=True)) for line in cursor.fetchall()]
    return sorted(found, key=lambda line: line["row_at"])


def typed(rng, model, count=12):
    """Return types of columns, as the SQL asks for them, and rows of such cells."""
    wanted = {name.replace('""', '"'): kind for name, kind in READ.findall(card_sql(model))}
    kinds = dict.fromkeys(model.schema.columns, "TEXT")
    for name, kind in wanted.items():
        if kind == "number":
            kinds[name] = DOUBLE
        elif kind != "text":
            kinds[name] = rng.choice([DOUBLE, "INTEGER", "BOOLEAN", "TEXT"])
    rows = [held_row(rng, model.schema) for _ in range(count)]
    return kinds, [
        {name: held(row[name], kinds[name]) if name in wanted else None for name in kinds}
        for row in rows
    ]


def held(cell, kind):
    """Return a cell as a column of a type holds it, NULL where it cannot."""
    if kind == "TEXT" or cell is None:
        return cell
    try:
        number = float(cell)
    except ValueError:
        return None
    if kind == DOUBLE:
        return number
    if kind == "INTEGER":
        return int(number) if number == int(number) else None
    return bool(number) if number in (0, 1) else None
