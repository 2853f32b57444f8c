"""The table of solvers that are called directly: how to ask each for a proof."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from oracles.errors import OracleUnavailable, check_choice
from oracles.interface import FREE_SIZES, SizeLimit, SolveOptions
from oracles.milp import solver_statuses as statuses
from oracles.milp.claims import StatusTable, stopping_gap
from oracles.milp.licences import REFUSALS, Refusals
from oracles.problem import ZeroOneProblem

TOLERANCE = 1e-9
"""Integrality and feasibility tolerance that every solver here is given."""

Settings = Callable[[float, SolveOptions], dict[str, Any]]
"""From the absolute gap, in rows, and the options to a solver's parameters, time limit aside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectProfile:
    """How to ask a solver for a proof, and what its words mean.

    Parameters
    ----------
    name : str
        The oracle's.
    title : str
        The solver's.
    settings : callable
        Its parameters: the relative gap at zero, the absolute one as given, every tolerance
        smallest, threads and seed.
    statuses : mapping
        What its statuses mean; one that is missing is refused.
    formulation : str
        The encoding that pays best, or that a size limit leaves room for.
    size_limit : SizeLimit or None
        What the licence that comes with it covers; None for everything.
    refusals : mapping
        By class and code of its exceptions, what completes "this oracle ...".
    """

    name: str
    title: str
    settings: Settings
    statuses: StatusTable
    formulation: str
    size_limit: SizeLimit | None
    refusals: Refusals

    def arguments(self, problem: ZeroOneProblem, options: SolveOptions) -> dict[str, Any]:
        """Return the parameters for a problem."""
        return self.settings(stopping_gap(problem, options.absolute_gap), options)


def _gurobi(gap: float, options: SolveOptions) -> dict[str, Any]:
    return {
        "MIPGap": 0.0,
        "MIPGapAbs": gap,
        "IntFeasTol": TOLERANCE,
        "FeasibilityTol": TOLERANCE,
        "OptimalityTol": TOLERANCE,
        "Threads": options.threads,
        "Seed": options.seed,
    }


def _cplex(gap: float, options: SolveOptions) -> dict[str, Any]:
    return {
        "mip.tolerances.mipgap": 0.0,
        "mip.tolerances.absmipgap": gap,
        "mip.tolerances.integrality": TOLERANCE,
        "simplex.tolerances.feasibility": TOLERANCE,
        "simplex.tolerances.optimality": TOLERANCE,
        "threads": options.threads,
        "randomseed": options.seed,
    }


def _xpress(gap: float, options: SolveOptions) -> dict[str, Any]:
    return {
        "miprelstop": 0.0,
        "mipabsstop": gap,
        # By how much a better solution must be better: 1e-5, and a part of the value, by default.
        "mipaddcutoff": 0.0,
        "miprelcutoff": 0.0,
        "miptol": TOLERANCE,
        "feastol": TOLERANCE,
        "optimalitytol": TOLERANCE,
        "threads": options.threads,
        "randomseed": options.seed,
    }


def _copt(gap: float, options: SolveOptions) -> dict[str, Any]:
    return {
        "RelGap": 0.0,
        "AbsGap": gap,
        "IntTol": TOLERANCE,
        "FeasTol": TOLERANCE,
        "DualTol": TOLERANCE,
        "Threads": options.threads,
    }


def _mosek(gap: float, options: SolveOptions) -> dict[str, Any]:
    return {
        "MSK_DPAR_MIO_TOL_REL_GAP": 0.0,
        "MSK_DPAR_MIO_TOL_ABS_GAP": gap,
        "MSK_DPAR_MIO_TOL_ABS_RELAX_INT": TOLERANCE,
        "MSK_DPAR_MIO_TOL_FEAS": TOLERANCE,
        "MSK_IPAR_NUM_THREADS": options.threads,
        "MSK_IPAR_MIO_SEED": options.seed,
    }


def _scip(gap: float, options: SolveOptions) -> dict[str, Any]:
    return {
        "limits/gap": 0.0,
        "limits/absgap": gap,
        "numerics/feastol": TOLERANCE,
        "randomization/randomseedshift": options.seed,
    }


def _profile(
    name: str, title: str, settings: Settings, statuses: StatusTable, formulation: str
) -> DirectProfile:
    return DirectProfile(
        name=name,
        title=title,
        settings=settings,
        statuses=statuses,
        formulation=formulation,
        size_limit=FREE_SIZES.get(name),
        refusals=REFUSALS[name],
    )


PROFILES: Mapping[str, DirectProfile] = MappingProxyType(
    {
        profile.name: profile
        for profile in (
            _profile("gurobi", "Gurobi", _gurobi, statuses.GUROBI, "aggregated"),
            _profile("cplex", "CPLEX", _cplex, statuses.CPLEX, "aggregated"),
            _profile("xpress", "Xpress", _xpress, statuses.XPRESS, "aggregated"),
            _profile("copt", "COPT", _copt, statuses.COPT, "aggregated"),
            _profile("mosek", "MOSEK", _mosek, statuses.MOSEK, "aggregated"),
            _profile("scip", "SCIP", _scip, statuses.SCIP, "ordered"),
        )
    }
)
"""By name of the oracle. Of MOSEK, only the refusal without a licence was run."""


def direct_profile(name: str) -> DirectProfile:
    """Return what is known of a solver."""
    check_choice("a solver that is called directly", name, PROFILES, OracleUnavailable)
    return PROFILES[name]
