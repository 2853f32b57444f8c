#!/usr/bin/env bash
# pulp.listSolvers() of PuLP 3.3.2 makes an object of every solver class. Where coptpy 8.0.7 is
# installed, that one looks for its licence and writes some 700 bytes about it on standard output,
# whichever solver one meant to use. Whoever pipes JSON out of a program that lists solvers gets them.
# What opdisc does: it asks PuLP for its classes in a worker process, whose output goes nowhere.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q pulp==3.3.2 2> /dev/null
written() { (cd "$folder" && venv/bin/python -W ignore -c 'import pulp; pulp.listSolvers()' | wc -c); }
without=$(written)
"$folder/venv/bin/pip" install -q coptpy==8.0.7 2> /dev/null
with=$(written)
echo "expected of a list that nobody prints: 0 bytes on standard output"
echo "seen: $without without coptpy, $with with it"
[ "$without" -eq 0 ] && [ "$with" -gt 0 ]
