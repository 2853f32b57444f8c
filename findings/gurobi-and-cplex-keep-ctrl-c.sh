#!/usr/bin/env bash
# Ctrl-C in a solve through PuLP 3.3.2 raises no KeyboardInterrupt with Gurobi 13.0.3 and CPLEX
# 22.2.0.1: both end the search, and the program goes on as after a time limit. CPLEX's answer even
# has the status "Optimal". HiGHS 1.15.1 under PuLP raises KeyboardInterrupt.
# What opdisc does: solvers run in processes that a terminal's Ctrl-C does not reach; it ends the
# caller, and them with it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q pulp==3.3.2 gurobipy==13.0.3 cplex==22.2.0.1 highspy==1.15.1 \
  2> /dev/null
cat > "$folder/interrupt.py" <<'PYTHON'
import os
import random
import signal
import sys
import threading

import pulp

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
chance = random.Random(0)
problem = pulp.LpProblem("cover", pulp.LpMinimize)
x = [pulp.LpVariable(f"x{i}", cat="Binary") for i in range(400)]
problem += pulp.lpDot([1000 + chance.randrange(1000) for _ in x], x)
for _ in range(60):
    weights = [chance.randrange(1000) for _ in x]
    problem += pulp.lpDot(weights, x) >= sum(weights) // 2
threading.Timer(5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    problem.solve(pulp.getSolver(sys.argv[1], msg=False, timeLimit=60))
    print("goes on,", pulp.LpStatus[problem.status], file=sys.stderr)
except KeyboardInterrupt:
    print("KeyboardInterrupt", file=sys.stderr)
PYTHON
solved() { "$folder/venv/bin/python" "$folder/interrupt.py" "$1" 2>&1 > /dev/null | tail -n 1; }
highs=$(solved HiGHS) gurobi=$(solved GUROBI) cplex=$(solved CPLEX_PY)
echo "expected of all: KeyboardInterrupt"
echo "seen: HiGHS: $highs; Gurobi: $gurobi; CPLEX: $cplex"
[ "$highs" = KeyboardInterrupt ] && [[ "$gurobi" = goes* ]] && [ "$cplex" = "goes on, Optimal" ]
