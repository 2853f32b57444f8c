#!/usr/bin/env bash
# DuckDB 2.0.1 finds no NaN in a Parquet file that pyarrow 26.0.1 wrote: isnan(x) is false and x = 'nan' too, in the
# list of columns and in WHERE, while the very same cells print as nan and isfinite(x) is right. The file's footer has
# the least and the largest number, and by the format's rules NaN is neither; DuckDB takes this for "there is none". The
# same rows from memory, or with read_parquet(..., can_have_nan = true), which is false by default, are told right.
# Expected was what Polars 2.1.0 says of the file, and DuckDB of the same table in memory. Met here: rows of a
# missing measurement (NaN) passed a threshold and were counted on the side of the largest values.
# What opdisc does: it declares can_have_nan for files that it opens, and in relations of others looks at the text.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q duckdb==2.0.1 pyarrow==26.0.1 polars==2.1.0 2> /dev/null
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import duckdb
import polars
import pyarrow
from pyarrow import parquet

print(f"duckdb {duckdb.__version__}, pyarrow {pyarrow.__version__}, polars {polars.__version__}")
cells = pyarrow.table({"x": pyarrow.array([36.5, 41.0, float("nan")])})
parquet.write_table(cells, "cells.parquet")
asked = {
    "the table in memory": "cells",
    "the file": "read_parquet('cells.parquet')",
    "the file, can_have_nan": "read_parquet('cells.parquet', can_have_nan = true)",
}
found = {}
for name, source in asked.items():
    told = "list(isnan(x)), list(isfinite(x)), list(x >= 38 AND NOT isnan(x)), list(x::VARCHAR)"
    nan, finite, fever, text = duckdb.sql(f"SELECT {told} FROM {source}").fetchall()[0]
    found[name] = nan
    print(f"{name}: {text}, isnan {nan}, isfinite {finite}, x >= 38 and no NaN {fever}")
    assert finite == [True, True, False] and text[2] == "nan"
print("polars, the file:", polars.read_parquet("cells.parquet")["x"].is_nan().to_list())
print("expected: isnan [False, False, True] three times")
assert found["the table in memory"] == found["the file, can_have_nan"] == [False, False, True]
assert found["the file"] == [False, False, False], "duckdb has changed"
PYTHON
