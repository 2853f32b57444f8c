"""The child process of :mod:`oracles.cpsat`: integer programs in, answers out, one JSON line each.

Run as a script, never imported by the package: OR-tools and HiGHS cannot share a process. It ends
when its standard input does, so it cannot outlive its parent.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
from typing import Any

SECONDS_BETWEEN_REPORTS = 0.1


def emit(message: dict[str, Any]) -> None:
    """Write one line to the parent."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def requests() -> queue.SimpleQueue[dict[str, Any]]:
    """Return the queue that a thread fills from standard input."""
    waiting: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()

    def listen() -> None:
        for line in sys.stdin:
            waiting.put(json.loads(line))
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    return waiting


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


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Solve one program."""
    from ortools.sat.python import cp_model

    model, variables = build(request["program"])
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = request["threads"]
    solver.parameters.random_seed = request["seed"]
    solver.parameters.relative_gap_limit = 0.0
    solver.parameters.absolute_gap_limit = request["gap"]
    if request["deadline"] is not None:
        solver.parameters.max_time_in_seconds = max(request["deadline"] - time.time(), 0.0)
    watch = Watch()
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

    def __init__(self) -> None:
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
                emit({"incumbent": self._incumbent, "bound": self._bound})


def main() -> None:
    """Answer requests until the parent is gone."""
    waiting = requests()
    while True:
        emit(answer(waiting.get()))


if __name__ == "__main__":
    main()
