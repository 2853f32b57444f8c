"""Do all installed oracles agree? Enumerated optima of small problems, each other's on wide ones.

    python benchmarks/agreement.py --problems 10000          every problem through every oracle
    python benchmarks/agreement.py --problems 0 --wide 200   20 to 38 columns, hundreds of points
    python benchmarks/agreement.py --oracles branch-and-bound --forced --wide 200

With --forced the native search is asked twice: as it is, and with its block bound from the first
node on. Small problems come in every kind: no tables, separable, block and norm tables, on a
lattice and off it, norm budgets, counts of either sign. Wide ones are solved under a time limit;
whoever proves an optimum must prove the same one, and nobody's bound may exceed it. With --out the
tallies are saved every minute; --first continues a sequence of problems, or shares it among
processes.
Exit status 1 if anyone disagrees.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from oracles import (
    Claim,
    InconsistentSolution,
    NoHypothesis,
    Oracle,
    SolveOptions,
    UnsupportedProblem,
    ZeroOneProblem,
    available_oracles,
    get_oracle,
    oracle_versions,
    solve,
)
from oracles.arithmetic.arrays import Objective
from oracles.testing.brute_force import brute_force
from oracles.testing.sample_problems import KINDS, random_problem, wide_problem

SECONDS_BETWEEN_REPORTS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What one oracle did on many problems.

    Parameters
    ----------
    n_proved : int
        Answers with a proof of optimality.
    n_unproved : int
        Answers, or refusals at a limit, without one.
    n_unsupported : int
        Problems it does not take, or is not licensed for.
    n_disagreements : int
        Proved answers that are not the optimum, and contradictions that ``solve`` refused.
    n_invalid_bounds : int
        Bounds above the optimum, claimed (tolerances granted) or certified.
    offences : tuple of int
        Positions of the problems of the last two kinds.
    """

    n_proved: int = 0
    n_unproved: int = 0
    n_unsupported: int = 0
    n_disagreements: int = 0
    n_invalid_bounds: int = 0
    offences: tuple[int, ...] = field(default=())


class _Witness:
    """An oracle that remembers the last claim of another."""

    def __init__(self, oracle: Oracle) -> None:
        self.oracle = oracle
        self.name, self.requirement = oracle.name, oracle.requirement
        self.integer_arithmetic = oracle.integer_arithmetic
        self.claim: Claim | None = None

    def supports(self, problem: ZeroOneProblem) -> bool:
        return self.oracle.supports(problem)

    def solve(self, problem: ZeroOneProblem, options: SolveOptions) -> Claim:
        self.claim = None
        self.claim = self.oracle.solve(problem, options)
        return self.claim


def small_problems(n_problems: int, seed: int = 0, *, first: int = 0) -> Iterator[ZeroOneProblem]:
    """Yield random problems small enough to list, of every kind, with both signs of counts.

    Parameters
    ----------
    n_problems : int
        How many.
    seed : int
        Seed of the sequence.
    first : int
        Position in the sequence to begin at; each problem depends on its position only.
    """
    for index in range(first, first + n_problems):
        negative = (index // len(KINDS)) % 2 == 1
        rng = np.random.default_rng([seed, index])
        yield random_problem(rng, KINDS[index % len(KINDS)], negative_counts=negative)


def wide_problems(n_problems: int, seed: int = 0, *, first: int = 0) -> Iterator[ZeroOneProblem]:
    """Yield random problems of 20 to 38 coordinates and hundreds of points.

    Parameters
    ----------
    n_problems, seed, first
        As in :func:`small_problems`.
    """
    for index in range(first, first + n_problems):
        yield wide_problem(np.random.default_rng([seed, index]))


def compare_with_enumeration(
    problems: Iterable[ZeroOneProblem], oracles: Mapping[str, Oracle]
) -> Iterator[dict[str, Tally]]:
    """Compare every oracle with the enumerated optimum; yield the tallies after each problem.

    Parameters
    ----------
    problems : iterable of ZeroOneProblem
        Small enough for :func:`~oracles.testing.brute_force.brute_force`.
    oracles : mapping of str to Oracle
        Whom to ask.
    """
    tallies = {name: Tally() for name in oracles}
    witnesses = {name: _Witness(oracle) for name, oracle in oracles.items()}
    for index, problem in enumerate(problems):
        optimum = min(brute_force(problem).values())
        for name, witness in witnesses.items():
            proved = _ask(witness, problem, SolveOptions())
            if proved is not None:
                proved = _judged(witness, problem, proved, optimum)
            tallies[name] = _counted(tallies[name], proved, index)
        yield tallies


def compare_with_each_other(
    problems: Iterable[ZeroOneProblem], oracles: Mapping[str, Oracle], options: SolveOptions
) -> Iterator[dict[str, Tally]]:
    """Compare the oracles' proved optima with each other; yield the tallies after each problem.

    The reference is the least objective that anyone found, which no valid bound exceeds and which
    every proved answer must have.

    Parameters
    ----------
    problems : iterable of ZeroOneProblem
        Of any size.
    oracles : mapping of str to Oracle
        Whom to ask.
    options : SolveOptions
        For each of them.
    """
    tallies = {name: Tally() for name in oracles}
    witnesses = {name: _Witness(oracle) for name, oracle in oracles.items()}
    for index, problem in enumerate(problems):
        outcomes = {name: _ask(w, problem, options) for name, w in witnesses.items()}
        found = [o.primal for o in outcomes.values() if o is not None and o.primal is not None]
        for name, outcome in outcomes.items():
            if outcome is not None and found:
                outcome = _judged(witnesses[name], problem, outcome, min(found))
            tallies[name] = _counted(tallies[name], outcome, index)
        yield tallies


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    proved: bool
    primal: Objective | None
    dual: Objective
    wrong: bool = False
    invalid: bool = False


def _ask(witness: _Witness, problem: ZeroOneProblem, options: SolveOptions) -> _Outcome | None:
    """Return what came out; None if the oracle does not take the problem."""
    if not witness.supports(problem):
        return None
    try:
        certificate = solve(problem, witness, options).certificate
    except InconsistentSolution:
        return _Outcome(proved=False, primal=None, dual=-np.inf, wrong=True)
    except UnsupportedProblem:
        return None
    except NoHypothesis:
        return _Outcome(proved=False, primal=None, dual=-np.inf)
    return _Outcome(
        proved=certificate.proves_optimal,
        primal=certificate.primal_bound,
        dual=certificate.dual_bound,
    )


def _judged(
    witness: _Witness, problem: ZeroOneProblem, outcome: _Outcome, optimum: Objective
) -> _Outcome:
    rounding = 0.0 if problem.is_exact else 1e-6 * max(1.0, abs(float(optimum)))
    slack = 0.49 if problem.is_exact and not witness.integer_arithmetic else rounding
    primal, claim = outcome.primal, witness.claim
    wrong = outcome.proved and (primal is None or abs(primal - optimum) > rounding)
    invalid = outcome.dual > optimum + rounding
    invalid |= claim is not None and not claim.dual_bound <= optimum + slack
    return replace(outcome, wrong=outcome.wrong or wrong, invalid=invalid)


def _counted(tally: Tally, outcome: _Outcome | None, index: int) -> Tally:
    if outcome is None:
        return replace(tally, n_unsupported=tally.n_unsupported + 1)
    offences = (index,) if outcome.wrong or outcome.invalid else ()
    return replace(
        tally,
        n_proved=tally.n_proved + outcome.proved,
        n_unproved=tally.n_unproved + (not outcome.proved),
        n_disagreements=tally.n_disagreements + outcome.wrong,
        n_invalid_bounds=tally.n_invalid_bounds + outcome.invalid,
        offences=tally.offences + offences,
    )


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
    parser.add_argument("--forced", action="store_true", help="the block bound forced on, too")
    parser.add_argument("--out", type=Path, help="write the tallies as JSON")
    chosen = parser.parse_args()
    oracles = {name: get_oracle(name) for name in chosen.oracles}
    if chosen.forced:
        oracles["block bound"] = get_oracle("branch-and-bound", block_bound="always")
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
