"""Run tests again and again beside busy loops, and say which failed and how often.

    python benchmarks/loaded.py --times 10                      the default tests
    python benchmarks/loaded.py --times 20 -- -m timing -n 0    tests of time and signals
    python benchmarks/loaded.py --times 50 -- -m "" tests/test_oracles/milp/test_highs.py -n 0

A test that passes alone and fails in company waits for a time where it should wait for an event.
What follows -- goes to pytest, after ``-q -n 2``. Exit status 1 if any run failed.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


@contextmanager
def busy(loops: int) -> Iterator[None]:
    """Keep so many processes busy; they end with this one, however it ends."""
    # Each ends when this process is gone, even where that was killed.
    code = (
        "import os, sys, threading\n"
        "threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0))).start()\n"
        "while True: pass\n"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) for _ in range(loops)
    ]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def failures(options: list[str]) -> tuple[int, list[str], str]:
    """Run pytest once; return its exit status, the tests that failed, and its last line."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--disable-warnings", *options]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    lines = done.stdout.strip().splitlines()
    return done.returncode, _FAILED.findall(done.stdout), lines[-1] if lines else done.stderr


def main() -> int:
    """Run, print a line for each run and the sums, and return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--loops", type=int, default=2, help="busy processes beside them")
    parser.add_argument("options", nargs="*", help="for pytest, after --")
    asked = parser.parse_args()
    failed: Counter[str] = Counter()
    n_failed = 0
    with busy(asked.loops):
        for number in range(asked.times):
            began = time.monotonic()
            status, names, last = failures(asked.options)
            failed.update(names)
            n_failed += status != 0
            print(f"{number + 1}: {last} ({time.monotonic() - began:.0f} s)", flush=True)
    for name, count in failed.most_common():
        print(f"{count} of {asked.times}: {name}")
    print(f"{asked.times} runs beside {asked.loops} busy loops, {n_failed} failed")
    return int(n_failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
