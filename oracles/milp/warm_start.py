"""A good hypothesis within moments, for solvers that prove faster when they know one."""

from __future__ import annotations

import functools
import time
from importlib.util import find_spec

import numpy as np

from oracles.problem import Hypothesis, WeightGrid, ZeroOneProblem

WORTHWHILE_GRID = 1_000_000
"""Least number of grid assignments: on smaller grids solvers find the optimum by themselves."""

_KICKS = 200

_KICKS_BETWEEN_LOOKS = 20


def load_search(problem: ZeroOneProblem) -> None:
    """Load or compile the search where :func:`find_incumbent` will use it on a problem."""
    if _worthwhile(problem):
        _load_once()


def find_incumbent(
    problem: ZeroOneProblem, seed: int = 0, *, deadline: float | None = None
) -> Hypothesis | None:
    """Return a hypothesis found by local search, or None where the search is not worth it.

    Parameters
    ----------
    problem : ZeroOneProblem
        What to minimise.
    seed : int
        Seed of the search.
    deadline : float or None
        When to stop, on the clock of :func:`time.perf_counter`.

    Notes
    -----
    **Guarantee.** The hypothesis is in the grid; nothing is said about its objective. Where no
    deadline strikes, the same inputs give the same hypothesis.
    """
    if not _worthwhile(problem):
        return None
    from oracles.branch_and_bound import columns_of, new_walk, reduce_problem, walk_on

    reduction = reduce_problem(problem)
    columns, walk = columns_of(reduction), new_walk(reduction, seed)
    for _ in range(0, _KICKS, _KICKS_BETWEEN_LOOKS):
        if deadline is not None and time.perf_counter() >= deadline:
            break
        walk_on(reduction.model, columns, walk, _KICKS_BETWEEN_LOOKS)
    hypothesis = tuple(
        allowed[int(place)] for allowed, place in zip(problem.grid.values, walk.best, strict=True)
    )
    return hypothesis if problem.grid.contains(hypothesis) else None


def _worthwhile(problem: ZeroOneProblem) -> bool:
    if problem.grid.n_assignments < WORTHWHILE_GRID or find_spec("numba") is None:
        return False
    from oracles.branch_and_bound import BranchAndBoundOracle

    return BranchAndBoundOracle().supports(problem)


@functools.lru_cache(maxsize=1)
def _load_once() -> None:
    tiny = ZeroOneProblem(
        points=np.ones((1, 20), dtype=np.int64),
        positives=np.array([1]),
        negatives=np.array([0]),
        grid=WeightGrid.box(20, 1),
    )
    find_incumbent(tiny)
