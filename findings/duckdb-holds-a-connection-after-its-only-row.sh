#!/usr/bin/env bash
# DuckDB 2.0.1: after execute("SELECT count(*) ...").fetchone() the one row there is has been fetched, and still the
# connection refuses sql() and every relation of it with ResourceInUseException, until another fetch finds no row.
# execute() is not refused: it drops the open result. fetchall() leaves nothing open.
# Expected was that a result with no rows left is at its end, as in DuckDB 1.4.1, where all three go on.
# Met here: a table's rows were counted by fetchone(), and the relation of the same table could not be grouped.
# What opdisc does: it fetches all rows of what it asks for.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/held.py" <<'PYTHON'
import duckdb


def after(fetch, go_on):
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT range AS x FROM range(9)")
    fetch(connection.execute("SELECT count(*) FROM t"))
    try:
        return str(go_on(connection).fetchall())
    except Exception as error:
        return type(error).__name__


FETCHES = {
    "fetchone": lambda result: result.fetchone(),
    "fetchone twice": lambda result: (result.fetchone(), result.fetchone()),
    "fetchall": lambda result: result.fetchall(),
}
NEXT = {
    "sql": lambda connection: connection.sql("SELECT 1"),
    "relation": lambda connection: connection.table("t").aggregate("max(x)"),
    "execute": lambda connection: connection.execute("SELECT 1"),
}
seen = {(f, n): after(FETCHES[f], NEXT[n]) for f in FETCHES for n in NEXT}
print("duckdb", duckdb.__version__)
for (fetch, step), found in seen.items():
    print(f"seen: {fetch} of one row, then {step}: {found}")
refused = [pair for pair, found in seen.items() if found == "ResourceInUseException"]
new = [("fetchone", "sql"), ("fetchone", "relation")]
raise SystemExit(refused != (new if duckdb.__version__ == "2.0.1" else []))
PYTHON
for version in 1.4.1 2.0.1; do
  python3 -m venv "$folder/$version"
  "$folder/$version/bin/pip" install -q "duckdb==$version"
  "$folder/$version/bin/python" "$folder/held.py"
done
