"""The callers' end: workers are started once for each solver, kept warm, and leave nothing behind.

A solver of another project may print, crash, catch Ctrl-C, forget its time limit or clash with
another one. In a worker it can do none of this to the process that asked: a worker that is late is
killed, and a crash is an error as any other.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from oracles.arithmetic import ChildEnded, ChildProcess, module_command, module_environment
from oracles.errors import NoHypothesis, OracleError, OracleUnavailable, UnsupportedProblem
from oracles.milp.workers.messages import READY, Answer, Failure, Report, Request

SECONDS_OF_GRACE = 1.5
"""How long after its time limit a silent worker is given before it is killed."""

_LOOP = "oracles.milp.workers.loop"

_SECONDS_OF_START = 1.0
"""What a time limit does not count of a worker's start, at most."""


class _Worker:
    """One worker process, and the folder that it may fill while it solves."""

    def __init__(self, name: str, scratch: str) -> None:
        self.folder = os.path.join(scratch, f"solver-{secrets.token_hex(8)}")
        self.leave: Callable[[], object] = lambda: None
        lifeline: tuple[int, ...] = ()
        if os.name == "posix":
            # Nobody else has the other end: it closes when this process is gone, however it ended.
            near, far = map(_beyond_standard, os.pipe())
            lifeline = (near,)
            self.leave = weakref.finalize(self, os.close, far)
            _started.add(self)
        try:
            self.child = ChildProcess(
                module_command(
                    "oracles.milp.workers.loop", name, self.folder, *map(str, lifeline)
                ),
                environment=module_environment(),
                inherited=lifeline,
            )
        except OSError as error:
            raise OracleUnavailable(
                "a solver needs a process of its own, but Python cannot be started "
                f"({type(error).__name__}); use an oracle that needs none: 'branch-and-bound'."
            ) from None
        finally:
            for descriptor in lifeline:
                os.close(descriptor)
        self._is_ready = False

    def becomes_ready(self, seconds: float | None) -> bool:
        """Wait until the solver is loaded, and return whether it is; if not, it goes on."""
        if not self._is_ready and self.child.has_message(seconds):
            self._is_ready = self.child.receive() == READY
        return self._is_ready

    def close(self) -> None:
        """End the process with all that it started, and remove its folder."""
        self.child.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def clear(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)


_idle: dict[tuple[str, str], list[_Worker]] = {}
_started: weakref.WeakSet[_Worker] = weakref.WeakSet()
_lock = threading.Lock()


def _after_fork() -> None:
    """Leave the parent's workers to the parent, those that are asked by another thread too."""
    global _lock
    _lock = threading.Lock()
    for worker in list(_started):
        worker.leave()
    _started.clear()
    _idle.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _beyond_standard(descriptor: int) -> int:
    """Return a descriptor that is no standard stream, in the place of one that may be.

    Where a standard stream is closed, the next file gets its number.
    """
    if descriptor > 2:
        return descriptor
    import fcntl  # POSIX only

    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(descriptor)
    return moved


def _scratch() -> str:
    """Return where temporary files go; where none can be made, a folder known to take none."""
    try:
        return tempfile.gettempdir()
    except OSError:
        return os.path.join(os.sep, "tmp")


@contextmanager
def _worker(name: str) -> Iterator[_Worker]:
    """Lend an idle worker, or a new one; it is kept if it is still there afterwards."""
    key = name, _scratch()
    worker = None
    with _lock:
        while worker is None and _idle.get(key):
            worker = _idle[key].pop()
            if not worker.child.is_alive:
                worker = None
    worker = worker or _Worker(*key)
    try:
        yield worker
    except BaseException:
        worker.close()
        raise
    if not worker.child.is_closed:
        worker.clear()
        with _lock:
            _idle.setdefault(key, []).append(worker)


def ask_worker(
    name: str,
    question: Any,
    *,
    hear: Callable[[Report], None] = lambda report: None,
    kill_at: float | None = None,
    with_files: bool = False,
    keep: bool = True,
) -> Any:
    """Ask an oracle's worker and return its answer, or None if it could not start in time.

    Parameters
    ----------
    name : str
        Name of the oracle. Each has workers of its own: libraries of two solvers may clash.
    question : object
        A :class:`Request` or a :class:`RunnableQuestion`.
    hear : callable
        Gets the reports. What it raises ends the worker.
    kill_at : float or None
        When to give the worker up, on the clock of :func:`time.monotonic`.
    with_files : bool
        Whether a request gets a folder, which is removed whatever happens.
    keep : bool
        Whether the worker waits for more questions.

    Raises
    ------
    ChildEnded
        If the worker ended without an answer. Whatever else interrupts the wait ends it too.
    """

    def left() -> float | None:
        return None if kill_at is None else max(kill_at - time.monotonic(), 0.0)

    began = time.monotonic()
    with _worker(name) as worker:
        if not worker.becomes_ready(left()):
            return None
        if isinstance(question, Request):
            question = _delayed(question, time.monotonic() - began)
        if with_files:
            _make(worker.folder)
            question = replace(question, folder=worker.folder)
        worker.child.send(question, left())
        while isinstance(message := worker.child.receive(left()), Report):
            hear(message)
        if not keep or isinstance(message, Failure | OracleError):
            # The next one starts afresh, and with the environment as it is by then.
            worker.close()
        return message


def _make(folder: str) -> None:
    try:
        os.mkdir(folder, 0o700)
    except OSError as error:
        raise NoHypothesis(
            "a solver needs a folder for its files, but none can be made among the temporary ones "
            f"({type(error).__name__}); make room there or set TMPDIR."
        ) from None


def _delayed(request: Request, seconds: float) -> Request:
    """Give the solver back what its process took to start."""
    if request.deadline is None:
        return request
    return replace(request, deadline=request.deadline + min(seconds, _SECONDS_OF_START))


def solve_in_worker(
    name: str,
    request: Request,
    *,
    hear: Callable[[Report], None] = lambda report: None,
    seconds_left: float | None = None,
    with_files: bool = False,
    refusals: Mapping[tuple[str, int | None], str] = MappingProxyType({}),
) -> Answer | None:
    """Solve a program in a worker; return None if it was late and had to be killed.

    Parameters
    ----------
    name : str
        Name of the oracle.
    request : Request
        What to solve.
    hear : callable
        Gets the reports.
    seconds_left : float or None
        Until the caller's time is over. A worker that has not answered :data:`SECONDS_OF_GRACE`
        later is killed.
    with_files : bool
        Whether the solver gets a folder for its files.
    refusals : mapping of (str, int or None) to str
        By class and code of a solver's exception, what completes "this oracle ...", where it means
        that the solver does not take the program here.

    Raises
    ------
    NoHypothesis
        If the solver raised something else, or its process ended by itself.
    UnsupportedProblem
        If it raised one of the refusals.
    OracleError
        What the worker itself raises of :mod:`oracles.errors`.
    """
    kill_at = None
    if seconds_left is not None:
        kill_at = time.monotonic() + seconds_left + SECONDS_OF_GRACE
    reason = "its process ended"
    try:
        found = ask_worker(name, request, hear=hear, kill_at=kill_at, with_files=with_files)
    except ChildEnded as ended:
        if ended.overran:
            return None
        found = ended
    if found is None or isinstance(found, Answer):
        return found
    if isinstance(found, OracleError):
        raise found
    if isinstance(found, Failure):
        if (refusal := refusals.get((found.kind, found.code))) is not None:
            raise UnsupportedProblem(f"oracle '{name}' {refusal}.")
        reason = f"it failed with {found.kind}"
        if found.code is not None:
            reason += f" {found.code}"
    raise NoHypothesis(
        f"oracle '{name}' needs an answer of its solver, but {reason}; choose another oracle, or "
        f"let one take over: '{name} then branch-and-bound'."
    )


def idle_processes() -> tuple[int, ...]:
    """Return the process ids of the workers that wait for a question."""
    with _lock:
        return tuple(w.child.pid for workers in _idle.values() for w in workers)
