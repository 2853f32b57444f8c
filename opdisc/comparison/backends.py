"""All runs of a plan on joblib's workers: processes here, a Dask cluster, or a Ray cluster."""

from __future__ import annotations

import importlib.util
import os
import signal
import threading
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Literal, get_args

import joblib

from opdisc.arguments import check_choice
from opdisc.comparison.methods import ComparisonError, ComparisonMistake
from opdisc.comparison.plan import Run
from opdisc.comparison.runs import Row, Setting
from opdisc.comparison.source import Source
from opdisc.comparison.supervision import run_supervised

Backend = Literal["loky", "dask", "ray"]

BACKENDS: tuple[str, ...] = get_args(Backend)

_RAY_ROUND = 8
"""Runs per worker that go to Ray at once: joblib hands Ray's results back by the round."""


def check_backend(backend: str, cluster: str | None) -> None:
    """Refuse a backend that cannot run here.

    Raises
    ------
    ComparisonError
        If it is unknown, not installed, or takes no cluster.
    """
    check_choice("backend", backend, BACKENDS, error=ComparisonMistake)
    module = {"dask": "distributed"}.get(backend, backend)
    if backend != "loky" and importlib.util.find_spec(module) is None:
        raise ComparisonMistake(
            f"backend {backend} is not installed; run: pip install 'opdisc[{backend}]'."
        )
    if backend == "loky" and cluster is not None:
        raise ComparisonMistake("backend loky runs on this machine only; leave out --cluster.")


def run_all(
    runs: Sequence[Run],
    setting: Setting,
    source: Source,
    *,
    backend: Backend = "loky",
    jobs: int | None = None,
    cluster: str | None = None,
) -> Iterator[Row]:
    """Yield the row of every run as it ends, in no particular order.

    Parameters
    ----------
    runs : sequence of Run
        What to do.
    setting, source : Setting, Source
        What the runs share, and the table.
    backend : str
        "loky" (processes on this machine), "dask" or "ray".
    jobs : int or None
        Number of runs at a time; None takes every core of the machine or cluster.
    cluster : str or None
        Address of a running Dask scheduler or Ray cluster; None starts one on this machine.

    Notes
    -----
    Every fit runs in one thread: runs are what is parallel. Closing the iterator ends the workers.
    """
    check_backend(backend, cluster)
    packed, digest = source.packed(), source.digest()
    owner = os.getpid() if backend == "loky" else None
    calls = [joblib.delayed(run_supervised)(run, setting, packed, digest, owner) for run in runs]
    if not calls:
        return
    with ExitStack() as stack:
        count = stack.enter_context(_workers(backend, jobs, cluster))
        stack.enter_context(joblib.parallel_config(backend=backend))
        if backend == "ray":
            parallel = stack.enter_context(joblib.Parallel(n_jobs=count, batch_size=1))
            size = _RAY_ROUND * count
            for first in range(0, len(calls), size):
                yield from parallel(calls[first : first + size])
            return
        parallel = joblib.Parallel(
            n_jobs=count, batch_size=1, return_as="generator_unordered", pre_dispatch="3*n_jobs"
        )
        with _interrupts_held():
            rows = stack.enter_context(_ended_quietly(parallel(calls)))
        # Not "yield from": that would end joblib's generator before this one can prepare.
        for row in rows:  # noqa: UP028
            yield row


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Keep Ctrl-C back until the end, and from every process that is started meanwhile.

    A worker that is still loading would answer a terminal's Ctrl-C with a traceback; once it has
    loaded, it leaves Ctrl-C to the process that started it.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Both start a process of their own with the first worker, and then let signals through.
    for tracker in ("multiprocessing", "joblib.externals.loky.backend"):
        importlib.import_module(f"{tracker}.resource_tracker").ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _ended_quietly(rows: Generator[Row, None, None]) -> Iterator[Iterator[Row]]:
    """Close joblib's generator at the end, without its warning about what was not waited for."""
    try:
        yield rows
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows.close()


@contextmanager
def _without_the_race() -> Iterator[None]:
    """Hide one error of loky's own thread: a call was cancelled while it was handed to a worker.

    It happens only where the calls are given up, by an interrupt or an error that is told anyway.
    """
    before = threading.excepthook

    def hook(args: threading.ExceptHookArgs) -> None:
        name = "" if args.thread is None else args.thread.name
        if not (name == "ExecutorManagerThread" and args.exc_type is KeyError):
            before(args)

    threading.excepthook = hook
    try:
        yield
    finally:
        threading.excepthook = before


@contextmanager
def _workers(backend: Backend, jobs: int | None, cluster: str | None) -> Iterator[int]:
    """Start what a backend needs, yield the number of workers, and end it afterwards."""
    count = joblib.cpu_count() if jobs is None else jobs
    if backend == "loky":
        with _without_the_race():
            try:
                yield count
            finally:
                # The workers hold one idle process each; do not keep them for later calls.
                executor = joblib.externals.loky.get_reusable_executor()
                executor.shutdown(wait=True, kill_workers=True)
        return
    start = _dask if backend == "dask" else _ray
    with start(count, jobs, cluster) as found:
        yield found


@contextmanager
def _dask(count: int, jobs: int | None, address: str | None) -> Iterator[int]:
    distributed: Any = importlib.import_module("distributed")
    with ExitStack() as stack:
        target: Any = address
        if address is None:
            target = stack.enter_context(
                distributed.LocalCluster(
                    n_workers=count, threads_per_worker=1, processes=True, dashboard_address=None
                )
            )
        try:
            client = stack.enter_context(distributed.Client(target))
        except (OSError, ValueError) as error:
            raise _unreachable("Dask scheduler", address) from error
        yield sum(client.ncores().values()) if jobs is None else jobs


@contextmanager
def _ray(count: int, jobs: int | None, address: str | None) -> Iterator[int]:
    ray: Any = importlib.import_module("ray")
    importlib.import_module("ray.util.joblib").register_ray()
    begun = not ray.is_initialized()
    if begun:
        settings: dict[str, Any] = {"num_cpus": count} if address is None else {"address": address}
        try:
            ray.init(
                **settings, include_dashboard=False, log_to_driver=False, logging_level="ERROR"
            )
        except Exception as error:  # Ray raises that very class where it does not start in time
            raise _unreachable("Ray cluster", address) from error
    try:
        yield int(ray.cluster_resources()["CPU"]) if jobs is None else jobs
    finally:
        if begun:
            ray.shutdown()


def _unreachable(what: str, address: str | None) -> ComparisonError:
    place = "here" if address is None else f"at {address}"
    return ComparisonError(
        f"a {what} must answer {place}, but none did; check --cluster or leave it out."
    )
