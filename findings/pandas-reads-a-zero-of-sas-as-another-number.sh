#!/usr/bin/env bash
# pandas 3.1.1 reads a zero in a SAS transport file (XPORT, version 5) as 5.397605346934028e-79: all
# bytes of a zero are zero there, and pandas takes them for the smallest number of IBM's format. Ones
# and missing cells are right. pyreadstat reads the same cell as 0. So a yes/no column has no "no".
# What opdisc does: such a number counts as zero (opdisc/data/spelling.py, docs/cells.md).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q pandas==3.1.1 pyreadstat==1.3.7 2> /dev/null
"$folder/venv/bin/python" -W ignore - "$folder/t.xpt" <<'PYTHON'
import sys

import pandas
import pyreadstat

written = pandas.DataFrame({"smoker": [0.0, 1.0, 0.0, float("nan")]})
pyreadstat.write_xport(written, sys.argv[1], file_format_version=5)
seen = pandas.read_sas(sys.argv[1], format="xport")["smoker"].tolist()
other = pyreadstat.read_xport(sys.argv[1])[0]["smoker"].tolist()
print("pandas", pandas.__version__, "pyreadstat", pyreadstat.__version__)
print("expected: [0.0, 1.0, 0.0, nan]")
print("seen by pandas:", seen, "and by pyreadstat:", other)
assert other[0] == 0.0 and 0.0 < seen[0] < 1e-70 and seen[1] == 1.0
PYTHON
