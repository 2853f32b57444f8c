"""Exact minimisation of weighted 0/1 loss over finite grids of integer weights.

The whole interface: state a :class:`ZeroOneProblem`, call :func:`solve`, read the
:class:`Certificate`. Solvers are imported only when they are asked for by name.
"""

from oracles.errors import (
    FormulationError,
    InconsistentSolution,
    InvalidOption,
    InvalidProblem,
    NoHypothesis,
    OracleError,
    OracleUnavailable,
    UnsupportedProblem,
)
from oracles.interface import Oracle, SolveOptions, solve
from oracles.problem import Hypothesis, Perturbation, WeightGrid, ZeroOneProblem
from oracles.registry import available_oracles, get_oracle, oracle_versions, register_oracle
from oracles.solution import Certificate, Claim, Limit, Solution, SolveStats, Termination
from oracles.tabular import TabularOracle, TabularProblem

__all__ = [
    "Certificate",
    "Claim",
    "FormulationError",
    "Hypothesis",
    "InconsistentSolution",
    "InvalidOption",
    "InvalidProblem",
    "Limit",
    "NoHypothesis",
    "Oracle",
    "OracleError",
    "OracleUnavailable",
    "Perturbation",
    "Solution",
    "SolveOptions",
    "SolveStats",
    "TabularOracle",
    "TabularProblem",
    "Termination",
    "UnsupportedProblem",
    "WeightGrid",
    "ZeroOneProblem",
    "available_oracles",
    "get_oracle",
    "oracle_versions",
    "register_oracle",
    "solve",
]
