"""Arrays of the exact search: the reduced problem, the stack of nodes and its arena.

A node's lower bound is kept as a *reparametrisation*: every hypothesis of the node costs

    base + sum over open coordinates j of theta[j, w_j] + sum over factors of phi(w),

and every ``phi`` is non-negative, so that

    base + sum over open coordinates j of min over a of theta[j, a]

is a lower bound. A *factor* is a group of points (all that agree on the coordinates still open, so
that what they cost is a function of one unknown sum), a block of the perturbation, or the squared
norm. A factor's ``phi`` is its own cost minus the messages that it has sent to the tables
``theta``, so nothing is ever counted twice.

Shapes below: ``d`` coordinates, ``k`` the largest number of values of a coordinate, ``B`` blocks
of several coordinates. A *position* is the index of a value among its coordinate's allowed ones.
Costs are in *internal units*: ``scale`` of them make one step of the objective. A *score* is a
sum of point entries times weights.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from oracles.arithmetic import BoolArray, IntArray

ShortArray = NDArray[np.int32]

INFINITE = 2**61
"""Cost of what is not allowed. Every finite cost stays below 2**59."""

WIDEST_SUM = 2048
"""Largest range of a factor's sum that is tabulated; wider factors get a weaker bound."""


class Model(NamedTuple):
    """What is constant during a search. Costs are internal: objective steps times ``scale``.

    Parameters
    ----------
    values : ndarray of shape (d, k), int64
        Allowed weights of each coordinate, ascending, padded with 0.
    n_values : ndarray of shape (d,), int64
        Number of allowed weights.
    keys : ndarray of shape (d,), int64
        Random odd multipliers for hashing sets of open coordinates (equality is checked as well).
    block_start : ndarray of shape (B + 1,), int64
        Members of block ``b`` are at ``block_start[b] .. block_start[b + 1] - 1``.
    block_coord : ndarray of shape (members,), int64
        Coordinate of each member, block after block.
    block_stride : ndarray of shape (members,), int64
        By how many entries the block's costs move when the member moves one position.
    block_at : ndarray of shape (B,), int64
        Place of each block's first cost.
    block_cost : ndarray of shape (entries of all blocks,), int64
        Cost of each assignment of each block, internal units; least 0 in each block.
    norm_cost : ndarray of shape (largest norm + 1,), int64
        Cost of each squared norm, internal units, least 0, ``INFINITE`` for what is not allowed;
        norms beyond the array are not allowed either. Empty if the norm does not matter.
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

    A cell is all points of a group that have one partial score. It is predicted "+" if that score
    plus the group's open sum is at least 1. Group ``g`` costs ``constant[g]`` plus, for each of
    its cells, ``max(cost, 0)`` if that is predicted "+" and ``max(-cost, 0)`` if "-". Shapes:
    ``G`` groups, ``C`` cells and ``E`` entries have room; what is in use says ``Frames``.

    Parameters
    ----------
    constant : ndarray of shape (G,), int64
        Cost of the group whatever is predicted, internal units.
    key : ndarray of shape (G,), int64
        Hash of the open entries: the sum of ``keys[j]`` times the coefficient, modulo 2**64.
    cell_at, n_cells : ndarray of shape (G,), int64
        Place of the group's first cell, and how many it has.
    entry_at, n_entries : ndarray of shape (G,), int64
        Place of the group's first entry, and how many it has: its open coordinates.
    cell_score : ndarray of shape (C,), int64
        Partial score over the coordinates that are fixed; ascending within a group.
    cell_cost : ndarray of shape (C,), int64
        What a prediction "+" costs more than "-", internal units.
    entry_coord, entry_coef : ndarray of shape (E,), int64
        Coordinate, and what its weight is multiplied by in the points' scores.
    message : ndarray of shape (E, k), int64
        What the group has added to ``theta`` of the coordinate, per position, internal units.
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
    """The nodes on the stack, one row each.

    Shapes: ``T`` nodes have room, the root is row 0.

    Parameters
    ----------
    base : ndarray of shape (T,), int64
        Cost of every hypothesis of the node, internal units; fixed coordinates' tables included.
    bound : ndarray of shape (T,), int64
        Lower bound that the node was entered with, internal units.
    reached : ndarray of shape (T,), int64
        Lower bound after its sharing passes, internal units.
    group_at, group_end : ndarray of shape (T,), int64
        First of the node's groups in the arena, and one past the last.
    cell_end, entry_end : ndarray of shape (T,), int64
        One past the node's last cell, and its last entry, in the arena.
    theta : ndarray of shape (T, d, k), int64
        Cost of each position of each coordinate with all messages, internal units.
    domain : ndarray of shape (T, d, k), bool
        Which positions the node's hypotheses may have.
    fixed : ndarray of shape (T, d), bool
        Whether one position is left and its table entry is in ``base``.
    block_message : ndarray of shape (T, d, k), int64
        What the coordinate's block has added to ``theta``, internal units.
    block_done : ndarray of shape (T, B + 1), bool
        Whether all members of the block are fixed and its cost is in ``base``; the last entry is
        for the norm.
    norm_message : ndarray of shape (T, d, k), int64
        What the norm has added to ``theta``, internal units.
    n_children, next_child : ndarray of shape (T,), int64
        How many children the node has, and which one is visited next.
    child_coord : ndarray of shape (T,), int64
        Coordinate that is branched on; -1 where the only child is the whole node.
    child_low, child_high : ndarray of shape (T, k), int64
        First and last position of that coordinate in each child.
    child_bound : ndarray of shape (T, k), int64
        Lower bound of each child, ascending, internal units.
    """

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
    """Working memory of one search.

    What is per *member* lists the open coordinates of the factor that shares out at the moment.
    A member's *values* are its allowed ones, numbered from 0. ``S`` is ``WIDEST_SUM + 1``.

    Parameters
    ----------
    n_allowed : ndarray of shape (d + 1,), int64
        Number of values of each member.
    shift : ndarray of shape (d + 1,), int64
        Least contribution of each member to the factor's sum; in a block's turn the value that
        each member has in the assignment looked at.
    offset : ndarray of shape (d + 1, k), int64
        What each value adds to the factor's sum above that least one; in a block's turn, entries
        of the block's costs.
    lam : ndarray of shape (d + 1, k), int64
        Member's table without the factor's message, per value, internal units. Where nodes are
        weighed for completion: tables without the points' messages, per coordinate and position.
    allowed : ndarray of shape (d + 1, k), int64
        Position of each value.
    marginal : ndarray of shape (d + 1, k), int64
        Share of each value in what is shared out, internal units.
    width : ndarray of shape (d + 2,), int64
        Number of sums that the first members can reach, from 0.
    forward : ndarray of shape (d + 2, S), int64
        ``forward[i, v]``: least cost of the factor and of members ``i`` onwards if the members
        before add up to ``v``, internal units.
    backward : ndarray of shape (2, S), int64
        Least of what the members before keep, per sum of theirs, internal units; the two rows
        take turns.
    terminal : ndarray of shape (S,), int64
        Cost of the factor for each sum, internal units. Where nodes are weighed for completion:
        numbers of hypotheses.
    least : ndarray of shape (d,), int64
        Least entry of each coordinate's table, internal units; 0 if it is fixed.
    weight : ndarray of shape (d,), int64
        Cost of undecided cells that depend on each coordinate, internal units.
    gained : ndarray of shape (d,), int64
        Parts of gaps closed by branching on each coordinate, added up, thousandths.
    tries : ndarray of shape (d,), int64
        How many children these came from.
    slot_group : ndarray of shape (slots,), int64
        Hash table of a child's groups: group in the arena. The number of slots is a power of 2.
    slot_stamp : ndarray of shape (slots + 1,), int64
        Number of the child that each slot is of; the last entry is that of the current child.
    target : ndarray of shape (n_groups + 1,), int64
        Child's group that each of the parent's groups goes into; -1 for none.
    moved : ndarray of shape (n_groups + 1,), int64
        What the coordinates just fixed add to the scores of each of the parent's groups.
    members : ndarray of shape (d + 1,), int64
        Coordinate of each member of a block or the norm.
    least_lam : ndarray of shape (d + 1,), int64
        Least entry of each row of ``lam``, internal units.
    best : ndarray of shape (d,), int64
        Positions of the best hypothesis found.
    candidate : ndarray of shape (d,), int64
        Positions of the hypothesis that is tried; while a child is made, the position of each
        coordinate just fixed, -1 for others.
    """

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
