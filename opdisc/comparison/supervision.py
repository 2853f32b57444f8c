"""Runs under a time limit that holds whatever a run does: compiled code, solvers, crashes.

Each worker of joblib keeps one child process with everything imported and hands it one run at a
time. A child that passes the limit is killed with all that it started, and the next run gets a
fresh one; so the limit needs no cooperation, and nothing is left behind.
"""

from __future__ import annotations

import os
import signal
import threading
import time
import weakref
from contextlib import suppress

from opdisc.comparison.plan import Run, parse_method
from opdisc.comparison.runs import Row, Setting, failed_row
from opdisc.comparison.worker_child import IDLE_LIMIT
from oracles.arithmetic import ChildEnded, ChildProcess, module_command, module_environment

_START_LIMIT = 300.0

_WARM_LIMIT = 180.0

_ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


class _Child(ChildProcess):
    """A child process, and what it has been told."""

    def __init__(self) -> None:
        environment = module_environment(**dict.fromkeys(_ONE_THREAD, "1"))
        super().__init__(module_command("opdisc.comparison.worker_child"), environment=environment)
        self.table = ""
        self.warm: set[tuple[str, str | None]] = set()
        self.used = time.monotonic()


_children = threading.local()

_all: weakref.WeakSet[_Child] = weakref.WeakSet()

_watching: list[int] = []


def run_supervised(
    run: Run, setting: Setting, packed: bytes, digest: str, owner: int | None = None
) -> Row:
    """Execute a run in this worker's child process.

    Parameters
    ----------
    run, setting : Run, Setting
        What to do.
    packed : bytes
        The table, as :meth:`opdisc.comparison.Source.packed` returns it.
    digest : str
        Tells tables apart.
    owner : int or None
        Process that started this worker; should it end, so do this worker and its child.

    Returns
    -------
    dict
        The row; "time limit" or "failed" if the child did not live to write it.
    """
    if owner is not None:
        _watch(owner)
    limit = setting.plan.time_limit
    try:
        child = _warmed(_child(packed, digest), run, setting, packed, digest)
    except (ChildEnded, OSError):
        return failed_row(run, setting, "no process could be started for the run.", seconds=None)
    started = time.perf_counter()
    try:
        row: Row = child.ask(("run", run, setting), limit)
    except ChildEnded as ended:
        if limit is not None and ended.overran:
            text = _limit_text(run, limit)
            return failed_row(run, setting, text, status="time limit", seconds=limit)
        text = f"the process of the run ended by itself (exit status {ended.status})."
        return failed_row(run, setting, text, seconds=time.perf_counter() - started)
    child.used = time.monotonic()
    return row


def _limit_text(run: Run, limit: float) -> str:
    """Return what a run that was ended says; without a certificate nothing is released."""
    method, _ = parse_method(run.method)
    if method.private and method.uses_oracle:
        return (
            f"no certificate came within the time limit of {limit:g} seconds, so nothing was "
            "released."
        )
    return f"the run was ended at the time limit of {limit:g} seconds."


def _child(packed: bytes, digest: str) -> _Child:
    """Return this thread's child; a fresh one where it has ended or may be about to."""
    child: _Child | None = getattr(_children, "child", None)
    if child is None or child.is_closed or time.monotonic() - child.used > IDLE_LIMIT / 2:
        if child is not None:
            child.close()
        child = _children.child = _Child()
        _all.add(child)
        child.receive(_START_LIMIT)
    if child.table != digest:
        child.ask(("table", packed), _START_LIMIT)
        child.table = digest
    child.used = time.monotonic()
    return child


def _warmed(child: _Child, run: Run, setting: Setting, packed: bytes, digest: str) -> _Child:
    """Return a child that has loaded the compiled code of this kind of run.

    A worker in which that once took too long does without from then on.
    """
    kind = (run.method.partition("@")[0], run.oracle)
    done = kind in child.warm or getattr(_children, "are_cold", False)
    if done or not parse_method(run.method)[0].has_grid:
        return child
    try:
        child.ask(("warm up", run, setting), _WARM_LIMIT)
    except ChildEnded as ended:
        _children.are_cold = ended.overran
        child = _child(packed, digest)
    child.warm.add(kind)
    return child


def _watch(owner: int) -> None:
    """End this worker when the process that started it has gone, once per worker."""
    if _watching or os.getppid() != owner:
        return
    _watching.append(owner)
    with suppress(ValueError):  # not the main thread
        # A terminal sends Ctrl-C to every process; the one that started this worker decides.
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == owner:
            time.sleep(0.5)
        for child in list(_all):
            child.close()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
