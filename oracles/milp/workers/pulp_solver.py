"""The worker's end of ``pulp:NAME``: builds a model, runs a solver of PuLP, reads its words."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np
import pulp

from oracles.errors import InvalidOption
from oracles.milp.memory_file import memory_file
from oracles.milp.program import MixedIntegerProgram
from oracles.milp.workers.messages import Answer, Report, Request

_BOUND: dict[str, Callable[[Any], float]] = {
    "HiGHS": lambda model: float(model.getInfo().mip_dual_bound),
    "SCIP_PY": lambda model: float(model.getDualbound()),
    "GUROBI": lambda model: float(model.ObjBound),
}
"""How the model underneath says its bound, where PuLP keeps one."""

_NODES: dict[str, Callable[[Any], float]] = {
    "HiGHS": lambda model: float(model.getInfo().mip_node_count),
    "SCIP_PY": lambda model: float(model.getNTotalNodes()),
    "GUROBI": lambda model: float(model.NodeCount),
}


def answer(request: Request, send: Callable[[Report], None]) -> Answer:
    """Solve one program; PuLP passes on no progress."""
    kind = request.solver
    if kind == "HiGHS":
        _prepare_highs()
    model, variables = _model(request.program, request.scale)
    arguments = dict(request.settings)
    if (seconds := request.seconds_left()) is not None:
        arguments["timeLimit"] = seconds
    solver = pulp.getSolver(kind, msg=False, **arguments)
    with ExitStack() as stack, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if (folder := request.folder) is not None and hasattr(solver, "tmpDir"):
            solver.tmpDir = folder
            solver.create_tmp_files = lambda name, *kinds: [
                memory_file(stack, folder, f"program.{kind}") for kind in kinds
            ]
        model.solve(solver)
    if kind == "HiGHS":
        _check_options(model.solverModel, arguments)
    return Answer(
        status=_status(kind, model),
        assignment=np.array([v.varValue or 0.0 for v in variables], dtype=np.float64),
        objective=None,
        bound=_BOUND[kind](model.solverModel) if kind in _BOUND else None,
        nodes=_NODES[kind](model.solverModel) if kind in _NODES else None,
    )


def runnable_classes(names: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return those of the named classes that can run here; None for all that can."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if names is None:
            return tuple(pulp.listSolvers(onlyAvailable=True))
        return tuple(name for name in names if _can_run(name))


def _can_run(name: str) -> bool:
    kind = getattr(pulp, name, None)
    if not (isinstance(kind, type) and issubclass(kind, pulp.LpSolver)):
        return False
    try:
        return bool(kind(msg=False).available())
    except Exception:  # as listSolvers has it: what cannot be made cannot run
        return False


def _status(kind: str, model: Any) -> str:
    if kind == "HiGHS":
        return str(model.solverModel.getModelStatus().name)
    constants = vars(pulp.constants)
    members = {k: v for k, v in constants.items() if k.startswith("LpSolution")}
    names = {v: k for k, v in members.items() if isinstance(v, int)}
    name = str(names.get(model.sol_status, model.sol_status))
    if name == "LpSolutionOptimal" and model.status != pulp.constants.LpStatusOptimal:
        return "LpSolutionIntegerFeasible"
    return name


def _prepare_highs() -> None:
    """Look at its version, and forget a thread pool: HiGHS refuses one of another size."""
    import highspy

    from oracles.milp.workers.highs_solver import check_version

    check_version()
    highspy.Highs.resetGlobalScheduler(True)


def _check_options(model: Any, arguments: dict[str, Any]) -> None:
    """Refuse options that HiGHS rejected, which PuLP does not say."""
    names = {"gapRel": "mip_rel_gap", "gapAbs": "mip_abs_gap", "timeLimit": "time_limit"}
    for argument, value in arguments.items():
        option = names.get(argument, argument)
        if model.getOptionValue(option)[1] != value:
            raise InvalidOption(
                f"HiGHS must accept every option, but it rejected {option}={value}."
            )


def _model(program: MixedIntegerProgram, scale: int) -> tuple[Any, list[Any]]:
    """Return the program as a PuLP problem, its costs times ``scale``, and its variables."""
    model = pulp.LpProblem("oracle", pulp.LpMinimize)
    add = getattr(model, "add_variable", pulp.LpVariable)
    variables = [
        add(f"x{i}", float(low), float(high), pulp.LpInteger if integer else pulp.LpContinuous)
        for i, (low, high, integer) in enumerate(
            zip(program.lower, program.upper, program.integrality, strict=True)
        )
    ]
    model += pulp.LpAffineExpression(
        [
            (v, c)
            for v, c in zip(variables, (program.objective * scale).tolist(), strict=True)
            if c != 0
        ]
    )
    columns, coefficients = program.columns.tolist(), program.coefficients.tolist()
    starts = program.starts.tolist()
    for k, (low, high) in enumerate(
        zip(program.row_lower.tolist(), program.row_upper.tolist(), strict=True)
    ):
        terms = range(starts[k], starts[k + 1])
        left = pulp.LpAffineExpression([(variables[columns[t]], coefficients[t]) for t in terms])
        if low == high:
            model += left == low
        elif math.isinf(low):
            model += left <= high
        else:
            model += left >= low
    return model, variables
