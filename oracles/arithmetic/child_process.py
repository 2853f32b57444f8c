"""Child processes that answer requests: the parent's end, and the child's.

A child serves one request after another until its parent closes it or is gone. It has a process
group of its own, so that Ctrl-C in a terminal is for the parent alone and whatever the child has
started ends with it. Messages are pickled; what a solver prints does not get among them.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import queue
import selectors
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Any, NoReturn

_PR_SET_PDEATHSIG = 1


class ChildEnded(Exception):  # noqa: N818 - it need not be an error
    """A child has ended without an answer.

    Parameters
    ----------
    status : int
        Its exit status; minus the signal that ended it.
    overran : bool
        Whether it was ended because its time was over.
    """

    def __init__(self, status: int, *, overran: bool) -> None:
        super().__init__(f"a child process ended with exit status {status}.")
        self.status, self.overran = status, overran


def write_pickle(stream: IO[bytes], message: Any) -> None:
    """Write one message as a pickle."""
    pickle.dump(message, stream)
    stream.flush()


def read_pickle(stream: IO[bytes]) -> Any:
    """Return the next message; raise EOFError at the end, in the midst of a message too."""
    try:
        return pickle.load(stream)  # nosec B301 # written by this program's own child
    except pickle.UnpicklingError:
        raise EOFError from None


class ChildProcess:
    """A child that answers requests, and ends with this object or with this process.

    Parameters
    ----------
    command : sequence of str
        What to run, see :func:`module_command`.
    environment : mapping or None
        Its environment variables; None for those of this process.
    show_errors : bool
        Whether its standard error stream is that of this process; otherwise it is discarded.
    own_group : bool
        Whether the child and all that it starts are a process group, which ends as one. Without,
        Ctrl-C reaches the child too, and whoever ends this process's group ends the child.
    inherited : sequence of int
        File descriptors that the child has too, under the same numbers; none but on POSIX.
    write, read : callable
        How a message goes to a stream and comes from one. ``read`` raises EOFError at the end.

    Raises
    ------
    OSError
        If the command cannot be run.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        show_errors: bool = False,
        own_group: bool = True,
        inherited: Sequence[int] = (),
        write: Callable[[IO[bytes], Any], None] = write_pickle,
        read: Callable[[IO[bytes]], Any] = read_pickle,
    ) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if show_errors else subprocess.DEVNULL,
            env=environment,
            start_new_session=own_group,
            pass_fds=tuple(inherited),
        )
        self._own_group, self._write, self._read = own_group, write, read
        self._end = weakref.finalize(self, _end, self._process, own_group, os.getpid())

    @property
    def pid(self) -> int:
        """The child's process id, and its group's."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether the child is still there."""
        return self._process.poll() is None

    @property
    def is_closed(self) -> bool:
        """Whether the child is known to have ended: :meth:`close` was called, or had to be."""
        return not self._end.alive

    def close(self) -> int:
        """Kill the child and its group, and return its exit status; harmless if repeated."""
        self._end()
        return self._process.wait()

    def ask(self, request: Any, time_limit: float | None = None) -> Any:
        """Send a request and return the next message; errors are those of :meth:`receive`."""
        with self._exchange(time_limit):
            self._write(_stream(self._process.stdin), request)
            return self._read(_stream(self._process.stdout))

    def send(self, request: Any, time_limit: float | None = None) -> None:
        """Send a request; errors are those of :meth:`receive`."""
        with self._exchange(time_limit):
            self._write(_stream(self._process.stdin), request)

    def receive(self, time_limit: float | None = None) -> Any:
        """Return the next message.

        Parameters
        ----------
        time_limit : float or None
            Seconds after which the child and its group are killed.

        Raises
        ------
        ChildEnded
            If the child ended instead. Whatever else interrupts the wait ends the child as well:
            a late answer would be taken for that to the next request.
        """
        with self._exchange(time_limit):
            return self._read(_stream(self._process.stdout))

    def has_message(self, seconds: float | None = None) -> bool:
        """Wait for a child's first message or its end, and return whether either has come.

        Nothing is killed where it has not. Where pipes cannot be watched, returns at once.
        """
        if os.name != "posix" or self.is_closed:
            return True
        with selectors.DefaultSelector() as selector:
            selector.register(_stream(self._process.stdout), selectors.EVENT_READ)
            return bool(selector.select(seconds))

    @contextmanager
    def _exchange(self, time_limit: float | None) -> Iterator[None]:
        if self.is_closed:
            raise ChildEnded(self.close(), overran=False)
        # Whoever takes it says how the exchange ended: by its answer, or by the limit.
        end = threading.Lock()

        def kill() -> None:
            if end.acquire(blocking=False):
                _kill(self._process, self._own_group)

        timer = threading.Timer(max(time_limit or 0.0, 0.0), kill)
        timer.daemon = True
        if time_limit is not None:
            timer.start()
        try:
            yield
            if not end.acquire(blocking=False):  # an answer came, but of a child that is killed
                raise EOFError
        except (EOFError, OSError):
            overran = not end.acquire(blocking=False)
            raise ChildEnded(self.close(), overran=overran) from None
        except BaseException:
            self.close()
            raise
        finally:
            timer.cancel()


def module_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module in this interpreter.

    The current folder is not searched for modules: see :func:`module_environment`.
    """
    return [sys.executable, "-P", "-m", module, *arguments]


def module_environment(**changes: str) -> dict[str, str]:
    """Return an environment in which modules are found where this process finds them."""
    searched = os.pathsep.join(map(os.path.abspath, sys.path))
    return {**os.environ, "PYTHONPATH": searched, **changes}


class ParentConnection:
    """The child's end; while it exists, this process ends as soon as its parent is gone.

    From now on, what is printed on standard output goes to the standard error stream, and standard
    input is empty.

    Parameters
    ----------
    last : callable or None
        Called once the parent is gone, before this process ends.
    """

    def __init__(self, last: Callable[[], None] | None = None) -> None:
        self._last = last
        self._answers = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        # What runs here may read from standard input, and must not get a request.
        self._incoming = os.dup(0)
        with open(os.devnull, "rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        self._requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def receive(self, idle_limit: float | None = None) -> Any:
        """Return the next request; end this process if none comes within the limit in seconds."""
        try:
            return self._requests.get(timeout=idle_limit)
        except queue.Empty:
            _end_this_process()

    def send(self, message: Any) -> None:
        """Answer."""
        write_pickle(self._answers, message)

    def _listen(self) -> None:
        """Queue requests; where there can be no more, end this process and what it started."""
        # Not sys.stdin: an interpreter that ends while a thread reads from it aborts.
        source = open(self._incoming, "rb", closefd=False)  # noqa: SIM115
        try:
            while True:
                self._requests.put(pickle.load(source))  # nosec B301 # of the parent
        finally:
            if self._last is not None:
                self._last()
            _end_this_process()


def die_with_parent() -> None:
    """Ask Linux to end this process with its parent.

    For a solver that keeps Python's other threads from running; it would orphan a solver's child.
    """
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))


def _end_this_process() -> NoReturn:
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(0)


def _stream(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


def _kill(process: subprocess.Popen[bytes], own_group: bool) -> None:
    if not own_group:
        process.kill()
    elif process.returncode is None:  # once it is waited for, its number may be another's
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)


def _end(process: subprocess.Popen[bytes], own_group: bool, owner: int) -> None:
    if os.getpid() != owner:
        return  # forked since: the child is that of the process that started it
    _kill(process, own_group)
    for pipe in (process.stdin, process.stdout):
        with suppress(OSError):
            _stream(pipe).close()
    process.wait()
