"""Which optional package a test needs: the marker ``extras`` with its modules."""

import pytest

DIRECT = {
    "gurobi": "gurobipy",
    "cplex": "cplex",
    "xpress": "xpress",
    "copt": "coptpy",
    "mosek": "mosek",
    "scip": "pyscipopt",
}
"""The module behind each oracle that calls its solver directly."""

SOLVERS = {"cp-sat": "ortools", "pulp:SCIP": "pyscipopt", "pulp:GUROBI": "gurobipy", **DIRECT}
"""The module behind each oracle that comes with a pip extra."""


def oracle_params(names):
    """Return the names as cases; one whose solver is optional is run where that is installed."""
    return [
        pytest.param(name, marks=pytest.mark.extras(SOLVERS[name])) if name in SOLVERS else name
        for name in names
    ]


def takes_nothing(oracle):
    """Whether the oracle's solver takes no program at all without a licence, and has none."""
    limit = getattr(oracle, "size_limit", None)
    return limit is not None and not limit.admits(1, 1)


def needs_licence(oracle):
    """Return the oracle; skip the test where its solver takes nothing without a licence."""
    if takes_nothing(oracle):
        pytest.skip(f"needs a licence for {oracle.name}")
    return oracle
