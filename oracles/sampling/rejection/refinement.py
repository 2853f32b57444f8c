"""Refinement of a partition: the heaviest cells are tightened or split first.

Whatever it does is valid, as long as it looks at rounds that are over only.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from oracles.arithmetic import FloatArray, results_in_order
from oracles.sampling.rejection.lower_bound import LowerBound, Region, step_work
from oracles.sampling.rejection.partition import (
    CellMasses,
    PartitionCell,
    best_split,
    integer_mass,
    split_cell,
)
from oracles.sampling.rejection.tightening import Tightened, Tightener

GOOD = 0.5
"""Cells that accept this share of their draws are left alone."""

_WORTH_A_THREAD = 1.5e9

_DEEP = 500.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Where to split a cell.

    Parameters
    ----------
    row : int or None
        Whose score tells the children apart; None if all scores are settled.
    region : Region
        The cell's.
    law : ndarray of shape (w,), float64
        Full marginal of the row's score index under the cell's bound, probabilities; of any row
        if ``row`` is None.
    work : float
        What finding out took, nanoseconds of one thread, estimated.
    """

    row: int | None
    region: Region
    law: FloatArray
    work: float


class Refinement:
    """Tightens and splits cells, several at a time if there are several threads.

    Parameters
    ----------
    lower_bound : LowerBound
        The bound; its buffers are overwritten.
    slack : float
        What rounding may cost a log sum.
    n_threads : int
        Threads, each with a lower bound of its own once there is work for them. The course of the
        refinement depends on their number, and on nothing that varies from run to run.
    another : callable
        Returns one more lower bound, equal to the first.

    Attributes
    ----------
    cells : CellMasses
        The partition.
    reference : int
        What log masses are relative to, nats.
    work : float
        Work so far, nanoseconds of one thread, estimated.
    steps : int
        Tightening steps so far.
    most_threads : int
        How many threads there may be.
    """

    def __init__(
        self,
        lower_bound: LowerBound,
        slack: float,
        n_threads: int,
        another: Callable[[], LowerBound],
    ) -> None:
        self.cells = CellMasses()
        self.work, self.steps = 0.0, 0
        self.tightener = Tightener(lower_bound)
        self._tighteners = [self.tightener]
        self.most_threads, self._another = n_threads, another
        self._slack = slack
        self.whole = lower_bound.whole()
        self._queue: list[tuple[float, int, PartitionCell]] = []
        self._good: list[PartitionCell] = []
        self._serial = 0
        self.reference = 0
        self._plant(lower_bound)

    @property
    def n_threads(self) -> int:
        """Threads at work."""
        return len(self._tighteners)

    @property
    def envelopes(self) -> list[LowerBound]:
        """One for each thread at work; between runs, anybody may overwrite their buffers."""
        return [tightener.lower_bound for tightener in self._tighteners]

    def run(self, limit: float, report: Callable[[], None]) -> None:
        """Refine the heaviest cells until the work reaches a limit, or all accept well."""
        if self.n_threads < self.most_threads and limit > _WORTH_A_THREAD:
            self._tighteners.append(Tightener(self._another()))
        while self.work < limit and self._queue:
            jobs = self._jobs(limit)
            with closing(results_in_order(self._tighteners, jobs, self._look)) as looks:
                for cell, look in looks:
                    self._advance(cell, look)
                    report()
        if not self._queue and self._good:
            for cell in self._good:
                self._enqueue(cell)
            self._good.clear()

    def _plant(self, lower_bound: LowerBound) -> None:
        """Tighten the whole, at smaller inverse temperatures first where the sum is deep."""
        beta, start, step = lower_bound.beta, None, 2.0
        if beta * float(np.abs(lower_bound.counts).sum()) > _DEEP:
            for divisor in (16.0, 4.0, 2.0):
                lower_bound.beta = beta / divisor
                found = self.tightener.run(start, self.whole, step=step, n_steps=30)
                self._count(found)
                start, step = found.mixtures, found.step
            lower_bound.beta = beta
        found = self.tightener.run(start, self.whole, step=step, n_steps=80)
        self._count(found)
        self.reference = math.floor(found.log_sum)
        log_mass = found.log_sum - self.reference + self._slack
        root = PartitionCell(
            parent=None,
            condition=(),
            depth=0,
            mass=integer_mass(log_mass),
            log_mass=log_mass,
            bound=found.bound,
            mixtures=found.mixtures,
            step=found.step,
            tightened=True,
        )
        self.cells.add(root)
        self._enqueue(root)

    def _enqueue(self, cell: PartitionCell) -> None:
        self._serial += 1
        heapq.heappush(self._queue, (-cell.log_mass, self._serial, cell))

    def _jobs(self, limit: float) -> Iterator[PartitionCell]:
        """Take the cells with something to do, the heaviest first, until the work is done."""
        while self.work < limit and self._queue:
            cell = heapq.heappop(self._queue)[2]
            if cell.mixtures is None or cell.mass == 0:
                continue
            if cell.tightened and cell.accepted >= GOOD * max(cell.trials, 4):
                self._good.append(cell)
            else:
                yield cell

    def _look(self, tightener: Tightener, cell: PartitionCell) -> Tightened | Split:
        """Compute what a cell needs next; changes nothing but the tightener's buffers."""
        region = cell.region(self.whole)
        assert cell.mixtures is not None
        if not cell.tightened:
            n_steps = max(10, 40 // cell.depth)
            return tightener.run(cell.mixtures, region, step=cell.step, n_steps=n_steps)
        lower_bound = tightener.lower_bound
        lower_bound.log_sum(cell.bound, region)
        lower_bound.take_laws()
        lost = lower_bound.shortfalls(tightener.shares(cell.mixtures, region))
        row = best_split(lost, region)
        law = lower_bound.law[0 if row is None else row].copy()
        return Split(row=row, region=region, law=law, work=2 * step_work(lower_bound))

    def _advance(self, cell: PartitionCell, found: Tightened | Split) -> None:
        self._count(found)
        if isinstance(found, Tightened):
            self._tighten(cell, found)
        else:
            self._split(cell, found)

    def _count(self, found: Tightened | Split) -> None:
        self.work += found.work
        self.steps += found.n_steps if isinstance(found, Tightened) else 0

    def _tighten(self, cell: PartitionCell, found: Tightened) -> None:
        """Take over a cell's own bound; the smaller of the old and the new mass holds."""
        cell.tightened = True
        if found.log_sum == -math.inf:
            self.cells.shrink(cell, 0)  # no hypothesis meets the conditions
            return
        log_mass = found.log_sum - self.reference + self._slack
        # A worse fresh bound never replaces the parent's.
        if log_mass < cell.log_mass:
            cell.log_mass, cell.bound = log_mass, found.bound
            cell.mixtures, cell.step = found.mixtures, found.step
            self.cells.shrink(cell, integer_mass(log_mass))
        self._enqueue(cell)

    def _split(self, cell: PartitionCell, found: Split) -> None:
        if found.row is None:  # every score is settled, the bound is the loss
            return
        children = split_cell(cell, found.row, found.region, found.law, self._slack)
        cell.mixtures = None
        self.cells.replace(cell, children)
        for child in children:
            self._enqueue(child)
