"""Which stages a release takes, how they share the budget, and what bounds their work.

All of it is a function of public facts: the grid, the budget, the number of rows and a limit on
the time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from opdisc.errors import CalibrationError
from opdisc.mechanisms.staged.equal_steps import EqualSteps, plan_equal_steps
from opdisc.mechanisms.staged.sequence import (
    LARGEST_SHIFT,
    LARGEST_START,
    SUMMAND_BOUND,
    Stages,
)
from opdisc.mechanisms.staged.signs import (
    counted_share,
    most_active,
    pays,
    plan_signs,
)
from oracles.problem import ColumnGroup, WeightGrid
from oracles.sampling import (
    LARGEST_TABLES,
    SparseCards,
    Stumps,
    joint_work,
    sparse_memory,
    sparse_work,
)

PATIENCE = 30.0
"""Seconds that all stages together are expected to take at most, on any table."""

ASSUMED_ROWS = 100_000
"""Rows that the work is planned for where their number is neither public nor guessed."""

FIRST_WEIGHT = 1800
"""``n_rows * epsilon`` of the first draw, where others follow (replace-one, one row a person)."""

LATER_WEIGHT = 3460
"""``n_rows * epsilon`` of each later draw, about."""

LEAST_LATER, MOST_LATER = 3530, 6
"""Where ``n_rows * epsilon`` is less, the first draw is the only one; and most later draws."""

STUMP_WEIGHT = 15.0
"""Where ``n_rows * epsilon`` is less, the only draw is a decision stump. Measured: up to 14 it is
ahead of many cards on all of 23 tables, at 20 on 15 (docs/utility.md)."""

FIRST_SIGNED_WEIGHT, LATER_SIGNED_WEIGHT = 3700, 6600
"""The same for a first draw with counted signs, and for each draw after it."""

LEAST_SIGNED_LATER = 16_000
"""Where ``n_rows * epsilon`` is less, no draw follows one with counted signs. Measured on
adult-wide: at 11,000 one later draw gains .001 on the rows and nothing on others (60 draws).
In 8 to 12 draws three lost .001 there, and one lost .002 at 5,500."""

NARROW_START, NARROW_COLUMNS = 2, 18
"""Largest start where few columns are drawn from once. Measured: starts of -2..3 lose up to .02
with 15 and 18 columns at epsilon .05, and gain up to .01 with 27 and more (docs/utility.md)."""

EQUAL_MASSES_WEIGHT = 200.0
"""Where ``n_rows * epsilon`` is less, and columns are more, every number of points weighs the
same. Measured: on ten tables that gains .002 at 20 and 140, and nothing from 300 on; on adult-wide
it loses .002 at 550 (docs/utility.md)."""

MOST_POINTS = 5
"""Most points other than 0 of the first scorecard, as far as the time allows."""

MOST_CHEAP_POINTS, CHEAP_SECONDS = 7, 3.0
"""Most where the first draw is the only one, and takes no longer than that. Measured: on
breastcancer 7 gain up to .01 over 4 (docs/utility.md)."""

MOST_SINGLE = 18
"""Most single columns of a joint draw; the next draw takes those left out before any other."""

MOST_DRAWS_A_TURN = 3
"""Draws in which every column must get its turn, else directions are several columns."""

MOST_DIRECTIONS, MOST_TOGETHER = 16, 3
"""Most directions of several columns, and most columns of one."""


def later_draws(weight: float | None) -> int:
    """Return how many joint draws pay, given ``n_rows * epsilon`` (None: rows not known)."""
    if weight is None or weight < LEAST_LATER:
        return 0
    return max(1, min(MOST_LATER, round((weight - FIRST_WEIGHT) / LATER_WEIGHT)))


def later_signed_draws(weight: float | None) -> int:
    """Return how many joint draws pay after one with counted signs; as :func:`later_draws`."""
    if weight is None or weight < LEAST_SIGNED_LATER:
        return 0
    return max(1, min(MOST_LATER, round(weight / LATER_SIGNED_WEIGHT) - 1))


def automatic_bound(weight: float | None) -> int:
    """Return how large points may get where nobody set a bound."""
    return SUMMAND_BOUND * later_draws(weight) or LARGEST_START


def plan_stages(
    grid: WeightGrid,
    weight: float | None,
    n_rows: int | None,
    *,
    by_levels: bool = True,
    patience: float = PATIENCE,
    later: int | None = None,
    first_share: Fraction | None = None,
    structure: Sequence[ColumnGroup] | None = None,
    counted: Fraction | None = None,
    signs: bool = True,
    stump: bool | None = None,
) -> Stages:
    """Return the stages of a release.

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
        Whether each number of points has a weight of its own in the first draw: twice that of the
        one before, or the same where columns are many and rows times epsilon few. Else every
        scorecard weighs the same.
    patience : float
        Seconds that the draws are expected to take at most.
    later, first_share : int, Fraction or None
        Instead of the rule.
    structure : sequence of ColumnGroup or None
        All columns, as :func:`~oracles.problem.complete_structure` returns them; None: neither
        counted signs nor equal steps.
    counted : Fraction or None
        Share of epsilon for counted signs, instead of the rule.
    signs : bool
        Whether counted signs are considered; they know no error costs.
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
        asked = not by_levels or later is not None or counted is not None
        stump = not asked and weight is not None and weight < STUMP_WEIGHT
    if stump and (columns := stump_columns(grid)):
        return _only(grid, Stumps(columns=columns))
    rows = ASSUMED_ROWS if n_rows is None else n_rows
    if structure is not None and grid.norm_budget is None and signs:
        signed = _signed(grid, weight, rows, patience, later, first_share, structure, counted)
        if signed is not None:
            return signed
    later = later_draws(weight) if later is None else later
    if grid.norm_budget is not None or not any(len(allowed) > 1 for allowed in grid.values):
        later = 0  # steps along directions know no budget
    if structure is not None and grid.norm_budget is None and not later:
        points = [tuple(s for s in (1, -1) if s in values) for values in grid.values[1:]]
        starts = grid.values[0][0], grid.values[0][-1]
        steps = plan_equal_steps(points, starts, structure, rows, patience)
        if steps is not None:
            return _only(grid, steps)
    summed, scale, ranges = _room(grid, later)
    cards = _cards(grid, ranges, scale, rows, patience / (2 if later else 1), not later)
    if by_levels:
        few = weight is not None and weight < EQUAL_MASSES_WEIGHT
        growth = 1 if few and _used(cards.signs) > NARROW_COLUMNS else 2
        cards = replace(cards, shares=tuple(growth**size for size in range(cards.most + 1)))
    if first_share is None:
        first_share = Fraction(FIRST_WEIGHT) / Fraction(weight) if later and weight else None
    found = _directions(ranges, later, rows, patience - _seconds(cards, rows))
    if found is None:
        return plan_stages(
            grid, weight, n_rows, by_levels=by_levels, patience=patience, later=0, stump=False
        )
    directions, together = found
    return Stages(
        first=cards,
        first_share=Fraction(1) if not later or first_share is None else first_share,
        later=later,
        directions=directions,
        together=together,
        scale=scale,
        summed=summed,
        ranges=ranges,
    )


def stump_columns(grid: WeightGrid) -> tuple[int, ...]:
    """Return the columns whose every decision stump is in the grid, without the constant one."""
    return tuple(
        j
        for j, allowed in enumerate(grid.values[1:])
        if {-1, 0, 1} <= set(allowed)
        and {0, 1} <= set(grid.values[0])
        and (grid.norm_budget is None or grid.norm_budget >= 2)
    )


def _only(grid: WeightGrid, first: Stumps | EqualSteps) -> Stages:
    """Return stages that end with their first draw."""
    return Stages(
        first=first,
        first_share=Fraction(1),
        later=0,
        directions=0,
        together=0,
        scale=1,
        summed=1,
        ranges=tuple((allowed[0], allowed[-1]) for allowed in grid.values),
    )


def _signed(
    grid: WeightGrid,
    weight: float | None,
    rows: int,
    patience: float,
    later: int | None,
    first_share: Fraction | None,
    structure: Sequence[ColumnGroup],
    counted: Fraction | None,
) -> Stages | None:
    """Return stages that start with counted signs, or None where these do not pay."""
    used = sum(1 for allowed in grid.values[1:] if len(allowed) > 1)
    active = most_active(structure)
    if counted is None:
        if used <= NARROW_COLUMNS or not pays(weight, active, used):
            return None
        counted = counted_share(weight, active)
    if later is None:
        later = later_signed_draws(weight)
    summed, scale, ranges = _room(grid, later)
    signs, start = _unit_cards(ranges, scale, LARGEST_START)
    share = patience / (2 if later else 1)
    signed = plan_signs(signs, start, structure, rows, share, counted)
    if signed is None:
        return None
    found = _directions(ranges, later, rows, patience - share, signed.columns)
    if found is None:
        return None
    if first_share is None:
        first_share = 1 - counted
        if later and weight:
            first_share *= Fraction(FIRST_SIGNED_WEIGHT) / Fraction(weight)
    return Stages(
        first=signed,
        first_share=first_share,
        later=later,
        directions=found[0],
        together=found[1],
        scale=scale,
        summed=summed,
        ranges=ranges,
    )


def _room(grid: WeightGrid, later: int) -> tuple[int, int, tuple[tuple[int, int], ...]]:
    """Return how many scorecards are added up, the first one's factor, and every one's ranges."""
    most = max(max(-allowed[0], allowed[-1]) for allowed in grid.values)
    summed = max(1, min(later, most // SUMMAND_BOUND))
    scale = 2 if later and most // summed > 1 else 1
    ranges = tuple(
        _summand(allowed[0], allowed[-1], summed, (0 if j else summed // 2))
        for j, allowed in enumerate(grid.values)
    )
    return summed, scale, ranges


def _unit_cards(
    ranges: tuple[tuple[int, int], ...], scale: int, largest: int
) -> tuple[tuple[tuple[int, ...], ...], tuple[int, int]]:
    """Return the signs that each column may have, and the starts, before a card is scaled."""
    low, high = (_toward_zero(limit, scale) for limit in ranges[0])
    signs = tuple(
        tuple(sign for sign in (1, -1) if limits[0] <= scale * sign <= limits[1])
        for limits in ranges[1:]
    )
    return signs, (max(low, 1 - largest), min(high, largest))


def _summand(low: int, high: int, summed: int, spared: int) -> tuple[int, int]:
    """Return the interval that each of several summands keeps to."""
    return -((-low - spared) // summed) if low + spared < 0 else 0, high // summed


def _cards(
    grid: WeightGrid,
    ranges: tuple[tuple[int, int], ...],
    scale: int,
    rows: int,
    patience: float,
    only: bool,
) -> SparseCards:
    """Return the candidates of the first draw: as many points as the time allows."""
    largest = LARGEST_START
    signs, (low, high) = _unit_cards(ranges, scale, largest)
    used = _used(signs)
    if only and used <= NARROW_COLUMNS:
        largest = NARROW_START
        low, high = max(low, 1 - largest), min(high, largest)
    most = 0  # constant cards, the private majority vote, always end
    while most < used and (
        sparse_work(used, most + 1, high - low + 1, rows) <= _allowed(most + 1, only, patience)
        and sparse_memory(used, most + 1) <= 4 * LARGEST_TABLES
    ):
        most += 1
    starts = []
    for size in range(most + 1):
        far = largest
        if grid.norm_budget is not None:
            if size > grid.norm_budget:
                break
            far = math.isqrt(grid.norm_budget - size)
        starts.append((max(low, -far), min(high, far)))
    return SparseCards(signs=signs, starts=tuple(starts))


def _allowed(size: int, only: bool, patience: float) -> float:
    """Return the seconds that scorecards of so many points may take."""
    if size <= MOST_POINTS:
        return patience
    return min(patience, CHEAP_SECONDS) if only and size <= MOST_CHEAP_POINTS else 0.0


def _seconds(cards: SparseCards, rows: int) -> float:
    """Return what the first draw is expected to take at most."""
    low, high = cards.starts[0]
    return sparse_work(_used(cards.signs), cards.most, high - low + 1, rows)


def _used(signs: Sequence[tuple[int, ...]]) -> int:
    """Return how many columns may have a point."""
    return sum(1 for options in signs if options)


def _toward_zero(limit: int, scale: int) -> int:
    return limit // scale if limit >= 0 else -(-limit // scale)


def _directions(
    ranges: tuple[tuple[int, int], ...], later: int, rows: int, patience: float, tried: int = 0
) -> tuple[int, int] | None:
    """Return how many directions of how many columns: as many as time and memory allow.

    None where they do not allow a single one. ``tried`` columns had their turn in the first draw.
    """
    used = sum(1 for low, high in ranges[1:] if low < high)
    if not later or not used:
        return 0, 0
    waiting = max(1, used - tried)
    least = -(-waiting // min(max(later, 2), MOST_DRAWS_A_TURN))
    singles = range(min(MOST_SINGLE, used), least - 1, -1)
    options = [(directions, 1) for directions in singles]
    options += [
        (directions, min(MOST_TOGETHER, -(-used // directions)))
        for directions in range(min(MOST_DIRECTIONS, used), 0, -1)
    ]
    for directions, together in options:
        seconds, entries = joint_work(directions, together, 2 * LARGEST_SHIFT + 1, rows)
        if later * seconds <= patience and entries <= LARGEST_TABLES:
            return directions, together
    return None
