"""What goes to a worker process and what comes back."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from oracles.arithmetic import FloatArray, IntArray
from oracles.milp.program import MixedIntegerProgram

LEAST_SECONDS = 1e-3
"""The shortest time limit that every solver takes."""

READY = "ready"
"""A worker's first message: it has loaded its solver."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One program to solve.

    Parameters
    ----------
    solver : str
        Which of its solvers a back end is to run: for PuLP, the name of a class.
    program : MixedIntegerProgram
        What to minimise.
    scale : int
        What its costs are multiplied by: steps per row where the solver is given steps.
    settings : dict
        The solver's own options by name, time limit aside.
    deadline : float or None
        When the caller's time is over, on the clock of :func:`time.monotonic`.
    seconds : float or None
        How long the solver may take of that at most.
    wants_reports : bool
        Whether progress is to be reported.
    start : tuple of (ndarray, ndarray) or None
        Variables and their values to start from.
    folder : str or None
        An empty folder for the solver's files.
    """

    solver: str
    program: MixedIntegerProgram
    settings: dict[str, Any]
    deadline: float | None
    wants_reports: bool
    seconds: float | None = None
    scale: int = 1
    start: tuple[IntArray, FloatArray] | None = None
    folder: str | None = None

    def seconds_left(self) -> float | None:
        """Return what a solver is to be given as its time limit; None for no limit."""
        if self.deadline is None:
            return None
        return max(self.deadline - time.monotonic(), LEAST_SECONDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnableQuestion:
    """Which PuLP classes can run here: of those named, or of all."""

    classes: tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Progress: incumbent and bound as the solver says them."""

    incumbent: float | None
    bound: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """How a solve ended, in the solver's own words.

    Parameters
    ----------
    status : str
        Its name of the status.
    assignment : ndarray of float64 or None
        Values of the variables, if there are any.
    objective : float or None
        Their objective as the solver says it.
    bound : float or None
        The solver's dual bound, if it says one.
    nodes : float or None
        Its count of search nodes, if it says one.
    """

    status: str
    assignment: FloatArray | None
    objective: float | None
    bound: float | None
    nodes: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """An exception of a solver: the name of its class and the solver's error code, if it has one.

    Its text stays in the worker, because it may say what the program holds.
    """

    kind: str
    code: int | None
