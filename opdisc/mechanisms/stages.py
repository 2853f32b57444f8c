"""What a staged release draws from, and what bounds its work.

All of it is a function of public facts: the grid, the budget, the number of rows and a limit on
the time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from opdisc.errors import CalibrationError
from opdisc.mechanisms.equal_steps import plan_equal_steps
from opdisc.mechanisms.stage_sequence import Stages
from opdisc.tuned import (
    ASSUMED_ROWS,
    CHEAP_SECONDS,
    DRAW_SECONDS,
    EQUAL_MASSES_WEIGHT,
    LARGEST_START,
    MOST_CHEAP_POINTS,
    MOST_STAGED_POINTS,
    NARROW_COLUMNS,
    NARROW_START,
    STUMP_WEIGHT,
)
from oracles.problem import ColumnGroup, WeightGrid
from oracles.sampling import LARGEST_TABLES, SparseCards, Stumps, sparse_memory, sparse_work


def plan_stages(
    grid: WeightGrid,
    weight: float | None,
    n_rows: int | None,
    *,
    by_levels: bool = True,
    patience: float = DRAW_SECONDS,
    structure: Sequence[ColumnGroup] | None = None,
    stump: bool | None = None,
) -> Stages:
    """Return what a release draws from.

    Parameters
    ----------
    grid : WeightGrid
        What the released scorecard belongs to; every weight an interval with 0.
    weight : float or None
        ``n_rows * epsilon`` where the number of rows is public or guessed, for a sensitivity of
        two rows; with error costs the typical loss takes the place of the rows, in units of the
        larger one.
    n_rows : int or None
        Number of rows, where public or guessed.
    by_levels : bool
        Whether each number of points has a weight of its own: twice that of the one before, or the
        same where columns are many and rows times epsilon few. Else every scorecard weighs the
        same.
    patience : float
        Seconds that the draw is expected to take at most.
    structure : sequence of ColumnGroup or None
        All columns, as :func:`~oracles.problem.complete_structure` returns them; None: no equal
        steps.
    stump : bool or None
        Whether a decision stump is all that is drawn, instead of the rule; never where the grid
        has none.

    Raises
    ------
    CalibrationError
        If a weight's values are no interval with 0.
    """
    for allowed in grid.values:
        if 0 not in allowed or allowed[-1] - allowed[0] != len(allowed) - 1:
            raise CalibrationError(
                "staged takes weights from intervals of integers with 0 among them, got others; "
                "use such intervals or another mechanism."
            )
    if stump is None:
        stump = by_levels and weight is not None and weight < STUMP_WEIGHT
    if stump and (columns := stump_columns(grid)):
        return Stages(Stumps(columns=columns))
    rows = ASSUMED_ROWS if n_rows is None else n_rows
    signs = tuple(tuple(s for s in (1, -1) if s in allowed) for allowed in grid.values[1:])
    starts = grid.values[0][0], grid.values[0][-1]
    if structure is not None and grid.is_box:
        steps = plan_equal_steps(signs, starts, structure, rows, patience)
        if steps is not None:
            return Stages(steps)
    cards = _cards(signs, starts, grid.norm_budget, rows, patience)
    if by_levels:
        few = weight is not None and weight < EQUAL_MASSES_WEIGHT
        growth = 1 if few and _used(signs) > NARROW_COLUMNS else 2
        cards = replace(cards, shares=tuple(growth**size for size in range(cards.most + 1)))
    if grid.alternatives:
        named = tuple(tuple(_later(one) for one in group) for group in grid.alternatives)
        cards = replace(cards, alternatives=named)
    return Stages(cards)


def _later(coordinates: tuple[int, ...]) -> tuple[int, ...]:
    """Return coordinates as columns, of which the first one is not constant."""
    return tuple(j - 1 for j in coordinates)


def stump_columns(grid: WeightGrid) -> tuple[int, ...]:
    """Return the columns whose every decision stump is in the grid, without the constant one."""
    return tuple(
        j
        for j, allowed in enumerate(grid.values[1:])
        if {-1, 0, 1} <= set(allowed)
        and {0, 1} <= set(grid.values[0])
        and (grid.norm_budget is None or grid.norm_budget >= 2)
    )


def _cards(
    signs: tuple[tuple[int, ...], ...],
    starts: tuple[int, int],
    norm_budget: int | None,
    rows: int,
    patience: float,
) -> SparseCards:
    """Return the candidates: as many points as the time allows."""
    used = _used(signs)
    largest = NARROW_START if used <= NARROW_COLUMNS else LARGEST_START
    low, high = max(starts[0], 1 - largest), min(starts[1], largest)
    most = 0  # constant cards, the private majority vote, always end
    while most < used and (
        sparse_work(used, most + 1, high - low + 1, rows) <= allowed_seconds(most + 1, patience)
        and sparse_memory(used, most + 1) <= 4 * LARGEST_TABLES
    ):
        most += 1
    ranges = []
    for size in range(most + 1):
        far = largest
        if norm_budget is not None:
            if size > norm_budget:
                break
            far = math.isqrt(norm_budget - size)
        ranges.append((max(low, -far), min(high, far)))
    return SparseCards(signs=signs, starts=tuple(ranges))


def allowed_seconds(size: int, patience: float) -> float:
    """Return the seconds that scorecards of so many points may take."""
    if size <= MOST_STAGED_POINTS:
        return patience
    return min(patience, CHEAP_SECONDS) if size <= MOST_CHEAP_POINTS else 0.0


def _used(signs: Sequence[tuple[int, ...]]) -> int:
    """Return how many columns may have a point."""
    return sum(1 for options in signs if options)
