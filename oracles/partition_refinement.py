"""Refinement of a partition: the heaviest cells are tightened or split first.

Whatever it does is valid, as long as it looks at rounds that are over only.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue

import numpy as np

from oracles.block_kernels import FloatArray
from oracles.envelope import Envelope, Region
from oracles.envelope_numbers import step_work
from oracles.partition import Cell, CellMasses, best_split, integer_mass, split_cell
from oracles.tightening import Tightened, Tightener

GOOD = 0.5
"""Cells that accept this share of their draws are left alone."""

_WORTH_A_THREAD = 3e8
_JOBS_PER_THREAD = 2
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
        Full marginal of the row under the cell's bound.
    """

    row: int | None
    region: Region
    law: FloatArray


class Refinement:
    """Tightens and splits cells, several at a time if there are several threads.

    Parameters
    ----------
    envelope : Envelope
        The bound; its buffers are overwritten.
    slack : float
        What rounding may cost a log sum.
    n_threads : int
        Threads, each with an envelope of its own once there is work for them. The course of the
        refinement depends on their number, and on nothing that varies from run to run.
    another : callable
        Returns one more envelope, equal to the first.

    Attributes
    ----------
    cells : CellMasses
        The partition.
    reference : int
        What log masses are relative to, nats.
    work : float
        Work so far, nanoseconds of one thread, estimated.
    most_threads : int
        How many threads there may be.
    """

    def __init__(
        self,
        envelope: Envelope,
        slack: float,
        n_threads: int,
        another: Callable[[], Envelope],
    ) -> None:
        self.cells = CellMasses()
        self.work = 0.0
        self.tightener = Tightener(envelope)
        self._tighteners = [self.tightener]
        self.most_threads, self._another = n_threads, another
        self._slack = slack
        self.whole = envelope.whole()
        self._queue: list[tuple[float, int, Cell]] = []
        self._good: list[Cell] = []
        self._serial = 0
        self.reference = 0
        self._plant(envelope)

    @property
    def steps(self) -> int:
        """Tightening steps so far."""
        return sum(tightener.steps_done for tightener in self._tighteners)

    @property
    def n_threads(self) -> int:
        """Threads at work."""
        return len(self._tighteners)

    @property
    def envelopes(self) -> list[Envelope]:
        """One for each thread at work; between runs, anybody may overwrite their buffers."""
        return [tightener.envelope for tightener in self._tighteners]

    def run(self, limit: float, report: Callable[[], None]) -> None:
        """Refine the heaviest cells until the work reaches a limit, or all accept well."""
        if self.n_threads < self.most_threads and limit > _WORTH_A_THREAD:
            self._tighteners.append(self._new_tightener())
        if self.n_threads == 1:
            while self.work < limit and (cells := self._next(1)):
                self._advance(cells, [self._look(self.tightener, cells[0])])
                report()
        else:
            free: SimpleQueue[Tightener] = SimpleQueue()
            for tightener in self._tighteners:
                free.put(tightener)

            def look(cell: Cell) -> Tightened | Split:
                tightener = free.get()
                try:
                    return self._look(tightener, cell)
                finally:
                    free.put(tightener)

            with ThreadPoolExecutor(self.n_threads) as pool:
                size = _JOBS_PER_THREAD * self.n_threads
                while self.work < limit and (cells := self._next(size)):
                    self._advance(cells, list(pool.map(look, cells)))
                    report()
        if not self._queue and self._good:
            for cell in self._good:
                self._enqueue(cell)
            self._good.clear()

    def _new_tightener(self) -> Tightener:
        return Tightener(self._another())

    def _plant(self, envelope: Envelope) -> None:
        """Tighten the whole, at smaller weights first where the sum is deep."""
        beta, start, step = envelope.beta, None, 2.0
        if beta * float(np.abs(envelope.counts).sum()) > _DEEP:
            for divisor in (16.0, 4.0, 2.0):
                envelope.beta = beta / divisor
                found = self.tightener.run(start, self.whole, step=step, n_steps=30)
                start, step = found.mixtures, found.step
            envelope.beta = beta
        found = self.tightener.run(start, self.whole, step=step, n_steps=80)
        self.reference = math.floor(found.log_sum)
        log_mass = found.log_sum - self.reference + self._slack
        root = Cell(
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
        self.work = self.tightener.work_done

    def _enqueue(self, cell: Cell) -> None:
        self._serial += 1
        heapq.heappush(self._queue, (-cell.log_mass, self._serial, cell))

    def _next(self, count: int) -> list[Cell]:
        """Take up to so many cells with something to do, the heaviest first."""
        cells: list[Cell] = []
        while self._queue and len(cells) < count:
            cell = heapq.heappop(self._queue)[2]
            if cell.mixtures is None or cell.mass == 0:
                continue
            if cell.tightened and cell.accepted >= GOOD * max(cell.trials, 4):
                self._good.append(cell)
            else:
                cells.append(cell)
        return cells

    def _look(self, tightener: Tightener, cell: Cell) -> Tightened | Split:
        """Compute what a cell needs next; changes nothing but the tightener's buffers."""
        region = cell.region(self.whole)
        assert cell.mixtures is not None
        if not cell.tightened:
            n_steps = max(10, 40 // cell.depth)
            return tightener.run(cell.mixtures, region, step=cell.step, n_steps=n_steps)
        envelope = tightener.envelope
        envelope.log_sum(cell.bound, region)
        envelope.take_laws()
        tightener.work_done += 2 * step_work(envelope)
        lost = envelope.shortfalls(tightener.shares(cell.mixtures, region))
        row = best_split(lost, region)
        law = envelope.law[0 if row is None else row].copy()
        return Split(row=row, region=region, law=law)

    def _advance(self, cells: Sequence[Cell], looks: Sequence[Tightened | Split]) -> None:
        for cell, look in zip(cells, looks, strict=True):
            if isinstance(look, Tightened):
                self._tighten(cell, look)
            else:
                self._split(cell, look)
        self.work = sum(tightener.work_done for tightener in self._tighteners)

    def _tighten(self, cell: Cell, found: Tightened) -> None:
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

    def _split(self, cell: Cell, found: Split) -> None:
        if found.row is None:  # every score is settled, the bound is the loss
            return
        children = split_cell(cell, found.row, found.region, found.law, self._slack)
        cell.mixtures = None
        self.cells.replace(cell, children)
        for child in children:
            self._enqueue(child)
