"""Which optional package a test needs: the marker ``extras`` with its modules."""

import pytest

SOLVERS = {"cp-sat": "ortools", "pulp:SCIP": "pyscipopt", "pulp:GUROBI": "gurobipy"}
"""The module behind each oracle that comes with a pip extra."""


def oracle_params(names):
    """Return the names as cases; one whose solver is optional is run where that is installed."""
    return [
        pytest.param(name, marks=pytest.mark.extras(SOLVERS[name])) if name in SOLVERS else name
        for name in names
    ]
