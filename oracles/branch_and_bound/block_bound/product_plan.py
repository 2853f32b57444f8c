"""Plans for pricing a block as a product: outer and inner columns, contexts by what they use."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oracles.arithmetic import IntArray
from oracles.branch_and_bound.arrays import Model
from oracles.branch_and_bound.block_bound.arrays import BlockArrays, MediumArray, ShortArray
from oracles.branch_and_bound.block_bound.states import States

LANES = 32
"""Inner states are padded to a multiple."""

_MOST_INNER = 256

_MOST_CELLS = 2**23
"""Entries of all parts' tables; larger plans are not made."""

_WORTH_IT = 0.7
"""Part of the work of pricing state by state that a plan may take."""


class ProductArrays(NamedTuple):
    """A block's joint values as outer times inner ones.

    A context's cost depends on the columns of its patterns only. So contexts that use the same
    outer columns form a *part*, whose table has one row for each joint value of those columns.

    Parameters
    ----------
    values : ndarray of shape (outer, k) int64
        Weights of each outer column's values that some state has.
    sizes : ndarray of shape (outer,) int64
        How many values each outer column has.
    scores : ndarray of shape (patterns, inner) int16
        Score of each pattern's inner columns, padded.
    lowest, highest : ndarray of shape (patterns,) int64
        The least and the largest of those scores.
    outer_at, outer_place, outer_coef : ndarray of int64
        Entries of pattern ``p`` in outer columns, from ``outer_at[p]`` onwards.
    part_at, context : ndarray of int64
        Contexts of part ``g`` are ``context[part_at[g]]`` onwards.
    column_at, column : ndarray of int64
        Outer columns that part ``g`` uses, ascending, from ``column_at[g]`` onwards.
    row_at : ndarray of int64
        Rows of part ``g``'s table are at ``row_at[g]`` onwards.
    by_depth : ndarray of shape (outer + 2,) int64
        Parts whose last outer column is ``t - 1`` are at ``by_depth[t]`` onwards.
    place : ndarray of shape (n,) int64
        Where each state is in the table of all joint values.
    """

    values: IntArray
    sizes: IntArray
    scores: ShortArray
    lowest: IntArray
    highest: IntArray
    outer_at: IntArray
    outer_place: IntArray
    outer_coef: IntArray
    part_at: IntArray
    context: IntArray
    column_at: IntArray
    column: IntArray
    row_at: IntArray
    by_depth: IntArray
    place: IntArray


class ProductScratch(NamedTuple):
    """Working memory for pricing by one plan."""

    rows: MediumArray
    joint: MediumArray
    so_far: MediumArray
    digits: IntArray
    outside: IntArray
    sums: MediumArray
    best: MediumArray


def new_product_scratch(plan: ProductArrays, n_cells: int) -> ProductScratch:
    """Return working memory for a plan of a block of so many cells."""
    width, n_outer = plan.scores.shape[1], len(plan.sizes)
    return ProductScratch(
        rows=np.empty((int(plan.row_at[-1]), width), dtype=np.int32),
        joint=np.empty(int(np.prod(plan.sizes)) * width, dtype=np.int32),
        so_far=np.empty((n_outer + 1, width), dtype=np.int32),
        digits=np.zeros(n_outer, dtype=np.int64),
        outside=np.zeros(n_cells, dtype=np.int64),
        sums=np.zeros(width, dtype=np.int32),
        best=np.zeros(width, dtype=np.int32),
    )


def plan_product(
    model: Model, states: States, arrays: BlockArrays, *, always: bool = False
) -> ProductArrays | None:
    """Return a plan for the block's states; None if state by state is about as fast.

    With ``always`` small blocks get one too.
    """
    n, k = states.size, len(states.coords)
    if n == 0 or len(arrays.n_levels) == 0 or (n < 4 * _MOST_INNER and not always):
        return None
    n_patterns = len(arrays.pattern_at) - 1
    used = np.zeros((n_patterns, k), dtype=bool)
    of = np.repeat(np.arange(n_patterns), np.diff(arrays.pattern_at))
    used[of, arrays.pattern_coord] = True
    cells = np.diff(arrays.context_at)
    touched = np.logical_or.reduceat(used[arrays.pattern], arrays.context_at[:-1], axis=0)
    work = (cells * arrays.n_levels).astype(float)
    held = [np.bincount(row) > 0 for row in states.positions]
    sizes = np.array([row.sum() for row in held], dtype=np.int64)
    # Columns that much work depends on vary fastest; the last outer ones matter least.
    order = np.argsort(-(work @ touched), kind="stable")
    n_inner, inner = 1, []
    for i in order.tolist():
        if n_inner * sizes[i] <= _MOST_INNER:
            inner.append(i)
            n_inner *= int(sizes[i])
    outer = [i for i in order.tolist() if i not in inner]
    width = -(-n_inner // LANES) * LANES
    rows = np.prod(np.where(touched[:, outer], sizes[outer], 1).astype(float), axis=1)
    everything = float(np.prod(sizes[outer].astype(float))) * width
    planned = float(rows @ work) * width + 8 * everything
    as_listed = n * float(work.sum())
    if everything > _MOST_CELLS or (planned > _WORTH_IT * as_listed and not always):
        return None
    place, inside = np.zeros((2, n), dtype=np.int64)
    for i in outer:
        place = place * sizes[i] + (np.cumsum(held[i]) - 1)[states.positions[i]]
    for i in inner:
        inside = inside * sizes[i] + (np.cumsum(held[i]) - 1)[states.positions[i]]
    place = place * width + inside
    weights = [
        model.values[j, : len(row)][row] for j, row in zip(states.coords, held, strict=True)
    ]
    return _arrays(arrays, weights, outer, inner, touched[:, outer], width, place)


def _arrays(
    arrays: BlockArrays,
    weights: list[IntArray],
    outer: list[int],
    inner: list[int],
    touched: np.ndarray,
    width: int,
    place: IntArray,
) -> ProductArrays | None:
    sizes = np.array([len(row) for row in weights], dtype=np.int64)
    n_patterns = len(arrays.pattern_at) - 1
    of = np.repeat(np.arange(n_patterns), np.diff(arrays.pattern_at))
    coef = np.zeros((n_patterns, len(sizes)), dtype=np.int64)
    coef[of, arrays.pattern_coord] = arrays.pattern_coef
    inside = np.zeros((len(inner), width), dtype=np.int64)
    n_inner = int(np.prod(sizes[inner]))
    repeat = n_inner
    for row, i in zip(inside, inner, strict=True):
        repeat //= int(sizes[i])
        run = np.repeat(weights[i], repeat)
        row[:n_inner] = np.tile(run, n_inner // len(run))
        row[n_inner:] = row[0]
    scores = coef[:, inner] @ inside
    rows, columns = np.nonzero(coef[:, outer])
    keys = touched @ (1 << np.arange(len(outer), dtype=np.int64))
    found, part = np.unique(keys, return_inverse=True)  # ascending: by the last outer column
    part = part.ravel()
    parts = (found[:, None] >> np.arange(len(outer))) & 1 == 1
    of_part, column = np.nonzero(parts)
    n_rows = np.prod(np.where(parts, sizes[outer], 1), axis=1)
    if float(n_rows.sum()) * width > _MOST_CELLS:
        return None
    depth = np.array([int(key).bit_length() for key in found], dtype=np.int64)
    values = np.zeros((len(outer), int(sizes.max())), dtype=np.int64)
    for row, i in zip(values, outer, strict=True):
        row[: sizes[i]] = weights[i]
    return ProductArrays(
        values=values,
        sizes=sizes[outer],
        scores=scores.astype(np.int16),
        lowest=scores.min(axis=1),
        highest=scores.max(axis=1),
        outer_at=np.searchsorted(rows, np.arange(n_patterns + 1)).astype(np.int64),
        outer_place=columns.astype(np.int64),
        outer_coef=coef[:, outer][rows, columns],
        part_at=np.searchsorted(np.sort(part), np.arange(len(found) + 1)).astype(np.int64),
        context=np.argsort(part, kind="stable").astype(np.int64),
        column_at=np.searchsorted(of_part, np.arange(len(found) + 1)).astype(np.int64),
        column=column.astype(np.int64),
        row_at=np.concatenate([[0], np.cumsum(n_rows)]).astype(np.int64),
        by_depth=np.searchsorted(depth, np.arange(len(outer) + 2)).astype(np.int64),
        place=place,
    )
