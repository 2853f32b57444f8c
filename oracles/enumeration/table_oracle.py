"""The oracle of problems whose losses are given as a table."""

from __future__ import annotations

from typing import Any

from oracles.errors import UnsupportedProblem
from oracles.interface import Claim, SolveOptions, Termination
from oracles.problem import ENUMERATION_LIMIT, TabularProblem


class TabularOracle:
    """Exact minimisation of a :class:`TabularProblem` by looking at every entry."""

    name = "table"
    integer_arithmetic = True
    requirement = "takes explicit tables of losses (TabularProblem) only"

    def supports(self, problem: Any) -> bool:
        """Return whether the problem is a table."""
        return (
            isinstance(problem, TabularProblem) and problem.grid.n_assignments <= ENUMERATION_LIMIT
        )

    def solve(self, problem: Any, options: SolveOptions) -> Claim:
        """Minimise by enumeration; limits are not needed and not looked at."""
        if not isinstance(problem, TabularProblem):
            raise UnsupportedProblem(f"oracle '{self.name}' {self.requirement}.")
        hypothesis, objective = problem.minimiser()
        if options.progress is not None:
            rows = objective * problem.unit
            options.progress(rows, rows, 0.0)
        return Claim(
            hypothesis=hypothesis,
            objective=objective,
            dual_bound=objective,
            termination=Termination.OPTIMAL,
            limit=None,
            nodes=len(problem.losses),
        )
