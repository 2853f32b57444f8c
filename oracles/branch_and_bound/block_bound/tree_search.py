"""Best-first search over block relaxations; small parts go to the depth-first search."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from oracles.arithmetic import BoolArray, IntArray
from oracles.branch_and_bound.arrays import INFINITE
from oracles.branch_and_bound.block_bound.ascent import Course, raise_bound
from oracles.branch_and_bound.block_bound.branching_choice import column_weights
from oracles.branch_and_bound.block_bound.pricing import Stop
from oracles.branch_and_bound.block_bound.product_plan import plan_product
from oracles.branch_and_bound.block_bound.relaxation import Relaxation, relax, share_unit
from oracles.branch_and_bound.block_bound.states import all_states
from oracles.branch_and_bound.block_bound.tree_nodes import (
    bound_without_blocks,
    child_of,
    increases,
    log_size,
    shaved,
)
from oracles.branch_and_bound.block_bound.tree_root import Root, root_blocks
from oracles.branch_and_bound.kernels import branching as places
from oracles.branch_and_bound.reduction import whole_domain
from oracles.branch_and_bound.search import FIRST_CREDIT, ExactSearch

_NODE_STATES = 3**10

_NODE = Course(
    n_steps=25,
    every=8,
    step=0.006,
    patience=0.03,
    message_step=0.001,
    table_step=0.03,
    temperature=0.4,
)

_PROBE = replace(_NODE, n_steps=9)

_RELIABLE = 2
"""The children of a column that was split less often are bounded a little at once: the next nodes
are chosen by more, and those that hold nothing better are never kept."""

_HANDED_NODES, _HANDED_SLICE = 200, 10

_FIRST_REACH = 9 * math.log(3)

_REACH_STEP = 0.5


_MOST_BYTES = 2**30
"""What bounded nodes with open children may take before the search turns depth-first."""


@dataclass(frozen=True, slots=True)
class _Open:
    """A node to be looked at: part of one that was bounded."""

    bound: int
    domain: BoolArray
    parent: Relaxation | None
    coord: int = -1
    parent_bound: int = 0


class BlockTree:
    """A search in progress that keeps its open nodes by their bounds.

    Parameters
    ----------
    part : ExactSearch
        A depth-first search of the same problem at its root, with the best hypothesis known; it
        gets the small parts of the tree, and keeps the incumbent.
    n_threads : int
        Threads that price blocks; the course of the search does not depend on them.
    improve : callable or None
        Called once, with the bound of the root's first stage; may tell the tree of a better
        hypothesis.
    """

    def __init__(
        self,
        part: ExactSearch,
        n_threads: int = 1,
        improve: Callable[[BlockTree, int], None] | None = None,
    ) -> None:
        self._part = part
        self._improve = improve
        self._n_threads = n_threads
        self._reduction = part.reduction
        self._gap = int(part.state[places.GAP])
        self._heap: list[tuple[int, int, _Open]] = []
        self._numbers = itertools.count()
        self._root: Root | None = None
        self._known: int | None = None
        self._live: Relaxation | None = None
        self._nodes = 0
        self._held: dict[int, list[int]] = {}
        self._bytes = 0
        d = len(part.reduction.model.n_values)
        self._gained, self._tries = np.zeros(d), np.zeros(d)
        self._reach = _FIRST_REACH
        self._weight = column_weights(part.reduction.points, part.reduction.costs)
        self._frame_domain = part.frames.domain[0].copy()
        self._push(_Open(-INFINITE, whole_domain(part.reduction), None))

    @property
    def nodes(self) -> int:
        """Nodes so far, those of handed parts included."""
        return self._nodes + self._part.nodes

    @property
    def relaxations(self) -> int:
        """Nodes so far whose blocks were bounded."""
        return self._nodes

    def tell(self, upper: int, best: IntArray) -> None:
        """Learn a better hypothesis."""
        if upper < self.upper:
            self._part.state[places.UPPER] = upper
            self._part.best[:] = best

    @property
    def upper(self) -> int:
        """Objective of the best hypothesis, internal units."""
        return self._part.upper

    @property
    def best(self) -> IntArray:
        """Positions of the best hypothesis' values, shape (d,)."""
        return self._part.best

    def lower_bound(self) -> int:
        """Return the best bound proved on all hypotheses, internal units."""
        bound = self.upper - self._gap * int(self._reduction.model.scale)
        if self._heap:
            bound = min(bound, self._heap[0][0])
        if self._known is not None:
            here = self._known if self._live is None else max(self._known, self._live.bound)
            bound = min(bound, here)
        return bound

    def run(self, n_nodes: int, stop: Stop) -> bool:
        """Look at so many nodes, fewer if stopped; return whether the tree is exhausted."""
        last = self.nodes + n_nodes
        while self._heap and self.nodes < last:
            if self._heap[0][0] >= self.target:
                self._heap.clear()
                break
            node = self._pop()
            self._known = node.bound
            done = self._visit(node, stop)
            if not done:
                self._push(replace(node, bound=self._known))
            self._release(node.parent)
            self._known = None
            if not done:
                return False
            if stop():
                break
        return not self._heap

    @property
    def target(self) -> int:
        """Return the least bound at which a node holds nothing better by more than the gap."""
        return self.upper - (self._gap + 1) * int(self._reduction.model.scale) + 1

    def _push(self, node: _Open) -> None:
        heapq.heappush(self._heap, (node.bound, next(self._numbers), node))
        if node.parent is not None:
            held = self._held.setdefault(id(node.parent), [0, node.parent.size])
            if held[0] == 0:
                self._bytes += held[1]
            held[0] += 1

    def _pop(self) -> _Open:
        """Return the node of the least bound; the newest one where memory is short.

        The newest nodes' subtrees end before others are begun, so memory stays where it is.
        """
        if self._bytes <= _MOST_BYTES:
            return heapq.heappop(self._heap)[2]
        i = max(range(len(self._heap)), key=lambda k: self._heap[k][1])
        node = self._heap[i][2]
        self._heap[i] = self._heap[-1]
        self._heap.pop()
        heapq.heapify(self._heap)
        return node

    def _release(self, parent: Relaxation | None) -> None:
        """Count one open child less; forget the size of a node without any."""
        if parent is not None:
            held = self._held[id(parent)]
            held[0] -= 1
            if held[0] == 0:
                self._bytes -= self._held.pop(id(parent))[1]

    def _visit(self, node: _Open, stop: Stop) -> bool:
        """Bound a node and list its children; return False if stopped before that."""
        relaxation = self._bounded(node, stop)
        if relaxation is None:
            return False
        self._nodes += 1
        target = self.target
        self._learn(node, relaxation.bound, target)
        if relaxation.bound >= target:
            return True
        domain, rises = shaved(relaxation, target)
        if not domain.any(axis=1).all():
            return True
        self._known = relaxation.bound
        finished = self._hand_over(domain, stop)
        if finished is None:
            return False
        if not finished:
            return self._branch(relaxation, domain, rises, stop)
        return True

    def _bounded(self, node: _Open, stop: Stop) -> Relaxation | None:
        """Return the node's relaxation with its bound raised; None if stopped."""
        target = self.target
        if node.parent is None:
            return self._bounded_root(node.domain, target, stop)
        relaxation = child_of(self._reduction, node.parent, node.domain, target, _NODE_STATES)
        relaxation.bound = max(relaxation.bound, node.bound)
        if not relaxation.blocks:
            relaxation.bound = max(relaxation.bound, bound_without_blocks(relaxation))
        elif self._raised(relaxation, node.bound, target, _NODE, stop):
            return None
        return relaxation

    def thins_out(self, stop: Stop) -> bool:
        """Return whether a pricing of the whole box leaves a minor part of its blocks' states."""
        self._root = Root(self._reduction, whole_domain(self._reduction), self.target)
        return self._root.thins_out(self.target, stop, self._n_threads)

    def _bounded_root(self, domain: BoolArray, target: int, stop: Stop) -> Relaxation | None:
        """Return the whole box with its bound raised; None if stopped."""
        root, self._root = self._root or Root(self._reduction, domain, target), None

        def is_stopped(node: Relaxation, known: int, course: Course) -> bool:
            return self._raised(node, known, self.target, course, stop)

        def improve(bound: int) -> int:
            if self._improve is not None:
                self._improve(self, bound)
            return self.target

        return root.bounded(target, self._reach, is_stopped, improve)

    def _raised(
        self, relaxation: Relaxation, known: int, target: int, course: Course, stop: Stop
    ) -> bool:
        """Raise a bound that is reported meanwhile; return whether that was stopped."""
        relaxation.bound = max(relaxation.bound, known, self._known or -INFINITE)
        self._live = relaxation
        stopped = raise_bound(relaxation, target, course, stop, self._n_threads)
        self._known = relaxation.bound
        self._live = None
        return stopped

    def _learn(self, node: _Open, bound: int, target: int) -> None:
        if node.coord >= 0:
            slack = max(1, target - node.parent_bound)
            gain = min(1.0, (bound - node.parent_bound) / slack)
            self._gained[node.coord] += math.sqrt(gain)  # a gain for every value beats a large one
            self._tries[node.coord] += 1

    def _hand_over(self, domain: BoolArray, stop: Stop) -> bool | None:
        """Let the depth-first search try a small part; None if stopped."""
        if log_size(domain) > self._reach:
            return False
        open_part(self._part, domain, self._frame_domain)
        limit = self._part.nodes + _HANDED_NODES
        while self._part.nodes < limit:
            if self._part.run(_HANDED_SLICE):
                self._reach += _REACH_STEP
                return True
            if stop():
                return None
        self._reach = max(_FIRST_REACH / 3, self._reach - 1.0)
        return False

    def _branch(
        self, relaxation: Relaxation, domain: BoolArray, rises: IntArray, stop: Stop
    ) -> bool:
        """Split the node on the column that promises most; return False if stopped before that."""
        target = self.target
        free = np.flatnonzero(domain.sum(axis=1) > 1)
        relaxation.strip(target)
        if len(free) == 0:
            self._push(_Open(relaxation.bound, domain, relaxation))
            return True
        best = int(free[np.argmax(self._scores(relaxation, rises, target)[free])])
        children = self._children(relaxation, domain, rises, best)
        if self._tries[best] < _RELIABLE:
            probed = self._probed(relaxation, children, stop)
            if probed is None:
                return False
            children = probed
        for child in children:
            self._push(child)
        return True

    def _scores(self, relaxation: Relaxation, rises: IntArray, target: int) -> np.ndarray:
        """Return what each column promises, by what is known without bounding its children."""
        slack = max(1, target - relaxation.priced)
        lifted = np.where(relaxation.domain, np.sqrt(np.minimum(rises / slack, 1.0)), 0.0)
        lift = lifted.sum(axis=1) / relaxation.domain.sum(axis=1)
        gain = (self._gained + 3 * lift) / (self._tries + 3)
        return np.asarray(gain + 0.3 * self._weight / (1 + 0.2 * self._tries))

    def _children(
        self, relaxation: Relaxation, domain: BoolArray, rises: IntArray, j: int
    ) -> list[_Open]:
        """Return the parts of a node by the values of a column, where they may improve."""
        found = []
        for a in np.flatnonzero(domain[j]):
            child = domain.copy()
            child[j] = False
            child[j, a] = True
            bound = max(relaxation.bound, relaxation.priced + int(rises[j, a]))
            if bound < self.target:
                found.append(_Open(bound, child, relaxation, j, relaxation.bound))
        return found

    def _probed(
        self, relaxation: Relaxation, children: list[_Open], stop: Stop
    ) -> list[_Open] | None:
        """Bound the children of one column in a few steps; return those that may improve."""
        left = []
        for child in children:
            part = child_of(self._reduction, relaxation, child.domain, self.target, _NODE_STATES)
            part.bound = max(part.bound, child.bound)
            if part.blocks:
                if raise_bound(part, self.target, _PROBE, stop, self._n_threads):
                    return None
            else:
                part.bound = max(part.bound, bound_without_blocks(part))
            self._learn(child, part.bound, self.target)
            if part.bound < self.target:
                part.strip(self.target)
                left.append(_Open(part.bound, child.domain, part))
        return left


def open_part(part: ExactSearch, domain: BoolArray, whole: BoolArray) -> None:
    """Put a depth-first search at the root of a part of the box, its incumbent kept."""
    part.frames.domain[0] = whole & domain
    part.frames.n_children[0] = 1
    part.frames.next_child[0] = 0
    part.state[places.DEPTH] = 0
    part.state[places.ENTERED] = part.state[places.COMPLETING] = 0
    part.state[places.CREDIT] = FIRST_CREDIT if part.completion is not None else 0


def compile_kernels(part: ExactSearch) -> None:
    """Compile the kernels, or load them from disk, by bounding an example with links."""
    domain = whole_domain(part.reduction)
    perturbed = replace(part.reduction, unary=np.cumsum(domain, axis=1))
    cells = root_blocks(perturbed, domain).cells
    blocks = [all_states(coords, domain) for coords in ((0,), (1,), (0, 1))]
    example = relax(perturbed, domain, cells, blocks, share_unit(perturbed))
    for block in example.blocks[-1:]:
        block.plan = plan_product(example.model, block.states, block.arrays, always=True)
    raise_bound(example, INFINITE, Course(n_steps=2), lambda: False)
    increases(example)
