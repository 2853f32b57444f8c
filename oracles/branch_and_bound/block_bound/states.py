"""States of a block: the joint values of its coordinates that are not excluded yet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oracles.arithmetic import BoolArray, IntArray
from oracles.branch_and_bound.block_bound.arrays import ShortArray

_EXCESS_BITS = 31

_BUCKETS = 512

_SAMPLED = 1000
"""States whose partners are counted to tell how many all have."""


@dataclass(frozen=True, slots=True)
class States:
    """Joint values of some coordinates.

    Parameters
    ----------
    coords : tuple of int
        The coordinates.
    positions : ndarray of shape (k, n) int16
        Positions of the values; each column is one state.
    excess : ndarray of shape (n,) int64
        How far every hypothesis with this state is proved to exceed a common bound, share units.
        Excesses of two blocks with the same common bound add up.
    """

    coords: tuple[int, ...]
    positions: ShortArray
    excess: IntArray

    @property
    def size(self) -> int:
        """Number of states."""
        return int(self.positions.shape[1])

    def chosen(self, kept: BoolArray) -> States:
        """Return some of the states."""
        positions = np.ascontiguousarray(self.positions[:, kept])
        return States(self.coords, positions, self.excess[kept])


def all_states(coords: tuple[int, ...], domain: BoolArray) -> States:
    """Return every combination of the allowed values."""
    allowed = [np.flatnonzero(domain[j]) for j in coords]
    grids = np.meshgrid(*allowed, indexing="ij")
    positions = np.array([g.ravel() for g in grids], dtype=np.int16)
    return States(coords, positions, np.zeros(positions.shape[1], dtype=np.int64))


def within(states: States, domain: BoolArray, slack: int) -> States:
    """Drop states with excluded values or too large an excess, then single-valued coordinates."""
    kept = states.excess < slack
    for i, j in enumerate(states.coords):
        if not domain[j].all():
            kept &= domain[j][states.positions[i]]
    free = [i for i, j in enumerate(states.coords) if domain[j].sum() > 1]
    coords = tuple(states.coords[i] for i in free)
    positions = np.ascontiguousarray(states.positions[free][:, kept])
    return States(coords, positions, states.excess[kept])


def joined_size(left: States, right: States, slack: int) -> int:
    """Return about as many states as the join of two blocks has."""
    if set(left.coords) & set(right.coords):
        every = left.size // _SAMPLED + 1
        some = States(left.coords, left.positions[:, ::every], left.excess[::every])
        return every * int(_partners(some, right, slack)[0].sum())
    width = max(1, slack // _BUCKETS + 1)
    ours = np.bincount(left.excess // width, minlength=_BUCKETS)[:_BUCKETS]
    theirs = np.bincount(right.excess // width, minlength=_BUCKETS)[:_BUCKETS]
    up_to = np.cumsum(theirs)
    return int(ours.astype(np.int64) @ up_to[::-1].astype(np.int64))


def joined(left: States, right: States, slack: int) -> States:
    """Return the states of the union of two blocks that agree with both, excess below slack."""
    counts, first, order = _partners(left, right, slack)
    rows = np.repeat(np.arange(left.size), counts)
    in_run = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    partners = order[np.repeat(first, counts) + in_run]
    extra = [i for i, j in enumerate(right.coords) if j not in left.coords]
    coords = left.coords + tuple(right.coords[i] for i in extra)
    positions = np.concatenate([left.positions[:, rows], right.positions[extra][:, partners]])
    excess = left.excess[rows] + right.excess[partners]
    return States(coords, np.ascontiguousarray(positions, dtype=np.int16), excess)


def _partners(left: States, right: States, slack: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return how many partners each left state has, where they begin, and the partners' order."""
    ours, theirs = _shared_values(left, right)
    most = 2**_EXCESS_BITS - 1
    theirs = theirs * 2**_EXCESS_BITS + np.minimum(right.excess, most)
    order = np.argsort(theirs, kind="stable")
    theirs = theirs[order]
    ours = ours * 2**_EXCESS_BITS
    first = np.searchsorted(theirs, ours, "left")
    last = np.searchsorted(theirs, ours + np.clip(slack - left.excess, 0, most), "left")
    return last - first, first, order


def _shared_values(left: States, right: States) -> tuple[IntArray, IntArray]:
    """Return numbers of the states that are equal where the shared coordinates agree."""
    ours = np.zeros(left.size, dtype=np.int64)
    theirs = np.zeros(right.size, dtype=np.int64)
    room = 2 ** (62 - _EXCESS_BITS)
    for j in left.coords:
        if j not in right.coords:
            continue
        mine, yours = left.positions[left.coords.index(j)], right.positions[right.coords.index(j)]
        width = 1 + int(max(mine.max(initial=0), yours.max(initial=0)))
        room //= width
        if room == 0:  # agreement on fewer coordinates keeps more states, never fewer
            break
        ours = ours * width + mine
        theirs = theirs * width + yours
    return ours, theirs
