"""Jobs on several threads, results in the order of the jobs; matrix products on one thread."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from queue import SimpleQueue
from typing import TypeVar

from threadpoolctl import ThreadpoolController

W = TypeVar("W")

J = TypeVar("J")

R = TypeVar("R")

_AHEAD = 2


def results_in_order(
    workers: Sequence[W], jobs: Iterable[J], do: Callable[[W, J], R]
) -> Generator[tuple[J, R]]:
    """Do every job with one of the workers, each on a thread of its own.

    Jobs are taken a few ahead, always as many: which job is taken when depends on the results
    yielded before, never on which thread was the faster.

    Parameters
    ----------
    workers : sequence
        What a job is done with, one job at a time.
    jobs : iterable
        Taken one by one, in between results.
    do : callable
        Does a job with a worker.

    Yields
    ------
    tuple
        A job and its result.
    """
    if len(workers) == 1:
        for job in jobs:
            yield job, do(workers[0], job)
        return
    free: SimpleQueue[W] = SimpleQueue()
    for worker in workers:
        free.put(worker)

    def work(job: J) -> R:
        worker = free.get()
        try:
            return do(worker, job)
        finally:
            free.put(worker)

    with ThreadPoolExecutor(len(workers)) as pool:
        pending: deque[tuple[J, Future[R]]] = deque()
        for job in jobs:
            pending.append((job, pool.submit(work, job)))
            if len(pending) > _AHEAD * len(workers):
                first, future = pending.popleft()
                yield first, future.result()
        for job, future in pending:
            yield job, future.result()


def products_on_one_thread() -> AbstractContextManager[object]:
    """Return a context within which numpy multiplies matrices on one thread.

    Many small products lose on several threads: those wait for each other, on a busy machine for
    50 times as long as the product takes.
    """
    limited: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return limited


@functools.cache
def _controller() -> ThreadpoolController:
    """Return what knows the loaded libraries; looking for them takes a while."""
    return ThreadpoolController()
