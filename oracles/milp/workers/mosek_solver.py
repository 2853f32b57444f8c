"""The worker's end of ``mosek``: a program in, MOSEK's own words out.

Without a licence it was run up to the refusal only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mosek
import numpy as np

from oracles.milp.program import MixedIntegerProgram
from oracles.milp.workers.messages import Answer, Report, Request

_FOUND = (mosek.solsta.integer_optimal, mosek.solsta.prim_feas)

_ITEM = mosek.soltype.itg


def answer(request: Request, send: Callable[[Report], None]) -> Answer:
    """Solve one program."""
    with mosek.Env() as environment, environment.Task() as task:
        _fill(task, request.program)
        for name, value in request.settings.items():
            _set(task, name, value)
        if (seconds := request.seconds_left()) is not None:
            _set(task, "MSK_DPAR_MIO_MAX_TIME", seconds)
        ended = task.optimize()
        found = bool(task.solutiondef(_ITEM)) and task.getsolsta(_ITEM) in _FOUND
        return Answer(
            status=_status(task, ended),
            assignment=np.array(task.getxx(_ITEM)) if found else None,
            objective=task.getprimalobj(_ITEM) if found else None,
            bound=_bound(task),
            nodes=task.getintinf(mosek.iinfitem.mio_num_branch),
        )


def _set(task: Any, name: str, value: float) -> None:
    """Set a parameter; those of whole numbers have a method of their own."""
    if name.startswith("MSK_IPAR_"):
        task.putnaintparam(name, int(value))
    else:
        task.putnadouparam(name, value)


def _fill(task: Any, program: MixedIntegerProgram) -> None:
    """Put a program into an empty task."""
    n, k = program.n_variables, program.n_rows
    keys = {"E": mosek.boundkey.fx, "L": mosek.boundkey.up, "G": mosek.boundkey.lo}
    task.appendvars(n)
    task.appendcons(k)
    task.putclist(np.arange(n), program.objective)
    task.putcfix(program.offset)
    task.putvarboundlist(
        np.arange(n), [_key(program, j) for j in range(n)], program.lower, program.upper
    )
    task.putvartypelist(
        np.flatnonzero(program.integrality),
        [mosek.variabletype.type_int] * int(program.integrality.sum()),
    )
    task.putarowslice(
        0, k, program.starts[:-1], program.starts[1:], program.columns, program.coefficients
    )
    task.putconboundlist(
        np.arange(k), [keys[sense] for sense in program.senses], program.sides, program.sides
    )
    task.putobjsense(mosek.objsense.minimize)


def _key(program: MixedIntegerProgram, j: int) -> Any:
    lower, upper = program.lower[j], program.upper[j]
    if lower == upper:
        return mosek.boundkey.fx
    return mosek.boundkey.lo if math.isinf(upper) else mosek.boundkey.ra


def _status(task: Any, ended: Any) -> str:
    """Return what ended the search early, or else the status of its solution."""
    if ended != mosek.rescode.ok:
        return _member(mosek.rescode, ended)
    if not task.solutiondef(_ITEM):
        return "none"
    return _member(mosek.solsta, task.getsolsta(_ITEM))


def _member(kind: Any, value: Any) -> str:
    names = {int(getattr(kind, name)): name for name in dir(kind) if not name.startswith("_")}
    return names.get(int(value), str(int(value)))


def _bound(task: Any) -> float:
    """Return the bound; MOSEK has one once it has solved a relaxation."""
    if not task.getintinf(mosek.iinfitem.mio_num_relax):
        return -math.inf
    return float(task.getdouinf(mosek.dinfitem.mio_obj_bound))
