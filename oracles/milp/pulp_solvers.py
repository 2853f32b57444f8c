"""The solvers that PuLP can run: how to ask each for a proof, and what to believe of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from oracles.arithmetic import ChildEnded
from oracles.errors import OracleError
from oracles.interface import FREE_SIZES, Limit, SizeLimit, SolveOptions, Termination
from oracles.milp.claims import FLOAT_GAP, check_seed, stopping_gap
from oracles.milp.highs import highs_options
from oracles.milp.licences import REFUSALS
from oracles.milp.solver_profiles import direct_profile
from oracles.milp.workers import RunnableQuestion, ask_worker
from oracles.problem import ZeroOneProblem

TOLERANCE = 1e-6
"""Integrality tolerance of the loosest solver, CBC."""

SOLUTION_STATUS = {
    "LpSolutionNoSolutionFound": (Termination.NO_HYPOTHESIS, Limit.UNKNOWN),
    "LpSolutionOptimal": (Termination.OPTIMAL, None),
    "LpSolutionIntegerFeasible": (Termination.FEASIBLE, Limit.UNKNOWN),
    # Every problem has a solution, so "infeasible" is either numerical or PuLP's word for "not
    # solved yet"; what solution there is is worth having.
    "LpSolutionInfeasible": (Termination.FEASIBLE, Limit.UNKNOWN),
    "LpSolutionUnbounded": (Termination.FEASIBLE, Limit.NUMERICAL),
}
"""What every ``sol_status`` of PuLP means; one that is missing here is refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SolverProfile:
    """How to ask a solver for a proof, and what to believe.

    Parameters
    ----------
    classes : tuple of str
        PuLP classes that run it, the preferred one first.
    arguments : callable
        Maps problem and options to the arguments of the class, time limit aside.
    in_steps : bool
        Whether the objective is given in objective units instead of rows, so that a lattice is
        the integers: for solvers whose tolerances cannot all be set.
    proves : bool
        Whether an "Optimal Solution Found" is to be believed.
    formulation : str
        The encoding that pays best: rows between neighbours helped HiGHS, SCIP and CBC, and did
        nothing for Gurobi, whose free licence they would use up.
    refusals : mapping of (str, int or None) to str
        By class and code of an exception of the solver's, what completes "this oracle ...", where
        it means that the solver does not take the model here.
    size_limit : SizeLimit or None
        The largest program that it takes under the licence that comes with it; None for any.
    """

    classes: tuple[str, ...]
    arguments: Callable[[ZeroOneProblem, SolveOptions], dict[str, Any]]
    in_steps: bool = False
    proves: bool = True
    formulation: str = "aggregated"
    refusals: Mapping[tuple[str, int | None], str] = field(default_factory=dict)
    size_limit: SizeLimit | None = None


def _highs_arguments(problem: ZeroOneProblem, options: SolveOptions) -> dict[str, Any]:
    wanted = highs_options(problem, options)
    wanted["gapRel"], wanted["gapAbs"] = wanted.pop("mip_rel_gap"), wanted.pop("mip_abs_gap")
    return wanted


def _cbc_arguments(problem: ZeroOneProblem, options: SolveOptions) -> dict[str, Any]:
    check_seed("CBC", options.seed)
    return {
        "gapRel": 0.0,
        "gapAbs": stopping_gap(problem, options.absolute_gap) * problem.steps_per_row,
        "threads": options.threads,
        "options": [
            # With its integer preprocessing, CBC 2.10 "proved" a wrong optimum in 2 of 1,000
            # random problems with at most 12 points; without it, in none of 14,000.
            "preprocess off",
            f"increment {cbc_increment(problem):.0e}",
            f"randomSeed {options.seed}",
            f"randomCbcSeed {options.seed}",
        ],
    }


def cbc_increment(problem: ZeroOneProblem) -> float:
    """Return by how much, in objective units, CBC may require an incumbent to improve.

    Its default, 1e-4, is harmless on a lattice, whose steps are 1 here.
    """
    return 1e-4 if problem.is_exact else FLOAT_GAP


def _scip_arguments(problem: ZeroOneProblem, options: SolveOptions) -> dict[str, Any]:
    check_seed("SCIP", options.seed)
    return {
        "gapRel": 0.0,
        "gapAbs": stopping_gap(problem, options.absolute_gap),
        "options": [f"randomization/randomseedshift={options.seed}", "numerics/feastol=1e-9"],
    }


def _gurobi_arguments(problem: ZeroOneProblem, options: SolveOptions) -> dict[str, Any]:
    check_seed("Gurobi", options.seed)
    # PuLP drops gapRel=0, so Gurobi's own parameter names are used. An environment of its own is
    # silent from the start; it is closed with the solver.
    return {"manageEnv": True, **direct_profile("gurobi").arguments(problem, options)}


_OTHER_REFUSALS = {
    "CPLEX_PY": REFUSALS["cplex"],
    "COPT": REFUSALS["copt"],
    "MOSEK": REFUSALS["mosek"],
    "XPRESS_PY": REFUSALS["xpress"],
}
"""Of unchecked solvers, by PuLP class."""

_PROFILES = {
    "HiGHS": SolverProfile(
        classes=("HiGHS",),
        arguments=_highs_arguments,
        formulation="ordered",
    ),
    "CBC": SolverProfile(
        classes=("COIN_CMD", "PULP_CBC_CMD"),
        arguments=_cbc_arguments,
        in_steps=True,
        formulation="ordered",
    ),
    "SCIP": SolverProfile(
        classes=("SCIP_PY",),
        arguments=_scip_arguments,
        formulation="ordered",
    ),
    "GUROBI": SolverProfile(
        classes=("GUROBI",),
        arguments=_gurobi_arguments,
        refusals=REFUSALS["gurobi"],
        size_limit=FREE_SIZES["gurobi"],
    ),
}


def solver_profile(solver: str) -> SolverProfile:
    """Return what is known of a solver; of an unchecked one, nothing is believed."""
    for name, profile in _PROFILES.items():
        if solver == name or solver in profile.classes:
            return profile
    return SolverProfile(
        classes=(solver,),
        arguments=lambda problem, options: {},
        proves=False,
        refusals=_OTHER_REFUSALS.get(solver, {}),
        # PuLP's classes are called after their makers: XPRESS_PY, CPLEX_CMD.
        size_limit=FREE_SIZES.get(solver.partition("_")[0].lower()),
    )


def runnable_classes(name: str, classes: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return those of the PuLP classes whose solvers can run here; None stands for all.

    Asked of a worker of the oracle of that name: PuLP loads and makes them to find out.
    """
    try:
        found = ask_worker(name, RunnableQuestion(classes=classes), keep=classes is not None)
    except ChildEnded:
        return ()
    if isinstance(found, OracleError):
        raise found
    return found if isinstance(found, tuple) else ()


def installed_solvers() -> tuple[str, ...]:
    """Return the names, as in ``pulp:NAME``, of the solvers that PuLP can run here."""
    found = runnable_classes("pulp", None)
    known = [name for name, profile in _PROFILES.items() if set(profile.classes) & set(found)]
    covered = {c for profile in _PROFILES.values() for c in profile.classes}
    return (*known, *(name for name in found if name not in covered))
