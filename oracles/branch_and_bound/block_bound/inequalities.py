"""What the block bound proves of the root, as inequalities that a linear program can hold.

A block ``U`` with shares ``l`` of the points' costs, tables ``t`` and messages has proved, for
every hypothesis ``w`` that is still of interest,

    sum over points x of l_x [w predicts x "+"] + sum over j of t_j(w_j) >= least(j, w_j),

for each of its columns ``j`` on the right: the least ``F_U`` of the states with that value. The
blocks' left-hand sides and what the shares leave add up to the objective.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from oracles.arithmetic import BoolArray, IntArray
from oracles.branch_and_bound.arrays import INFINITE
from oracles.branch_and_bound.block_bound.ascent import (
    Course,
    new_link_work,
    raise_bound,
    rounded_point,
    value_rises,
)
from oracles.branch_and_bound.block_bound.cells import takes
from oracles.branch_and_bound.block_bound.relaxation import Relaxation
from oracles.branch_and_bound.block_bound.tree_nodes import widened
from oracles.branch_and_bound.block_bound.tree_root import root_blocks
from oracles.branch_and_bound.reduction import Reduction, whole_domain

_FIRST = Course(
    n_steps=241, patience=0.015, step=0.024, message_step=0.008, table_step=0.2, temperature=0.4
)
_WIDER = Course(
    n_steps=161,
    every=16,
    patience=0.005,
    step=0.009,
    decay=0.005,
    message_step=0.002,
    table_step=0.05,
    temperature=0.4,
)
_N_WIDER, _N_BLOCKS = 3, 7
_WORK, _FEWEST_STATES, _MOST_STATES = 200_000_000, 3**6, 3**11


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockInequality:
    """One block's inequalities, all amounts in internal units.

    Parameters
    ----------
    points : ndarray of shape (n, d) int64
        Points with a share.
    shares : ndarray of shape (n,) int64
        What the left-hand side adds where a point is predicted "+".
    tables : ndarray of shape (d, k) int64
        What it adds for each value of each column.
    columns : tuple of int
        The block's columns.
    least : ndarray of shape (len(columns), k) int64
        What it comes to at least where a column has a value.
    excluded : ndarray of shape (len(columns), k) bool
        Values that no hypothesis of interest has.
    scale : int
        Internal units per objective step.
    """

    points: IntArray
    shares: IntArray
    tables: IntArray
    columns: tuple[int, ...]
    least: IntArray
    excluded: BoolArray
    scale: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RootProof:
    """What is proved of the whole box.

    Parameters
    ----------
    bound : int
        No hypothesis costs less, internal units.
    inequalities : tuple of BlockInequality
        Every hypothesis that costs at most the incumbent keeps them.
    """

    bound: int
    inequalities: tuple[BlockInequality, ...]


def prove_root(reduction: Reduction, upper: int, stop: Callable[[], bool]) -> RootProof | None:
    """Return what the block bound proves of the root.

    Parameters
    ----------
    reduction : Reduction
        The reduced problem.
    upper : int
        What some hypothesis costs, internal units.
    stop : callable
        Called now and then; True ends it, and what is proved so far is kept.

    Returns
    -------
    RootProof or None
        None where the bound does not apply: tables of several columns, columns with one value,
        large scores, or no time for a first pricing.
    """
    domain = whole_domain(reduction)
    if len(reduction.model.block_at) or not takes(reduction) or domain.sum(axis=1).min() < 2:
        return None
    blocks = root_blocks(reduction, domain)
    if not blocks.units:
        return None
    target = upper + 1  # what costs as much as the incumbent stays
    states = min(_MOST_STATES, max(_FEWEST_STATES, _WORK // max(1, len(blocks.cells.costs))))
    best = blocks.overlapping(states, _N_BLOCKS)
    stopped = raise_bound(best, target, _FIRST, stop)
    for _ in range(_N_WIDER):
        wider = None
        if not stopped and best.bound < target:
            wider = widened(reduction, best, domain, target, _MOST_STATES)
        if wider is None:
            break
        stopped = raise_bound(wider, target, _WIDER, stop)
        if wider.priced > best.priced:
            best = wider
    if best.priced == -INFINITE and best.bound < target:
        return None
    if best.bound >= target:  # nothing costs less than the incumbent
        return RootProof(bound=upper, inequalities=())
    return RootProof(bound=best.priced, inequalities=_inequalities(best))


def _inequalities(node: Relaxation) -> tuple[BlockInequality, ...]:
    """Read the blocks' inequalities off a node whose ascent has ended."""
    point = rounded_point(node, new_link_work(node))
    width = node.model.values.shape[1]
    found = []
    for b, block in enumerate(node.blocks):
        tables = np.zeros(node.model.values.shape, dtype=np.int64)
        np.add.at(tables, list(block.coords), point.links[b].table)
        np.add.at(tables, node.links.blocks[b].arrays.coord, point.links[b].message)
        rises = value_rises(block, block.table, width, INFINITE // node.unit)
        least = int(block.table.min())
        excluded = rises >= INFINITE // node.unit
        shared = point.shares[b] != 0
        found.append(
            BlockInequality(
                points=node.cells.points[block.arrays.point[shared]].astype(np.int64),
                shares=point.shares[b][shared].astype(np.int64) * node.unit,
                tables=tables * node.unit,
                columns=block.coords,
                least=(least + np.where(excluded, 0, rises)) * node.unit,
                excluded=excluded,
                scale=int(node.model.scale),
            )
        )
    return tuple(found)
