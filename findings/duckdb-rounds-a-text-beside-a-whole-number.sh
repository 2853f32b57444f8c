#!/usr/bin/env bash
# DuckDB 2.0.1 casts a text to the type of the column beside it, and rounds on the way: of an INTEGER column
# x = '2.5' is true of 3, x = '2.4' of 2, and so for a parameter that is bound as the text 2.5. Nothing is raised.
# Expected was what the others do: SQLite finds no such row, PostgreSQL refuses the text, and DuckDB itself
# finds none for the number 2.5. Met here: codes of categories are written as texts, and a column of whole numbers
# then has a row in a category that the table's text never spells.
# What opdisc does: its SQL for typed columns writes a number as a number and says which type each column must have;
# the SQL for columns of texts casts the column, not the code.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q duckdb==2.0.1
cat > "$folder/round.py" <<'PYTHON'
import sqlite3

import duckdb

ROWS = "VALUES (2), (3), (4)"
ASKED = {"x = '2.5'": [], "x = '2.4'": [], "x = 2.5": [], "CAST(x AS TEXT) = '2.5'": []}
duck, lite = duckdb.connect(), sqlite3.connect(":memory:")
seen = {}
for engine in (duck, lite):
    engine.execute("CREATE TABLE t (x INTEGER)")
    engine.execute(f"INSERT INTO t {ROWS}")
for where in ASKED:
    query = f"SELECT x FROM t WHERE {where}"
    seen[where] = [[x for (x,) in engine.execute(query).fetchall()] for engine in (duck, lite)]
bound = [x for (x,) in duck.execute("SELECT x FROM t WHERE x = ?", ["2.5"]).fetchall()]
print("duckdb", duckdb.__version__, "beside sqlite", sqlite3.sqlite_version)
print("expected: no row of 2, 3, 4 equals 2.5 or 2.4, however it is written")
for where, (by_duckdb, by_sqlite) in seen.items():
    print(f"seen: {where}: duckdb {by_duckdb}, sqlite {by_sqlite}")
print("seen: x = ? with the text 2.5: duckdb", bound)
wrong = {where: found[0] for where, found in seen.items() if found[0]}
raise SystemExit(
    wrong != {"x = '2.5'": [3], "x = '2.4'": [2]} or bound != [3] or any(s for _, s in seen.values())
)
PYTHON
"$folder/venv/bin/python" "$folder/round.py"
