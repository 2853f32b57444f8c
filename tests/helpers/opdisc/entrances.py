"""Rows through every entrance: what each of them makes of their cells."""

import sqlite3

import pandas as pd
from helpers.opdisc.cards import released

from opdisc import read_table
from opdisc.data import Schema, open_table
from opdisc.data.counting.texts import ChunkEncoder
from opdisc.data.encoding import encode_features, keep_first_of_exclusive
from opdisc.data.packing import unpack_rows
from opdisc.data.reading.cell_texts import csv_text
from opdisc.data.reading.table_format import TableFormat
from opdisc.errors import TableError
from opdisc.models import card_python, card_sql_text

REFUSED = "refused"


def answers(schema, rows, folder):
    """Return, by entrance, which statements are true of each of some rows.

    Parameters
    ----------
    schema : Schema or mapping
        Its statements are numbered from 0.
    rows : list of mapping
        Cells by column; only texts come by way of a file.
    folder : Path
        For that file.

    Returns
    -------
    dict of str to tuple
        For each row the numbers of its true statements, or REFUSED; a whole table is refused if
        one row is, so such a row comes alone.
    """
    schema = schema if isinstance(schema, Schema) else Schema.from_dict(schema)
    model = released(schema, [2**i for i in range(schema.n_columns)])
    score = _python(model)
    found = {
        "objects": lambda: _totals(encode_features(pd.DataFrame(rows, dtype=object), schema)),
        "explain": lambda: [model.explain(row).total for row in rows],
        "python": lambda: [score(row) for row in rows],
        "sql": lambda: _sql(model, rows),
    }
    if all(isinstance(cell, str) for row in rows for cell in row.values()):
        path = _csv(folder, schema, rows)
        found |= {
            "texts": lambda: _totals(encode_features(pd.DataFrame(rows, dtype="str"), schema)),
            "read_table": lambda: _totals(encode_features(read_table(path), schema)),
            "count_rows": lambda: _counted(path, schema),
        }
    return {name: _statements(call, len(rows)) for name, call in found.items()}


def agreed(schema, rows, folder):
    """Return what all entrances say of some rows, or all that they say where they differ."""
    found = answers(schema, rows, folder)
    said = set(found.values())
    return list(said.pop()) if len(said) == 1 else found


def _statements(call, n_rows):
    try:
        return tuple(map(_set_bits, call()))
    except (TableError, ValueError):
        return (REFUSED,) * n_rows


def _set_bits(total):
    if total is None:  # SQL cannot refuse
        return REFUSED
    return tuple(i for i in range(int(total).bit_length()) if int(total) >> i & 1)


def _totals(encoded):
    return [sum(2**i for i, bit in enumerate(row[1:].tolist()) if bit) for row in encoded]


def _counted(path, schema):
    encoder = ChunkEncoder(schema)
    with open_table(path, TableFormat()) as table:
        at = [table.header.index(name) for name in encoder.columns]
        packed = [encoder.packed(chunk)[0] for chunk in table.chunks(at)]
    rows = [unpack_rows(words, 1 + schema.n_columns) for words in packed]
    for some in rows:
        keep_first_of_exclusive(some, schema)
    return [total for some in rows for total in _totals(some)]


def _python(model):
    namespace = {}
    exec(compile(card_python(model), "card.py", "exec"), namespace)
    return namespace["score"]


def _csv(folder, schema, rows):
    path = folder / "rows.csv"
    label = str(schema.target.positive)
    lines = [(*rows[0], schema.target.column), *((*row.values(), label) for row in rows)]
    path.write_text(csv_text(lines), encoding="utf-8")
    return path


def _sql(model, rows):
    names = ", ".join('"' + name.replace('"', '""') + '" TEXT' for name in rows[0])
    marks = ", ".join("?" * len(rows[0]))
    with sqlite3.connect(":memory:") as connection:
        connection.execute(f"CREATE TABLE your_table ({names})")
        for row in rows:
            connection.execute(f"INSERT INTO your_table VALUES ({marks})", list(row.values()))
        return [line[-2] for line in connection.execute(card_sql_text(model)).fetchall()]
