"""What the licences that come with solvers cover, and how each solver says that one does not."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from oracles.interface import FREE_SIZES

Refusals = Mapping[tuple[str, int | None], str]
"""By class and code of an exception, what completes "this oracle ..."."""


def _too_large(name: str) -> str:
    return (
        f"takes programs of at most {FREE_SIZES[name]} without a licence of your own, and this "
        "one is larger; install one or choose another oracle"
    )


def _invalid(title: str) -> str:
    return f"needs a valid {title} licence; renew it or choose another oracle"


_MOSEK_MISSING = "needs a MOSEK licence; install one or choose another oracle"

_MOSEK_CODES = (1000, 1001, 1002, 1003, 1006, 1007, 1013, 1015, 1016, 1018, 1020, 1021, 1025)

REFUSALS: Mapping[str, Refusals] = MappingProxyType(
    {
        "gurobi": {
            ("GurobiError", 10009): _invalid("Gurobi"),
            ("GurobiError", 10010): _too_large("gurobi"),
        },
        "cplex": {("CplexSolverError", 1016): _too_large("cplex")},
        "xpress": {("SolverError", 120): _too_large("xpress")},
        "copt": {("CoptError", 4): _too_large("copt")},
        "mosek": {
            ("Error", 1008): _MOSEK_MISSING,
            **{("Error", code): _invalid("MOSEK") for code in _MOSEK_CODES},
        },
        "scip": {},
    }
)
"""By oracle; the program's own size stays out of every sentence."""
