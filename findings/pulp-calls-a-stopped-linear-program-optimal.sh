#!/usr/bin/env bash
# PuLP 3.3.2 says "Optimal" of a linear program that its time limit stopped before there was any
# answer, with HiGHS 1.15.1 and with CBC 2.10: LpStatus is "Optimal", sol_status "Solution Found",
# every variable has a value, and all 300 constraints are broken. Expected was "Not Solved", or
# values that keep the constraints.
# What opdisc does: it reads what the solver itself says, and works out every answer's worth anew
# (oracles/milp/workers/pulp_solver.py, oracles/milp/claims.py).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q pulp==3.3.2 highspy==1.15.1 2> /dev/null
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import random

import pulp

print("PuLP", pulp.__version__)
print('expected of a stopped search: no "Optimal", or no broken constraint')
for name in ("HiGHS", "PULP_CBC_CMD"):
    chance = random.Random(0)
    problem = pulp.LpProblem("diet", pulp.LpMinimize)
    foods = [pulp.LpVariable(f"x{i}", 0) for i in range(400)]
    problem += pulp.lpSum(chance.uniform(1, 10) * food for food in foods)
    for _ in range(300):
        eaten = [food for food in foods if chance.random() < 0.3]
        problem += pulp.lpSum(chance.uniform(0, 1) * food for food in eaten) >= 5
    status = problem.solve(pulp.getSolver(name, msg=False, timeLimit=1e-6))
    broken = sum(not rule.valid(1e-6) for rule in problem.constraints.values())
    said = pulp.LpStatus[status], pulp.LpSolution[problem.sol_status]
    print(f"seen with {name}: {said}, {broken} of 300 constraints broken")
    assert said == ("Optimal", "Solution Found") and broken == 300, "PuLP has changed"
PYTHON
