"""OR-tools CP-SAT: integers only, in a worker process."""

from __future__ import annotations

import math
import time

from oracles.errors import InvalidOption
from oracles.interface import Claim, Limit, SolveOptions, Termination
from oracles.milp.claims import count_of_nodes, meaning_of, no_claim
from oracles.milp.formulation import (
    LARGEST_INTEGER,
    formulate,
    formulation_limits,
    formulation_steps,
)
from oracles.milp.program import MixedIntegerProgram
from oracles.milp.workers import Answer, Report, Request, solve_in_worker
from oracles.problem import ZeroOneProblem

STATUS = {
    "UNKNOWN": (Termination.NO_HYPOTHESIS, Limit.UNKNOWN),
    "MODEL_INVALID": (Termination.NO_HYPOTHESIS, Limit.NUMERICAL),
    "FEASIBLE": (Termination.FEASIBLE, Limit.UNKNOWN),
    # Every grid has a hypothesis.
    "INFEASIBLE": (Termination.NO_HYPOTHESIS, Limit.NUMERICAL),
    "OPTIMAL": (Termination.OPTIMAL, None),
}
"""What every CP-SAT status means; a missing one is refused."""

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
        started, deadline = time.monotonic(), None
        if options.time_limit is not None:
            deadline = started + options.time_limit
        program = formulate(problem, self.formulation, tolerance=0.0)
        offset = round(program.offset * problem.steps_per_row)
        request = Request(
            solver="cp-sat",
            program=program,
            scale=problem.steps_per_row,
            settings={
                "num_workers": options.threads,
                "random_seed": options.seed,
                "relative_gap_limit": 0.0,
                "absolute_gap_limit": float(
                    math.floor(options.absolute_gap * problem.steps_per_row)
                ),
            },
            deadline=deadline,
            wants_reports=options.progress is not None,
        )

        def pass_on(report: Report) -> None:
            if options.progress is not None:
                found = report.incumbent
                options.progress(
                    None if found is None else (round(found) + offset) * problem.unit,
                    float(_integer_bound(report.bound) + offset) * problem.unit,
                    time.monotonic() - started,
                )

        answer = solve_in_worker(
            self.name,
            request,
            hear=pass_on,
            seconds_left=None if deadline is None else deadline - time.monotonic(),
        )
        return _claim(problem, program, offset, answer, deadline)


def _claim(
    problem: ZeroOneProblem,
    program: MixedIntegerProgram,
    offset: int,
    answer: Answer | None,
    deadline: float | None,
) -> Claim:
    if answer is None:
        return no_claim(Limit.TIME)
    termination, limit = meaning_of(answer.status, STATUS)
    if limit is Limit.UNKNOWN and deadline is not None and time.monotonic() >= deadline - 0.1:
        limit = Limit.TIME
    hypothesis = None
    if answer.assignment is not None:
        hypothesis = program.hypothesis(answer.assignment)
    nodes = count_of_nodes(answer)
    if hypothesis is None:
        return no_claim(limit or Limit.UNKNOWN, nodes)
    assert answer.bound is not None
    return Claim(
        hypothesis=hypothesis,
        objective=problem.objective(hypothesis),
        dual_bound=_integer_bound(answer.bound) + offset,
        termination=termination,
        limit=limit,
        nodes=nodes,
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
