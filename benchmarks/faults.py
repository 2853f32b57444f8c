"""Break things on purpose and count what is lost: charges, sentences, cells.

    python benchmarks/faults.py                       everything; about 20 minutes
    python benchmarks/faults.py --part kills --part charges
    python benchmarks/faults.py --scale 0.01          a hundredth of every count
    python benchmarks/faults.py --entrances           each kind of cell through each entrance

Parts: processes killed while they charge a ledger; charges that four processes contend for;
damaged models, schemas, ledgers and command lines; oracles that lie, fail or talk; damaged machine
code. Entrances print where they disagree about a cell (docs/cells.md).
Prints one table of counts. Exit status 1 on any loss, traceback, or cell in a message.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Callable

import faults_entrances
import faults_fuzz
import faults_oracles
import faults_processes

Part = Callable[[int, random.Random], list[str]]

PARTS: dict[str, tuple[int, Part]] = {
    "kills": (300, faults_processes.kills),
    "charges": (1_000, lambda count, _: faults_processes.contended_charges(count)),
    "models": (9_000, faults_fuzz.models),
    "schemas": (6_000, faults_fuzz.schemas),
    "ledgers": (3_000, faults_fuzz.ledgers),
    "commands": (2_000, faults_fuzz.command_lines),
    "oracles": (29, lambda count, _: faults_oracles.evil_oracles(count)),
    "caches": (5, faults_processes.cache_corruptions),
}
"""How many of each, and who tries them."""

_SHOWN = 20


def run(names: list[str], scale: float, seed: int) -> int:
    """Run parts and print a table; return the number of losses."""
    rows, total = [], 0
    for name in names:
        count, part = PARTS[name]
        # The few oracles and caches are tried whole at every scale.
        tried = count if count < 100 else max(1, math.ceil(count * scale))
        began = time.monotonic()
        losses = part(tried, random.Random(f"{seed} {name}"))
        rows.append(f"{name:<12}{tried:>8}{len(losses):>8}{time.monotonic() - began:>10.1f}")
        total += len(losses)
        for loss in losses[:_SHOWN]:
            print(f"{name}: {loss}", flush=True)
        if len(losses) > _SHOWN:
            print(f"{name}: and {len(losses) - _SHOWN} more", flush=True)
    print(f"\n{'part':<12}{'tried':>8}{'lost':>8}{'seconds':>10}", *rows, sep="\n", flush=True)
    return total


def main() -> int:
    """Parse the arguments and run."""
    parser = argparse.ArgumentParser(description="Break things on purpose and count losses.")
    parser.add_argument("--part", action="append", choices=tuple(PARTS), help="all if left out")
    parser.add_argument("--scale", type=float, default=1.0, help="of every large count")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--entrances", action="store_true", help="disagreements about cells only")
    arguments = parser.parse_args()
    if arguments.entrances:
        tried, lost = faults_entrances.disagreements()
        print(*lost, f"{tried} cells through entrances: {len(lost)} disagreements", sep="\n")
        return int(bool(lost))
    return int(run(arguments.part or list(PARTS), arguments.scale, arguments.seed) > 0)


if __name__ == "__main__":
    raise SystemExit(main())
