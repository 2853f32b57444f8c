"""Which totals a released scorecard can give, and the public groups of them that are counted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from oracles.arithmetic import IntArray
    from oracles.problem import ColumnGroup, Hypothesis

Bins = tuple[tuple[int, int], ...]
"""(lowest, highest) totals of each group, in order."""


def possible_totals(card: Hypothesis, structure: Iterable[ColumnGroup]) -> list[int]:
    """Return every total that an encoded row can have, in order.

    Features are taken one by one: of two that read the same raw column, totals that no row has
    may be among them.

    Parameters
    ----------
    card : tuple of int
        Weights, the intercept first.
    structure : iterable of ColumnGroup
        What the schema says of the columns; each column is in one group.

    Notes
    -----
    **Guarantee.** A function of the released card and public facts.
    """
    low, reached = card[0], 1  # bit k stands for the total low + k
    for group in structure:
        sums = _sums([card[column] for column in group.columns], group.kind)
        least = min(sums)
        low, before, reached = low + least, reached, 0
        for value in sums:
            reached |= before << (value - least)
    return [low + k for k, bit in enumerate(reversed(f"{reached:b}")) if bit == "1"]


def _sums(points: list[int], kind: str) -> set[int]:
    """Return what the columns of one group can add."""
    if kind == "exclusive":
        return {0, *points}
    if kind == "nested":  # thresholds: the first few are reached
        return {0, *np.cumsum(points).tolist()}
    sums = {0}
    for value in points:
        sums |= {value + other for other in sums}
    return sums


def bin_totals(totals: Sequence[int], most: int) -> Bins:
    """Return groups of neighbouring totals, at most so many; none mixes both predictions.

    Parameters
    ----------
    totals : sequence of int
        Possible ones, in order.
    most : int
        At least 2.
    """
    sides = [
        side for side in ([t for t in totals if t < 1], [t for t in totals if t >= 1]) if side
    ]
    if len(totals) <= most:
        parts = [[total] for total in totals]
    else:
        first = round(most * len(sides[0]) / len(totals))
        first = most if len(sides) == 1 else min(max(first, 1), most - 1)
        counts = (first, most - first)
        parts = [
            part.tolist()
            for side, count in zip(sides, counts, strict=False)
            for part in np.array_split(np.array(side), min(count, len(side)))
        ]
    return tuple((part[0], part[-1]) for part in parts)


def count_by_bin(
    totals: IntArray, positives: IntArray, negatives: IntArray, bins: Bins
) -> IntArray:
    """Return how many rows of each label each group has, shape (2, n_bins), negatives first."""
    where = np.searchsorted([high for _, high in bins[:-1]], totals)
    counts = np.zeros((2, len(bins)), dtype=np.int64)
    np.add.at(counts[0], where, negatives)
    np.add.at(counts[1], where, positives)
    return counts
