#!/usr/bin/env bash
# The number of threads is an option of a model in HiGHS, but the process has one pool of them. A
# model that asks for another number than an earlier model of the process is not solved, and
# nothing is raised: run() returns an error, the solution has zeros, and so has the objective.
# A model without the option counts too. It starts a thread for every physical core in 1.16.0, and
# for every second logical one in 1.15.1: on two cores a model of one thread is solved after it with
# 1.15.1, and no longer with 1.16.0.
# What opdisc does: its linear programs ask for one thread, and take the pool that is there if that
# is refused (oracles/convex/linear_program.py); integer programs run in processes of their own.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/solve.py" <<'PYTHON'
import sys

import highspy


def solved(threads):
    model = highspy.Highs()
    model.silent()
    model.setOptionValue("threads", threads)
    x = model.addVariable(lb=0, ub=4, obj=-1.0)
    model.addConstr(2 * x <= 5)
    status = model.run().name
    return status, model.getSolution().col_value, model.getInfo().objective_function_value


print(*map(solved, (3, 1, 0)), file=sys.stderr)
PYTHON
threads() { # version of highspy
  python3 -m venv "$folder/$1"
  "$folder/$1/bin/pip" install -q "highspy==$1" 2> /dev/null
  "$folder/$1/bin/python" "$folder/solve.py" 2>&1 > /dev/null | tail -n 1
}
old=$(threads 1.15.1) new=$(threads 1.16.0)
echo "expected: 2.5 with 3, 1 and 0 threads one after the other, or an exception"
echo "seen: 1.15.1: $old; 1.16.0: $new"
seen="('kOk', [2.5], -2.5) ('kError', [0.0], 0.0) ('kOk', [2.5], -2.5)"
[ "$old" = "$seen" ] && [ "$new" = "$seen" ]
