"""Whether an exact draw is expected to end soon, from public numbers alone.

The exact sampler ends on every table, but its time depends on the rows. What decides is how many
blocks the columns need, how large the grid is and how much the loss weighs. Limits are set by
measurements on census and medical tables where it says so, else by the number of draws expected.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from oracles.problem import ColumnGroup, WeightGrid, complete_structure
from oracles.sampling.elimination import block_work

Verdict = Literal["fast", "slow", "beyond"]

FAST_WORK = 2e6
"""Table work of two blocks up to which a draw took seconds at every weight of the loss.

Measured: one-hot census columns, 5e5, 3^38 combinations, ``beta * n_rows`` from 80 to 8,000.
"""

SLOW_WORK = 1e8
"""Table work of two blocks up to which a draw may end.

Measured, two cores: the same columns at weights -2..2, 7e7: .4 s at ``beta * n_rows`` of 80, 11 s
at 800, 29 to 55 s at 2,000 to 8,000. Other tables may take longer.
"""

FAST_NATS = 21.0
"""Log of the grid's size up to which a draw took seconds: 3^19.

Measured: thresholds of medical tables, 3^16 and 3^19 combinations, up to ``beta * n_rows`` of 480.
"""

FAST_FREE_NATS = 12.0
"""Log of the combinations of columns of no group up to which structure alone makes a draw fast.

Such columns leave the most to reject: 18 of them, 7,214 rows and ``beta * n_rows`` of 3,600 did
not end in 330 s, while 3 beside one-hot groups took seconds. In between nothing was measured.
"""

FAST_WEIGHT = 480.0
"""``beta * n_rows`` up to which grids of ``FAST_NATS`` took seconds; half a minute with coins."""

FLAT_NATS = 12.0
"""Largest mean weight of a table's loss at which equal chances alone are close enough.

Not measured: about ``e**12`` draws are then enough, at a few microseconds each.
"""


LARGEST_GRID_BITS = 300
"""Log2 of the combinations of the largest grid that is sampled: sums stay within doubles."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingReach:
    """An expectation, not a promise.

    Parameters
    ----------
    verdict : {"fast", "slow", "beyond"}
        Seconds; up to minutes, or not at all on some tables; do not try.
    reason : str
        One clause that names the numbers it rests on.
    log_size : float
        Log of the number of weight combinations, nats.
    work : float
        Table work of the best two blocks.
    flatness : float or None
        ``beta * n_rows / 2``: at most what equal chances lose, nats; None without ``n_rows``.
    """

    verdict: Verdict
    reason: str
    log_size: float
    work: float
    flatness: float | None


def sampling_reach(
    grid: WeightGrid,
    structure: Sequence[ColumnGroup],
    beta: Fraction | float,
    n_rows: int | None = None,
) -> SamplingReach:
    """Say whether :class:`~oracles.sampling.PartitionSampler` is expected to end soon.

    Parameters
    ----------
    grid : WeightGrid
        Allowed weights.
    structure : sequence of ColumnGroup
        Public facts about columns; those of no group are free.
    beta : Fraction or float
        Inverse temperature, nats per row of loss, >= 0.
    n_rows : int or None
        Number of rows, where that is public.

    Returns
    -------
    SamplingReach
        A function of the arguments alone.
    """
    log_size = math.log(grid.n_assignments)
    groups = complete_structure(structure, grid.n_features)
    work = block_work(groups, grid, 2)
    flatness = None if n_rows is None else float(beta) * n_rows / 2
    free = sum(math.log(len(grid.values[g.columns[0]])) for g in groups if len(g.columns) == 1)
    structured = free <= FAST_FREE_NATS
    light = flatness is not None and 2 * flatness <= FAST_WEIGHT
    verdict: Verdict = "beyond"
    reason = f"two blocks of columns take about {work:.1e} table entries"
    if flatness is not None and flatness <= FLAT_NATS:
        verdict = "fast"
        reason = f"the loss weighs at most {flatness:.1f} nats on average"
    elif log_size <= FAST_NATS and (light or structured):
        verdict = "fast"
        reason = f"the grid is small (e^{log_size:.1f} combinations)"
    elif work <= FAST_WORK and structured:
        verdict = "fast"
    elif work <= SLOW_WORK:
        verdict = "slow"
    return SamplingReach(
        verdict=verdict, reason=reason, log_size=log_size, work=work, flatness=flatness
    )
