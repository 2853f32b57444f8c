"""Whether an exact draw from a grid ends soon: an expectation from public facts."""

from __future__ import annotations

from opdisc.calibration import gibbs_weight
from opdisc.privacy import PublicInputs
from oracles import UnsupportedProblem, WeightGrid
from oracles.column_groups import ColumnGroup, choose_blocks, complete_structure
from oracles.registry import ENUMERATION_LIMIT
from oracles.sampling_effort import FAST_WORK, sampling_reach
from oracles.sparse_levels import is_sparse

SAMPLING_LIMITS = (
    "the exponential mechanism is sampled where two blocks of related columns take at most "
    f"{FAST_WORK:.0e} table entries each or the loss hardly matters"
)


def can_list(grid: WeightGrid) -> bool:
    """Return whether the exponential mechanism can look at every hypothesis of a grid."""
    return grid.n_assignments <= ENUMERATION_LIMIT or is_sparse(grid)


def can_sample(grid: WeightGrid, structure: tuple[ColumnGroup, ...]) -> bool:
    """Return whether the sampler takes a grid in two blocks; with more it may take very long.

    It draws from the box and rejects what a norm budget excludes, so the budget must leave enough.
    """
    if can_list(grid):
        return True
    if 1000 * grid.n_hypotheses < grid.n_assignments:
        return False
    try:
        choose_blocks(complete_structure(structure, grid.n_features), grid, n_blocks=2)
    except UnsupportedProblem:
        return False
    return True


def draw_is_short(public: PublicInputs, structure: tuple[ColumnGroup, ...]) -> bool:
    """Return whether an exact draw is expected to take seconds on any table of this size."""
    grid = public.grid
    if can_list(grid):
        return True
    if 1000 * grid.n_hypotheses < grid.n_assignments:
        return False
    beta = gibbs_weight(public.sensitivity, public.params.epsilon)
    return sampling_reach(grid, structure, beta, public.n_rows).verdict == "fast"
