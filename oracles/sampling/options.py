"""How to sample, and how a draw went."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

SamplingProgress = Callable[["SamplingDiagnostics"], None]
"""Told how a draw by rejection goes."""

SearchProgress = Callable[["SearchDiagnostics"], None]
"""Told how a draw by a search goes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchDiagnostics:
    """How the search of a draw goes. Depends on the points: never part of what is published.

    Parameters
    ----------
    nodes : int
        Nodes visited so far.
    open_nodes : int
        Nodes that wait to be visited.
    seconds : float
        Wall seconds.
    """

    nodes: int
    open_nodes: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingDiagnostics:
    """How a draw went. Depends on the points: never part of what is published.

    Parameters
    ----------
    rounds : int
        Rounds so far.
    acceptance : float
        Mean acceptance probability of the draws so far; chances below 0.001 count as 0 once
        their draw is ruled out.
    cells : int
        Cells of the partition.
    steps : int
        Tightening steps.
    log_total : float
        Log of the sum of the masses: an upper bound on ``log(sum exp(-beta * L))``.
    seconds : float
        Wall seconds.
    gap : float or None
        ``log_total`` less an estimate of the log of the target's sum, nats: a success takes about
        ``exp(gap)`` rounds. None in the first seconds.
    """

    rounds: int
    acceptance: float
    cells: int
    steps: int
    log_total: float
    seconds: float
    gap: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingOptions:
    """How to sample.

    Parameters
    ----------
    max_rounds : int or None
        Public cap on the rounds of one draw; reaching it raises and yields nothing.
    n_blocks : int or None
        Blocks of columns; None: chosen from the structure.
    n_threads : int or None
        Threads that refine the partition and draw; the second begins after 1.5 s of work. The
        same random words give other draws with another number of threads, of the same law.
        None: two, or one where ``NUMBA_NUM_THREADS`` or the machine allows no more.
    progress : callable or None
        Called after rounds with :class:`SamplingDiagnostics`, at most once a second.
    """

    max_rounds: int | None = None
    n_blocks: int | None = None
    n_threads: int | None = None
    progress: SamplingProgress | None = None


DrawProgress = Callable[[SamplingDiagnostics | SearchDiagnostics], None]
"""Told how an exact draw goes, by rejection or by a search."""
