"""A solver called through its own Python interface, in a worker process."""

from __future__ import annotations

import functools
import math
import time

import numpy as np

from oracles.errors import OracleError
from oracles.interface import Claim, SolveOptions
from oracles.milp.claims import check_seed, claim_of, report_claim, stopping_gap
from oracles.milp.direct.profiles import TOLERANCE, direct_profile
from oracles.milp.formulation import formulate, formulation_limits, formulation_steps
from oracles.milp.program import MixedIntegerProgram, ProgramBuilder
from oracles.milp.size import SizeLimit
from oracles.milp.workers import Request, solve_in_worker
from oracles.problem import ZeroOneProblem

_SECONDS_OF_TRIAL = 20.0


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
        self.requirement = "needs a smaller problem"

    @property
    def size_limit(self) -> SizeLimit | None:
        """The largest program that the licence found here covers; None for any."""
        return _size_limit_here(self.name)

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


@functools.cache
def _size_limit_here(solver: str) -> SizeLimit | None:
    """Return the limit, asking the solver with a program that is just beyond the known one."""
    profile = direct_profile(solver)
    if profile.size_limit is None:
        return None
    request = Request(
        solver=profile.name,
        program=_program_beyond(profile.size_limit),
        settings={},
        deadline=time.monotonic() + _SECONDS_OF_TRIAL,
        wants_reports=False,
    )
    try:
        answer = solve_in_worker(
            profile.name, request, seconds_left=_SECONDS_OF_TRIAL, with_files=True
        )
    except OracleError:
        return profile.size_limit
    return profile.size_limit if answer is None else None


def _program_beyond(limit: SizeLimit) -> MixedIntegerProgram:
    """Return a program of no difficulty that is larger than a limit."""
    size = 1 + max(limit.rows or 0, limit.columns or 0, (limit.total or 0) // 2)
    program = ProgramBuilder()
    for column in program.variables([1.0] * size):
        program.row(0, math.inf, (column,), np.ones(1))
    return program.finish((), ())
