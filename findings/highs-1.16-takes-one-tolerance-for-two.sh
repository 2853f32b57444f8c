#!/usr/bin/env bash
# highspy 1.16.0 writes mip_feasibility_tolerance over primal_feasibility_tolerance when it solves a
# program with integers: whoever asked for rows kept within 1e-9 gets 1e-7, and the option says so
# from then on. 1.15.1 keeps the two apart.
# What opdisc does: it sets both to the same value (oracles/milp/highs.py).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/solve.py" <<'PYTHON'
import sys

import highspy

model = highspy.Highs()
model.silent()
model.setOptionValue("primal_feasibility_tolerance", 1e-9)
model.setOptionValue("mip_feasibility_tolerance", 1e-7)
x = model.addVariable(lb=0, ub=12, obj=3.0)
y = model.addVariable(lb=0, ub=12, obj=4.0, type=highspy.HighsVarType.kInteger)
model.addConstr(x + y >= 7.5)
model.run()
print(model.getOptionValue("primal_feasibility_tolerance")[1], file=sys.stderr)
PYTHON
tolerance() { # version of highspy
  python3 -m venv "$folder/$1"
  "$folder/$1/bin/pip" install -q "highspy==$1" 2> /dev/null
  "$folder/$1/bin/python" "$folder/solve.py" 2>&1 > /dev/null | tail -n 1
}
old=$(tolerance 1.15.1) new=$(tolerance 1.16.0)
echo "expected: 1e-09, as it was set"
echo "seen: 1.15.1: $old; 1.16.0: $new"
[ "$old" = 1e-09 ] && [ "$new" = 1e-07 ]
