"""How a draw goes while it searches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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
