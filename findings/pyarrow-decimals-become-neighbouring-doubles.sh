#!/usr/bin/env bash
# pyarrow 26.0.1 casts a decimal128 to a double that is not the nearest one: of the first 100,000
# values with one decimal a third come out one step too high (0.3 as 0.30000000000000004), with two
# or three decimals every seventh. So "= 0.3" and "<= 0.3" miss them. Expected was what float("0.3")
# gives, and what DuckDB 2.0.1 and Polars 2.1.0 give for the same cast of the same values.
# What opdisc does: it reads decimals by their text, in tables of every kind.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q pyarrow==26.0.1 duckdb==2.0.1 polars==2.1.0 2> /dev/null
"$folder/venv/bin/python" - <<'PYTHON'
from decimal import Decimal

import duckdb
import polars
import pyarrow

print(f"pyarrow {pyarrow.__version__}, duckdb {duckdb.__version__}, polars {polars.__version__}")
print("expected: every cast gives the nearest double, float(str(value))")
found = {}
for scale in (1, 2, 3):
    values = [Decimal(i).scaleb(-scale) for i in range(100_000)]
    nearest = [float(str(value)) for value in values]
    column = pyarrow.array(values, pyarrow.decimal128(10, scale))
    decimals = pyarrow.table({"v": column})
    casts = {
        "pyarrow": column.cast(pyarrow.float64()).to_pylist(),
        "duckdb": [row[0] for row in duckdb.sql("SELECT v::DOUBLE FROM decimals").fetchall()],
        "polars": polars.from_arrow(decimals)["v"].cast(polars.Float64).to_list(),
    }
    for name, doubles in casts.items():
        missed = [pair for pair in zip(values, doubles, nearest) if pair[1] != pair[2]]
        found[name, scale] = len(missed)
        shown = f", such as {missed[0][0]} as {missed[0][1]!r}" if missed else ""
        print(f"{name}, {scale} decimals: {len(missed):,} of 100,000 are not the nearest{shown}")
assert all(found["pyarrow", scale] > 10_000 for scale in (1, 2, 3)), "pyarrow has changed"
assert all(found[name, s] == 0 for name in ("duckdb", "polars") for s in (1, 2, 3))
PYTHON
