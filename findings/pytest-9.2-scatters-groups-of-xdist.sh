#!/usr/bin/env bash
# pytest 9.2.0 with pytest-xdist 3.8.0: `--dist loadgroup` sends tests of one xdist_group to all workers. Nothing is said of
# it, and all tests pass. With pytest 9.1.1 the same file runs in one worker.
# Expected was one worker for a group, as the option promises. Met here: tests that share a browser and a built site had two
# of each, and no test failed. Tests that share a database, a port or a licence for one process would meet each other.
# What opdisc does: no test relies on a group.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > test_group.py <<'PYTHON'
import time

import pytest


@pytest.mark.xdist_group("one")
@pytest.mark.parametrize("case", range(8))
def test_of_a_group(case):
    time.sleep(0.3)
PYTHON
for version in 9.1.1 9.2.0; do
  python3 -m venv "$version"
  "$version/bin/pip" install -q "pytest==$version" pytest-xdist==3.8.0 2> /dev/null
  "$version/bin/python" -m pytest -v -n 2 --dist loadgroup -p no:cacheprovider test_group.py > "$version/log"
  grep -q '8 passed' "$version/log"
  grep -oE '^\[gw[01]\]' "$version/log" | sort -u | wc -l > "$version/workers"
  echo "== pytest $version, pytest-xdist 3.8.0: a group of 8 tests ran in $(cat "$version/workers") worker(s), expected 1"
done
[ "$(cat 9.1.1/workers) $(cat 9.2.0/workers)" = "1 2" ] || { echo "pytest has changed"; exit 1; }
