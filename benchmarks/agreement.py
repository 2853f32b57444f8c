"""Do all installed oracles agree? Enumerated optima of small problems, each other's on wide ones.

    python benchmarks/agreement.py --problems 10000          every problem through every oracle
    python benchmarks/agreement.py --problems 0 --wide 200   20 to 38 columns, hundreds of points

Small problems come in every kind: no tables, separable, block and norm tables, on a lattice and
off it, norm budgets, counts of either sign. Wide ones are solved under a time limit; whoever
proves an optimum must prove the same one, and nobody's bound may exceed it. With --out the tallies
are saved every minute; --first continues a sequence of problems, or shares it among processes.
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
from typing import Any

from oracles import SolveOptions, available_oracles, get_oracle, oracle_versions
from oracles.agreement import (
    Tally,
    compare_with_each_other,
    compare_with_enumeration,
    small_problems,
    wide_problems,
)

SECONDS_BETWEEN_REPORTS = 60.0


class Log:
    """Says now and then how far it is, and saves the tallies so far."""

    def __init__(self, chosen: argparse.Namespace) -> None:
        self._out: Path | None = chosen.out
        self._started = self._saved = time.monotonic()
        versions = {name: oracle_versions(name) for name in chosen.oracles}
        self.record: dict[str, Any] = {"seed": chosen.seed, "first": chosen.first}
        self.record |= {"time_limit_of_wide": chosen.time_limit, "versions": versions}

    def follow(self, kind: str, tallies: Iterator[dict[str, Tally]]) -> dict[str, Tally]:
        """Run a comparison to its end."""
        latest: dict[str, Tally] = {}
        for done, tally in enumerate(tallies, start=1):
            latest = tally
            each = {name: asdict(one) for name, one in tally.items()}
            self.record[kind] = {"problems": done, "tallies": each}
            if time.monotonic() - self._saved > SECONDS_BETWEEN_REPORTS:
                self.save()
                seconds = self._saved - self._started
                print(f"{done:,} {kind} problems, {seconds:.0f} s", file=sys.stderr)
        self.save()
        return latest

    def save(self) -> None:
        """Write the file, whole or not at all."""
        self._saved = time.monotonic()
        if self._out is not None:
            draft = self._out.with_name(self._out.name + ".tmp")
            draft.write_text(json.dumps(self.record, indent=1) + "\n")
            draft.replace(self._out)


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
    parser.add_argument("--first", type=int, default=0, help="position of the first problem")
    parser.add_argument("--out", type=Path, help="write the tallies as JSON")
    chosen = parser.parse_args()
    oracles = {name: get_oracle(name) for name in chosen.oracles}
    log, found = Log(chosen), {}
    if chosen.problems:
        problems = small_problems(chosen.problems, chosen.seed, first=chosen.first)
        found["small"] = log.follow("small", compare_with_enumeration(problems, oracles))
        print(table(f"{chosen.problems:,} small problems, enumerated", found["small"]))
    if chosen.wide:
        wide = {name: oracle for name, oracle in oracles.items() if name != "enumeration"}
        options = SolveOptions(time_limit=chosen.time_limit)
        problems = wide_problems(chosen.wide, chosen.seed, first=chosen.first)
        found["wide"] = log.follow("wide", compare_with_each_other(problems, wide, options))
        print(table(f"{chosen.wide:,} wide problems, {chosen.time_limit:g} s", found["wide"]))
    if any(t.offences for tallies in found.values() for t in tallies.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
