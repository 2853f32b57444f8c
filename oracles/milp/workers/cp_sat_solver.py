"""The worker's end of ``cp-sat``: every number an integer.

OR-tools is loaded when it is needed: with HiGHS it cannot share a process.
"""

from __future__ import annotations

import importlib
import math
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from oracles.arithmetic import FloatArray
from oracles.milp.program import MixedIntegerProgram
from oracles.milp.workers.messages import Answer, Report, Request

SECONDS_BETWEEN_REPORTS = 0.1


def load() -> None:
    """Load OR-tools."""
    importlib.import_module("ortools.sat.python.cp_model")


def answer(request: Request, send: Callable[[Report], None]) -> Answer:
    """Solve one program, reporting on the way."""
    from ortools.sat.python import cp_model

    model, variables = _model(request.program, request.scale)
    solver = cp_model.CpSolver()
    for name, value in request.settings.items():
        setattr(solver.parameters, name, value)
    if request.deadline is not None:
        solver.parameters.max_time_in_seconds = max(request.deadline - time.monotonic(), 0.0)
    if request.wants_reports:
        watch = _Watch(send)
        solver.best_bound_callback = watch.bound
        status = solver.solve(model, watch.callback(cp_model))
    else:
        status = solver.solve(model)
    found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    return Answer(
        status=solver.status_name(status),
        assignment=np.array([solver.value(v) for v in variables], np.float64) if found else None,
        objective=None,
        bound=solver.best_objective_bound,
        nodes=solver.num_branches,
    )


def _model(program: MixedIntegerProgram, scale: int) -> tuple[Any, list[Any]]:
    """Return the CP-SAT model of a program whose numbers are all integers, and its variables.

    Variables that may be continuous become integers too: their optimum is integral.
    """
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    variables = [
        model.new_int_var(low, high, f"x{i}")
        for i, (low, high) in enumerate(
            zip(_integers(program.lower), _integers(program.upper), strict=True)
        )
    ]
    starts, columns = program.starts.tolist(), program.columns.tolist()
    coefficients = _integers(program.coefficients)
    for k, (low, high) in enumerate(
        zip(_integers(program.row_lower), _integers(program.row_upper), strict=True)
    ):
        terms = slice(starts[k], starts[k + 1])
        expression = cp_model.LinearExpr.weighted_sum(
            [variables[j] for j in columns[terms]], coefficients[terms]
        )
        if low == high:
            model.add(expression == low)
        elif low is None:
            model.add(expression <= high)
        else:
            model.add(expression >= low)
    costs = _integers(program.objective * scale)
    model.minimize(cp_model.LinearExpr.weighted_sum(variables, costs))
    return model, variables


def _integers(values: FloatArray) -> list[Any]:
    """Return integers; None for what is infinite."""
    return [None if math.isinf(v) else round(v) for v in values.tolist()]


class _Watch:
    """Reports incumbents and bounds, not too often."""

    def __init__(self, send: Callable[[Report], None]) -> None:
        self._send = send
        self._incumbent: float | None = None
        self._bound = -math.inf
        self._last = -math.inf
        self._reporting = threading.Lock()

    def callback(self, cp_model: Any) -> Any:
        """Return a solution callback."""
        watch = self

        class Callback(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]
            def on_solution_callback(self) -> None:
                watch._report(self.objective_value, self.best_objective_bound)

        return Callback()

    def bound(self, bound: float) -> None:
        """Report a better bound."""
        self._report(None, bound)

    def _report(self, incumbent: float | None, bound: float) -> None:
        """Remember, and report if it is time."""
        with self._reporting:
            self._incumbent = self._incumbent if incumbent is None else incumbent
            self._bound = max(self._bound, bound)
            if time.monotonic() - self._last >= SECONDS_BETWEEN_REPORTS:
                self._last = time.monotonic()
                self._send(Report(incumbent=self._incumbent, bound=self._bound))
