"""The root of the tree: the whole box, in blocks of few columns first, in wider ones by stages."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from oracles.arithmetic import BoolArray
from oracles.branch_and_bound.block_bound.ascent import Course, raise_bound
from oracles.branch_and_bound.block_bound.branching_choice import (
    ClosePairs,
    Conflicts,
    disjoint_blocks,
    exclusive_groups,
)
from oracles.branch_and_bound.block_bound.cells import Cells, cells_of, narrowed
from oracles.branch_and_bound.block_bound.pricing import Stop
from oracles.branch_and_bound.block_bound.relaxation import Relaxation, relax, share_unit
from oracles.branch_and_bound.block_bound.states import all_states
from oracles.branch_and_bound.block_bound.tree_nodes import (
    bound_without_blocks,
    log_size,
    shaved,
    widened,
)
from oracles.branch_and_bound.reduction import Reduction

LARGEST_UNIT = 3**11
"""Units of columns with more joint values are split."""

_ROOT_STATES = 3**11
"""States that a block may have."""

_FIRST_WORK, _FEWEST_STATES = 200_000_000, 3**6
"""Points times states of the root's first blocks, and at least so many states."""

_N_OVERLAPPING, _MORE_OVERLAPPING, _COVER, _NARROW = 7, 10, 1.6, 3**9
"""Blocks; and where they hold each column less often on average, more of fewer states at first."""

_THIN, _THIN_STATES = 1 / 10, 3**9
"""Where a smaller part of the states is left the root's blocks get wider at once, by less."""

_THINNING = 0.3
"""Where one pricing leaves a smaller part of the states the root is likely to end soon."""

_FIRST_STAGE = Course(
    n_steps=241,
    patience=0.015,
    thin=_THIN,
    step=0.024,
    message_step=0.008,
    table_step=0.2,
    temperature=0.4,
)

_PATIENT_STAGE = replace(_FIRST_STAGE, patience=0.006)

_STAGE = Course(
    n_steps=161,
    every=32,
    patience=0.005,
    thin=_THIN,
    step=0.009,
    decay=0.005,
    message_step=0.002,
    table_step=0.05,
    temperature=0.1,
)

_N_STAGES, _FEW_LEFT = 4, 41 * math.log(3)
"""Most stages; a single one where no more hypotheses are left (their logarithm): there the tree
closes more of the gap in the same time."""

_POLISH, _WORTH = replace(_STAGE, patience=0.002), 0.01
"""Where no column fits into the blocks any more: shorter steps still raise them. And the part of
the gap that a stage must close, or exclude many states, for another one to follow."""

Raise = Callable[[Relaxation, int, Course], bool]
"""Raises a relaxation's bound, known to be at least so much, on a course; True if stopped."""

Improve = Callable[[int], int]
"""Learns of a bound and may look for a better hypothesis; returns the target from then on."""


class Root:
    """The whole box and its relaxation, before and while its bound is raised.

    Parameters
    ----------
    reduction : Reduction
        The reduced problem.
    domain : ndarray of shape (coordinates, values), bool
        The values that each coordinate may take.
    target : int
        Bound at which nothing better is left, internal units.
    """

    def __init__(self, reduction: Reduction, domain: BoolArray, target: int) -> None:
        self._reduction = reduction
        self._course = _FIRST_STAGE
        blocks = root_blocks(reduction, domain)
        self._node = blocks.without()
        self._node.bound = bound_without_blocks(self._node)
        if blocks.units and self._node.bound < target:
            self._node = self._first_blocks(blocks)
        self._n_states = self._node.n_states

    def _first_blocks(self, blocks: RootBlocks) -> Relaxation:
        """Return the box in blocks of few columns."""
        n_states = _FIRST_WORK // max(1, len(blocks.cells.costs))
        n_states = min(_ROOT_STATES, max(_FEWEST_STATES, n_states))
        n_blocks = _N_OVERLAPPING
        if blocks.times_held(n_states, n_blocks) < _COVER:
            n_blocks, n_states = _MORE_OVERLAPPING, min(n_states, _NARROW)
            self._course = _PATIENT_STAGE
        node = blocks.overlapping(n_states, n_blocks)
        node.bound = self._node.bound
        return node

    def thins_out(self, target: int, stop: Stop, n_threads: int) -> bool:
        """Return whether a pricing of the first blocks leaves a minor part of their states."""
        if not self._node.blocks:
            return False
        once = replace(self._course, n_steps=1)
        stopped = raise_bound(self._node, target, once, stop, n_threads)
        return not stopped and self._node.n_states < _THINNING * self._n_states

    def bounded(
        self, target: int, reach: float, is_stopped: Raise, improve: Improve
    ) -> Relaxation | None:
        """Raise the bound, by stages of wider blocks as states are excluded; None if stopped.

        Parameters
        ----------
        target : int
            Bound at which nothing better is left, internal units.
        reach : float
            Logarithm of as many hypotheses as are left to another search.
        is_stopped : callable
            Raises the bound of a relaxation above a known one on a course; True if stopped.
        improve : callable
            Called with the bound of the first stage; returns the target from then on.

        Returns
        -------
        Relaxation or None
            Of what is left of the box.
        """
        best, held = self._node, self._n_states
        if not best.blocks or best.bound >= target:
            return best
        thin = self._course.thin * held / best.n_states  # more after a look
        if is_stopped(best, best.bound, replace(self._course, thin=thin)):
            return None
        if best.bound < target:
            target = improve(best.bound)
        n_stages = 0
        while n_stages < _N_STAGES and best.bound < target:
            domain, _ = shaved(best, target)
            left = log_size(domain)
            if not domain.any(axis=1).all() or left <= (_FEW_LEFT if n_stages else reach):
                break
            before, cap = best.bound, _ROOT_STATES
            if best.n_states < _THIN * held:
                cap = _THIN_STATES
            wider = widened(self._reduction, best, domain, target, cap)
            best = wider or best
            if not best.blocks:
                best.bound = max(best.bound, bound_without_blocks(best))
                break
            held = best.n_states
            if is_stopped(best, before, _STAGE if wider else _POLISH):
                return None
            if best.n_states < _THIN * held:
                continue
            n_stages += 1
            if best.bound - before < _WORTH * (target - before):
                break
        return best


@dataclass(frozen=True, slots=True)
class RootBlocks:
    """What the blocks of the whole box are chosen from.

    Parameters
    ----------
    reduction : Reduction
        The reduced problem.
    domain : ndarray of shape (coordinates, values), bool
        The values that each coordinate may still take.
    cells : Cells
        The undecided points.
    units : list of tuple of int
        Free columns, those of a one-hot group or of a block of the perturbation together.
    """

    reduction: Reduction
    domain: BoolArray
    cells: Cells
    units: list[tuple[int, ...]]

    def disjoint(self, cap: int) -> Relaxation:
        """Return the relaxation with disjoint blocks of at most so many states."""
        conflicts = Conflicts(self.cells, self.reduction.model)
        blocks = disjoint_blocks(conflicts, self.units, self.domain, cap)
        return _start(self.reduction, self.domain, self.cells, blocks)

    def times_held(self, n_states: int, n_blocks: int) -> float:
        """Return how often so many blocks of so many states hold each column, on average."""
        columns = [j for unit in self.units for j in unit]
        values = float(np.log(self.domain[columns].sum(axis=1)).mean())
        return n_blocks * int(np.log(n_states) / values + 1e-9) / len(columns)

    def overlapping(self, cap: int, n_blocks: int) -> Relaxation:
        """Return the relaxation with overlapping blocks of at most so many states."""
        pairs = ClosePairs(self.cells.points.astype(np.int64), self.cells.costs)
        sizes = self.domain.sum(axis=1)
        columns = [j for unit in self.units for j in unit]
        blocks = []
        for _ in range(n_blocks):
            block = pairs.grow(frozenset(), 1.0, columns, sizes, cap)
            if block and block not in blocks:
                blocks.append(block)
        blocks += [frozenset([j]) for j in columns if not any(j in block for block in blocks)]
        made = [tuple(sorted(block)) for block in blocks]
        return _start(self.reduction, self.domain, self.cells, made)

    def without(self) -> Relaxation:
        """Return the relaxation without blocks."""
        return _start(self.reduction, self.domain, self.cells, [])


def root_blocks(reduction: Reduction, domain: BoolArray) -> RootBlocks:
    """Find the units that blocks of the whole box are made of."""
    cells, _ = narrowed(cells_of(reduction), reduction.model, domain)
    units: list[tuple[int, ...]] = []
    if len(cells.points):
        units = exclusive_groups(cells.points.astype(np.int64), np.abs(cells.costs))
    return RootBlocks(reduction, domain, cells, _whole_perturbations(reduction, units, domain))


def is_plain(reduction: Reduction) -> bool:
    """Return whether the columns fall into many groups of which every point uses at most one."""
    points = reduction.points
    groups = exclusive_groups(points.astype(np.int64), np.abs(reduction.costs))
    return 2 * len(groups) > int(points.any(axis=0).sum())


def _whole_perturbations(
    reduction: Reduction, units: list[tuple[int, ...]], domain: BoolArray
) -> list[tuple[int, ...]]:
    """Keep blocks of the perturbation whole where they fit; split units that are too large."""
    model = reduction.model
    free = {int(j) for j in np.flatnonzero(domain.sum(axis=1) > 1)}
    result: list[tuple[int, ...]] = []
    for b in range(len(model.block_at)):
        span = range(int(model.block_start[b]), int(model.block_start[b + 1]))
        coords = tuple(j for q in span if (j := int(model.block_coord[q])) in free)
        if coords and _n_states(coords, domain) <= LARGEST_UNIT:
            result.append(coords)
    taken = {j for unit in result for j in unit}
    for unit in units:
        part: list[int] = []
        for j in unit:
            if j in taken or j not in free:
                continue
            if _n_states((*part, j), domain) > LARGEST_UNIT:
                result.append(tuple(part))
                part = []
            if _n_states((j,), domain) <= LARGEST_UNIT:
                part.append(j)
        if part:
            result.append(tuple(part))
    return result


def _n_states(coords: tuple[int, ...], domain: BoolArray) -> float:
    return float(np.prod([float(domain[j].sum()) for j in coords]))


def _start(
    reduction: Reduction, domain: BoolArray, cells: Cells, blocks: list[tuple[int, ...]]
) -> Relaxation:
    """Return the relaxation in which every block of a point has an equal share of its cost."""
    states = [all_states(block, domain) for block in blocks]
    node = relax(reduction, domain, cells, states, share_unit(reduction))
    count = np.zeros(len(cells.costs))
    for block in node.blocks:
        count[block.arrays.point] += 1
    for block in node.blocks:
        point = block.arrays.point
        block.share = cells.costs[point] / count[point] / node.unit
    return node
