"""How a long search or draw goes: for whoever keeps the rows, never to be published."""

from __future__ import annotations

import math
from collections.abc import Callable

from oracles.interface import Progress
from oracles.sampling import SearchDiagnostics, SearchProgress

Report = Callable[[str], None]

WARNING = "not private, do not publish"


def draw_progress(report: Report) -> SearchProgress:
    """Return a callback of the draw by a search that reports a line of text."""

    def told(now: SearchDiagnostics) -> None:
        report(f"{WARNING}: {now.nodes:,} nodes, {now.open_nodes:,} open, {now.seconds:.0f} s")

    return told


def search_progress(report: Report) -> Progress:
    """Return a callback of an oracle that reports a line of text.

    The last line is the end's, with or without a certificate: the bound that was reached.
    """

    def told(incumbent: float | None, bound: float, seconds: float) -> None:
        text = "no gap"
        if incumbent is not None and math.isfinite(incumbent) and math.isfinite(bound):
            text = f"gap {incumbent - bound:,.1f} rows (bound {bound:,.1f})"
        report(f"{WARNING}: {text}, {seconds:.0f} s")

    return told
