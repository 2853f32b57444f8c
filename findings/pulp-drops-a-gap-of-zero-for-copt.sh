#!/usr/bin/env bash
# PuLP 3.3.2 drops gapRel=0 for COPT 8.0.7, because it asks whether the number is true: COPT's own
# gap of 1e-4 stays, and an answer that is not optimal is called optimal. A gap of 1e-12 is passed
# on. The same line drops it for Gurobi, which happens to find the optimum here.
# What opdisc does: it calls both without PuLP and sets RelGap and MIPGap to zero by their own names
# (oracles/milp/solver_profiles.py).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q pulp==3.3.2 coptpy==8.0.7 highspy==1.15.1 2> /dev/null
cat > "$folder/gap.py" <<'PYTHON'
import random
import sys

import pulp

chance = random.Random(3)
problem = pulp.LpProblem("cover", pulp.LpMinimize)
x = [pulp.LpVariable(f"x{i}", cat="Binary") for i in range(30)]
problem += pulp.lpDot([100_000 + chance.randrange(7) for _ in x], x)
for _ in range(12):
    weights = [chance.randrange(40) for _ in x]
    problem += pulp.lpDot(weights, x) >= sum(weights) // 2
solver = pulp.getSolver(sys.argv[1], msg=False, gapRel=float(sys.argv[2]))
problem.solve(solver)
print(pulp.LpStatus[problem.status], round(pulp.value(problem.objective)), file=sys.stderr)
PYTHON
solved() { "$folder/venv/bin/python" "$folder/gap.py" "$@" 2>&1 > /dev/null | tail -n 1; }
zero=$(solved COPT 0) small=$(solved COPT 1e-12) other=$(solved HiGHS 0)
echo "expected: a gap of 0 gives what HiGHS gives with it, $other"
echo "seen: COPT, gapRel=0: $zero; COPT, gapRel=1e-12: $small"
[ "$small" = "$other" ] && [ "${zero% *}" = Optimal ] && [ "${zero#* }" -gt "${other#* }" ]
