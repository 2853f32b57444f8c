"""The child process of :mod:`oracles.milp.cp_sat`: integer programs in, reports and answers out.

Never imported by the package: OR-tools and HiGHS cannot share a process.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from oracles.arithmetic import ParentConnection

SECONDS_BETWEEN_REPORTS = 0.1


def build(program: dict[str, Any]) -> tuple[Any, list[Any]]:
    """Return the CP-SAT model of a program whose numbers are all integers, and its variables."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    variables = [
        model.new_int_var(low, high, f"x{i}")
        for i, (low, high) in enumerate(zip(program["lower"], program["upper"], strict=True))
    ]
    starts = program["starts"]
    for k, (low, high) in enumerate(zip(program["row_lower"], program["row_upper"], strict=True)):
        terms = slice(starts[k], starts[k + 1])
        expression = cp_model.LinearExpr.weighted_sum(
            [variables[j] for j in program["columns"][terms]], program["coefficients"][terms]
        )
        if low == high:
            model.add(expression == low)
        elif low is None:
            model.add(expression <= high)
        else:
            model.add(expression >= low)
    model.minimize(cp_model.LinearExpr.weighted_sum(variables, program["objective"]))
    return model, variables


def answer(request: dict[str, Any], parent: ParentConnection) -> dict[str, Any]:
    """Solve one program, reporting on the way."""
    from ortools.sat.python import cp_model

    model, variables = build(request["program"])
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = request["threads"]
    solver.parameters.random_seed = request["seed"]
    solver.parameters.relative_gap_limit = 0.0
    solver.parameters.absolute_gap_limit = request["gap"]
    if request["deadline"] is not None:
        solver.parameters.max_time_in_seconds = max(request["deadline"] - time.time(), 0.0)
    watch = Watch(parent)
    if request["report"]:
        solver.best_bound_callback = watch.bound
        status = solver.solve(model, watch.callback(cp_model))
    else:
        status = solver.solve(model)
    found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    return {
        "status": solver.status_name(status),
        "assignment": [solver.value(variable) for variable in variables] if found else None,
        "bound": solver.best_objective_bound,
        "nodes": solver.num_branches,
    }


class Watch:
    """Reports incumbents and bounds, not too often."""

    def __init__(self, parent: ParentConnection) -> None:
        self._parent = parent
        self._incumbent: float | None = None
        self._bound: float | None = None
        self._last = 0.0
        self._lock = threading.Lock()

    def callback(self, cp_model: Any) -> Any:
        """Return a solution callback."""
        watch = self

        class Callback(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]
            def on_solution_callback(self) -> None:
                watch.report(self.objective_value, self.best_objective_bound)

        return Callback()

    def bound(self, bound: float) -> None:
        """Report a better bound."""
        self.report(None, bound)

    def report(self, incumbent: float | None, bound: float) -> None:
        """Remember, and report if it is time."""
        with self._lock:
            self._incumbent = self._incumbent if incumbent is None else incumbent
            self._bound = bound if self._bound is None else max(self._bound, bound)
            if time.monotonic() - self._last >= SECONDS_BETWEEN_REPORTS:
                self._last = time.monotonic()
                self._parent.send({"incumbent": self._incumbent, "bound": self._bound})


def main() -> None:
    """Answer requests until the parent is gone."""
    parent = ParentConnection()
    while True:
        parent.send(answer(parent.receive(), parent))


if __name__ == "__main__":
    main()
