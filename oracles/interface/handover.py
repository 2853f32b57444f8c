"""One oracle under a limit, then another without: the same problem, and always a proof."""

from __future__ import annotations

import math
from dataclasses import replace

from oracles.errors import OracleError
from oracles.interface.oracle import Oracle, SolveOptions
from oracles.interface.solution import Claim, Solution
from oracles.interface.solving import solve
from oracles.problem import ZeroOneProblem

SEPARATOR = " then "


class HandoverOracle:
    """Ask one oracle first; where it ends without a proof, ask another the same question.

    Parameters
    ----------
    first : Oracle
        Runs under the time limit of the options.
    second : Oracle
        Runs without a limit, on the same problem, if the first one ended without a proof.

    Notes
    -----
    **Guarantee.** Complete if ``second`` is. Which of the two answered is not part of the answer.
    """

    def __init__(self, first: Oracle, second: Oracle) -> None:
        self.first, self.second = first, second
        self.name = f"{first.name}{SEPARATOR}{second.name}"
        self.integer_arithmetic = first.integer_arithmetic and second.integer_arithmetic
        self.requirement = f"needs '{second.name}', which {second.requirement}"

    @property
    def most_steps(self) -> float:
        """Most steps of the unit that the second oracle's objective may have."""
        return float(getattr(self.second, "most_steps", math.inf))

    @property
    def can_certify(self) -> bool:
        """Whether either of the two ever gives a bound."""
        return any(getattr(oracle, "can_certify", True) for oracle in (self.first, self.second))

    def supports(self, problem: ZeroOneProblem) -> bool:
        """Return whether the second oracle takes the problem; the first may decline."""
        return self.second.supports(problem)

    def solve(self, problem: ZeroOneProblem, options: SolveOptions) -> Claim:
        """Minimise; the time limit bounds the first oracle only."""
        attempt = self._attempt(problem, options)
        if attempt is None:
            return self.second.solve(problem, replace(options, time_limit=None))
        certificate = attempt.certificate
        return Claim(
            hypothesis=attempt.hypothesis,
            objective=certificate.primal_bound,
            dual_bound=certificate.dual_bound,
            termination=certificate.termination,
            limit=certificate.limit,
            nodes=attempt.stats.nodes,
        )

    def _attempt(self, problem: ZeroOneProblem, options: SolveOptions) -> Solution | None:
        try:
            solution = solve(problem, self.first, options)
        except OracleError:
            return None
        proved = solution.certificate.gap_in_rows <= options.absolute_gap
        return solution if proved else None
