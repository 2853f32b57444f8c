"""Two searches of one problem: the depth-first one while it gets on, then the block bound's tree.

Infeasible sets are looked for before the tree's root and after it; the best of all bounds holds.

Decisions count nodes and compare bounds, never clocks: the same problem takes the same course.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum

import numpy as np

from oracles.arithmetic import IntArray
from oracles.branch_and_bound.block_bound.cells import takes
from oracles.branch_and_bound.block_bound.pricing import Stop
from oracles.branch_and_bound.block_bound.tree_root import is_plain
from oracles.branch_and_bound.block_bound.tree_search import BlockTree
from oracles.branch_and_bound.infeasible_sets import FIRST_WORK, MOST_WORK, InfeasibleSets
from oracles.branch_and_bound.kernels import branching as places
from oracles.branch_and_bound.parallel import SearchTeam
from oracles.branch_and_bound.search import ExactSearch

_PATIENCE_WORK, _PASSES = 320_000_000, 10
"""What the depth-first search may do before it is judged: about half a second."""

_LATE_WORK = 1_200_000_000
"""What completions may do before the first judgement, as long: their nodes take longer."""

_SLICE_WORK, _STEP = 10_000_000, 64
"""What a slice of a completion does, about; and after how many nodes that is looked at."""

_HOPEFUL, _HOPEFUL_PLAIN = 1 / 400, 1 / 20
"""Part of its tree that the depth-first search must have done by then to go on alone.

More where few columns exclude each other: there its bound is weak, and the part overstated.
"""

_LONGER = 2
"""The next time it is judged after so many times the nodes, by so many times the part."""

_SLOWING, _MUCH = 1.15, 0.2
"""So many more nodes must have done this many times the part, unless this much is done.

Where less is done the first time, a perturbation may decide who goes on: see ``_thins_out``.
"""

_BETTER = 0.8
"""The tree goes on alone if its root leaves at most this part of the other search's gap.

Where that search is nowhere near an end, any better bound will do.
"""


class BlockBoundUse(Enum):
    """When the block bound is used: where the other bound stalls, at once, or not at all."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class Race:
    """A depth-first search that hands over to a tree of block relaxations when it stalls.

    Parameters
    ----------
    search : ExactSearch or SearchTeam
        The depth-first search.
    new_part : callable
        Makes another depth-first search at its root, for the small parts of the tree.
    use : BlockBoundUse
        When the tree takes over.
    stop : callable
        Called now and then with the race's bounds up to date; True pauses the race.
    n_threads : int
        Threads that the tree may use.
    improve : callable or None
        Looks longer for a good hypothesis: the first time (0) once the depth-first search stalls,
        the second time (1) after the first stage of the tree's root, then as searches grow.
        Returns its objective in internal units and the positions of its values.
    """

    def __init__(
        self,
        search: ExactSearch | SearchTeam,
        new_part: Callable[[], ExactSearch],
        use: BlockBoundUse,
        stop: Stop,
        n_threads: int = 1,
        improve: Callable[[int], tuple[int, IntArray]] | None = None,
    ) -> None:
        self._improve = improve
        self._n_threads = n_threads
        self._search = search
        self._new_part = new_part
        self._stop = stop
        self._tree: BlockTree | None = None
        self._sets: InfeasibleSets | None = None
        self._judged = use is BlockBoundUse.NEVER
        self._always = use is BlockBoundUse.ALWAYS
        self._on_tree = False
        self._next_check, self._expected = 0, _HOPEFUL
        self._before, self._is_first = 0.0, True
        self._prepared: BlockTree | None = None
        self._next_look, self._n_looks = 1, 0

    @property
    def nodes(self) -> int:
        """Nodes so far."""
        return self._search.nodes + (self._tree.nodes if self._tree else 0)

    @property
    def upper(self) -> int:
        """Objective of the best hypothesis, internal units."""
        return min(s.upper for s in self._searches())

    @property
    def best(self) -> IntArray:
        """Positions of the best hypothesis' values, shape (d,)."""
        return min(self._searches(), key=lambda s: s.upper).best

    def lower_bound(self) -> int:
        """Return the best bound proved by either search or by sets, internal units."""
        bound = max(s.lower_bound() for s in self._searches())
        return bound if self._sets is None else max(bound, self._sets.bound)

    def run(self, n_nodes: int) -> bool:
        """Search on for about so many nodes; return whether the optimum is proved."""
        if not self._judged and self._tree is None and (self._always or self._stalls()):
            self._start_tree()
            if self._tree and self._proved_by_sets(self._tree, FIRST_WORK):
                return True
        if self._tree is None or (self._judged and not self._on_tree):
            if not self._judged:  # judged at exactly so many nodes, however the clock cuts runs
                done = self._search.nodes
                n_nodes = min(n_nodes, max(1, self._next_check - done), _STEP - done % _STEP)
            done = self._search.run(n_nodes)
            if not done and self._tree is not None:
                self._look_again(self._tree, self._search.nodes)
            return done
        done = self._tree.run(n_nodes if self._on_tree else 1, self._stop)
        if not self._on_tree and self._tree.nodes:
            self._judge()
            done = done or self._proved_by_sets(self._tree, MOST_WORK)
        if not done:
            self._look_again(self._tree, self._tree.relaxations)
        return done

    def _look_again(self, tree: BlockTree, size: int) -> None:
        """Look for a better hypothesis when a search has grown by half, while little is proved."""
        if size >= self._next_look:
            self._next_look = size + size // 2 + 1
            self._n_looks += 1
            self._look(tree, 1 + self._n_looks, self.lower_bound())

    def _look(self, tree: BlockTree, n: int, bound: int) -> None:
        """Look for a better hypothesis for the ``n``-th time, if little is proved.

        Little is less than half of what the best hypothesis costs more than all must.
        """
        reduction = self._members()[0].reduction
        if self._improve is None or self._always or reduction.is_perturbed:
            return
        if 2 * (self.upper - bound) >= self.upper - reduction.base:
            self._tell(*self._improve(n))
            tree.tell(self._search.upper, self._search.best)

    def _proved_by_sets(self, tree: BlockTree, work: int) -> bool:
        """Look for infeasible sets for a while; return whether they prove the optimum."""
        if self._sets is None:
            return False
        self._sets.search(work, self.lower_bound(), tree.target, self._stop)
        return self._sets.bound >= tree.target

    def _searches(self) -> list[ExactSearch | SearchTeam | BlockTree]:
        return [self._search] if self._tree is None else [self._search, self._tree]

    def _members(self) -> Sequence[ExactSearch]:
        if isinstance(self._search, SearchTeam):
            return self._search.members
        return [self._search]

    def _stalls(self) -> bool:
        """Return whether the depth-first search has had its chance and did too little."""
        member = self._members()[0]
        work = _PASSES * int(member.frames.entry_end[0]) * member.reduction.model.values.shape[1]
        if self._next_check == 0:
            self._next_check = max(50, _PATIENCE_WORK // (work + 1))
        if self._search.nodes < self._next_check and not self._is_late(member):
            return False
        if isinstance(self._search, SearchTeam):
            return True  # parts that changed hands do not tell how much is done
        part = explored(member)
        least = max(self._expected, min(_MUCH, _SLOWING * self._before))
        if self._is_first and part < _HOPEFUL_PLAIN and is_plain(member.reduction):
            return True
        if part < least:
            return True
        if self._is_first and part < _MUCH and self._thins_out(member):
            return True
        self._before = part
        self._expected *= _LONGER
        self._next_check = _LONGER * self._search.nodes
        self._is_first = False
        return False

    def _is_late(self, member: ExactSearch) -> bool:
        """Return whether slices of completions alone have taken as long as several checks."""
        aligned = self._search is member and member.nodes % _STEP == 0
        return self._is_first and aligned and member.slices * _SLICE_WORK > _LATE_WORK

    def _thins_out(self, member: ExactSearch) -> bool:
        """Return whether a perturbation lets the block bound exclude much at once."""
        if not member.reduction.is_perturbed:
            return False
        tree = self._new_tree()
        if tree is None or not tree.thins_out(self._stop):
            return False
        self._prepared = tree
        return True

    def _new_tree(self) -> BlockTree | None:
        """Return the tree at its root; None if the block bound does not take the problem."""
        part = self._new_part()
        if not takes(part.reduction):
            return None
        return BlockTree(part, self._n_threads, lambda tree, bound: self._look(tree, 1, bound))

    def _start_tree(self) -> None:
        if self._improve is not None and not self._always:
            self._tell(*self._improve(0))
        self._tree = self._prepared or self._new_tree()
        if self._tree is None:
            self._judged = True
            return
        self._tree.tell(self._search.upper, self._search.best)
        reduction = self._members()[0].reduction
        if not reduction.is_perturbed:  # sets know the least of the other costs only
            self._sets = InfeasibleSets(reduction)

    def _tell(self, upper: int, best: IntArray) -> None:
        """Let the depth-first search know a better hypothesis."""
        if upper < self._search.upper:
            for member in self._members():
                member.state[places.UPPER] = upper
                member.best[:] = best

    def _judge(self) -> None:
        """Decide which search goes on, by the gaps that their bounds leave."""
        assert self._tree is not None
        self._judged = True
        self._tell(self._tree.upper, self._tree.best)
        upper = self.upper
        rest, theirs = upper - self._tree.lower_bound(), upper - self._search.lower_bound()
        hopeless = explored(self._members()[0]) < _HOPEFUL
        better = rest < theirs if hopeless else rest <= _BETTER * theirs
        self._on_tree = self._always or better


def explored(search: ExactSearch) -> float:
    """Return the part of a depth-first tree that is done, were all children of a node alike."""
    depth = int(search.state[places.DEPTH])
    if depth < 0:
        return 1.0
    frames = search.frames
    part, weight = 0.0, 1.0
    last = depth - 1 if search.state[places.ENTERED] or search.state[places.COMPLETING] else depth
    for t in range(last + 1):
        n = max(1, int(frames.n_children[t]))
        finished = int(frames.next_child[t]) - (0 if t == depth else 1)
        part += weight * float(np.clip(finished / n, 0.0, 1.0))
        weight /= n
    return part
