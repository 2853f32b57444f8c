"""HiGHS, called directly in a worker process: dual bound, progress, interruption.

HiGHS stops at a relative gap of 1e-4 by default; here both gaps and all tolerances are tightened,
and what the remaining absolute gap may hide is taken off the bound before it is claimed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from oracles.arithmetic import FloatArray, IntArray
from oracles.interface import Claim, Limit, SolveOptions, Termination
from oracles.milp.block_rows import find_block_rows, load_block_rows, takes_block_rows
from oracles.milp.claims import claim_of, stopping_gap
from oracles.milp.formulation import formulate, formulation_limits, formulation_steps
from oracles.milp.program import MixedIntegerProgram
from oracles.milp.warm_start import find_incumbent, load_search
from oracles.milp.workers import Report, Request, solve_in_worker
from oracles.problem import Hypothesis, ZeroOneProblem

if TYPE_CHECKING:
    from oracles.branch_and_bound import BlockInequality

TOLERANCE = 1e-9
"""Feasibility and integrality tolerance that HiGHS is given."""

_SECONDS_ALONE = 4.0
"""How long HiGHS is given before the block bound's rows are made, which take seconds too."""

_SHARE_ALONE, _SHARE_OF_BLOCKS = 0.1, 0.5
"""Of a time limit, the part that HiGHS has alone at most; of the rest, that of making the rows."""

STATUS = {
    "kNotset": (Termination.NO_HYPOTHESIS, Limit.UNKNOWN),
    "kLoadError": (Termination.NO_HYPOTHESIS, Limit.UNKNOWN),
    "kModelError": (Termination.NO_HYPOTHESIS, Limit.UNKNOWN),
    "kPresolveError": (Termination.NO_HYPOTHESIS, Limit.NUMERICAL),
    "kSolveError": (Termination.NO_HYPOTHESIS, Limit.NUMERICAL),
    "kPostsolveError": (Termination.NO_HYPOTHESIS, Limit.NUMERICAL),
    "kModelEmpty": (Termination.NO_HYPOTHESIS, Limit.UNKNOWN),
    "kOptimal": (Termination.OPTIMAL, None),
    # Every grid has a hypothesis and every loss is finite, so these can only be numerical.
    "kInfeasible": (Termination.NO_HYPOTHESIS, Limit.NUMERICAL),
    "kUnboundedOrInfeasible": (Termination.NO_HYPOTHESIS, Limit.NUMERICAL),
    "kUnbounded": (Termination.NO_HYPOTHESIS, Limit.NUMERICAL),
    "kObjectiveBound": (Termination.FEASIBLE, Limit.UNKNOWN),
    "kObjectiveTarget": (Termination.FEASIBLE, Limit.UNKNOWN),
    "kTimeLimit": (Termination.FEASIBLE, Limit.TIME),
    "kIterationLimit": (Termination.FEASIBLE, Limit.NODE),
    "kUnknown": (Termination.FEASIBLE, Limit.UNKNOWN),
    "kSolutionLimit": (Termination.FEASIBLE, Limit.NODE),
    "kInterrupt": (Termination.FEASIBLE, Limit.INTERRUPTED),
    "kMemoryLimit": (Termination.FEASIBLE, Limit.MEMORY),
    "kHighsInterrupt": (Termination.FEASIBLE, Limit.INTERRUPTED),
}
"""What every ``HighsModelStatus`` means; one that is missing here is refused."""


def highs_options(problem: ZeroOneProblem, options: SolveOptions) -> dict[str, Any]:
    """Return the HiGHS options for a proof of optimality, time limit aside."""
    return {
        "mip_rel_gap": 0.0,
        "mip_abs_gap": stopping_gap(problem, options.absolute_gap),
        "mip_feasibility_tolerance": TOLERANCE,
        # HiGHS 1.16 writes the one above over it: they must be the same.
        "primal_feasibility_tolerance": TOLERANCE,
        "dual_feasibility_tolerance": TOLERANCE,
        "threads": options.threads,
        "random_seed": options.seed,
    }


class HighsOracle:
    """HiGHS on a mixed-integer program.

    Parameters
    ----------
    formulation : {"ordered", "aggregated", "per-row"}
        The encoding, see :func:`oracles.milp.formulation.formulate`.
    warm_start : bool
        Whether HiGHS is given a hypothesis found by local search, where the grid is large.
    block_rows : bool
        Whether it starts again after some seconds, with what the block bound has proved by then
        as rows (:mod:`oracles.milp.block_rows`); only where it was given a hypothesis.

    Notes
    -----
    **Guarantee.** Optimal is claimed only when HiGHS says so; the bound is HiGHS's own, lowered by
    the gap it was allowed.
    **Assumes.** HiGHS's floating-point bound is right to within a quarter of the unit, so
    certificates say that the bound was not proved in integers.

    Examples
    --------
    >>> from oracles import WeightGrid, ZeroOneProblem, solve
    >>> problem = ZeroOneProblem(points=[[1, 0], [1, 1]], positives=[0, 3], negatives=[2, 1],
    ...                          grid=WeightGrid.box(2, 1))
    >>> solve(problem, "highs").certificate.primal_bound
    1
    """

    name = "highs"
    integer_arithmetic = False
    most_steps = formulation_steps(TOLERANCE)

    def __init__(
        self, formulation: str = "ordered", warm_start: bool = True, block_rows: bool = True
    ) -> None:
        self.formulation = formulation
        self.warm_start = warm_start
        self.block_rows = block_rows
        self.requirement = "needs a smaller problem"

    def supports(self, problem: ZeroOneProblem) -> bool:
        """Return whether the encoding can be written down."""
        reason = formulation_limits(problem, self.formulation, tolerance=TOLERANCE)
        if reason is not None:
            self.requirement = reason
        return reason is None

    def solve(self, problem: ZeroOneProblem, options: SolveOptions) -> Claim:
        """Minimise with HiGHS.

        On a machine's first call some of it is compiled, which a time limit does not count.
        """
        starting = self.warm_start and self.formulation != "per-row"
        if starting:
            load_search(problem)
        started = time.perf_counter()
        deadline = None if options.time_limit is None else started + options.time_limit
        start = None
        if starting:
            start = find_incumbent(problem, options.seed, deadline=deadline)
        attempt = _Attempt(problem, self.formulation, options, started)
        if start is None or not (self.block_rows and takes_block_rows(problem)):
            return attempt.run(start, None)
        first = attempt.run(start, min(_SECONDS_ALONE, _SHARE_ALONE * attempt.time_left()))
        if first.limit is not Limit.TIME or attempt.time_left() <= 0:
            return first
        return attempt.run_again(first)


class _Attempt:
    """HiGHS on one problem, once, and once more with rows from the block bound."""

    def __init__(
        self, problem: ZeroOneProblem, formulation: str, options: SolveOptions, started: float
    ) -> None:
        self.problem, self.formulation = problem, formulation
        self.options, self.started = options, started

    def time_left(self) -> float:
        """Return the seconds until the time limit."""
        limit = self.options.time_limit
        return math.inf if limit is None else self.started + limit - time.perf_counter()

    def run(
        self,
        start: Hypothesis | None,
        seconds: float | None,
        inequalities: Sequence[BlockInequality] = (),
        floor: float = -math.inf,
    ) -> Claim:
        """Run once for at most so many seconds; ``floor`` is a bound known before, in rows."""
        problem, options = self.problem, self.options
        program = formulate(
            problem, self.formulation, tolerance=TOLERANCE, inequalities=inequalities
        )
        deadline = None
        if options.time_limit is not None:
            deadline = time.monotonic() + self.time_left()
        request = Request(
            solver="highs",
            program=program,
            settings=highs_options(problem, options),
            deadline=deadline,
            seconds=seconds,
            wants_reports=options.progress is not None,
            start=None if start is None else _start_values(program, start),
        )
        gap = stopping_gap(problem, options.absolute_gap)
        answer = solve_in_worker(
            "highs",
            request,
            hear=lambda report: self._pass_on(report, floor),
            seconds_left=None if options.time_limit is None else self.time_left(),
        )
        return _with_incumbent(problem, claim_of(problem, program, answer, gap, STATUS), start)

    def _pass_on(self, report: Report, floor: float) -> None:
        if self.options.progress is not None:
            seconds = time.perf_counter() - self.started
            self.options.progress(report.incumbent, max(report.bound, floor), seconds)

    def run_again(self, first: Claim) -> Claim:
        """Start again with the block bound's rows; what either proved is proved."""
        problem = self.problem
        assert first.hypothesis is not None
        before = time.perf_counter()
        load_block_rows()
        self.started += time.perf_counter() - before
        incumbent = first.hypothesis
        upper = int(problem.objective(incumbent))
        deadline = None
        if self.options.time_limit is not None:
            deadline = time.perf_counter() + _SHARE_OF_BLOCKS * self.time_left()
        found = find_block_rows(problem, incumbent, deadline)
        bound, inequalities = (first.dual_bound, ()) if found is None else found
        bound = max(bound, first.dual_bound)
        gap = math.floor(self.options.absolute_gap * problem.steps_per_row)
        if upper - bound <= gap:
            return replace(
                first,
                objective=upper,
                dual_bound=bound,
                termination=Termination.OPTIMAL,
                limit=None,
            )
        if self.options.progress is not None:
            seconds = time.perf_counter() - self.started
            self.options.progress(upper * problem.unit, bound * problem.unit, seconds)
        again = self.run(incumbent, None, inequalities, bound * problem.unit)
        if again.hypothesis is None:  # the rows were too much for its numbers
            return replace(first, dual_bound=bound, limit=again.limit)
        return replace(again, dual_bound=max(bound, again.dual_bound))


def _start_values(
    program: MixedIntegerProgram, hypothesis: Hypothesis
) -> tuple[IntArray, FloatArray]:
    """Return the choice binaries and their values; everything else follows from them."""
    columns = [column for group in program.choices for column in group]
    chosen = [
        float(value == weight)
        for allowed, weight in zip(program.values, hypothesis, strict=True)
        for value in allowed
    ]
    return np.array(columns, dtype=np.int64), np.array(chosen)


def _with_incumbent(problem: ZeroOneProblem, claim: Claim, incumbent: Hypothesis | None) -> Claim:
    """Fall back on the hypothesis the solver was given where it ended with none."""
    if claim.hypothesis is not None or incumbent is None or claim.limit is Limit.NUMERICAL:
        return claim
    # The bound stays as it is: one above this objective is a contradiction for solve to refuse.
    return replace(
        claim,
        hypothesis=incumbent,
        objective=problem.objective(incumbent),
        termination=Termination.FEASIBLE,
    )
