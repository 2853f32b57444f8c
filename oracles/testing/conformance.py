"""The conformance kit: what every oracle must satisfy, for third parties too.

>>> from oracles.enumeration import EnumerationOracle
>>> check_oracle(EnumerationOracle(), n_random=20).n_proved > 0
True
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from oracles.arithmetic import Objective
from oracles.errors import InconsistentSolution, NoHypothesis
from oracles.interface import Certificate, Claim, Oracle, SolveOptions, Termination, solve
from oracles.problem import ZeroOneProblem
from oracles.testing.brute_force import brute_force
from oracles.testing.sample_problems import (
    KINDS,
    equivalents,
    larger_problem,
    named_problems,
    random_problem,
)

_INSTANT = 1e-6

_ROWS_OF_SLACK = 2.0

_ROUNDING = 1e-9  # rows: progress is reported in floats


@dataclass(frozen=True, slots=True, kw_only=True)
class ConformanceReport:
    """What a conformance run covered.

    Parameters
    ----------
    n_checked : int
        Problems solved and compared with brute force.
    n_proved : int
        Those that ended with a proof of optimality. An oracle without bounds is honest with 0.
    n_skipped : int
        Problems that the oracle does not support.
    """

    n_checked: int
    n_proved: int
    n_skipped: int


def check_oracle(oracle: Oracle, *, n_random: int = 60, seed: int = 0) -> ConformanceReport:
    """Check an oracle against brute force; raise if it breaks the contract.

    Parameters
    ----------
    oracle : Oracle
        The oracle to check.
    n_random : int
        Random problems, spread evenly over every kind of perturbation and both signs of weights.
    seed : int
        Seed of the random problems.

    Returns
    -------
    ConformanceReport
        How much was checked.

    Raises
    ------
    AssertionError
        Naming the broken rule and the problem it broke on.

    Notes
    -----
    **Guarantee.** This holds on every problem tried. The hypothesis is in the grid. The bound, as
    claimed and as certified, never exceeds the optimum. "Optimal" is optimal and comes with its
    bound, with a time limit of almost zero too. Bounds and incumbents reported on the way are
    valid. The problem is not modified, and the same inputs give the same answer. Merging duplicate
    points, splitting a weight, permuting points or adding weightless points leaves the optimum
    unchanged.
    """
    kit = _Kit(oracle)
    for name, problem in itertools.chain(named_problems(), _random_problems(n_random, seed)):
        kit.check(name, problem)
    kit.check_hurried(*larger_problem(seed))
    _require(kit.n_checked > 0, oracle, "must support at least one problem of the kit", "all")
    return ConformanceReport(
        n_checked=kit.n_checked, n_proved=kit.n_proved, n_skipped=kit.n_skipped
    )


def _require(condition: bool, oracle: Oracle, rule: str, where: str) -> None:
    if not condition:
        raise AssertionError(f"oracle '{oracle.name}' {rule} (problem: {where}).")


class _Kit:
    """Counts, and one method per group of rules."""

    def __init__(self, oracle: Oracle) -> None:
        self.oracle = oracle
        self.n_checked = self.n_proved = self.n_skipped = 0

    def check(self, name: str, problem: ZeroOneProblem) -> None:
        """Check one problem under every rule."""
        if not self.oracle.supports(problem):
            self.n_skipped += 1
            return
        optimum = min(brute_force(problem).values())
        before = _fingerprint(problem)
        certificate = self._check_claim(name, problem, optimum, SolveOptions())
        _require(_fingerprint(problem) == before, self.oracle, "must not modify the problem", name)
        self.n_checked += 1
        if certificate is not None and certificate.proves_optimal:
            self.n_proved += 1
        # The rules that need further solves take turns: all of them meet every kind of problem.
        match self.n_checked % 5:
            case 0:
                self._check_repeatable(name, problem)
            case 1:
                self.check_hurried(name, problem, optimum)
            case 2:
                options = SolveOptions(absolute_gap=_ROWS_OF_SLACK)
                self._check_claim(f"{name}, gap of 2 rows", problem, optimum, options)
            case 3:
                self._check_equivalents(name, problem, optimum)
            case _:
                self._check_claim(f"{name}, seed 7", problem, optimum, SolveOptions(seed=7))

    def check_hurried(
        self, name: str, problem: ZeroOneProblem, optimum: Objective | None = None
    ) -> None:
        """Check that a limit of almost zero seconds does not make the oracle claim too much."""
        if self.oracle.supports(problem):
            known = min(brute_force(problem).values()) if optimum is None else optimum
            options = SolveOptions(time_limit=_INSTANT)
            self._check_claim(f"{name}, time limit {_INSTANT}", problem, known, options)

    def _check_claim(
        self, name: str, problem: ZeroOneProblem, optimum: Objective, options: SolveOptions
    ) -> Certificate | None:
        """Run once; check the claim itself and the certificate made of it."""
        watch = _ProgressWatch()
        watched = SolveOptions(
            time_limit=options.time_limit,
            absolute_gap=options.absolute_gap,
            seed=options.seed,
            progress=watch,
        )
        before = _fingerprint(problem)
        claim = self.oracle.solve(problem, watched)
        _require(_fingerprint(problem) == before, self.oracle, "must not modify the problem", name)
        slack = _slack(problem, optimum, self.oracle)
        self._require_valid(name, problem, claim, optimum, slack)
        _require(
            watch.is_valid(optimum * problem.unit, slack * problem.unit + _ROUNDING),
            self.oracle,
            "must report only bounds below and incumbents above the optimum",
            name,
        )
        return self._certify(name, problem, claim, optimum, watched)

    def _certify(
        self,
        name: str,
        problem: ZeroOneProblem,
        claim: Claim,
        optimum: Objective,
        options: SolveOptions,
    ) -> Certificate | None:
        """Let :func:`solve` judge the claim; None if it has no hypothesis."""
        try:
            certificate = solve(problem, _Replay(self.oracle, claim), options).certificate
        except NoHypothesis:
            return None
        except InconsistentSolution as error:
            raise AssertionError(
                f"oracle '{self.oracle.name}' must not contradict itself: {error} "
                f"(problem: {name})."
            ) from error
        _require(
            certificate.dual_bound <= optimum + _rounding(problem, optimum),
            self.oracle,
            "must not lead to a certified bound above the optimum",
            name,
        )
        _require(
            certificate.termination is not Termination.IMPRECISE,
            self.oracle,
            "must give the bound that proves its claim of optimality",
            name,
        )
        return certificate

    def _require_valid(
        self,
        name: str,
        problem: ZeroOneProblem,
        claim: Claim,
        optimum: Objective,
        slack: float,
    ) -> None:
        _require(
            not math.isnan(claim.dual_bound) and claim.dual_bound <= optimum + slack,
            self.oracle,
            "must not claim a bound above the optimum",
            name,
        )
        if claim.hypothesis is None:
            _require(
                claim.termination is Termination.NO_HYPOTHESIS,
                self.oracle,
                "must say NO_HYPOTHESIS when it gives none",
                name,
            )
            return
        _require(
            problem.grid.contains(claim.hypothesis),
            self.oracle,
            "must answer within the grid",
            name,
        )

    def _check_repeatable(self, name: str, problem: ZeroOneProblem) -> None:
        first, second = (self.oracle.solve(problem, SolveOptions(seed=3)) for _ in range(2))
        _require(
            first.hypothesis == second.hypothesis and first.dual_bound == second.dual_bound,
            self.oracle,
            "must give the same answer to the same inputs at threads=1",
            name,
        )

    def _check_equivalents(self, name: str, problem: ZeroOneProblem, optimum: Objective) -> None:
        for change, variant in equivalents(problem):
            if self.oracle.supports(variant):
                self._check_claim(f"{name}, {change}", variant, optimum, SolveOptions())


class _Replay:
    """An oracle that repeats one claim of another, so that :func:`solve` can judge it."""

    def __init__(self, oracle: Oracle, claim: Claim) -> None:
        self.name = oracle.name
        self.integer_arithmetic = oracle.integer_arithmetic
        self.requirement = oracle.requirement
        self._claim = claim

    def supports(self, problem: ZeroOneProblem) -> bool:
        return True

    def solve(self, problem: ZeroOneProblem, options: SolveOptions) -> Claim:
        return self._claim


class _ProgressWatch:
    """Remembers the extremes of what was reported."""

    def __init__(self) -> None:
        self.lowest_incumbent, self.highest_bound = math.inf, -math.inf

    def __call__(self, incumbent: float | None, bound: float, seconds: float) -> None:
        if incumbent is not None:
            self.lowest_incumbent = min(self.lowest_incumbent, incumbent)
        self.highest_bound = max(self.highest_bound, bound)

    def is_valid(self, optimum: float, slack: float) -> bool:
        return self.highest_bound <= optimum + slack and self.lowest_incumbent >= optimum - slack


def _rounding(problem: ZeroOneProblem, optimum: Objective) -> float:
    return 0.0 if problem.is_exact else 1e-6 * max(1.0, abs(float(optimum)))


def _slack(problem: ZeroOneProblem, optimum: Objective, oracle: Oracle) -> float:
    """Return how far a *claimed* bound may exceed the optimum, in objective units."""
    if problem.is_exact:
        return 0.0 if oracle.integer_arithmetic else 0.49
    return _rounding(problem, optimum)


def _fingerprint(problem: ZeroOneProblem) -> tuple[bytes, ...]:
    arrays = [problem.points, problem.positives, problem.negatives]
    if problem.perturbation is not None:
        arrays.extend(problem.perturbation.tables)
        if problem.perturbation.norm_table is not None:
            arrays.append(problem.perturbation.norm_table)
    return tuple(array.tobytes() for array in arrays)


def _random_problems(n_random: int, seed: int) -> Iterator[tuple[str, ZeroOneProblem]]:
    rng = np.random.default_rng(seed)
    for index in range(n_random):
        kind, negative = KINDS[index % len(KINDS)], (index // len(KINDS)) % 2 == 1
        problem = random_problem(rng, kind, negative_counts=negative)
        yield f"random {index} of seed {seed}, {kind}", problem
