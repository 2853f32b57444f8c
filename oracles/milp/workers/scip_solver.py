"""The worker's end of ``scip``: a program in, SCIP's own words out."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyscipopt

from oracles.milp.program import MixedIntegerProgram
from oracles.milp.workers.messages import Answer, Report, Request


def answer(request: Request, send: Callable[[Report], None]) -> Answer:
    """Solve one program."""
    model = pyscipopt.Model()
    model.hideOutput()
    variables = _fill(model, request.program)
    for name, value in request.settings.items():
        model.setParam(name, value)
    if (seconds := request.seconds_left()) is not None:
        model.setParam("limits/time", seconds)
    model.optimize()
    found, bound = model.getNSols() > 0, float(model.getDualbound())
    return Answer(
        status=model.getStatus(),
        assignment=_values(model, variables) if found else None,
        objective=model.getPrimalbound() if found else None,
        bound=bound if abs(bound) < model.infinity() else -math.inf,
        nodes=model.getNTotalNodes(),
    )


def _values(model: Any, variables: list[Any]) -> Any:
    best = model.getBestSol()
    return np.array([model.getSolVal(best, variable) for variable in variables])


def _fill(model: Any, program: MixedIntegerProgram) -> list[Any]:
    """Put a program into an empty model, and return its variables."""
    variables = [
        model.addVar(lb=low, ub=high, obj=cost, vtype="I" if integer else "C")
        for low, high, cost, integer in zip(
            program.lower.tolist(),
            program.upper.tolist(),
            program.objective.tolist(),
            program.integrality.tolist(),
            strict=True,
        )
    ]
    model.addObjoffset(program.offset)
    starts, columns = program.starts.tolist(), program.columns.tolist()
    coefficients = program.coefficients.tolist()
    for k, (sense, side) in enumerate(zip(program.senses, program.sides.tolist(), strict=True)):
        terms = range(starts[k], starts[k + 1])
        total = pyscipopt.quicksum(coefficients[t] * variables[columns[t]] for t in terms)
        if sense == "E":
            model.addCons(total == side)
        elif sense == "L":
            model.addCons(total <= side)
        else:
            model.addCons(total >= side)
    return variables
