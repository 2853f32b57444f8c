"""What solves cost, for whoever measures: seconds and nodes of every call of ``solve``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from oracles.interface.solution import SolveStats

_OPEN: ContextVar[list[SolveStats] | None] = ContextVar("observed_solves", default=None)


@contextmanager
def observed_solves() -> Iterator[list[SolveStats]]:
    """Give a list to which every solve within adds what it cost, in order.

    Yields
    ------
    list of SolveStats
        Of solves in this thread, whether they ended with a proof or not. A solve that raised
        adds nothing.

    Notes
    -----
    What a solve costs depends on the rows: no guarantee covers it. Measure public tables only.

    Examples
    --------
    >>> from oracles import WeightGrid, ZeroOneProblem, solve
    >>> from oracles.interface import observed_solves
    >>> problem = ZeroOneProblem(points=[[1, 0], [1, 1]], positives=[0, 3], negatives=[2, 1],
    ...                          grid=WeightGrid.box(2, 1))
    >>> with observed_solves() as costs:
    ...     solution = solve(problem)
    >>> [cost.oracle for cost in costs], costs[0] == solution.stats
    (['enumeration'], True)
    """
    found: list[SolveStats] = []
    token = _OPEN.set(found)
    try:
        yield found
    finally:
        _OPEN.reset(token)


def observe(cost: SolveStats) -> None:
    """Add what a solve cost to the innermost open list, if there is one."""
    found = _OPEN.get()
    if found is not None:
        found.append(cost)
