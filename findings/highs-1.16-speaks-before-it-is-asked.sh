#!/usr/bin/env bash
# highspy 1.16.0 prints its banner on standard output when the first solver object is made, before
# there is an object to silence. output_flag = False and PuLP's msg=False come too late. highspy
# 1.15.1 prints nothing. Whoever pipes JSON out of a program that solves gets two lines more.
# What opdisc does: workers swallow it, and where a solver runs in the program itself, a subclass
# switches output off at the start of enableCallbacks, which prints it
# (oracles/convex/linear_program.py).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/solve.py" <<'PYTHON'
import sys
import highspy, pulp

print(highspy.Highs().version(), file=sys.stderr)
problem = pulp.LpProblem("smallest", pulp.LpMinimize)
x = pulp.LpVariable("x", 1, 2)
problem += x
problem.solve(pulp.HiGHS(msg=False))
assert x.value() == 1
PYTHON
lines() { # version of highspy: lines on standard output of a program that prints none itself
  python3 -m venv "$folder/$1"
  "$folder/$1/bin/pip" install -q "highspy==$1" pulp==3.3.2 2> /dev/null
  "$folder/$1/bin/python" "$folder/solve.py" 2> /dev/null > "$folder/$1.out"
  wc -l < "$folder/$1.out"
}
echo "expected of a silenced solver: 0 lines on standard output"
old=$(lines 1.15.1) new=$(lines 1.16.0)
printf 'seen: highspy 1.15.1: %d lines; highspy 1.16.0: %d lines\n' "$old" "$new"
cat "$folder/1.16.0.out"
[ "$old" -eq 0 ] && [ "$new" -gt 0 ]
