"""State and steps of the exact search: the stack of nodes, and nodes completed one by one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oracles.arithmetic import IntArray
from oracles.branch_and_bound import completion_arrays as completed
from oracles.branch_and_bound.arrays import (
    Arena,
    Frames,
    Scratch,
    grown,
    new_arena,
    new_frames,
    new_scratch,
)
from oracles.branch_and_bound.kernels import branching as places, completion, search as kernels
from oracles.branch_and_bound.local_search import Walk
from oracles.branch_and_bound.reduction import Reduction

_COMPLETION_WORK = 10_000_000

FIRST_CREDIT = 4 * _COMPLETION_WORK

_OVERHEAD = 100

_MANY, _FEW_LEVELS = 10_000, 16


@dataclass(slots=True)
class ExactSearch:
    """One search in progress: everything the compiled slices work on.

    Parameters
    ----------
    reduction : Reduction
        The problem.
    frames, arena, scratch : Frames, Arena, Scratch
        Stack of nodes, their groups of points, and working memory.
    state : ndarray of shape (16,), int64
        Numbers at the places that :mod:`oracles.branch_and_bound.kernels.branching` lists.
    completion : Completion or None
        Room for completing nodes; None if nodes of this problem are never completed.
    slices : int
        Nodes so far that were parts of a completion; these take longer than others.
    """

    reduction: Reduction
    frames: Frames
    arena: Arena
    scratch: Scratch
    state: IntArray
    completion: completed.Completion | None
    slices: int = 0

    @property
    def nodes(self) -> int:
        """Nodes so far."""
        return int(self.state[places.NODES])

    @property
    def upper(self) -> int:
        """Objective of the best hypothesis, internal units."""
        return int(self.state[places.UPPER])

    @property
    def best(self) -> IntArray:
        """Positions of the best hypothesis' values, shape (d,)."""
        return self.scratch.best

    @property
    def is_busy(self) -> bool:
        """Whether nodes are left."""
        return bool(self.state[places.DEPTH] >= 0)

    def run(self, n_nodes: int) -> bool:
        """Search on for so many nodes; return whether the tree is exhausted."""
        last = int(self.state[places.NODES]) + n_nodes
        while True:
            if self.state[places.COMPLETING]:
                if self.state[places.NODES] >= last:
                    return False
                self._complete()
                continue
            left = last - int(self.state[places.NODES])
            status = kernels.search(
                self.reduction.model, self.frames, self.arena, self.scratch, self.state, left
            )
            if status == kernels.COMPLETE:
                self._open()
            elif status == kernels.FULL:
                self.arena = grown(self.arena)
            else:
                return bool(status == kernels.FINISHED)

    def _open(self) -> None:
        """Prepare the completion of the node at the top of the stack."""
        assert self.completion is not None
        most = self.completion.reach.shape[1]
        completion.open_completion(
            self.reduction.model,
            self.frames,
            int(self.state[places.DEPTH]),
            self.arena,
            self.completion,
            self.reduction.row,
            int(self.state[places.UPPER]) - self._gap(),
            most if self.state[places.COMPLETING] > _MANY else min(most, _FEW_LEVELS),
        )

    def _complete(self) -> None:
        """Look at some more hypotheses of the node at the top of the stack; count it as a node."""
        assert self.completion is not None
        cells = int(self.completion.numbers[completed.N_CELLS])
        done, upper = completion.complete(
            self.completion,
            self.scratch.best,
            int(self.state[places.UPPER]),
            self._gap(),
            self.reduction.row,
            max(1, _COMPLETION_WORK // (cells + _OVERHEAD)),
        )
        self.state[places.UPPER] = upper
        self.state[places.NODES] += 1
        self.slices += 1
        spent = int(self.completion.numbers[completed.VISITED]) * (cells + _OVERHEAD)
        if done:
            self.state[places.COMPLETING] = 0
        elif spent > self.state[places.CREDIT]:
            self.state[places.CREDIT] = 0
            self.state[places.COMPLETING] = 0
            self.state[places.ENTERED] = places.GIVEN_UP

    def _gap(self) -> int:
        """Return what an improvement must exceed, internal units."""
        return (int(self.state[places.GAP]) + 1) * int(self.reduction.model.scale) - 1

    def lower_bound(self) -> int:
        """Return the least bound among the nodes still open, internal units."""
        depth, frames = int(self.state[places.DEPTH]), self.frames
        bound = int(self.state[places.UPPER])
        for t in range(depth + 1):
            busy = self.state[places.ENTERED] or self.state[places.COMPLETING]
            if t == depth and busy:
                bound = min(bound, int(frames.bound[t]))
                continue
            first, last = frames.next_child[t], frames.n_children[t]
            bound = min(bound, *(int(b) for b in frames.child_bound[t, first:last]), bound)
        return bound


def new_search(reduction: Reduction, walk: Walk, gap_steps: int) -> ExactSearch:
    """Return a search at its root: one group per point, the walk's best hypothesis known."""
    model = reduction.model
    n, d = reduction.points.shape
    width = model.values.shape[1]
    rows, coords = np.nonzero(reduction.points)
    per_point = np.bincount(rows, minlength=n)
    starts = np.concatenate([[0], np.cumsum(per_point)]).astype(np.int64)
    arena = new_arena(8 * n + 16, 8 * n + 16, 8 * len(rows) + 16, width)
    arena.key[:n] = reduction.points @ model.keys
    arena.cell_at[:n] = np.arange(n)
    arena.n_cells[:n] = 1
    arena.cell_cost[:n] = reduction.costs
    arena.entry_at[:n] = starts[:-1]
    arena.n_entries[:n] = per_point
    arena.entry_coord[: len(rows)] = coords
    arena.entry_coef[: len(rows)] = reduction.points[rows, coords]
    depth = 3 + int(sum(int(k).bit_length() + 1 for k in model.n_values))
    frames = new_frames(depth, d, width, len(model.block_at))
    frames.base[0] = reduction.base
    frames.group_end[0], frames.cell_end[0], frames.entry_end[0] = n, n, len(rows)
    frames.theta[0] = reduction.unary
    for j in range(d):
        frames.domain[0, j, : model.n_values[j]] = True
    state = np.zeros(16, dtype=np.int64)
    state[places.UPPER] = walk.numbers[2]
    state[places.GAP] = gap_steps
    state[places.MAX_PASSES], state[places.MIN_GAIN] = 5, 10
    state[places.RULE], state[places.SPLIT] = 200, 8
    scratch = new_scratch(d, width, n)
    scratch.best[:] = walk.best
    _add_trivial_child(frames, reduction)
    work = _new_completion(reduction)
    if work is not None:
        state[places.HYPOTHESIS_WORK] = n + _OVERHEAD
        state[places.CREDIT] = FIRST_CREDIT
    return ExactSearch(reduction, frames, arena, scratch, state, work)


def _new_completion(reduction: Reduction) -> completed.Completion | None:
    """Return room for completing nodes; None if numbers or arrays would get too large."""
    model, points = reduction.model, reduction.points
    n, d = points.shape
    if len(model.block_at) or len(model.norm_cost) or n == 0:
        return None
    reach = (np.abs(points) @ np.abs(model.values).max(axis=1)).max()
    rows = int((np.abs(reduction.costs) // reduction.row).astype(object).sum())
    if reach >= completed.LARGEST_REACH or rows >= 2**31 or n * d > 2**23:
        return None
    n_levels = max(1, min(64, 2**25 // (n * d)))
    return completed.new_completion(d, model.values.shape[1], n, n_levels)


def _add_trivial_child(frames: Frames, reduction: Reduction) -> None:
    """Let the first child be the whole box, so that single-valued coordinates get fixed."""
    frames.n_children[0] = 1
    frames.child_coord[0] = -1
    frames.child_bound[0, 0] = reduction.least
