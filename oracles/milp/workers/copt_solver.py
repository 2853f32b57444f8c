"""The worker's end of ``copt``: a program in, COPT's own words out."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import coptpy
import numpy as np
from scipy import sparse

from oracles.milp.program import MixedIntegerProgram
from oracles.milp.workers.messages import Answer, Report, Request

NAMES = (
    "UNSTARTED",
    "OPTIMAL",
    "INFEASIBLE",
    "UNBOUNDED",
    "INF_OR_UNB",
    "NUMERICAL",
    "NODELIMIT",
    "IMPRECISE",
    "TIMEOUT",
    "UNFINISHED",
    "INTERRUPTED",
    "ITERLIMIT",
)
"""What a search may end with; other constants of COPT's have the same numbers."""

_STATUS = {getattr(coptpy.COPT, name): name for name in NAMES}

_INFINITY = 1e30


def load() -> None:
    """Find the licence: COPT looks for it in the folder in which the program was started."""
    _environment()


@functools.cache
def _environment() -> Any:
    return coptpy.Envr()


def answer(request: Request, send: Callable[[Report], None]) -> Answer:
    """Solve one program."""
    model = _environment().createModel()
    try:
        model.setParam("Logging", 0)
        _fill(model, request.program)
        for name, value in request.settings.items():
            model.setParam(name, value)
        if (seconds := request.seconds_left()) is not None:
            model.setParam("TimeLimit", seconds)
        model.solve()
        found, bound = bool(model.HasMipSol), float(model.BestBnd)
        return Answer(
            status=_STATUS.get(model.MipStatus, str(model.MipStatus)),
            assignment=np.array(model.getValues()) if found else None,
            objective=model.BestObj if found else None,
            bound=bound if abs(bound) < _INFINITY else -math.inf,
            nodes=model.NodeCnt,
        )
    finally:
        model.dispose()


def _fill(model: Any, program: MixedIntegerProgram) -> None:
    """Put a program into an empty model."""
    matrix = sparse.csr_array(
        (program.coefficients, program.columns, program.starts),
        shape=(program.n_rows, program.n_variables),
    )
    model.loadMatrix(
        program.objective,
        sparse.csc_matrix(matrix),
        program.row_lower,
        program.row_upper,
        program.lower,
        program.upper,
        np.where(program.integrality, "I", "C").tolist(),
    )
    model.setObjConst(program.offset)
