"""Do all installed oracles agree? Enumerated optima of small problems, each other's on wide ones.

    python benchmarks/agreement.py --problems 10000          every problem through every oracle
    python benchmarks/agreement.py --problems 0 --wide 200   20 to 38 columns, hundreds of points

Small problems come in every kind: no tables, separable, block and norm tables, on a lattice and
off it, norm budgets, counts of either sign. Wide ones are solved under a time limit; whoever
proves an optimum must prove the same one, and nobody's bound may exceed it.
Exit status 1 if anyone disagrees.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from oracles import SolveOptions, available_oracles, get_oracle, oracle_versions
from oracles.agreement import (
    Tally,
    compare_with_each_other,
    compare_with_enumeration,
    small_problems,
    wide_problems,
)

SECONDS_BETWEEN_REPORTS = 60.0


def last(tallies: Iterator[dict[str, Tally]], of: int) -> dict[str, Tally]:
    """Run the comparison to its end, saying now and then how far it is."""
    latest: dict[str, Tally] = {}
    started = reported = time.monotonic()
    for done, tally in enumerate(tallies, start=1):
        latest = tally
        if time.monotonic() - reported > SECONDS_BETWEEN_REPORTS:
            reported = time.monotonic()
            print(f"{done:,} of {of:,} in {reported - started:.0f} s", file=sys.stderr)
    return latest


def table(title: str, tallies: dict[str, Tally]) -> str:
    """Return the tallies as a Markdown table."""
    lines = [
        f"{title}\n",
        "| oracle | proved | not proved | not taken | disagreements | invalid bounds |",
        "|---|---|---|---|---|---|",
    ]
    for name, t in tallies.items():
        lines.append(
            f"| {name} | {t.n_proved:,} | {t.n_unproved:,} | {t.n_unsupported:,} "
            f"| {t.n_disagreements:,} | {t.n_invalid_bounds:,} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=1000, help="small problems")
    parser.add_argument("--wide", type=int, default=0, help="wide problems")
    parser.add_argument("--oracles", nargs="+", default=list(available_oracles()))
    parser.add_argument("--time-limit", type=float, default=20.0, help="per wide solve, seconds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="write the tallies as JSON")
    chosen = parser.parse_args()
    oracles = {name: get_oracle(name) for name in chosen.oracles}
    record: dict[str, object] = {"seed": chosen.seed}
    record["versions"] = {name: oracle_versions(name) for name in oracles}
    found = {}
    if chosen.problems:
        runs = compare_with_enumeration(small_problems(chosen.problems, chosen.seed), oracles)
        found["small"] = last(runs, chosen.problems)
        print(table(f"{chosen.problems:,} small problems, enumerated", found["small"]))
    if chosen.wide:
        wide = {name: oracle for name, oracle in oracles.items() if name != "enumeration"}
        options = SolveOptions(time_limit=chosen.time_limit)
        runs = compare_with_each_other(wide_problems(chosen.wide, chosen.seed), wide, options)
        found["wide"] = last(runs, chosen.wide)
        print(table(f"{chosen.wide:,} wide problems, {chosen.time_limit:g} s", found["wide"]))
    record |= {kind: {n: asdict(t) for n, t in ts.items()} for kind, ts in found.items()}
    if chosen.out is not None:
        chosen.out.write_text(json.dumps(record, indent=1) + "\n")
    if any(t.offences for tallies in found.values() for t in tallies.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
