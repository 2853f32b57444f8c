"""OR-tools CP-SAT: integers only, in a child process.

OR-tools and HiGHS crash when loaded into one process, so CP-SAT never enters this one. The child
is started at the first solve, serves one oracle object and dies with it or with this process.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from oracles.arithmetic import ChildEnded, ChildProcess, module_command, module_environment
from oracles.errors import InvalidOption
from oracles.interface import Claim, Limit, SolveOptions, Termination
from oracles.milp.formulation import (
    LARGEST_INTEGER,
    formulate,
    formulation_limits,
    formulation_steps,
)
from oracles.milp.program import MixedIntegerProgram
from oracles.problem import ZeroOneProblem

SECONDS_OF_GRACE = 10.0
"""How long after its time limit a silent child is given before it is killed."""

STATUS = {
    "UNKNOWN": (Termination.NO_HYPOTHESIS, Limit.UNKNOWN),
    "MODEL_INVALID": (Termination.NO_HYPOTHESIS, Limit.NUMERICAL),
    "FEASIBLE": (Termination.FEASIBLE, Limit.UNKNOWN),
    # Every grid has a hypothesis.
    "INFEASIBLE": (Termination.NO_HYPOTHESIS, Limit.NUMERICAL),
    "OPTIMAL": (Termination.OPTIMAL, None),
    "DIED": (Termination.NO_HYPOTHESIS, Limit.UNKNOWN),
}
"""What every CP-SAT status means ("DIED": the child did); a missing one raises ``KeyError``."""

Report = Callable[[dict[str, Any]], None]

_LARGEST_SEED = 2**31 - 1


class CpSatOracle:
    """CP-SAT on one binary per point, every coefficient an integer.

    Parameters
    ----------
    formulation : {"ordered", "aggregated", "per-row"}
        The encoding, see :func:`oracles.milp.formulation.formulate`.

    Notes
    -----
    **Guarantee.** Bounds are integers, proved in integer arithmetic.

    Examples
    --------
    >>> from oracles import WeightGrid, ZeroOneProblem, available_oracles, solve
    >>> problem = ZeroOneProblem(points=[[1, 0], [1, 1]], positives=[0, 3], negatives=[2, 1],
    ...                          grid=WeightGrid.box(2, 1))
    >>> if "cp-sat" in available_oracles():
    ...     assert solve(problem, "cp-sat").certificate.primal_bound == 1
    """

    name = "cp-sat"
    integer_arithmetic = True
    most_steps = formulation_steps(0.0)

    def __init__(self, formulation: str = "ordered") -> None:
        self.formulation = formulation
        self.requirement = "takes tables on a lattice only"
        self._child: ChildProcess | None = None

    def supports(self, problem: ZeroOneProblem) -> bool:
        """Return whether the problem is exact and can be written down."""
        reason = formulation_limits(problem, self.formulation)
        if not problem.is_exact:
            reason = "takes tables on a lattice only, because it computes with integers"
        if reason is not None:
            self.requirement = reason
        return reason is None

    def solve(self, problem: ZeroOneProblem, options: SolveOptions) -> Claim:
        """Minimise with CP-SAT."""
        if not 0 <= options.seed <= _LARGEST_SEED:
            raise InvalidOption(
                f"CP-SAT takes seeds in 0..{_LARGEST_SEED}, got seed={options.seed}."
            )
        started, deadline = time.perf_counter(), None
        if options.time_limit is not None:
            deadline = time.time() + options.time_limit
        program = formulate(problem, self.formulation, tolerance=0.0)
        offset = round(program.offset * problem.steps_per_row)
        request = {
            "program": integer_program(program, problem.steps_per_row),
            "threads": options.threads,
            "seed": options.seed,
            "gap": float(math.floor(options.absolute_gap * problem.steps_per_row)),
            "deadline": deadline,
            "report": options.progress is not None,
        }

        def report(message: dict[str, Any]) -> None:
            if options.progress is not None:
                seconds = time.perf_counter() - started
                incumbent = message["incumbent"]
                options.progress(
                    None if incumbent is None else (round(incumbent) + offset) * problem.unit,
                    float(_integer_bound(message["bound"]) + offset) * problem.unit,
                    seconds,
                )

        return _claim(problem, program, offset, self._ask(request, report), deadline)

    def _ask(self, request: dict[str, Any], report: Report) -> dict[str, Any]:
        """Ask the child; whatever interrupts the wait also ends the child."""

        def left() -> float | None:
            deadline = request["deadline"]
            return None if deadline is None else deadline - time.time() + SECONDS_OF_GRACE

        child, self._child = self._child or _started(), None
        try:
            child.send(request, left())
            while "status" not in (message := child.receive(left())):
                report(message)
        except ChildEnded:
            return {"status": "DIED", "assignment": None, "bound": None, "nodes": None}
        except BaseException:
            child.close()
            raise
        self._child = child
        answer: dict[str, Any] = message
        return answer


def _started() -> ChildProcess:
    return ChildProcess(
        module_command("oracles.milp.cp_sat_worker"), environment=module_environment()
    )


def integer_program(
    program: MixedIntegerProgram, steps_per_row: int
) -> dict[str, list[int | None]]:
    """Return a program's arrays as integers, the objective in steps; None for infinite bounds.

    Variables that may be continuous become integers too: their optimum is integral.
    """

    def integers(array: Any) -> list[int | None]:
        return [None if math.isinf(v) else round(v) for v in array.tolist()]

    return {
        "objective": integers(program.objective * steps_per_row),
        "lower": integers(program.lower),
        "upper": integers(program.upper),
        "starts": integers(program.starts),
        "columns": integers(program.columns),
        "coefficients": integers(program.coefficients),
        "row_lower": integers(program.row_lower),
        "row_upper": integers(program.row_upper),
    }


def _claim(
    problem: ZeroOneProblem,
    program: MixedIntegerProgram,
    offset: int,
    answer: dict[str, Any],
    deadline: float | None,
) -> Claim:
    termination, limit = STATUS[answer["status"]]
    if limit is Limit.UNKNOWN and deadline is not None and time.time() >= deadline - 0.1:
        limit = Limit.TIME
    hypothesis = None
    if answer["assignment"] is not None:
        hypothesis = program.hypothesis(answer["assignment"])
    if hypothesis is None:
        return Claim(
            hypothesis=None,
            objective=None,
            dual_bound=-math.inf,
            termination=Termination.NO_HYPOTHESIS,
            limit=limit or Limit.UNKNOWN,
            nodes=answer["nodes"],
        )
    return Claim(
        hypothesis=hypothesis,
        objective=problem.objective(hypothesis),
        dual_bound=_integer_bound(answer["bound"]) + offset,
        termination=termination,
        limit=limit,
        nodes=answer["nodes"],
    )


def _integer_bound(bound: float) -> int | float:
    """Return the integer that CP-SAT proved and hands over as a float, scaled and unscaled.

    Beyond ``2**53`` floats are farther apart than integers: the next smaller one is no larger
    than what was proved.
    """
    if not math.isfinite(bound):
        return -math.inf
    if abs(bound) >= LARGEST_INTEGER:
        return math.floor(math.nextafter(bound, -math.inf))
    return math.floor(bound + 1e-6)
