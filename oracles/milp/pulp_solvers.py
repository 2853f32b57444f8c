"""The solvers that PuLP can run: how to ask each for a proof, and what to believe of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from oracles.errors import InvalidOption
from oracles.interface import Limit, SolveOptions, Termination
from oracles.milp.highs import FLOAT_GAP, highs_options, stopping_gap
from oracles.problem import ZeroOneProblem

TOLERANCE = 1e-6
"""Integrality tolerance of the loosest solver, CBC."""

_LARGEST_SEED = 2_000_000_000

SOLUTION_STATUS = {
    "LpSolutionNoSolutionFound": (Termination.NO_HYPOTHESIS, Limit.UNKNOWN),
    "LpSolutionOptimal": (Termination.OPTIMAL, None),
    "LpSolutionIntegerFeasible": (Termination.FEASIBLE, Limit.UNKNOWN),
    # Every problem has a solution, so "infeasible" is either numerical or PuLP's word for "not
    # solved yet"; what solution there is is worth having.
    "LpSolutionInfeasible": (Termination.FEASIBLE, Limit.UNKNOWN),
    "LpSolutionUnbounded": (Termination.FEASIBLE, Limit.NUMERICAL),
}
"""What every ``sol_status`` of PuLP means; one that is missing here raises ``KeyError``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SolverProfile:
    """How to ask a solver for a proof, and what to believe.

    Parameters
    ----------
    classes : tuple of str
        PuLP classes that run it, the preferred one first.
    arguments : callable
        Maps problem and options to the arguments of the class, time limit aside.
    native_bound : callable or None
        Reads the dual bound from the solver's model, in rows, the objective's constant left out.
    in_steps : bool
        Whether the objective is given in objective units instead of rows, so that a lattice is
        the integers: for solvers whose tolerances cannot all be set.
    proves : bool
        Whether an "Optimal Solution Found" is to be believed.
    native_nodes : callable or None
        Reads the number of search nodes from the solver's model.
    formulation : str
        The encoding that pays best: rows between neighbours helped HiGHS, SCIP and CBC, and did
        nothing for Gurobi, whose free licence they would use up.
    refusal : callable
        Maps an exception to what completes "this oracle ...", if it means that the solver does
        not take the model, or to None.
    """

    classes: tuple[str, ...]
    arguments: Callable[[ZeroOneProblem, SolveOptions], dict[str, Any]]
    native_bound: Callable[[Any], float] | None = None
    in_steps: bool = False
    proves: bool = True
    native_nodes: Callable[[Any], float] | None = None
    formulation: str = "aggregated"
    refusal: Callable[[Exception], str | None] = lambda error: None


def _highs_arguments(problem: ZeroOneProblem, options: SolveOptions) -> dict[str, Any]:
    wanted = highs_options(problem, options)
    wanted["gapRel"], wanted["gapAbs"] = wanted.pop("mip_rel_gap"), wanted.pop("mip_abs_gap")
    return wanted


def _check_seed(solver: str, seed: int) -> None:
    """Refuse seeds outside the range that all solvers share; some ignore them silently."""
    if not 0 <= seed <= _LARGEST_SEED:
        raise InvalidOption(f"{solver} takes seeds in 0..{_LARGEST_SEED}, got seed={seed}.")


def _cbc_arguments(problem: ZeroOneProblem, options: SolveOptions) -> dict[str, Any]:
    _check_seed("CBC", options.seed)
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
    _check_seed("SCIP", options.seed)
    return {
        "gapRel": 0.0,
        "gapAbs": stopping_gap(problem, options.absolute_gap),
        "options": [f"randomization/randomseedshift={options.seed}", "numerics/feastol=1e-9"],
    }


def _gurobi_arguments(problem: ZeroOneProblem, options: SolveOptions) -> dict[str, Any]:
    _check_seed("Gurobi", options.seed)
    # PuLP drops gapRel=0, so Gurobi's own parameter names are used. An environment of its own is
    # silent from the start; it is closed with the solver.
    return {
        "manageEnv": True,
        "MIPGap": 0.0,
        "MIPGapAbs": stopping_gap(problem, options.absolute_gap),
        "IntFeasTol": 1e-9,
        "FeasibilityTol": 1e-9,
        "OptimalityTol": 1e-9,
        "Threads": options.threads,
        "Seed": options.seed,
    }


def _gurobi_refusal(error: Exception) -> str | None:
    """Say what a licence does not cover; the model's own size stays out of the message."""
    return _GUROBI_REFUSALS.get(getattr(error, "errno", 0))


_GUROBI_REFUSALS = {
    10009: "needs a valid Gurobi licence; renew it or choose another oracle",
    10010: (
        "takes models of at most 2,000 variables and 2,000 constraints under the licence that "
        "comes with gurobipy, and this one is larger; install a full Gurobi licence or choose "
        "another oracle"
    ),
}
"""By Gurobi's error code."""

_PROFILES = {
    "HiGHS": SolverProfile(
        classes=("HiGHS",),
        arguments=_highs_arguments,
        native_bound=lambda model: float(model.getInfo().mip_dual_bound),
        native_nodes=lambda model: float(model.getInfo().mip_node_count),
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
        native_bound=lambda model: float(model.getDualbound()),
        native_nodes=lambda model: float(model.getNTotalNodes()),
        formulation="ordered",
    ),
    "GUROBI": SolverProfile(
        classes=("GUROBI",),
        arguments=_gurobi_arguments,
        native_bound=lambda model: float(model.ObjBound),
        native_nodes=lambda model: float(model.NodeCount),
        refusal=_gurobi_refusal,
    ),
}


def solver_profile(solver: str) -> SolverProfile:
    """Return what is known of a solver; of an unchecked one, nothing is believed."""
    for name, profile in _PROFILES.items():
        if solver == name or solver in profile.classes:
            return profile
    return SolverProfile(classes=(solver,), arguments=lambda problem, options: {}, proves=False)


def runnable_classes() -> tuple[str, ...]:
    """Return the names of the PuLP classes whose solvers can run here."""
    import pulp

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tuple(pulp.listSolvers(onlyAvailable=True))


def installed_solvers() -> tuple[str, ...]:
    """Return the names, as in ``pulp:NAME``, of the solvers that PuLP can run here."""
    found = runnable_classes()
    known = [name for name, profile in _PROFILES.items() if set(profile.classes) & set(found)]
    covered = {c for profile in _PROFILES.values() for c in profile.classes}
    return (*known, *(name for name in found if name not in covered))


def check_highs_options(model: Any, arguments: dict[str, Any]) -> None:
    """Refuse options that HiGHS rejected, which PuLP does not say."""
    names = {"gapRel": "mip_rel_gap", "gapAbs": "mip_abs_gap", "timeLimit": "time_limit"}
    for argument, value in arguments.items():
        option = names.get(argument, argument)
        if model.getOptionValue(option)[1] != value:
            raise InvalidOption(
                f"HiGHS must accept every option, but it rejected {option}={value}."
            )
