"""Compiled tables of reach: how far a budget can still move each undecided cell's score.

Changes ``x`` of the coordinates ``q`` that may change cost ``cost_change[q, x]`` and add
``value_change[q, x]`` to a weight. No change costs 0 and adds 0. With ``least_q = min(0, cheapest
change)`` and costs counted in whole levels of ``unit`` above ``least_q``, rounded down,

    reach[m, b, i] = 0
    reach[q, b, i] = max over x with level(q, x) <= b of
                     reach[q + 1, b - level(q, x), i] +- column[q, i] * value_change[q, x]

with + for cells that want "+", - for others. Rounding down only makes the reach larger, so a cell
that is wrong beyond its reach stays wrong for every hypothesis within the budget.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from oracles.compilation import compiled, copy_into
from oracles.completion_layout import (
    FIXED_COST,
    LARGEST_REACH,
    N_CELLS,
    N_COORDS,
    N_PLUS,
    UNIT,
    Completion,
)
from oracles.search_layout import INFINITE


@compiled
def widen(new: Any, old: Any, column: Any, change: int) -> None:
    """Raise ``new`` to what a change of a coordinate adds to ``old``.

    ``new`` and ``old``, shape (cells,) int16, are reaches; ``column``, int32, are coefficients.
    """
    step = np.int32(change)
    for i in range(len(new)):
        gain = np.int32(old[i] + column[i] * step)
        gain = np.int32(min(gain, np.int32(LARGEST_REACH)))
        new[i] = np.int16(max(np.int32(new[i]), gain))


@compiled
def tabulate_reach(work: Completion, prune: int, n_levels: int) -> None:
    """Fill ``reach``, ``least_cost`` and ``least_next``, last coordinate first."""
    m = work.numbers[N_COORDS]
    n_plus, n = work.numbers[N_PLUS], work.numbers[N_CELLS]
    work.least_cost[m] = 0
    work.least_next[m] = INFINITE
    for q in range(m - 1, -1, -1):
        least = work.cost_change[q, 0]
        work.least_next[q] = min(work.least_next[q + 1], work.least_cost[q + 1] + least)
        work.least_cost[q] = work.least_cost[q + 1] + min(least, 0)
    budget = max(prune - work.numbers[FIXED_COST] - work.least_cost[0], 1)
    unit = budget // n_levels + 1
    work.numbers[UNIT] = unit
    for b in range(n_levels):
        work.reach[m, b, :n] = 0
    for q in range(m - 1, -1, -1):
        least = work.least_cost[q] - work.least_cost[q + 1]
        unchanged = -least // unit
        for b in range(n_levels):
            new = work.reach[q, b]
            new[:n] = -LARGEST_REACH
            if unchanged <= b:
                copy_into(new[:n], work.reach[q + 1, b - unchanged, :n])
            for x in range(work.n_changes[q]):
                used = (work.cost_change[q, x] - least) // unit
                if used > b:
                    break
                change = work.value_change[q, x]
                old = work.reach[q + 1, b - used]
                widen(new[:n_plus], old[:n_plus], work.column[q, :n_plus], change)
                widen(new[n_plus:n], old[n_plus:n], work.column[q, n_plus:n], -change)
