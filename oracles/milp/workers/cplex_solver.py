"""The worker's end of ``cplex``: a program in, CPLEX's own words out."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import cplex
import numpy as np
from cplex.exceptions import CplexSolverError

from oracles.milp.program import MixedIntegerProgram
from oracles.milp.workers.messages import Answer, Report, Request

_NO_BOUND = (1217, 3003)
"""Error codes for "no solution exists" and "not a MIP problem": the search had not begun."""


def answer(request: Request, send: Callable[[Report], None]) -> Answer:
    """Solve one program."""
    with cplex.Cplex() as model:
        for silence in ("log", "results", "warning", "error"):
            getattr(model, f"set_{silence}_stream")(None)
        _fill(model, request.program)
        for name, value in request.settings.items():
            functools.reduce(getattr, name.split("."), model.parameters).set(value)
        if (seconds := request.seconds_left()) is not None:
            model.parameters.timelimit.set(seconds)
        model.solve()
        solution = model.solution
        found = solution.is_primal_feasible()
        return Answer(
            status=solution.status[solution.get_status()],
            assignment=np.array(solution.get_values()) if found else None,
            objective=solution.get_objective_value() if found else None,
            bound=_bound(solution),
            nodes=solution.progress.get_num_nodes_processed(),
        )


def _fill(model: Any, program: MixedIntegerProgram) -> None:
    """Put a program into an empty model."""
    model.variables.add(
        obj=program.objective.tolist(),
        lb=program.lower.tolist(),
        ub=program.upper.tolist(),
        types="".join("I" if integer else "C" for integer in program.integrality),
    )
    model.objective.set_offset(program.offset)
    model.linear_constraints.add(rhs=program.sides.tolist(), senses="".join(program.senses))
    rows = np.repeat(np.arange(program.n_rows), np.diff(program.starts))
    model.linear_constraints.set_coefficients(
        zip(rows.tolist(), program.columns.tolist(), program.coefficients.tolist(), strict=True)
    )


def _bound(solution: Any) -> float:
    try:
        return float(solution.MIP.get_best_objective())
    except CplexSolverError as error:
        if error.args[2] not in _NO_BOUND:
            raise
        return -math.inf
