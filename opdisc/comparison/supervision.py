"""Runs under a time limit that holds whatever a run does: compiled code, solvers, crashes.

Each worker of joblib keeps one child process with everything imported and hands it one run at a
time. A child that passes the limit is killed with all that it started, and the next run gets a
fresh one; so the limit needs no cooperation, and nothing is left behind.
"""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import IO, Any, cast

from opdisc.comparison.child import IDLE_LIMIT
from opdisc.comparison.plan import Run, parse_method
from opdisc.comparison.runs import Row, Setting, failed_row

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


class _Child:
    """One child process and the pipes to it."""

    def __init__(self) -> None:
        environment = {**os.environ, **dict.fromkeys(_ONE_THREAD, "1")}
        # Where this worker finds the package, whether or not it is installed.
        environment["PYTHONPATH"] = os.pathsep.join(p or os.getcwd() for p in sys.path)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "opdisc.comparison.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
        )
        self.table = ""
        self.warm: set[tuple[str, str | None]] = set()
        self.used = time.monotonic()

    def ask(self, request: tuple[Any, ...] | None, limit: float | None) -> Any:
        """Send a request, if any, and return the answer; EOFError if the child is no more."""
        source, target = cast(IO[bytes], self.process.stdout), cast(IO[bytes], self.process.stdin)
        timer = None
        if limit is not None:
            timer = threading.Timer(limit, self.kill)
            timer.daemon = True
            timer.start()
        try:
            if request is not None:
                pickle.dump(request, target)
                target.flush()
            answer = pickle.load(source)
            self.used = time.monotonic()
            return answer
        except (OSError, pickle.UnpicklingError):
            raise EOFError from None
        finally:
            if timer is not None:
                timer.cancel()

    def kill(self) -> None:
        """Kill the child and everything it started."""
        with suppress(OSError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def bury(self) -> int:
        """Kill the child, wait for its end and return its exit status."""
        self.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                cast(IO[bytes], pipe).close()
        return self.process.wait()


_children = threading.local()
_all: list[_Child] = []
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
        The table, as :meth:`opdisc.comparison.source.Source.packed` returns it.
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
    except (EOFError, OSError):
        if getattr(_children, "child", None) is not None:
            _forget()
        return failed_row(run, setting, "no process could be started for the run.", seconds=None)
    started = time.perf_counter()
    try:
        row: Row = child.ask(("run", run, setting), limit)
    except EOFError:
        seconds = time.perf_counter() - started
        status = _forget()
        if limit is not None and seconds >= limit:
            text = f"the run was ended at the time limit of {limit:g} seconds."
            return failed_row(run, setting, text, status="time limit", seconds=limit)
        text = f"the process of the run ended by itself (exit status {status})."
        return failed_row(run, setting, text, seconds=seconds)
    except BaseException:
        _forget()  # interrupted: the answer would be taken for the next run's
        raise
    return row


def _child(packed: bytes, digest: str) -> _Child:
    child: _Child | None = getattr(_children, "child", None)
    if child is not None and time.monotonic() - child.used > IDLE_LIMIT / 2:
        _forget()  # it may be about to end itself
        child = None
    if child is None:
        child = _Child()
        _children.child = child
        _all.append(child)
        child.ask(None, _START_LIMIT)
    if child.table != digest:
        child.ask(("table", packed), _START_LIMIT)
        child.table = digest
    return child


def _warmed(child: _Child, run: Run, setting: Setting, packed: bytes, digest: str) -> _Child:
    """Return a child that has loaded the compiled code of this kind of run."""
    kind = (run.method.partition("@")[0], run.oracle)
    if kind in child.warm or not parse_method(run.method)[0].has_grid:
        return child
    try:
        child.ask(("warm up", run, setting), _WARM_LIMIT)
    except EOFError:
        _forget()
        child = _child(packed, digest)
    child.warm.add(kind)
    return child


def _forget() -> int:
    child: _Child = _children.child
    _children.child = None
    _all.remove(child)
    return child.bury()


@atexit.register
def _end_children() -> None:
    for child in _all:
        child.bury()
    _all.clear()


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
        for child in _all:
            child.kill()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
