"""Jobs on several threads: order, and independence of which thread is the faster."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_info

from oracles.arithmetic.threads import products_on_one_thread, results_in_order


class Worker:
    """Notes whether it ever did two jobs at a time."""

    def __init__(self) -> None:
        self.shared = False
        self._lock = threading.Lock()

    def square(self, job: int, seconds: float) -> int:
        self.shared |= not self._lock.acquire(blocking=False)
        time.sleep(seconds)
        self._lock.release()
        return job * job


@pytest.mark.parametrize("n_workers", [1, 2, 3])
def test_results_come_in_the_order_of_the_jobs(n_workers: int) -> None:
    workers = [Worker() for _ in range(n_workers)]
    found = list(results_in_order(workers, range(20), lambda w, j: w.square(j, 0.002 * (j % 3))))
    assert found == [(j, j * j) for j in range(20)]
    assert not any(worker.shared for worker in workers)


@pytest.mark.parametrize("n_workers", [1, 2, 3])
def test_jobs_are_taken_at_the_same_moments_whoever_is_fast(n_workers: int) -> None:
    courses = []
    for slow in (0, 1, 2):
        taken: list[int] = []
        results: list[int] = []

        def jobs(taken: list[int] = taken, results: list[int] = results) -> Iterator[int]:
            for j in range(15):
                taken.append(len(results))
                yield j

        def do(worker: Worker, job: int, slow: int = slow) -> int:
            return worker.square(job, 0.004 if job % 3 == slow else 0.0)

        for _, result in results_in_order([Worker() for _ in range(n_workers)], jobs(), do):
            results.append(result)
        courses.append(taken)
    assert courses[0] == courses[1] == courses[2]
    ahead = [j - done for j, done in enumerate(courses[0])]
    assert max(ahead) == (0 if n_workers == 1 else 2 * n_workers)


@pytest.mark.parametrize("n_workers", [1, 2])
def test_a_failing_job_raises_in_its_turn(n_workers: int) -> None:
    def do(_: Worker, job: int) -> int:
        if job == 3:
            raise ValueError("three")
        return job

    found = []
    with pytest.raises(ValueError, match="three"):
        for job, _ in results_in_order([Worker() for _ in range(n_workers)], range(9), do):
            found.append(job)
    assert found == [0, 1, 2]


def test_products_take_one_thread_within_and_as_many_as_before_after():
    def threads():
        return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]

    before = threads()
    with products_on_one_thread():
        assert threads() == [1] * len(before)
    assert threads() == before
