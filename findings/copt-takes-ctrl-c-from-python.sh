#!/usr/bin/env bash
# After one solve with coptpy 8.0.7 the process has no handler for Ctrl-C any more: the next one
# ends it at once, without KeyboardInterrupt, finally or atexit. Python's signal.getsignal goes on to
# name its own handler, as nobody told Python.
# What opdisc does: COPT runs in a process of its own, which no terminal's Ctrl-C reaches.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q coptpy==8.0.7 2> /dev/null
cat > "$folder/interrupt.py" <<'PYTHON'
import os
import signal
import sys
import time

import coptpy

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
model = coptpy.Envr().createModel()
model.setParam("Logging", 0)
x = model.addVar(lb=0, ub=1, obj=1.0, vtype="I")
model.addConstr(x >= 1)
if sys.argv[1] == "after":
    model.solve()
print(signal.getsignal(signal.SIGINT).__name__, file=sys.stderr)
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(5)
except KeyboardInterrupt:
    sys.exit(7)
PYTHON
status() { "$folder/venv/bin/python" "$folder/interrupt.py" "$1" > /dev/null && echo 0 || echo $?; }
before=$(status before) after=$(status after)
echo "expected: KeyboardInterrupt (status 7) before a solve and after it"
echo "seen: before $before, after $after (130 and above: ended by the signal)"
[ "$before" -eq 7 ] && [ "$after" -ge 128 ]
