#!/usr/bin/env bash
# PuLP 3.3.2 hands any keyword of pulp.HiGHS to HiGHS 1.15.1 and never looks at what HiGHS answers: an
# option that is misspelt, or has a value out of range, is dropped, and with msg=False nobody says so.
# A misspelt random_seed or tolerance then counts for nothing.
# What opdisc does: after the solve it compares every option with what it asked for
# (oracles/milp/workers/pulp_solver.py).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q pulp==3.3.2 highspy==1.15.1 2> /dev/null
cat > "$folder/options.py" <<'PYTHON'
import pulp

problem = pulp.LpProblem("smallest", pulp.LpMinimize)
x = pulp.LpVariable("x", 0, 9, cat="Integer")
problem += x
problem += 2 * x >= 7
wanted = {"random_sed": 7, "primal_feasibility_tolerance": 1e-30}
problem.solve(pulp.HiGHS(msg=False, **wanted))
print(pulp.LpStatus[problem.status], problem.solverModel.getOptionValue("random_seed")[1], end=" ")
print(problem.solverModel.getOptionValue("primal_feasibility_tolerance")[1])
PYTHON
seen=$("$folder/venv/bin/python" -W error::UserWarning "$folder/options.py" 2>&1 | tail -n 1)
echo "expected: an error or a warning about a misspelt option and a value out of range"
echo "seen: $seen"
[ "$seen" = "Optimal 0 1e-07" ]
