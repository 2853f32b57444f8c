"""The worker's end of ``gurobi``: a program in, Gurobi's own words out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gurobipy
import numpy as np
from scipy import sparse

from oracles.milp.program import MixedIntegerProgram
from oracles.milp.workers.messages import Answer, Report, Request

_STATUS = {
    getattr(gurobipy.GRB.Status, name): name
    for name in dir(gurobipy.GRB.Status)
    if not name.startswith("_")
}

_SENSES = {"E": "=", "L": "<", "G": ">"}


def answer(request: Request, send: Callable[[Report], None]) -> Answer:
    """Solve one program; a licence is held for as long as that takes."""
    with (
        gurobipy.Env(params={"OutputFlag": 0}) as environment,
        gurobipy.Model(env=environment) as model,
    ):
        variables = _fill(model, request.program)
        for name, value in request.settings.items():
            model.setParam(name, value)
        if (seconds := request.seconds_left()) is not None:
            model.setParam("TimeLimit", seconds)
        model.optimize()
        found = model.SolCount > 0
        return Answer(
            status=_STATUS.get(model.Status, str(model.Status)),
            assignment=np.array(variables.X) if found else None,
            objective=model.ObjVal if found else None,
            bound=model.ObjBound,
            nodes=model.NodeCount,
        )


def _fill(model: Any, program: MixedIntegerProgram) -> Any:
    """Put a program into an empty model, and return its variables."""
    variables = model.addMVar(
        program.n_variables,
        lb=program.lower,
        ub=program.upper,
        obj=program.objective,
        vtype=np.where(program.integrality, "I", "C"),
    )
    model.ObjCon = program.offset
    matrix = sparse.csr_array(
        (program.coefficients, program.columns, program.starts),
        shape=(program.n_rows, program.n_variables),
    )
    senses = np.array([_SENSES[sense] for sense in program.senses])
    model.addMConstr(matrix, variables, senses, program.sides)
    return variables
