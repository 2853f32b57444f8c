#!/usr/bin/env bash
# PuLP 3.3.2 says "Infeasible" and "No Solution Exists" where CPLEX 22.2.0.1 found no solution within
# its time limit, although there is one: the program was made around it. With HiGHS 1.15.1 the same
# program and limit are "Not Solved". Whoever branches on "Infeasible" takes the wrong branch.
# What opdisc does: it calls CPLEX without PuLP and reads its own status
# (oracles/milp/solver_statuses.py); of `pulp:CPLEX_PY` it believes no word.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q pulp==3.3.2 cplex==22.2.0.1 highspy==1.15.1 2> /dev/null
cat > "$folder/split.py" <<'PYTHON'
import random
import sys

import pulp

chance = random.Random(0)
problem = pulp.LpProblem("split", pulp.LpMinimize)
x = [pulp.LpVariable(f"x{i}", cat="Binary") for i in range(60)]
planted = [chance.randrange(2) for _ in x]
problem += pulp.lpSum(x)
for _ in range(6):
    weights = [chance.randrange(1000) for _ in x]
    problem += pulp.lpDot(weights, x) == sum(w * p for w, p in zip(weights, planted))
problem.solve(pulp.getSolver(sys.argv[1], msg=False, timeLimit=3))
print(pulp.LpStatus[problem.status], "/", pulp.LpSolution[problem.sol_status], file=sys.stderr)
for variable, value in zip(x, planted):
    variable.varValue = value
assert all(rule.valid() for rule in problem.constraints.values()), "the planted solution"
PYTHON
solved() { "$folder/venv/bin/python" -W ignore "$folder/split.py" "$1" 2>&1 > /dev/null | tail -n 1; }
highs=$(solved HiGHS) cplex=$(solved CPLEX_PY)
echo "expected of both: Not Solved / No Solution Found"
echo "seen: HiGHS: $highs; CPLEX: $cplex"
[ "$highs" = "Not Solved / No Solution Found" ] && [ "$cplex" = "Infeasible / No Solution Exists" ]
