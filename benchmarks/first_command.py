"""How long README's first command takes, of several checkouts side by side, and what it compiles.

    python benchmarks/first_command.py OLD NEW --runs 5    folders of checkouts, in turn
    python benchmarks/first_command.py . --compiled        seconds of each compiled function

Each run makes an environment, installs the checkout as its README says and runs ``opdisc demo``
with nothing compiled before; then it times the first fit of a table of 600 x 8 in the same way.
Wall seconds on an idle machine; the first run of all also fills pip's store and is not counted.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

_WATCH = """
import time
from numba.core import event
from opdisc.planning import compile_kernels

class Watch(event.Listener):
    def on_start(self, happened):
        begun.append((happened.data["dispatcher"].py_func.__qualname__, time.process_time()))
    def on_end(self, happened):
        name, start = begun.pop()
        whole = time.process_time() - start
        took[name] = took.get(name, 0.0) + whole - inner.pop(len(begun) + 1, 0.0)
        inner[len(begun)] = inner.get(len(begun), 0.0) + whole

begun, took, inner = [], {}, {}
event.register("numba:compile", Watch())
started = time.process_time()
compile_kernels()
print(f"{time.process_time() - started:.2f} all")
for name, seconds in sorted(took.items(), key=lambda item: -item[1])[:12]:
    print(f"{seconds:.2f} {name}")
"""


def timed(command: list[str], environment: dict[str, str], folder: Path) -> float:
    """Return the wall seconds of a command."""
    started = time.perf_counter()
    subprocess.run(
        command, env=environment, cwd=folder, check=True, stdout=subprocess.DEVNULL, timeout=900
    )
    return time.perf_counter() - started


def first_command(checkout: Path) -> tuple[float, float, float]:
    """Return the seconds of the installation, of the demonstration, and of a first fit."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_table(folder)
        python = folder / "env" / "bin" / "python"

        def fresh(name: str) -> dict[str, str]:
            return {**os.environ, "NUMBA_CACHE_DIR": str(folder / name), "PYTHONPATH": ""}

        install = timed([sys.executable, "-m", "venv", "env"], fresh("a"), folder)
        pip = [str(python), "-m", "pip", "install", *installation(checkout), str(checkout)]
        install += timed(pip, fresh("a"), folder)
        opdisc = [str(folder / "env" / "bin" / "opdisc")]
        shown = timed([*opdisc, "demo"], fresh("a"), folder)
        fit = ["fit", "t.csv", "--schema", "./s.toml", "--epsilon", "1"]
        return install, shown, timed([*opdisc, *fit], fresh("b"), folder)


def installation(checkout: Path) -> list[str]:
    """Return the options of pip in the README's first command."""
    found = re.search(
        r"pip install (.*) \. && .*opdisc demo$", (checkout / "README.md").read_text(), re.M
    )
    if found is None:
        raise SystemExit(f"{checkout} must have a README whose first command ends in a demo.")
    return found[1].split()


def write_table(folder: Path) -> None:
    """Write a table of 600 rows and 8 yes/no columns, and its schema."""
    rng = np.random.default_rng(0)
    columns = [f"c{i}" for i in range(8)]
    rows = rng.integers(0, 2, (600, 9))
    lines = [",".join([*columns, "y"]), *(",".join(map(str, row)) for row in rows)]
    (folder / "t.csv").write_text("\n".join(lines) + "\n")
    features = "".join(f'[[feature]]\ncolumn = "{name}"\nbinary = true\n' for name in columns)
    target = 'name = "t"\ntarget = { column = "y", positive = "1", negative = "0" }\n'
    (folder / "s.toml").write_text(target + features)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("checkouts", nargs="+", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--compiled", action="store_true")
    asked = parser.parse_args()
    if asked.compiled:
        for checkout in asked.checkouts:
            with tempfile.TemporaryDirectory() as kept:
                environment = {**os.environ, "NUMBA_CACHE_DIR": kept}
                command = [sys.executable, "-c", _WATCH]  # finds the packages where it runs
                subprocess.run(command, env=environment, cwd=checkout, check=True)
        return
    found: dict[Path, list[tuple[float, float, float]]] = {path: [] for path in asked.checkouts}
    for run in range(asked.runs + 1):
        for checkout in asked.checkouts:
            seconds = first_command(checkout.resolve())
            print(run, checkout, *(f"{part:.1f}" for part in seconds), flush=True)
            if run:
                found[checkout].append(seconds)
    for checkout, runs in found.items():
        whole = statistics.median(install + shown for install, shown, _ in runs)
        fit = statistics.median(fit for _, _, fit in runs)
        print(f"{checkout}: first command {whole:.1f} s, first fit {fit:.1f} s (medians)")


if __name__ == "__main__":
    main()
