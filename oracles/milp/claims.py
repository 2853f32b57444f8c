"""What a floating-point solver's answer is worth: gaps, bounds, statuses."""

from __future__ import annotations

import math
from collections.abc import Mapping

from oracles.arithmetic import Objective
from oracles.errors import InconsistentSolution, InvalidOption
from oracles.interface import Claim, Limit, SolveOptions, Termination
from oracles.milp.program import MixedIntegerProgram
from oracles.milp.workers import Answer
from oracles.problem import ZeroOneProblem

StatusTable = Mapping[str, tuple[Termination, Limit | None]]
"""What a solver's statuses mean, by their names."""

LARGEST_SEED = 2_000_000_000
"""Seeds that all solvers take; some ignore larger ones without a word."""

FLOAT_GAP = 1e-7
"""Absolute gap, in rows, at which a problem without a lattice counts as solved."""


def stopping_gap(problem: ZeroOneProblem, absolute_gap: float) -> float:
    """Return the absolute gap, in rows, at which a floating-point solver may stop.

    On a lattice it is the whole steps within ``absolute_gap`` and a quarter of a step, so that an
    optimum reported within it, rounded up to the lattice, still closes the requested gap.
    """
    if not problem.is_exact:
        return max(FLOAT_GAP, 0.99 * absolute_gap)
    steps = math.floor(absolute_gap * problem.steps_per_row)
    return (steps + 0.25) * problem.unit


def check_seed(solver: str, seed: int) -> None:
    """Refuse seeds outside the range that all solvers share."""
    if not 0 <= seed <= LARGEST_SEED:
        raise InvalidOption(f"{solver} takes seeds in 0..{LARGEST_SEED}, got seed={seed}.")


def claim_of(
    problem: ZeroOneProblem,
    program: MixedIntegerProgram,
    answer: Answer | None,
    gap: float,
    statuses: StatusTable,
) -> Claim:
    """Return what a solver's answer is worth.

    Parameters
    ----------
    problem, program
        What was asked.
    answer : Answer or None
        The solver's words; None if it had to be killed at its time limit.
    gap : float
        The absolute gap it was allowed, in rows.
    statuses : mapping
        What its statuses mean; one that is missing is refused.
    """
    if answer is None:
        return no_claim(Limit.TIME)
    termination, limit = meaning_of(answer.status, statuses)
    objective = math.inf if answer.objective is None else answer.objective
    hypothesis = None
    if termination is not Termination.NO_HYPOTHESIS and math.isfinite(objective):
        assert answer.assignment is not None
        hypothesis = program.hypothesis(answer.assignment)
    if hypothesis is None or not problem.grid.contains(hypothesis):
        # A numerically sloppy solution may leave the norm budget once rounded: no answer then.
        hypothesis, termination = None, Termination.NO_HYPOTHESIS
        limit = limit or Limit.NUMERICAL
    objective *= problem.steps_per_row
    proved = termination is Termination.OPTIMAL
    return Claim(
        hypothesis=hypothesis,
        objective=None if hypothesis is None else objective,
        dual_bound=_bound(problem, answer.bound, objective, gap, proved),
        termination=termination,
        limit=limit,
        nodes=count_of_nodes(answer),
    )


def meaning_of(status: str, table: StatusTable) -> tuple[Termination, Limit | None]:
    """Return what a solver's status means; one that the table does not have is refused."""
    if status not in table:
        raise InconsistentSolution(
            f"a solver's answer must have a status that is known here, got '{status}'; install "
            "a version of the solver that this version of the library was tested with."
        )
    return table[status]


def no_claim(limit: Limit, nodes: int | None = None) -> Claim:
    """Return the claim of a search that ended with nothing."""
    return Claim(
        hypothesis=None,
        objective=None,
        dual_bound=-math.inf,
        termination=Termination.NO_HYPOTHESIS,
        limit=limit,
        nodes=nodes,
    )


def count_of_nodes(answer: Answer) -> int | None:
    """Return a solver's count of nodes, where it has one."""
    return int(answer.nodes) if answer.nodes is not None and answer.nodes >= 0 else None


def _bound(
    problem: ZeroOneProblem, bound: float | None, objective: float, gap: float, proved: bool
) -> Objective:
    """Return a bound in objective units; one that contradicts the status is none."""
    if bound is None:
        return -math.inf
    if not proved and bound >= objective * problem.unit - gap:
        return -math.inf
    return lowered_bound(problem, bound, objective, gap)


def report_claim(
    problem: ZeroOneProblem, claim: Claim, options: SolveOptions, seconds: float
) -> None:
    """Report once, at the end, of a solver that passes on nothing before."""
    if options.progress is not None:
        incumbent = None if claim.objective is None else claim.objective * problem.unit
        options.progress(incumbent, claim.dual_bound * problem.unit, seconds)


def lowered_bound(
    problem: ZeroOneProblem, bound: float, objective: float, gap: float
) -> Objective:
    """Return what a solver's bound is worth, in objective units.

    Parameters
    ----------
    problem : ZeroOneProblem
        The problem solved.
    bound : float
        The solver's dual bound, in rows.
    objective : float
        The solver's objective, in objective units.
    gap : float
        The absolute gap it was allowed, in rows: nodes this close to an incumbent may have been
        dropped, whatever the bound says.

    Notes
    -----
    Solvers see that objectives are whole steps and round their bounds up to one. A bound that is a
    little too high in floating point then becomes a whole step too high, so an open search's
    bound gives up a step.
    """
    if math.isnan(bound) or bound == math.inf:
        return -math.inf
    steps, closed = bound * problem.steps_per_row, objective - gap * problem.steps_per_row
    if problem.is_exact and steps < closed:
        return steps - 1
    return min(steps, closed)
