"""Any solver that PuLP can run, without taking PuLP's word for it.

PuLP reports a time limit as status "Optimal" and passes on no dual bound. So the solution status
is read instead, a bound comes from the solver underneath where there is one, and a solver whose
statuses PuLP blurs, or that nobody has checked, never proves anything here.
"""

from __future__ import annotations

import math
import tempfile
import time
import warnings
from contextlib import ExitStack
from typing import Any

from oracles.errors import OracleUnavailable, UnsupportedProblem
from oracles.interface import Claim, Limit, SolveOptions, Termination
from oracles.milp.formulation import formulate, formulation_limits, formulation_steps
from oracles.milp.guarded_program import guarded_program
from oracles.milp.highs import STATUS, Watch, lowered_bound, stopping_gap
from oracles.milp.memory_file import memory_file
from oracles.milp.program import MixedIntegerProgram
from oracles.milp.pulp_solvers import (
    SOLUTION_STATUS,
    TOLERANCE,
    cbc_increment,
    check_highs_options,
    installed_solvers,
    runnable_classes,
    solver_profile,
)
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
        self.requirement = "needs a smaller problem"
        self._class = self._available_class()

    def _available_class(self) -> str:
        found = runnable_classes()
        for name in self._profile.classes:
            if name in found:
                return name
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
        started = time.perf_counter()
        arguments = self._profile.arguments(problem, options)
        program = formulate(problem, self.formulation, tolerance=TOLERANCE)
        scale = problem.steps_per_row if self._profile.in_steps else 1
        model, variables = _model(program, scale)
        if options.time_limit is not None:
            left = options.time_limit - (time.perf_counter() - started)
            arguments["timeLimit"] = max(left, 1e-3)
        self._run(model, arguments, started)
        timed_out = (
            options.time_limit is not None
            and time.perf_counter() - started >= 0.9 * options.time_limit
        )
        assignment = [variable.varValue or 0.0 for variable in variables]
        claim = self._claim(problem, program, model, assignment, options, timed_out)
        self._report(problem, claim, options, time.perf_counter() - started)
        return claim

    def _run(self, model: Any, arguments: dict[str, Any], started: float) -> None:
        """Run silently; files that hold the problem are in memory, and end with the processes."""
        import pulp

        solver = pulp.getSolver(self._class, msg=False, **arguments)
        with ExitStack() as stack, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if self._class == "HiGHS":
                _watch_highs(solver, started)
            if hasattr(solver, "tmpDir"):
                folder = stack.enter_context(tempfile.TemporaryDirectory())
                solver.tmpDir = folder
                solver.path = guarded_program(solver.path, folder)
                solver.create_tmp_files = lambda name, *kinds: [
                    memory_file(stack, folder, f"program.{kind}") for kind in kinds
                ]
            try:
                model.solve(solver)
            except Exception as error:
                reason = self._profile.refusal(error)
                if reason is None:
                    raise
                raise UnsupportedProblem(f"oracle '{self.name}' {reason}.") from None
        if self._class == "HiGHS":
            check_highs_options(model.solverModel, arguments)

    def _claim(
        self,
        problem: ZeroOneProblem,
        program: MixedIntegerProgram,
        model: Any,
        assignment: list[float],
        options: SolveOptions,
        timed_out: bool,
    ) -> Claim:
        termination, limit = self._status(model)
        hypothesis = program.hypothesis(assignment)
        if hypothesis is not None and not problem.grid.contains(hypothesis):
            hypothesis = None
        if hypothesis is None or termination is Termination.NO_HYPOTHESIS:
            hypothesis, termination = None, Termination.NO_HYPOTHESIS
            limit = limit or Limit.NUMERICAL
        if limit is Limit.UNKNOWN and timed_out:
            limit = Limit.TIME
        if hypothesis is None:
            return Claim(
                hypothesis=None,
                objective=None,
                dual_bound=-math.inf,
                termination=termination,
                limit=limit,
                nodes=self._nodes(model),
            )
        objective = program.value(assignment) * problem.steps_per_row
        return Claim(
            hypothesis=hypothesis,
            objective=objective,
            dual_bound=self._bound(problem, program, model, objective, options, termination),
            termination=termination,
            limit=limit,
            nodes=self._nodes(model),
        )

    def _nodes(self, model: Any) -> int | None:
        if self._profile.native_nodes is None:
            return None
        nodes = self._profile.native_nodes(model.solverModel)
        return int(nodes) if nodes >= 0 else None

    def _status(self, model: Any) -> tuple[Termination, Limit | None]:
        import pulp

        if self._class == "HiGHS":
            return STATUS[model.solverModel.getModelStatus().name]
        names = {getattr(pulp.constants, name): name for name in SOLUTION_STATUS}
        termination, limit = SOLUTION_STATUS[names[model.sol_status]]
        agrees = model.status == pulp.constants.LpStatusOptimal and self._profile.proves
        if termination is Termination.OPTIMAL and not agrees:
            return Termination.FEASIBLE, Limit.UNKNOWN
        return termination, limit

    def _bound(
        self,
        problem: ZeroOneProblem,
        program: MixedIntegerProgram,
        model: Any,
        objective: float,
        options: SolveOptions,
        termination: Termination,
    ) -> float:
        """Return a lower bound in objective units: the solver's own, or a proof less its gaps."""
        gap = stopping_gap(problem, options.absolute_gap)
        if self._profile.native_bound is not None:
            # PuLP keeps the constant of the objective to itself.
            native = self._profile.native_bound(model.solverModel) + program.offset
            return float(lowered_bound(problem, native, objective, gap))
        if termination is not Termination.OPTIMAL:
            return -math.inf
        return objective - gap * problem.steps_per_row - cbc_increment(problem)

    @staticmethod
    def _report(
        problem: ZeroOneProblem, claim: Claim, options: SolveOptions, seconds: float
    ) -> None:
        """Report once, at the end: PuLP passes on nothing before."""
        if options.progress is not None:
            incumbent = None if claim.objective is None else claim.objective * problem.unit
            options.progress(incumbent, claim.dual_bound * problem.unit, seconds)


def _watch_highs(solver: Any, started: float) -> None:
    """Let Ctrl-C out of HiGHS, which PuLP calls without a callback."""
    import highspy

    # An earlier solve may have left a thread pool of another size: HiGHS refuses it.
    highspy.Highs.resetGlobalScheduler(True)
    watch = Watch(SolveOptions(), started)
    solver.callSolver = lambda lp: watch.run(lp.solverModel, lambda highs: highs.run())


def _model(program: MixedIntegerProgram, scale: int = 1) -> tuple[Any, list[Any]]:
    """Return the program as a PuLP problem, its costs times ``scale``, and its variables."""
    import pulp

    model = pulp.LpProblem("oracle", pulp.LpMinimize)
    add = getattr(model, "add_variable", pulp.LpVariable)
    variables = [
        add(f"x{i}", float(low), float(high), pulp.LpInteger if integer else pulp.LpContinuous)
        for i, (low, high, integer) in enumerate(
            zip(program.lower, program.upper, program.integrality, strict=True)
        )
    ]
    model += pulp.LpAffineExpression(
        [
            (v, c)
            for v, c in zip(variables, (program.objective * scale).tolist(), strict=True)
            if c != 0
        ]
    )
    columns, coefficients = program.columns.tolist(), program.coefficients.tolist()
    starts = program.starts.tolist()
    for k, (low, high) in enumerate(
        zip(program.row_lower.tolist(), program.row_upper.tolist(), strict=True)
    ):
        terms = range(starts[k], starts[k + 1])
        left = pulp.LpAffineExpression([(variables[columns[t]], coefficients[t]) for t in terms])
        if low == high:
            model += left == low
        elif math.isinf(low):
            model += left <= high
        else:
            model += left >= low
    return model, variables
