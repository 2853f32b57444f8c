"""Any solver that PuLP can run, without taking PuLP's word for it.

PuLP reports a time limit as status "Optimal" and passes on no dual bound. So the solution status
is read instead, a bound comes from the solver underneath where there is one, and a solver whose
statuses PuLP blurs, or that nobody has checked, never proves anything here.
"""

from __future__ import annotations

import math
import time

from oracles.errors import OracleUnavailable
from oracles.interface import Claim, Limit, SolveOptions, Termination
from oracles.milp.claims import (
    count_of_nodes,
    lowered_bound,
    meaning_of,
    no_claim,
    report_claim,
    stopping_gap,
)
from oracles.milp.formulation import formulate, formulation_limits, formulation_steps
from oracles.milp.highs import STATUS
from oracles.milp.program import MixedIntegerProgram
from oracles.milp.pulp_solvers import (
    SOLUTION_STATUS,
    TOLERANCE,
    cbc_increment,
    installed_solvers,
    runnable_classes,
    solver_profile,
)
from oracles.milp.workers import Answer, Request, solve_in_worker
from oracles.problem import ZeroOneProblem


class PulpOracle:
    """A mixed-integer solver reached through PuLP.

    Parameters
    ----------
    solver : str
        ``HiGHS``, ``CBC``, ``SCIP``, ``GUROBI`` or the name of a PuLP solver class.
    formulation : {"aggregated", "ordered", "per-row"} or None
        The encoding, see :func:`oracles.milp.formulation.formulate`; None: the solver's best.

    Raises
    ------
    OracleUnavailable
        If PuLP does not know the solver or cannot run it.

    Notes
    -----
    **Guarantee.** A limit never reads as a proof. CBC gives a bound only when it proves
    optimality; solvers other than the four named ones never give one.
    **Assumes.** The solver's floating-point bound is right to within a quarter of the unit.
    """

    integer_arithmetic = False
    most_steps = formulation_steps(TOLERANCE)

    def __init__(self, solver: str = "HiGHS", formulation: str | None = None) -> None:
        self.name = f"pulp:{solver}"
        self._profile = solver_profile(solver)
        self.formulation = formulation or self._profile.formulation
        self.can_certify = self._profile.proves
        self.size_limit = self._profile.size_limit
        self.requirement = "needs a smaller problem"
        self._class = self._available_class()

    def _available_class(self) -> str:
        found = runnable_classes(self.name, self._profile.classes)
        if found:
            return found[0]
        names = ", ".join(f"pulp:{name}" for name in installed_solvers())
        raise OracleUnavailable(
            f"oracle '{self.name}' must be a solver that PuLP can run; choose one of the "
            f"installed ones ({names})."
        )

    def supports(self, problem: ZeroOneProblem) -> bool:
        """Return whether the encoding can be written down."""
        reason = formulation_limits(problem, self.formulation, tolerance=TOLERANCE)
        if reason is not None:
            self.requirement = reason
        return reason is None

    def solve(self, problem: ZeroOneProblem, options: SolveOptions) -> Claim:
        """Minimise through PuLP."""
        started = time.monotonic()
        deadline = None if options.time_limit is None else started + options.time_limit
        request = Request(
            solver=self._class,
            program=formulate(problem, self.formulation, tolerance=TOLERANCE),
            scale=problem.steps_per_row if self._profile.in_steps else 1,
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
        seconds = time.monotonic() - started
        timed_out = options.time_limit is not None and seconds >= 0.9 * options.time_limit
        claim = self._claim(problem, request.program, answer, options, timed_out)
        report_claim(problem, claim, options, seconds)
        return claim

    def _claim(
        self,
        problem: ZeroOneProblem,
        program: MixedIntegerProgram,
        answer: Answer | None,
        options: SolveOptions,
        timed_out: bool,
    ) -> Claim:
        if answer is None or answer.assignment is None:
            return no_claim(Limit.TIME if timed_out else Limit.UNKNOWN)
        termination, limit = self._status(answer.status)
        hypothesis = program.hypothesis(answer.assignment)
        if hypothesis is not None and not problem.grid.contains(hypothesis):
            hypothesis = None
        if hypothesis is None or termination is Termination.NO_HYPOTHESIS:
            hypothesis, termination = None, Termination.NO_HYPOTHESIS
            limit = limit or Limit.NUMERICAL
        if limit is Limit.UNKNOWN and timed_out:
            limit = Limit.TIME
        if hypothesis is None:
            return no_claim(limit or Limit.UNKNOWN, count_of_nodes(answer))
        objective = program.value(answer.assignment) * problem.steps_per_row
        return Claim(
            hypothesis=hypothesis,
            objective=objective,
            dual_bound=self._bound(problem, program, answer, objective, options, termination),
            termination=termination,
            limit=limit,
            nodes=count_of_nodes(answer),
        )

    def _status(self, status: str) -> tuple[Termination, Limit | None]:
        if self._class == "HiGHS":
            return meaning_of(status, STATUS)
        termination, limit = meaning_of(status, SOLUTION_STATUS)
        if termination is Termination.OPTIMAL and not self._profile.proves:
            return Termination.FEASIBLE, Limit.UNKNOWN
        return termination, limit

    def _bound(
        self,
        problem: ZeroOneProblem,
        program: MixedIntegerProgram,
        answer: Answer,
        objective: float,
        options: SolveOptions,
        termination: Termination,
    ) -> float:
        """Return a lower bound in objective units: the solver's own, or a proof less its gaps."""
        gap = stopping_gap(problem, options.absolute_gap)
        if answer.bound is not None:
            # PuLP keeps the constant of the objective to itself.
            return float(lowered_bound(problem, answer.bound + program.offset, objective, gap))
        if termination is not Termination.OPTIMAL:
            return -math.inf
        return objective - gap * problem.steps_per_row - cbc_increment(problem)
