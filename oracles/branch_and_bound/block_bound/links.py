"""Links between blocks: charges for columns' values that cancel when the blocks agree.

Each column's own cost is split among the blocks that hold it, and a context of a block charges
the columns outside the block for the part that it takes their values to play in its score. What a
context charges to a value is credited to the column's *home*, a block that holds it, so that for
every hypothesis all charges and credits add up to the column's own cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oracles.arithmetic import BoolArray, IntArray
from oracles.branch_and_bound.block_bound.arrays import (
    LARGEST_SUM,
    BlockArrays,
    FloatArray,
    LinkArrays,
    MediumArray,
)
from oracles.branch_and_bound.block_bound.link_kernels import add_up, charge_levels

WIDEST_LINK = 256
"""Contexts whose outside score takes more values have no links."""

_LARGEST_LINKS = LARGEST_SUM // 4


@dataclass(slots=True)
class BlockLinks:
    """Links of one block, as the ascent moves them.

    Parameters
    ----------
    coords : tuple of int
        The block's coordinates.
    arrays : LinkArrays
        Columns outside the block that its contexts charge.
    message : ndarray of shape (links, k) float64
        What each link charges for each value, share units.
    table : ndarray of shape (coordinates, k) float64
        What the block pays for the values of its own columns; of columns at home here it follows
        from the rest.
    """

    coords: tuple[int, ...]
    arrays: LinkArrays
    message: FloatArray
    table: FloatArray


@dataclass(frozen=True, slots=True)
class PricedLinks:
    """Links of one block as integers: messages, tables, and what contexts charge thresholds."""

    message: MediumArray
    table: MediumArray
    cost: MediumArray


@dataclass(slots=True)
class Links:
    """Links of all blocks of a node.

    Parameters
    ----------
    values : ndarray of shape (d, k) int64
        Weights of the grid.
    allowed : ndarray of shape (d, k) bool
        The node's domain.
    own : ndarray of shape (d, k) int64
        What the columns' values cost themselves, share units, rounded down.
    home : ndarray of shape (d,) int64
        Block that has what other blocks leave of a column's cost; -1 for columns in no block.
    blocks : list of BlockLinks
        By block.
    """

    values: IntArray
    allowed: BoolArray
    own: IntArray
    home: IntArray
    blocks: list[BlockLinks]

    def priced(self, arrays: Sequence[BlockArrays], work: IntArray) -> list[PricedLinks]:
        """Return the links rounded, every home's tables making up for the rest."""
        while True:
            messages = [np.rint(block.message).astype(np.int32) for block in self.blocks]
            tables = [np.rint(block.table).astype(np.int64) for block in self.blocks]
            elsewhere = np.zeros(self.own.shape, dtype=np.int64)
            for block, message in zip(self.blocks, messages, strict=True):
                add_up(block.arrays, message, elsewhere)
            for b, (block, table) in enumerate(zip(self.blocks, tables, strict=True)):
                for j, row in zip(block.coords, table, strict=True):
                    if self.home[j] != b:
                        elsewhere[j] += row
            for b, (block, table) in enumerate(zip(self.blocks, tables, strict=True)):
                for j, row in zip(block.coords, table, strict=True):
                    if self.home[j] == b:
                        row[:] = np.where(self.allowed[j], self.own[j] - elsewhere[j], 0)
            if all(_is_small(t) for t in tables) and all(_is_small(m) for m in messages):
                break
            for block in self.blocks:
                block.message *= 0.5
                block.table *= 0.5
        result = []
        for block, of, message, table in zip(self.blocks, arrays, messages, tables, strict=True):
            levels = int(of.n_levels.max(initial=1))
            cost = np.zeros((len(of.n_levels), levels), dtype=np.int32)
            if len(block.arrays.coord):
                charge_levels(of, block.arrays, message, self.values, self.allowed, work, cost)
            result.append(PricedLinks(message, table.astype(np.int32), cost))
        return result

    def keep(self, priced: Sequence[PricedLinks]) -> None:
        """Set the links to what was priced."""
        for block, links in zip(self.blocks, priced, strict=True):
            block.message = links.message.astype(np.float64)
            block.table = links.table.astype(np.float64)

    @property
    def most_links(self) -> int:
        """Most links of a context."""
        return max((int(np.diff(b.arrays.at).max(initial=0)) for b in self.blocks), default=0)


def _is_small(amounts: IntArray | MediumArray) -> bool:
    return float(np.abs(amounts).max(axis=1, initial=0).sum()) < _LARGEST_LINKS


def new_links(
    values: IntArray,
    allowed: BoolArray,
    own: IntArray,
    coords: Sequence[tuple[int, ...]],
    arrays: Sequence[LinkArrays],
) -> Links:
    """Return links that charge nothing: every column's cost is split evenly among its blocks."""
    d, width = values.shape
    home = np.full(d, -1, dtype=np.int64)
    held = np.zeros(d)
    for b, columns in enumerate(coords):
        for j in columns:
            held[j] += 1
            home[j] = b if home[j] < 0 else home[j]
    blocks = [
        BlockLinks(
            columns,
            links,
            np.zeros((len(links.coord), width)),
            own[list(columns)] / held[list(columns), None],
        )
        for columns, links in zip(coords, arrays, strict=True)
    ]
    return Links(values, allowed, own, home, blocks)


def inherit(
    links: Links,
    old: Links,
    sources: Sequence[Sequence[int]],
    old_arrays: Sequence[BlockArrays],
    arrays: Sequence[BlockArrays],
    where: IntArray,
) -> None:
    """Take over a node's links in part of it.

    Parameters
    ----------
    links, arrays
        The part's, changed in place.
    old, old_arrays
        The node's.
    sources : sequence of sequence of int
        The node's blocks that each block of the part was made of.
    where : ndarray of int64
        The part's point that each of the node's points went to, or -1.
    """
    n_points = 1 + int(where.max(initial=-1))
    for block, made_of, of in zip(links.blocks, sources, arrays, strict=True):
        block.table[:] = 0
        place = {j: i for i, j in enumerate(block.coords)}
        context = np.full(n_points, -1, dtype=np.int64)
        context[of.point] = np.repeat(np.arange(len(of.n_levels)), np.diff(of.context_at))
        for u in made_of:
            theirs = old.blocks[u]
            for j, row in zip(theirs.coords, theirs.table, strict=True):
                if j in place:
                    block.table[place[j]] += row
            # What contexts charged to a column that is inside now, the block pays itself.
            for j in set(theirs.arrays.coord.tolist()) & set(block.coords):
                block.table[place[j]] += theirs.message[theirs.arrays.coord == j].sum(axis=0)
            _inherit_messages(block, theirs, old_arrays[u], where, context)


def _inherit_messages(
    block: BlockLinks, old: BlockLinks, arrays: BlockArrays, where: IntArray, context: IntArray
) -> None:
    """Add the messages of contexts of which a point is left, to columns that are still outside."""
    if len(old.arrays.coord) == 0 or len(block.arrays.coord) == 0:
        return
    n_old = len(arrays.n_levels)
    went = where[arrays.point]
    left = np.where(went >= 0, context[went], -1)
    of = np.repeat(np.arange(n_old), np.diff(arrays.context_at))
    new = np.full(n_old, -1, dtype=np.int64)
    new[of[left >= 0]] = left[left >= 0]
    width = 1 + int(max(old.arrays.coord.max(), block.arrays.coord.max()))
    known = np.repeat(np.arange(len(block.arrays.at) - 1), np.diff(block.arrays.at))
    known = known * width + block.arrays.coord
    wanted = new[np.repeat(np.arange(n_old), np.diff(old.arrays.at))]
    found = wanted * width + old.arrays.coord
    at = np.minimum(np.searchsorted(known, found), len(known) - 1)
    hit = (wanted >= 0) & (known[at] == found)
    np.add.at(block.message, at[hit], old.message[hit])
