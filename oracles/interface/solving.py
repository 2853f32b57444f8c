"""Solving a problem with an oracle: the answer is checked, and a certificate made."""

from __future__ import annotations

import math
import time
from fractions import Fraction

from oracles.arithmetic import Objective
from oracles.errors import InconsistentSolution, NoHypothesis, UnsupportedProblem
from oracles.interface.observation import observe
from oracles.interface.oracle import Oracle, SolveOptions, refusal
from oracles.interface.registry import AUTOMATIC_ENUMERATION, ORACLES, get_oracle
from oracles.interface.solution import Certificate, Claim, Solution, SolveStats, Termination
from oracles.problem import ENUMERATION_LIMIT, ZeroOneProblem


def solve(
    problem: ZeroOneProblem,
    oracle: str | Oracle = "auto",
    options: SolveOptions | None = None,
) -> Solution:
    """Minimise the objective of ``problem`` and certify the answer.

    Parameters
    ----------
    problem : ZeroOneProblem
        What to minimise.
    oracle : str or Oracle
        A registered name, ``"auto"``, or an object that follows :class:`Oracle`.
    options : SolveOptions or None
        Limits and callbacks; None means no limit and a proof of optimality.

    Returns
    -------
    Solution
        A hypothesis of the grid; its certificate says what was proved.

    Raises
    ------
    OracleUnavailable
        If the name is unknown or the solver is not installed.
    UnsupportedProblem
        If the oracle cannot take this problem.
    NoHypothesis
        If a limit came before any hypothesis.
    InconsistentSolution
        If the claim contradicts the recomputed objective.

    Notes
    -----
    **Guarantee.** ``certificate.primal_bound`` was recomputed here. ``certificate.dual_bound`` is
    the oracle's; where the objective is an integer it is rounded up, half a unit being left to the
    tolerances of floating-point solvers.

    Examples
    --------
    >>> from oracles import WeightGrid, ZeroOneProblem, solve
    >>> problem = ZeroOneProblem(points=[[1, 0], [1, 1]], positives=[0, 3], negatives=[2, 1],
    ...                          grid=WeightGrid.box(2, 1))
    >>> solution = solve(problem)
    >>> solution.certificate.primal_bound, solution.certificate.proves_optimal
    (1, True)
    """
    chosen = resolve_oracle(oracle, problem)
    refused = refusal(chosen, problem)
    if refused is not None:
        raise UnsupportedProblem(f"oracle '{chosen.name}' {refused}.")
    options = options or SolveOptions()
    started = time.perf_counter()
    claim = chosen.solve(problem, options)
    seconds = time.perf_counter() - started
    certificate = _certify(problem, claim, chosen, options)
    assert claim.hypothesis is not None
    if options.progress is not None:
        unit = problem.unit
        options.progress(
            float(certificate.primal_bound) * unit, float(certificate.dual_bound) * unit, seconds
        )
    stats = SolveStats(oracle=chosen.name, seconds=seconds, nodes=claim.nodes)
    observe(stats)
    return Solution(
        hypothesis=tuple(int(w) for w in claim.hypothesis),
        certificate=certificate,
        stats=stats,
    )


def resolve_oracle(oracle: str | Oracle, problem: ZeroOneProblem) -> Oracle:
    """Return the oracle object for a name, ``"auto"`` or an object."""
    if not isinstance(oracle, str):
        return oracle
    return get_oracle(choose_oracle(problem) if oracle == "auto" else oracle)


def _certify(
    problem: ZeroOneProblem, claim: Claim, oracle: Oracle, options: SolveOptions
) -> Certificate:
    """Recompute, compare, and state only what holds."""
    if claim.hypothesis is None:
        limit = "no reason given" if claim.limit is None else f"{claim.limit.value} limit"
        raise NoHypothesis(
            f"oracle '{oracle.name}' must find a hypothesis, but it stopped before the first one "
            f"({limit}); raise the limit or choose another oracle."
        )
    if not problem.grid.contains(claim.hypothesis):
        raise InconsistentSolution(f"oracle '{oracle.name}' answered outside the grid.")
    primal = problem.objective(claim.hypothesis)
    tolerance = _tolerance(problem, primal, oracle.integer_arithmetic)
    if oracle.integer_arithmetic and claim.objective is not None:
        if abs(claim.objective - primal) > tolerance:
            raise InconsistentSolution(
                f"oracle '{oracle.name}' claims an objective that differs from the recomputed one."
            )
    dual = _checked_bound(problem, claim.dual_bound, primal, tolerance, oracle)
    closed = float(primal - dual) * problem.unit <= options.absolute_gap
    return Certificate(
        primal_bound=primal,
        dual_bound=dual,
        unit=problem.unit,
        termination=_checked_termination(claim.termination, closed),
        limit=None if closed else claim.limit,
        integer_arithmetic=oracle.integer_arithmetic and problem.is_exact,
    )


def _tolerance(
    problem: ZeroOneProblem, primal: Objective, integer_arithmetic: bool
) -> Fraction | float:
    """Return how far a bound may sit from the truth, in objective units."""
    if problem.is_exact:
        # Exact types: a float here would round integers beyond 2**53.
        return Fraction(0) if integer_arithmetic else Fraction(1, 2)
    return (1e-9 if integer_arithmetic else 1e-6) * max(1.0, abs(float(primal)))


def _checked_bound(
    problem: ZeroOneProblem,
    claimed: Objective,
    primal: Objective,
    tolerance: Fraction | float,
    oracle: Oracle,
) -> Objective:
    """Return a valid form of the claimed lower bound, or refuse it."""
    if math.isnan(claimed) or claimed > primal + tolerance:
        raise InconsistentSolution(
            f"oracle '{oracle.name}' claims a lower bound above the objective of its own answer."
        )
    if math.isinf(claimed):
        return claimed
    if not problem.is_exact:
        return primal if claimed >= primal - tolerance else claimed
    # The optimum is an integer, so a bound may be rounded up; a floating-point bound first gives
    # up half a unit to its tolerances.
    return min(math.ceil(claimed - tolerance), primal)


def _checked_termination(claimed: Termination, closed: bool) -> Termination:
    if closed:
        return Termination.OPTIMAL
    return Termination.IMPRECISE if claimed is Termination.OPTIMAL else Termination.FEASIBLE


def choose_oracle(problem: ZeroOneProblem) -> str:
    """Return the name that ``"auto"`` stands for.

    Parameters
    ----------
    problem : ZeroOneProblem
        Of it, only the grid and the lattice of the perturbation are looked at, never the points.

    Returns
    -------
    str
        ``enumeration`` for grids of at most :data:`AUTOMATIC_ENUMERATION` assignments. Beyond, an
        installed oracle with integer arithmetic where the objective is on a lattice
        (``branch-and-bound``, else ``cp-sat``). Else ``enumeration`` up to its own limit, and
        ``highs``. The first two always end with a proof, so that no other oracle has to take over.
        To give another one the first try, name it: ``"cp-sat then branch-and-bound"``. A grid with
        alternatives is for ``enumeration`` alone.
    """
    size = problem.grid.n_assignments
    if size <= AUTOMATIC_ENUMERATION or problem.grid.alternatives:
        return "enumeration"
    if problem.is_exact:
        for name in ("branch-and-bound", "cp-sat"):
            entry = ORACLES.entry(name)
            if entry is not None and entry.installed:
                return name
    return "enumeration" if size <= ENUMERATION_LIMIT else "highs"
