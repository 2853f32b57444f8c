"""Whether a grid is listed, or searched: from its size alone."""

from __future__ import annotations

from opdisc.errors import CalibrationError
from opdisc.mechanisms import AStarPermuteAndFlipMechanism
from opdisc.privacy import GridPublic
from oracles.problem import ENUMERATION_LIMIT, WeightGrid
from oracles.sampling import is_sparse

A_STAR_FEATURES, A_STAR_ASSIGNMENTS = 11, 11**8

_LISTED_QUICKLY, _SEARCHED_FEATURES = 1_000_000, 14


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
