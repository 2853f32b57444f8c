"""Arrays of the exact search: the reduced problem, the stack of nodes and its arena.

A node's lower bound is kept as a *reparametrisation*: every hypothesis of the node costs

    base + sum over open coordinates j of theta[j, w_j] + sum over factors of phi(w),

and every ``phi`` is non-negative. A *factor* is a group of points (all that agree on the
coordinates still open, so that what they cost is a function of one unknown sum), a block of the
perturbation, or the squared norm. A factor's ``phi`` is its own cost minus the messages that it
has sent to the tables ``theta``, so nothing is ever counted twice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oracles.arrays import BoolArray, IntArray

INFINITE = 2**61
"""Cost of what is not allowed. Every finite cost stays below 2**59."""

WIDEST_SUM = 2048
"""Largest range of a factor's sum that is tabulated; wider factors get a weaker bound."""


class Model(NamedTuple):
    """What is constant during a search. Costs are internal: objective steps times ``scale``.

    Parameters
    ----------
    values : ndarray of shape (d, k) int64
        Allowed weights of each coordinate, padded.
    n_values : ndarray of shape (d,) int64
        Number of allowed weights.
    keys : ndarray of shape (d,) int64
        Random multipliers for hashing sets of open coordinates (equality is checked as well).
    block_start, block_coord, block_stride, block_at, block_cost : ndarray of int64
        Blocks of several coordinates: members of block ``b`` are at ``block_start[b]`` onwards,
        its costs at ``block_at[b]`` onwards.
    norm_cost : ndarray of int64
        Cost of each squared norm, ``INFINITE`` beyond the budget; empty if there is none.
    scale : int
        Internal units per objective step.
    """

    values: IntArray
    n_values: IntArray
    keys: IntArray
    block_start: IntArray
    block_coord: IntArray
    block_stride: IntArray
    block_at: IntArray
    block_cost: IntArray
    norm_cost: IntArray
    scale: int


class Arena(NamedTuple):
    """Groups of points of all nodes on the stack, each node's after its parent's.

    Group ``g`` costs ``constant[g]`` plus, for each of its cells, what a prediction "+" costs more
    than "-" (``cell_cost``) if its partial score plus the group's open sum is at least 1.
    """

    constant: IntArray
    key: IntArray
    cell_at: IntArray
    n_cells: IntArray
    entry_at: IntArray
    n_entries: IntArray
    cell_score: IntArray
    cell_cost: IntArray
    entry_coord: IntArray
    entry_coef: IntArray
    message: IntArray


class Frames(NamedTuple):
    """The nodes on the stack, one row each."""

    base: IntArray
    bound: IntArray
    reached: IntArray
    group_at: IntArray
    group_end: IntArray
    cell_end: IntArray
    entry_end: IntArray
    theta: IntArray
    domain: BoolArray
    fixed: BoolArray
    block_message: IntArray
    block_done: BoolArray
    norm_message: IntArray
    n_children: IntArray
    next_child: IntArray
    child_coord: IntArray
    child_low: IntArray
    child_high: IntArray
    child_bound: IntArray


class Scratch(NamedTuple):
    """Working memory of one search."""

    n_allowed: IntArray
    shift: IntArray
    offset: IntArray
    lam: IntArray
    allowed: IntArray
    marginal: IntArray
    width: IntArray
    forward: IntArray
    backward: IntArray
    terminal: IntArray
    least: IntArray
    weight: IntArray
    gained: IntArray
    tries: IntArray
    slot_group: IntArray
    slot_stamp: IntArray
    target: IntArray
    moved: IntArray
    members: IntArray
    least_lam: IntArray
    best: IntArray
    candidate: IntArray


def new_arena(n_groups: int, n_cells: int, n_entries: int, width: int) -> Arena:
    """Return an arena with room for so many groups, cells and entries of ``width`` messages."""
    groups = [np.zeros(n_groups, dtype=np.int64) for _ in range(6)]
    cells = [np.zeros(n_cells, dtype=np.int64) for _ in range(2)]
    entries = [np.zeros(n_entries, dtype=np.int64) for _ in range(2)]
    widths = np.zeros((n_entries, width), dtype=np.int64)
    return Arena._make([*groups, *cells, *entries, widths])


def grown(arena: Arena) -> Arena:
    """Return a copy of the arena with twice the room."""
    return Arena(*[np.concatenate([array, np.zeros_like(array)]) for array in arena])


def new_frames(depth: int, n_features: int, width: int, n_blocks: int) -> Frames:
    """Return an empty stack for ``depth`` nodes."""

    def integers(*shape: int) -> IntArray:
        return np.zeros(shape, dtype=np.int64)

    return Frames(
        base=integers(depth),
        bound=integers(depth),
        reached=integers(depth),
        group_at=integers(depth),
        group_end=integers(depth),
        cell_end=integers(depth),
        entry_end=integers(depth),
        theta=integers(depth, n_features, width),
        domain=np.zeros((depth, n_features, width), dtype=np.bool_),
        fixed=np.zeros((depth, n_features), dtype=np.bool_),
        block_message=integers(depth, n_features, width),
        block_done=np.zeros((depth, n_blocks + 1), dtype=np.bool_),
        norm_message=integers(depth, n_features, width),
        n_children=integers(depth),
        next_child=integers(depth),
        child_coord=integers(depth),
        child_low=integers(depth, width),
        child_high=integers(depth, width),
        child_bound=integers(depth, width),
    )


def new_scratch(n_features: int, width: int, n_groups: int) -> Scratch:
    """Return working memory for problems of these sizes."""

    def integers(*shape: int) -> IntArray:
        return np.zeros(shape, dtype=np.int64)

    slots = 1 << max(4, (2 * n_groups).bit_length())
    d = n_features
    return Scratch(
        n_allowed=integers(d + 1),
        shift=integers(d + 1),
        offset=integers(d + 1, width),
        lam=integers(d + 1, width),
        allowed=integers(d + 1, width),
        marginal=integers(d + 1, width),
        width=integers(d + 2),
        forward=integers(d + 2, WIDEST_SUM + 1),
        backward=integers(2, WIDEST_SUM + 1),
        terminal=integers(WIDEST_SUM + 1),
        least=integers(d),
        weight=integers(d),
        gained=integers(d),
        tries=integers(d),
        slot_group=integers(slots),
        slot_stamp=integers(slots + 1),
        target=integers(n_groups + 1),
        moved=integers(n_groups + 1),
        members=integers(d + 1),
        least_lam=integers(d + 1),
        best=integers(d),
        candidate=integers(d),
    )
