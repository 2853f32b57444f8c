"""Calls an untrusted function on one part of a table, in a process that has seen no other part.

A server process is started before any row is sent. It holds no data. For every part it forks a
fresh child, which gets the function and that part through a pipe of its own, and may write a fixed
number of bytes into another. Whatever else it does (raise, print, remember, exit, crash, run on)
ends with it. Its process group is killed before the next part starts. Its output goes nowhere, and
nothing that it wrote is interpreted as anything but those bytes. This holds code that errs, not
code that wants out. A process in a session of its own, a file or the clock reach the next part. So
learners of the user's are a condition of the receipt (:mod:`.trust`). Namespaces would close some
of these ways on some systems and none on others.
"""

from __future__ import annotations

import importlib
import os
import pickle
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, BinaryIO, Self, cast

from opdisc.errors import OPDiscError

try:
    import cloudpickle  # type: ignore[import-untyped]
except ImportError:  # older versions of joblib bring their own
    from joblib.externals import cloudpickle

_LENGTH = struct.Struct("<Q")

_PATIENCE = 20.0

_BEGIN, _END = b"+", b"."

_CHUNK = 1 << 16

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")

_START = (
    "import sys; sys.path[:] = {path!r}; "
    "from opdisc.mechanisms.robust_vote.isolation import serve; serve({descriptor}, {modules!r})"
)


class IsolationError(OPDiscError, RuntimeError):
    """The function cannot be sent to another process, or no process can be started."""


class IsolatedCalls:
    """A context in which one function is called on one part at a time, each in a fresh process.

    Parameters
    ----------
    function : callable
        ``function(part) -> bytes``. Sent by value if it is not importable.
    n_bytes : int
        Length of a valid answer.
    time_limit : float or None
        Wall seconds per part.
    modules : tuple of str
        Imported once, by the server, to save each child the time.

    Raises
    ------
    IsolationError
        On entering, if the function cannot be pickled or a child cannot load it.

    Notes
    -----
    **Guarantee.** :meth:`answer` is a function of its own part, the function's own coins and, with
    a limit, of how long the child took. **Assumes** a function that reaches nothing outside its
    process: no file, network, clock or other process.
    """

    def __init__(
        self,
        function: Callable[[Any], bytes],
        n_bytes: int,
        *,
        time_limit: float | None = None,
        modules: tuple[str, ...] = (),
    ) -> None:
        try:
            self._function = cloudpickle.dumps(function)
        except Exception:
            raise IsolationError(
                "a learner must be picklable to run in a process of its own; pass a simpler one "
                "or isolation='none'."
            ) from None
        self._n_bytes = n_bytes
        self._time_limit = time_limit
        self._modules = ("opdisc.mechanisms.robust_vote.learners", *modules)
        self._server: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def __enter__(self) -> Self:
        """Start the server, and make sure that a child can load the function."""
        self._start()
        # No part yet: the child loads the function and answers zeros.
        if self._call(b"", None) != bytes(self._n_bytes):
            self._stop()
            raise IsolationError(
                "a learner must load in a process of its own, but this one does not or no "
                "process can start; define it in an importable module or pass isolation='none'."
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the server."""
        self._stop()

    def answer(self, part: Any) -> bytes | None:
        """Return the function's answer for a part, or None if it gave no valid one."""
        return self._call(pickle.dumps(part, protocol=5), self._time_limit)

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        code = _START.format(
            path=[p or os.getcwd() for p in sys.path],
            descriptor=theirs.fileno(),
            modules=self._modules,
        )
        threads = {name: "1" for name in _THREADS}
        self._server = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **threads},
            pass_fds=(theirs.fileno(),),
            start_new_session=True,
        )
        theirs.close()
        self._control = ours
        # Wait for the imports: a new server's start must not count against a part's limit.
        ours.settimeout(3 * _PATIENCE)
        with suppress(OSError):
            ours.recv(1)

    def _stop(self) -> None:
        if self._control is not None:
            self._control.close()
        if self._server is not None:
            self._server.kill()
            self._server.wait()
        self._server = self._control = None

    def _call(self, part: bytes, time_limit: float | None) -> bytes | None:
        if self._server is None or self._server.poll() is not None:
            # A child may have killed its server; the next part must not notice.
            self._stop()
            self._start()
        assert self._control is not None
        payload = _LENGTH.pack(len(self._function)) + self._function + part
        modes = ("rb", "wb", "rb", "wb")
        ends = [
            cast(BinaryIO, os.fdopen(end, mode, buffering=0))
            for end, mode in zip((*os.pipe(), *os.pipe()), modes, strict=True)
        ]
        part_read, part_write, answer_read, answer_write = ends
        try:
            descriptors = [part_read.fileno(), answer_write.fileno()]
            socket.send_fds(self._control, [_BEGIN], descriptors)
            part_read.close()
            answer_write.close()
            answer = _exchanged(part_write, payload, answer_read, self._n_bytes, time_limit)
        except OSError:
            # No message: what a part breaks must look like any other failed part.
            self._stop()
            return None
        finally:
            for end in ends:
                end.close()
            self._terminate()
        return answer if len(answer) == self._n_bytes else None

    def _terminate(self) -> None:
        """Have the child and everything it started killed; return when the server has done so."""
        if self._control is None:
            return
        try:
            self._control.settimeout(_PATIENCE)
            self._control.sendall(_END)
            if self._control.recv(1) != _END:
                raise EOFError
        except (OSError, EOFError):
            self._stop()  # the child took its server along, or stopped it


def _exchanged(
    target: BinaryIO, payload: bytes, source: BinaryIO, count: int, time_limit: float | None
) -> bytes:
    """Write a payload and read ``count`` bytes, whichever the other side is ready for."""
    for end in (target, source):
        os.set_blocking(end.fileno(), False)
    deadline = None if time_limit is None else time.monotonic() + time_limit
    view, found = memoryview(payload), b""
    while len(found) < count:
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            break
        ready, writable, _ = select.select([source], [target] if view else [], [], left)
        if writable:
            try:
                view = view[os.write(target.fileno(), view[:_CHUNK]) :]
            except BrokenPipeError:
                view = view[:0]  # the child does not listen any more
            if not view:
                target.close()
        if ready:
            piece = os.read(source.fileno(), count - len(found))
            if not piece:
                break
            found += piece
    return found


def serve(descriptor: int, modules: tuple[str, ...]) -> None:
    """Fork one child per request until the socket closes. Runs in the server process.

    Parameters
    ----------
    descriptor : int
        The server's end of a socket; each request carries two pipe ends.
    modules : tuple of str
        Imported now.
    """
    for name in modules:
        with suppress(Exception):
            importlib.import_module(name)
    control = socket.socket(fileno=descriptor)
    control.sendall(_BEGIN)
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, 1, 2)
        if not message:
            return
        child = os.fork()
        if child == 0:
            control.close()
            _answer_once(*descriptors)
        for end in descriptors:
            os.close(end)
        control.recv(1)
        # Not waited for until now, so that its number cannot belong to anybody else.
        for kill in (os.killpg, os.kill):
            with suppress(OSError):
                kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        control.sendall(_END)


def _answer_once(source: int, target: int) -> None:
    """Read the function and a part, write the answer, and end. Runs in a child."""
    try:
        os.setsid()
        random.seed()
        numpy = sys.modules.get("numpy")
        if numpy is not None:
            numpy.random.seed()
        with os.fdopen(source, "rb") as file:
            function_size = _LENGTH.unpack(file.read(_LENGTH.size))[0]
            function = pickle.loads(file.read(function_size))  # nosec B301 # of the parent
            part = file.read()
        # The parent wrote this; what goes the other way is read as bytes only.
        answer = function.nothing() if not part else function(pickle.loads(part))  # nosec B301
        view = memoryview(bytes(answer))
        while view:
            view = view[os.write(target, view) :]
    finally:
        os._exit(0)
