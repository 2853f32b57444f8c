"""How much work and memory staged draws may take on any table: from public numbers alone."""

from __future__ import annotations

import math

SPARSE_PRODUCTS_PER_SECOND = 1e10
"""Multiplications of the matrix products behind sparse cards. Measured on one core: 2e10."""

CARDS_PER_SECOND = 4e7
"""Cards evaluated. Measured on one core: 5e7 to 7e7, five columns of 36."""

ADDITIONS_PER_SECOND = 2e9
"""Table entries added in joint steps. Measured on one core: 1.4e9, on a quarter of the bound."""

LARGEST_TABLES = 2**27
"""Table entries of four bytes that joint steps may hold."""


def sparse_work(
    n_columns: int, most: int, n_starts: int, n_points: int, n_scores: int = 1
) -> float:
    """Return seconds that a draw of sparse cards is expected to take at most.

    Parameters
    ----------
    n_columns : int
        Columns that may have a weight.
    most : int
        Largest number of weights other than 0.
    n_starts : int
        Weights of the constant column.
    n_points : int
        Rows of the table at most.
    n_scores : int
        Scores of the centre that are told apart.
    """
    products, cards = float(n_points * n_columns), 0.0
    for size in range(2, most + 1):
        cards += math.comb(n_columns, size) * 2.0**size * (n_starts + n_scores * 2.0**size / 4)
        # Of every product the columns after the prefix only: squares that add up to this.
        products += 2.0 * math.comb(n_columns + 1, size) / max(1, size - 1) * n_points
        products += math.comb(n_columns, size - 2) * 2.0**size * n_scores * n_columns**2 / 2
    return 2 * (products / SPARSE_PRODUCTS_PER_SECOND + cards / (CARDS_PER_SECOND * n_starts))


def sparse_memory(n_columns: int, most: int, n_scores: int = 1) -> float:
    """Return bytes that a draw of sparse cards takes at most for its sums over pairs of columns.

    Parameters
    ----------
    n_columns : int
        Columns that may have a weight.
    most : int
        Largest number of weights other than 0.
    n_scores : int
        Scores of the centre that are told apart.
    """
    if most < 2:
        return 0.0
    kept = sum(math.comb(n_columns, shorter) for shorter in range(most - 2))
    return 8.0 * n_scores * n_columns**2 * (kept + 2.0 ** (most - 1))


def joint_work(n_directions: int, most: int, n_shifts: int, n_points: int) -> tuple[float, float]:
    """Return seconds and table entries that a draw of joint steps takes at most.

    Parameters
    ----------
    n_directions : int
        Directions, of three steps each.
    most : int
        Columns of a direction.
    n_shifts : int
        Changes of the constant column's weight.
    n_points : int
        Rows of the table at most.
    """
    additions = entries = 0.0
    for depth in range(n_directions + 1):
        left = n_directions - depth
        groups = min(float(n_points), float(most + 1) ** left)
        size = groups * (n_shifts + 2.0 * most * left)
        entries += size
        if left:
            additions += 3.0 ** (depth + 1) * size
    return 2 * additions / ADDITIONS_PER_SECOND, entries
