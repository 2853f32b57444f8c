"""Whether an exact draw from a grid ends soon: an expectation from public facts."""

from __future__ import annotations

import math

from opdisc.calibration import inverse_temperature
from opdisc.errors import CalibrationError
from opdisc.mechanisms import AStarPermuteAndFlipMechanism
from opdisc.privacy import GridPublic
from oracles.errors import UnsupportedProblem
from oracles.problem import ENUMERATION_LIMIT, ColumnGroup, WeightGrid, complete_structure
from oracles.sampling import (
    FAST_NATS,
    FAST_WORK,
    FLAT_NATS,
    LARGEST_BLOCK,
    LARGEST_GRID_BITS,
    choose_blocks,
    is_sparse,
    sampling_reach,
)

A_STAR_FEATURES, A_STAR_ASSIGNMENTS = 11, 11**8

_LISTED_QUICKLY, _SEARCHED_FEATURES = 1_000_000, 14

SAMPLING_LIMITS = (
    "the exponential mechanism is sampled where two blocks of related columns take at most "
    f"{FAST_WORK:.0e} table entries each or the loss hardly matters"
)


def can_list(grid: WeightGrid) -> bool:
    """Return whether the exponential mechanism can look at every hypothesis of a grid."""
    return grid.n_assignments <= ENUMERATION_LIMIT or is_sparse(grid)


def can_flip_by_a_star(grid: WeightGrid) -> bool:
    """Return whether permute-and-flip by A* sampling was quick on every table that was tried.

    Up to 11 weights and 11^8 combinations: at most 2 s of processor time at any epsilon, on tables
    of random labels too. With 16 or 17 weights tables of random labels took 4 to 15 s.
    """
    small = grid.n_features <= A_STAR_FEATURES and grid.n_assignments <= A_STAR_ASSIGNMENTS
    return (small and grid.norm_budget is None) or _lists_slowly(grid)


def _lists_slowly(grid: WeightGrid) -> bool:
    """Return whether a grid that can be listed is searched sooner by A* sampling.

    Measured on 0/1 columns and labels of coins, where both take longest, 82 to 100,000 rows and
    epsilon .003 to 10: a list of 10^6 to 10^7 takes 1 to 7 s of processor time on any table, the
    search 0.01 to 0.7 s up to 1,000 rows and at most 4.4 s.
    """
    return (
        _LISTED_QUICKLY < grid.n_assignments <= ENUMERATION_LIMIT
        and grid.n_features <= _SEARCHED_FEATURES
        and grid.norm_budget is None
    )


def is_searched(grid: WeightGrid, public: GridPublic | None) -> bool:
    """Return whether a grid that can be listed is better left to A* sampling, which takes it."""
    if not _lists_slowly(grid):
        return False
    try:
        if public is not None:
            AStarPermuteAndFlipMechanism().calibrate(public)
    except CalibrationError:
        return False
    return True


def can_sample(grid: WeightGrid, structure: tuple[ColumnGroup, ...]) -> bool:
    """Return whether the sampler takes a grid in two blocks; with more it may take very long.

    It draws from the box and rejects what a norm budget excludes, so the budget must leave enough.
    """
    if can_list(grid):
        return True
    too_large = math.log2(grid.n_assignments) > LARGEST_GRID_BITS
    if too_large or _is_hopeless(grid, structure, LARGEST_BLOCK):
        return False
    try:
        choose_blocks(complete_structure(structure, grid.n_features), grid, n_blocks=2)
    except UnsupportedProblem:
        return False
    return True


def draw_is_short(public: GridPublic, structure: tuple[ColumnGroup, ...]) -> bool:
    """Return whether an exact draw is expected to take seconds where columns say something."""
    grid = public.grid
    if can_list(grid):
        return True
    beta = inverse_temperature(public.loss_sensitivity, public.params.epsilon)
    light = is_light(public)
    if _is_hopeless(grid, structure, math.inf if light else FAST_WORK):
        return False
    return sampling_reach(grid, structure, beta, public.largest_loss).verdict == "fast"


def is_light(public: GridPublic) -> bool:
    """Return whether all rows weigh so little that a draw takes seconds on any table."""
    beta = inverse_temperature(public.loss_sensitivity, public.params.epsilon)
    return public.largest_loss is not None and beta * public.largest_loss <= 2 * FLAT_NATS


def _is_hopeless(grid: WeightGrid, structure: tuple[ColumnGroup, ...], largest: float) -> bool:
    """Return whether no search for two blocks is needed to see that they will not do.

    A block's work is at least its number of combinations without those of one group, so the
    larger of two blocks works at least the root of all combinations without two groups.
    """
    if 1000 * grid.n_hypotheses < grid.n_assignments:
        return True
    groups = complete_structure(structure, grid.n_features)
    sizes = sorted(math.prod(len(grid.values[c]) for c in group.columns) for group in groups)
    spared = math.prod(sizes[-2:])
    return math.log(grid.n_assignments) > FAST_NATS and (
        (math.log(grid.n_assignments) - math.log(spared)) / 2 > math.log(largest)
    )
