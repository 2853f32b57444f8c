"""One exact search by several threads: parts of the tree change hands between rounds."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from oracles.arithmetic import IntArray
from oracles.branch_and_bound.arrays import Arena
from oracles.branch_and_bound.kernels import branching as places
from oracles.branch_and_bound.search import ExactSearch

_MOST_NODES = 64

_ROUND_WORK, _PASSES = 20_000_000, 10


class SearchTeam:
    """Several searches that share a tree and an incumbent.

    Every member searches its part for the same number of nodes; then all of them learn the best
    hypothesis found, and who has nothing left takes over the open siblings nearest the root of
    somebody else's part. Rounds are counted in nodes, not in seconds, so that the course of the
    search is the same every time.

    Parameters
    ----------
    members : sequence of ExactSearch
        The first is at its root, and the others begin with nothing to do; all of one problem.
    """

    def __init__(self, members: Sequence[ExactSearch]) -> None:
        self._members = members
        self._round = 1
        model, frames = members[0].reduction.model, members[0].frames
        node_work = _PASSES * int(frames.entry_end[0]) * model.values.shape[1] + 1
        self._largest_round = max(1, min(_MOST_NODES, _ROUND_WORK // node_work))
        for member in members[1:]:
            member.state[places.DEPTH] = -1

    @property
    def members(self) -> Sequence[ExactSearch]:
        """The searches of the team."""
        return self._members

    @property
    def nodes(self) -> int:
        """Nodes so far, of all members."""
        return sum(member.nodes for member in self._members)

    @property
    def upper(self) -> int:
        """Objective of the best hypothesis, internal units."""
        return self._members[0].upper

    @property
    def best(self) -> IntArray:
        """Positions of the best hypothesis' values, shape (d,)."""
        return self._members[0].best

    def run(self, n_nodes: int) -> bool:
        """Search on, in whole rounds, for so many nodes; return whether the tree is exhausted."""
        last = self.nodes + n_nodes
        with ThreadPoolExecutor(len(self._members)) as pool:
            while self.nodes < last:
                busy = [member for member in self._members if member.is_busy]
                if not busy:
                    return True
                futures = [pool.submit(member.run, self._round) for member in busy[1:]]
                busy[0].run(self._round)
                for future in futures:
                    future.result()
                self._round = min(2 * self._round, self._largest_round)
                self._share()
        return not any(member.is_busy for member in self._members)

    def lower_bound(self) -> int:
        """Return the least bound among the nodes still open, internal units."""
        return min(member.lower_bound() for member in self._members)

    def _share(self) -> None:
        """Tell everybody the best hypothesis, and give work to who has none."""
        best = min(self._members, key=lambda member: member.upper)
        for member in self._members:
            member.state[places.UPPER] = best.upper
            member.best[:] = best.best
        for taker in self._members:
            if not taker.is_busy:
                found = [(t, i) for i, m in enumerate(self._members) if (t := _open_level(m)) >= 0]
                if not found:
                    return
                level, giver = min(found)
                _hand_over(self._members[giver], taker, level)


def _open_level(member: ExactSearch) -> int:
    """Return the level nearest the root with siblings left to visit, -1 if there is none."""
    state, frames = member.state, member.frames
    depth = int(state[places.DEPTH])
    if state[places.ENTERED] or state[places.COMPLETING]:
        depth -= 1
    for t in range(depth + 1):
        if frames.next_child[t] < frames.n_children[t]:
            return t
    return -1


def _hand_over(giver: ExactSearch, taker: ExactSearch, level: int) -> None:
    """Give the open siblings of a level to a search that has nothing to do."""
    for mine, theirs in zip(taker.frames, giver.frames, strict=True):
        mine[: level + 1] = theirs[: level + 1]
    giver.frames.n_children[level] = giver.frames.next_child[level]
    # The levels above have no siblings left in either part.
    taker.arena = _with_groups_of(giver, taker.arena, level)
    taker.scratch.gained[:] = giver.scratch.gained
    taker.scratch.tries[:] = giver.scratch.tries
    taker.state[places.DEPTH] = level
    taker.state[places.ENTERED] = taker.state[places.COMPLETING] = 0
    taker.state[places.CREDIT] = max(taker.state[places.CREDIT], giver.state[places.CREDIT])


def _with_groups_of(giver: ExactSearch, arena: Arena, level: int) -> Arena:
    """Return the arena, larger if need be, with the giver's groups down to a level."""
    theirs, frames = giver.arena, giver.frames
    if len(arena.constant) < len(theirs.constant):
        arena = Arena._make([np.zeros_like(array) for array in theirs])
    ends = {
        "cell_score": frames.cell_end,
        "cell_cost": frames.cell_end,
        "entry_coord": frames.entry_end,
        "entry_coef": frames.entry_end,
        "message": frames.entry_end,
    }
    for name, array in arena._asdict().items():
        end = int(ends.get(name, frames.group_end)[level])
        array[:end] = getattr(theirs, name)[:end]
    return arena
