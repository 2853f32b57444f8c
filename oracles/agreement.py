"""Many problems through many oracles: whether they agree and every bound is valid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from oracles.brute_force import brute_force
from oracles.errors import InconsistentSolution, NoHypothesis, UnsupportedProblem
from oracles.interface import Oracle, SolveOptions, solve
from oracles.problem import Objective, ZeroOneProblem
from oracles.sample_problems import KINDS, random_problem, wide_problem
from oracles.solution import Claim


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
        Small enough for :func:`~oracles.brute_force.brute_force`.
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
    """What one oracle answered on one problem.

    Parameters
    ----------
    proved : bool
        Whether the answer comes with a proof of optimality.
    primal, dual : Objective or None
        Certified bounds, objective steps or, without a lattice, rows; None without an answer,
        and a dual bound of ``-inf``.
    wrong : bool
        Whether it is not the optimum, or was refused as a contradiction.
    invalid : bool
        Whether a bound is above the optimum.
    """

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
