"""Random directions: columns dealt at random, with random signs, without a look at the points."""

from __future__ import annotations

from collections.abc import Sequence

from oracles.arithmetic import RandomBits

Direction = tuple[tuple[int, int], ...]
"""Columns and their signs, 1 or -1."""


def deal_directions(
    columns: Sequence[int], n_directions: int, most: int, bits: RandomBits
) -> tuple[Direction, ...]:
    """Return directions without a common column; which columns and signs is up to the coins.

    Parameters
    ----------
    columns : sequence of int
        What is dealt; those left over when every direction is full are left out.
    n_directions : int
        How many directions, fewer if there are fewer columns.
    most : int
        Most columns of one direction.
    bits : RandomBits
        The coins: every order and every choice of signs is equally likely.
    """
    left = list(columns)
    n = min(n_directions, len(left))
    hands: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    for k in range(min(len(left), n * most)):
        column = left.pop(bits.below(len(left)))
        hands[k % n].append((column, 1 if bits.below(2) else -1))
    return tuple(tuple(hand) for hand in hands)
