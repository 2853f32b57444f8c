"""Points of a node: those that its fixed columns leave undecided, equal ones merged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oracles.arithmetic import BoolArray, IntArray
from oracles.branch_and_bound.arrays import Model
from oracles.branch_and_bound.block_bound.arrays import FloatArray, ShortArray
from oracles.branch_and_bound.reduction import Reduction, value_ranges

LARGEST_SCORE = 2**13
"""Scores stay below this, so that 16 bits suffice."""


@dataclass(frozen=True, slots=True)
class Cells:
    """Undecided points of a node.

    Parameters
    ----------
    points : ndarray of shape (n, d) int16
        Entries of the columns that are still free; 0 elsewhere.
    costs : ndarray of shape (n,) int64
        What predicting "+" costs more than predicting "-", internal units.
    offsets : ndarray of shape (n,) int64
        Scores of the fixed columns.
    constant : int
        Cost of every hypothesis of the node as far as points decide it, if every undecided point
        were predicted "-".
    """

    points: ShortArray
    costs: IntArray
    offsets: IntArray
    constant: int


def takes(reduction: Reduction) -> bool:
    """Return whether the block bound's arithmetic holds the problem's scores."""
    if len(reduction.points) == 0:
        return False
    reach = np.abs(reduction.points) @ np.abs(reduction.model.values).max(axis=1)
    return bool(reach.max() < LARGEST_SCORE)


def cells_of(reduction: Reduction) -> Cells:
    """Return the points of the whole box."""
    costs = reduction.costs
    constant = reduction.base + int(np.maximum(-costs, 0).sum())
    return Cells(
        reduction.points.astype(np.int16), costs, np.zeros(len(costs), np.int64), constant
    )


def score_ranges(
    points: IntArray, least: IntArray, largest: IntArray
) -> tuple[IntArray, IntArray]:
    """Return the least and the largest score of every point."""
    plus: IntArray = np.maximum(points, 0)
    minus: IntArray = np.minimum(points, 0)
    return plus @ least + minus @ largest, plus @ largest + minus @ least


def narrowed(cells: Cells, model: Model, domain: BoolArray) -> tuple[Cells, IntArray]:
    """Fix single-valued columns, drop decided points and merge equal ones.

    Returns
    -------
    Cells
        What is left.
    ndarray of int64
        Where each of the old points went, -1 for those that are decided.
    """
    least, largest = value_ranges(model, domain)
    fixed = domain.sum(axis=1) == 1
    points = cells.points.astype(np.int64)
    offsets = cells.offsets + points[:, fixed] @ least[fixed]
    points[:, fixed] = 0
    low, high = score_ranges(points, least, largest)
    positive = offsets + low >= 1
    undecided = ~positive & (offsets + high >= 1)
    constant = cells.constant + int(cells.costs[positive].sum())
    points, offsets, costs = points[undecided], offsets[undecided], cells.costs[undecided]
    where = np.full(len(undecided), -1, dtype=np.int64)
    if len(points) == 0:
        return Cells(points.astype(np.int16), costs, offsets, constant), where
    first, group = alike(points, points @ model.keys, offsets)
    where[undecided] = group
    merged = np.zeros(len(first), dtype=np.int64)
    np.add.at(merged, group, costs)
    return Cells(points[first].astype(np.int16), merged, offsets[first], constant), where


def alike(
    rows: NDArray[np.integer], keys: IntArray, extra: IntArray | None = None
) -> tuple[IntArray, IntArray]:
    """Return the first member of every class of equal rows, and each row's class.

    ``keys`` are hashes of the rows; rows of one key are compared, so a collision costs time only.
    """
    if extra is not None:
        rows = np.column_stack([rows, extra])
        keys = keys + extra * 0x5851F42D4C957F2D
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    group = group.ravel()
    if not np.array_equal(rows[first][group], rows):
        _, first, group = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        group = group.ravel()
    return first.astype(np.int64), group.astype(np.int64)


def spread(where: IntArray, amounts: FloatArray, n: int) -> FloatArray:
    """Add up amounts of old points at the points they went to."""
    kept = where >= 0
    return np.bincount(where[kept], weights=amounts[kept], minlength=n).astype(np.float64)
