"""Pricing all states of a node's blocks, by several threads where there is enough to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from types import TracebackType

import numpy as np

from oracles.branch_and_bound.block_bound.arrays import (
    CHUNK,
    BlockArrays,
    MediumArray,
    PricingScratch,
    new_pricing_scratch,
)
from oracles.branch_and_bound.block_bound.kernels import price
from oracles.branch_and_bound.block_bound.product_kernels import fill_parts, join_parts
from oracles.branch_and_bound.block_bound.product_plan import ProductArrays, new_product_scratch
from oracles.branch_and_bound.block_bound.relaxation import Relaxation

Stop = Callable[[], bool]
"""Called now and then; True ends the ascent, which keeps what is proved."""

Job = tuple[BlockArrays, MediumArray, MediumArray, ProductArrays | None]
"""A block's arrays, its shares, what its contexts charge, and a plan that prices faster."""

_SLICE_WORK = 300_000_000

_WORTH_SHARING = 30_000_000

_GLANCE = 0.05


class PricingTeam:
    """Prices blocks, each by one thread; the caller's thread alone calls ``stop``.

    Parameters
    ----------
    node : Relaxation
        Whose blocks.
    n_threads : int
        At most so many threads.
    """

    def __init__(self, node: Relaxation, n_threads: int) -> None:
        self._n_patterns = max((len(b.arrays.pattern_at) for b in node.blocks), default=1)
        self._scratch = new_pricing_scratch(self._n_patterns)
        self._pool = ThreadPoolExecutor(n_threads) if n_threads > 1 else None
        self._halted = False

    def __enter__(self) -> PricingTeam:
        """Use it as a context, so that no thread is left behind."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the threads, in mid-work if need be."""
        self._halted = True
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def price(self, jobs: Sequence[Job], stop: Stop) -> list[MediumArray] | None:
        """Return what every block's states cost; None if stopped."""
        if self._pool is None or sum(_work(job) for job in jobs) < _WORTH_SHARING:
            tables = []
            for arrays, share, cost, plan in jobs:
                table = price_states(arrays, share, cost, self._scratch, stop, plan)
                if table is None:
                    return None
                tables.append(table)
            return tables
        order = sorted(range(len(jobs)), key=lambda i: -_work(jobs[i]))
        futures = {i: self._pool.submit(self._priced, jobs[i]) for i in order}
        self._wait(list(futures.values()), stop)
        found = [futures[i].result() for i in range(len(jobs))]
        done = [table for table in found if table is not None]
        return done if len(done) == len(jobs) else None

    def _priced(self, job: Job) -> MediumArray | None:
        arrays, share, cost, plan = job
        scratch = new_pricing_scratch(self._n_patterns)
        return price_states(arrays, share, cost, scratch, lambda: self._halted, plan)

    def _wait(self, futures: list[Future[MediumArray | None]], stop: Stop) -> None:
        while wait(futures, timeout=_GLANCE).not_done:
            if not self._halted and stop():
                self._halted = True


def _work(job: Job) -> int:
    arrays, share, _, plan = job
    if plan is not None:
        return int(plan.row_at[-1]) * int(plan.scores.shape[1]) * len(share) // len(plan.part_at)
    return len(arrays.own) * (len(share) + 1)


def price_states(
    arrays: BlockArrays,
    share: MediumArray,
    cost: MediumArray,
    scratch: PricingScratch,
    stop: Stop,
    plan: ProductArrays | None = None,
) -> MediumArray | None:
    """Return ``F`` of every state but for its columns' own costs; None if stopped."""
    if plan is not None:
        return _price_product(arrays, plan, share, cost, stop)
    n = arrays.own.shape[0]
    table = np.empty(n, dtype=np.int32)
    levels = int(arrays.n_levels.mean()) + 1 if len(arrays.n_levels) else 1
    work = CHUNK * (len(share) * levels + len(arrays.pattern_coord) + 10)
    slice_size = max(1, _SLICE_WORK // work) * CHUNK
    for first in range(0, n, slice_size):
        last = min(n, first + slice_size)
        price(arrays, first, last, share, cost, scratch, table)
        if last < n and stop():
            return None
    return table


def _price_product(
    arrays: BlockArrays,
    plan: ProductArrays,
    share: MediumArray,
    cost: MediumArray,
    stop: Stop,
) -> MediumArray | None:
    """Return what :func:`price_states` does, by a plan."""
    n_parts = len(plan.part_at) - 1
    scratch = new_product_scratch(plan, len(share))
    step = max(1, _SLICE_WORK * n_parts // (scratch.rows.size * (len(share) + 1) * 4))
    for first in range(0, n_parts, step):
        last = min(n_parts, first + step)
        fill_parts(arrays, plan, first, last, share, cost, scratch)
        if last < n_parts and stop():
            return None
    table = np.empty(arrays.own.shape[0], dtype=np.int32)
    join_parts(arrays, plan, scratch, table)
    return table
