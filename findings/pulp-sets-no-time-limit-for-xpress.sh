#!/usr/bin/env bash
# PuLP 3.3.2 takes timeLimit for XPRESS_PY and sets none in Xpress 9.9.1: after the solve the control
# TIMELIMIT is still 1e20, which stands for no limit, and a long search goes on to its end. No error
# or warning says so.
# What opdisc does: it calls Xpress without PuLP and sets TIMELIMIT
# (oracles/milp/workers/xpress_solver.py), and whatever a solver does, its worker process is
# ended 1.5 s after the limit.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q pulp==3.3.2 xpress==9.9.1 numpy==2.4.6 2> /dev/null
cat > "$folder/limit.py" <<'PYTHON'
import sys

import pulp

problem = pulp.LpProblem("smallest", pulp.LpMinimize)
x = pulp.LpVariable("x", 0, 9, cat="Integer")
problem += x
problem += 2 * x >= 7
problem.solve(pulp.XPRESS_PY(msg=False, timeLimit=5))
assert x.value() == 4
print(problem.solverModel.getControl("timelimit"), file=sys.stderr)
PYTHON
seen=$("$folder/venv/bin/python" -W ignore "$folder/limit.py" 2>&1 > /dev/null | tail -n 1)
echo "expected: a TIMELIMIT of 5 seconds"
echo "seen: $seen"
[ "$seen" = 1e+20 ]
