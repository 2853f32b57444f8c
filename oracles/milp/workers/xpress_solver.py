"""The worker's end of ``xpress``: a program in, Xpress's own words out."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import xpress

from oracles.milp.program import MixedIntegerProgram
from oracles.milp.workers.messages import Answer, Report, Request

_INFINITY = 1e20
"""From here on a number stands for infinity."""


def answer(request: Request, send: Callable[[Report], None]) -> Answer:
    """Solve one program."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # which licence it found
        problem = xpress.problem()
    problem.setControl("outputlog", 0)
    _fill(problem, request.program)
    for name, value in request.settings.items():
        problem.setControl(name, value)
    if (seconds := request.seconds_left()) is not None:
        problem.setControl("timelimit", seconds)
    problem.optimize()
    attributes = problem.attributes
    found = attributes.mipsols > 0
    bound = float(attributes.bestbound)
    return Answer(
        status=_status(attributes),
        assignment=np.array(problem.getSolution()) if found else None,
        objective=attributes.mipbestobjval if found else None,
        bound=bound if abs(bound) < _INFINITY else -math.inf,
        nodes=attributes.nodes,
    )


def _fill(problem: Any, program: MixedIntegerProgram) -> None:
    """Put a program into an empty problem: columns, then rows."""
    integers = np.flatnonzero(program.integrality)
    problem.loadMIP(
        "",
        objcoef=program.objective,
        start=np.zeros(program.n_variables + 1, dtype=np.int64),
        lb=program.lower,
        ub=program.upper,
        coltype=["I"] * len(integers),
        entind=integers,
    )
    problem.chgObj([-1], [-program.offset])  # of the constant, the negative
    problem.addRows(
        list(program.senses),
        program.sides,
        start=program.starts,
        colind=program.columns,
        rowcoef=program.coefficients,
    )


def _status(attributes: Any) -> str:
    """Return how it ended, and with what, or what stopped it."""
    end = xpress.SolveStatus(attributes.solvestatus)
    if end == xpress.SolveStatus.COMPLETED:
        return f"{end.name} {xpress.SolStatus(attributes.solstatus).name}"
    if end == xpress.SolveStatus.STOPPED:
        return f"{end.name} {xpress.StopType(attributes.stopstatus).name}"
    return str(end.name)
