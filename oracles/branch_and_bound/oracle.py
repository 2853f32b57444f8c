"""The native exact search: branch and bound over the grid, integers only.

``reduction`` merges points, ``local_search`` finds a hypothesis, ``search_kernels`` proves it the
best: each node is bounded by letting the undecided points (grouped), the blocks and the norm share
out what they cannot avoid among the coordinates' tables (``bound_kernels``). Where that stalls,
``block_bound`` goes on.
"""

from __future__ import annotations

import time
from typing import Literal

import numpy as np

from oracles.arithmetic import IntArray
from oracles.branch_and_bound.block_bound import BlockBoundUse, Race
from oracles.branch_and_bound.local_search import (
    BEST,
    Columns,
    Walk,
    columns_of,
    new_walk,
    take_over,
    walk_on,
)
from oracles.branch_and_bound.parallel import SearchTeam
from oracles.branch_and_bound.reduction import (
    LARGEST_COST,
    LARGEST_NORM,
    largest_box_norm,
    needs_norm,
    reduce_problem,
    total_cost,
)
from oracles.branch_and_bound.search import ExactSearch, new_search
from oracles.branch_and_bound.warm_up import compile_search
from oracles.branch_and_bound.weighted_search import (
    WeightedWalk,
    can_weigh,
    move_work,
    new_weighted_walk,
    weigh_on,
)
from oracles.interface import Claim, Limit, SolveOptions, Termination
from oracles.problem import Hypothesis, ZeroOneProblem

_SLICE_SECONDS = 0.1

_KICK_WORK = 20_000_000

_FIRST_KICKS, _FIRST_NODES = 30, 4

_LONGER, _MUCH_LONGER = 20, 60
"""So many times the first walk's work, about a second, goes into a walk of a stalled search; and
into every later one, where little is proved and nothing found for a while is no reason to end.
"""

_WEIGHED, _FEW = 10, 10
"""So much of that work goes into moves that weigh mistakes after the first stage of the block
bound's root, where no more than this part of all points is lost; of the later walks every second
one is such moves."""

_MOVES = 50
"""Moves between looks at the clock."""


class BranchAndBoundOracle:
    """Exact minimisation by branch and bound in integers.

    Complete: without a time limit it always ends with a proof.

    Parameters
    ----------
    node_limit : int or None
        Nodes after which the search stops with what it has; None: no limit. With a limit the
        block bound is not used.
    block_bound : {"auto", "always", "never"}
        Bound for many plain columns: used where the other one stalls, at once, or not at all.
    """

    name = "branch-and-bound"
    integer_arithmetic = True
    requirement = (
        "takes objectives that are integers (a perturbation on a lattice) with sums below 2**57 "
        "steps and norms up to 4,000,000; round the tables to a lattice or choose another oracle"
    )

    def __init__(
        self,
        node_limit: int | None = None,
        block_bound: Literal["auto", "always", "never"] = "auto",
    ) -> None:
        self._node_limit = node_limit
        self._use = BlockBoundUse(block_bound if node_limit is None else "never")

    @property
    def is_complete(self) -> bool:
        """Whether every search ends with a proof, given time and memory."""
        return self._node_limit is None

    def supports(self, problem: ZeroOneProblem) -> bool:
        """Return whether the objective is an exact integer of moderate size."""
        return (
            problem.is_exact
            and total_cost(problem) < LARGEST_COST
            and (not needs_norm(problem) or _norm_size(problem) <= LARGEST_NORM)
        )

    def solve(self, problem: ZeroOneProblem, options: SolveOptions) -> Claim:
        """Minimise by local search, then branch and bound.

        The first call on a machine compiles the search first; a time limit starts after that.
        """
        compile_search()
        run = _Run(problem, options, self._node_limit, self._use)
        return run.solve()


def _norm_size(problem: ZeroOneProblem) -> int:
    largest = largest_box_norm(problem)
    budget = problem.grid.norm_budget
    return largest if budget is None else min(largest, budget)


class _Run:
    """One call of :meth:`BranchAndBoundOracle.solve`."""

    def __init__(
        self,
        problem: ZeroOneProblem,
        options: SolveOptions,
        node_limit: int | None,
        use: BlockBoundUse,
    ) -> None:
        self.problem = problem
        self.options = options
        self.node_limit = node_limit
        self.use = use
        self.last_look = 0.0
        self.started = time.perf_counter()
        self.reduction = reduce_problem(problem)
        self.scale = self.reduction.model.scale
        self.columns: Columns = columns_of(self.reduction)
        self.walk: Walk = new_walk(self.reduction, options.seed)
        self.weigher: WeightedWalk | None = None

    def solve(self) -> Claim:
        search, exhausted = self._first_attempt()
        limit = None
        n_nodes = 1
        while not exhausted and limit is None:
            before = time.perf_counter()
            if self.node_limit is not None:
                n_nodes = min(n_nodes, self.node_limit - search.nodes)
            exhausted = search.run(n_nodes)
            now = time.perf_counter()
            if now - before < _SLICE_SECONDS / 2:
                n_nodes *= 2
            elif now - before > _SLICE_SECONDS:
                n_nodes = max(1, n_nodes // 2)
            if not exhausted:
                self._report(search)
                limit = self._limit(search)
        return self._claim(search, exhausted, limit)

    def _first_attempt(self) -> tuple[Race, bool]:
        """Return the search, and whether a short walk and a few nodes were all it took."""
        if self.node_limit is None and self.use is not BlockBoundUse.ALWAYS:
            self._local_search(_FIRST_KICKS)
            search = self._new_search()
            if search.run(_FIRST_NODES):
                return search, True
            self._local_search()
            if int(self.walk.numbers[BEST]) >= search.upper:
                return search, False
        else:
            self._local_search()
        return self._new_search(), False

    def _new_search(self) -> Race:
        """Return the search at its root; a node limit is kept exactly, so by one thread."""
        n_members = self.options.threads if self.node_limit is None else 1
        gap = self._gap_steps()

        def new_member() -> ExactSearch:
            return new_search(self.reduction, self.walk, gap)

        members = [new_member() for _ in range(n_members)]
        search = SearchTeam(members) if n_members > 1 else members[0]
        self.race = Race(search, new_member, self.use, self._pause, n_members, self._improve)
        return self.race

    def _pause(self) -> bool:
        """Report now and then from inside a long step; return whether time is up."""
        now = time.perf_counter()
        if now - self.last_look > _SLICE_SECONDS:
            self.last_look = now
            self._report(self.race)
        return self._out_of_time()

    def _gap_steps(self) -> int:
        # Floats here only make the requested gap smaller, never larger.
        return int(self.options.absolute_gap * self.problem.steps_per_row * (1 - 1e-15))

    def _out_of_time(self) -> bool:
        limit = self.options.time_limit
        return limit is not None and time.perf_counter() - self.started > limit

    def _limit(self, search: Race) -> Limit | None:
        if self._out_of_time():
            return Limit.TIME
        if self.node_limit is not None and search.nodes >= self.node_limit:
            return Limit.NODE
        return None

    def _improve(self, look: int) -> tuple[int, IntArray]:
        """Walk on for longer than at first; return the best objective and its positions.

        Before the block bound by kicks; after it, where few points are lost, by weighing
        mistakes; then by both in turn, for longer.
        """
        if look == 0:
            self._local_search(longer=_LONGER)
        elif look == 1:
            if self._loses_few():
                self._weigh(_WEIGHED)
        elif look % 2 == 1 or not self._weigh(_MUCH_LONGER):
            self._local_search(longer=_MUCH_LONGER, patient=True)
        return int(self.walk.numbers[BEST]), self.walk.best

    def _loses_few(self) -> bool:
        """Return whether the best hypothesis known costs a tenth of all points at most."""
        lost = int(self.walk.numbers[BEST]) - self.reduction.base
        return _FEW * lost <= int(np.abs(self.reduction.costs).sum())

    def _weigh(self, longer: int) -> bool:
        """Search with weighed mistakes, where only points cost; return whether that is so."""
        if not can_weigh(self.reduction):
            return False
        if self.weigher is None:
            self.weigher = new_weighted_walk(self.reduction, self.columns, self.walk)
        moves = longer * _KICK_WORK // move_work(self.weigher)
        for _ in range(0, moves, _MOVES):
            weigh_on(self.reduction.model, self.weigher, _MOVES)
            if self._out_of_time():
                break
        take_over(self.walk, self.weigher.walk)
        return True

    def _local_search(
        self, most: int | None = None, longer: int = 1, patient: bool = False
    ) -> None:
        """Walk until the work is spent, or, without patience, nothing was found for a while."""
        model, d = self.reduction.model, self.problem.n_features
        work = 4 * (len(self.columns.point) + d * model.values.shape[1]) + 1
        kicks = longer * max(20, min(2000, _KICK_WORK // work))
        stale = max(50, kicks // 3)
        kicks = min(kicks, most or kicks)
        done = 0
        while done < kicks:
            step = min(kicks - done, 1 if done == 0 else 50)
            walk_on(model, self.columns, self.walk, step)
            done += step
            if self._out_of_time() or (self.walk.numbers[3] > stale and not patient):
                break

    def _report(self, search: Race) -> None:
        if self.options.progress is not None:
            unit = self.problem.unit / self.scale
            self.options.progress(
                search.upper * unit,
                self._lower_bound(search) * self.problem.unit,
                time.perf_counter() - self.started,
            )

    def _lower_bound(self, search: Race) -> int:
        """Return the bound proved so far, objective steps."""
        # The optimum is a whole number of steps, so the bound may be rounded up. Parts that were
        # pruned may hold a hypothesis better by the gap, which no open node's bound tells.
        upper = search.upper // self.scale - self._gap_steps()
        return min(-(-search.lower_bound() // self.scale), upper)

    def _claim(self, search: Race, exhausted: bool, limit: Limit | None) -> Claim:
        upper = search.upper // self.scale
        if exhausted:
            bound = upper - self._gap_steps()
        else:
            bound = self._lower_bound(search)
        closed = upper - bound <= self._gap_steps()
        return Claim(
            hypothesis=_hypothesis(self.problem, search.best),
            objective=upper,
            dual_bound=bound,
            termination=Termination.OPTIMAL if closed else Termination.FEASIBLE,
            limit=None if closed else limit,
            nodes=search.nodes,
        )


def _hypothesis(problem: ZeroOneProblem, positions: IntArray) -> Hypothesis:
    return tuple(
        allowed[int(a)] for allowed, a in zip(problem.grid.values, positions, strict=True)
    )
