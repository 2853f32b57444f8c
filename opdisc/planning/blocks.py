"""Which coordinates share a block of block noise: public numbers only."""

from __future__ import annotations

import math

from opdisc.privacy import GridPublic
from opdisc.tuned import BLOCK_ASSIGNMENTS, LARGEST_SEARCHED_BLOCK, SEARCHED_SHARE, SMALL_GRID
from oracles.problem import WeightGrid


def even_blocks(grid: WeightGrid, largest: int = BLOCK_ASSIGNMENTS) -> tuple[tuple[int, ...], ...]:
    """Return consecutive blocks of at most ``largest`` assignments each, as even as possible."""
    shape = grid.shape
    filled: list[list[int]] = [[]]
    size = 1
    for j, choices in enumerate(shape):
        if filled[-1] and size * choices > largest:
            filled.append([])
            size = 1
        filled[-1].append(j)
        size *= choices
    n_blocks, n_features = len(filled), len(shape)
    if len(set(shape)) > 1:
        return tuple(tuple(block) for block in filled)
    # Equal coordinates: the same number of blocks, their lengths differing by at most one.
    cuts = [n_features * k // n_blocks for k in range(n_blocks + 1)]
    return tuple(tuple(range(a, b)) for a, b in zip(cuts, cuts[1:], strict=False))


def searchable_blocks(public: GridPublic) -> tuple[tuple[int, ...], ...]:
    """Return the fewest blocks that branch and bound is expected to take.

    A function of public facts; which blocks there are affects accuracy and time, never privacy.
    Fewer and larger blocks mean less noise. Where the number of rows is neither public nor
    guessed, blocks of :data:`BLOCK_ASSIGNMENTS`.
    """
    grid = public.grid
    if grid.n_assignments <= SMALL_GRID:
        return even_blocks(grid, LARGEST_SEARCHED_BLOCK)
    loss = public.typical_loss
    if loss is None:
        return even_blocks(grid)
    needed = SEARCHED_SHARE * loss * public.params.epsilon / public.loss_sensitivity
    largest = LARGEST_SEARCHED_BLOCK
    while largest > max(grid.shape):
        blocks = even_blocks(grid, largest)
        if len(blocks) >= needed:
            return blocks
        largest = math.isqrt(largest) if largest > 3**4 else 1
    return even_blocks(grid, 1)
