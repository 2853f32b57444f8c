#!/usr/bin/env bash
# highspy 1.14.0 says "Optimal" of 32, with a bound of 32, where 22.5 is possible: two columns and one
# row. The cheaper column is a fraction, the dearer one an integer; presolve is at fault. 1.13.1 and
# 1.15.1 are right. No gap, tolerance or bound shows it: only another solver or presolve=off does.
# What opdisc does: 1.13 and 1.14 are neither installed nor run (pyproject.toml,
# oracles/milp/workers/highs_solver.py), and the campaign that tries each new version has this kind
# (tests/test_oracles/milp/test_highs_campaign.py).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/solve.py" <<'PYTHON'
import sys

import highspy

model = highspy.Highs()
model.silent()
model.setOptionValue("presolve", sys.argv[1])
x = model.addVariable(lb=0, ub=12, obj=3.0)
y = model.addVariable(lb=0, ub=12, obj=4.0, type=highspy.HighsVarType.kInteger)
model.addConstr(x + y >= 7.5)
model.run()
found = model.getInfo()
status = model.modelStatusToString(model.getModelStatus())
print(status, found.objective_function_value, found.mip_dual_bound)
PYTHON
install() {
  python3 -m venv "$folder/$1"
  "$folder/$1/bin/pip" install -q "highspy==$1" 2> /dev/null
}
solved() { "$folder/$1/bin/python" "$folder/solve.py" "$2"; } # version, presolve
install 1.14.0
install 1.15.1
wrong=$(solved 1.14.0 on) without=$(solved 1.14.0 off) later=$(solved 1.15.1 on)
echo "expected: Optimal 22.5 22.5"
echo "seen: 1.14.0: $wrong; without presolve: $without; 1.15.1: $later"
[ "$wrong" = "Optimal 32.0 32.0" ] && [ "$without" = "Optimal 22.5 22.5" ] && [ "$later" = "$without" ]
