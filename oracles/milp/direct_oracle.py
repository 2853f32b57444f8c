"""A solver called through its own Python interface, in a worker process."""

from __future__ import annotations

import time

from oracles.interface import Claim, SolveOptions
from oracles.milp.claims import check_seed, claim_of, report_claim, stopping_gap
from oracles.milp.formulation import formulate, formulation_limits, formulation_steps
from oracles.milp.solver_profiles import TOLERANCE, direct_profile
from oracles.milp.workers import Request, solve_in_worker
from oracles.problem import ZeroOneProblem


class DirectOracle:
    """A mixed-integer solver whose own words are read: status, bound, limit and incumbent.

    Parameters
    ----------
    solver : str
        ``gurobi``, ``cplex``, ``xpress``, ``copt``, ``mosek`` or ``scip``.
    formulation : {"aggregated", "ordered", "per-row"} or None
        The encoding, see :func:`oracles.milp.formulation.formulate`; None: the solver's best.

    Raises
    ------
    OracleUnavailable
        If the solver is none of them.

    Notes
    -----
    **Guarantee.** Optimal is claimed only when the solver says so; the bound is its own, lowered
    by the gap it was allowed.
    **Assumes.** The solver's floating-point bound is right to within a quarter of the unit.
    """

    integer_arithmetic = False
    can_certify = True
    most_steps = formulation_steps(TOLERANCE)

    def __init__(self, solver: str, formulation: str | None = None) -> None:
        self._profile = direct_profile(solver)
        self.name = solver
        self.formulation = formulation or self._profile.formulation
        self.size_limit = self._profile.size_limit
        self.requirement = "needs a smaller problem"

    def supports(self, problem: ZeroOneProblem) -> bool:
        """Return whether the encoding can be written down."""
        reason = formulation_limits(problem, self.formulation, tolerance=TOLERANCE)
        if reason is not None:
            self.requirement = reason
        return reason is None

    def solve(self, problem: ZeroOneProblem, options: SolveOptions) -> Claim:
        """Minimise with the solver."""
        check_seed(self._profile.title, options.seed)
        started = time.monotonic()
        deadline = None if options.time_limit is None else started + options.time_limit
        request = Request(
            solver=self.name,
            program=formulate(problem, self.formulation, tolerance=TOLERANCE),
            settings=self._profile.arguments(problem, options),
            deadline=deadline,
            wants_reports=False,
        )
        answer = solve_in_worker(
            self.name,
            request,
            seconds_left=None if deadline is None else deadline - time.monotonic(),
            with_files=True,
            refusals=self._profile.refusals,
        )
        gap = stopping_gap(problem, options.absolute_gap)
        claim = claim_of(problem, request.program, answer, gap, self._profile.statuses)
        report_claim(problem, claim, options, time.monotonic() - started)
        return claim
