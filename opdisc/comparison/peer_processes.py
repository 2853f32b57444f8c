"""The interpreter of external peers, and its processes, each holding one fitted model."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import weakref
from pathlib import Path
from typing import Any

from opdisc.comparison import peer_worker
from opdisc.comparison.methods import ComparisonError

VARIABLE = "OPDISC_PEERS"
"""Environment variable that names the interpreter where ``--peers`` does not."""

RECIPE = (
    "python -m venv peers && peers/bin/pip install diffprivlib interpret-core 'scikit-learn<1.8'"
)
"""How to make the environment; its interpreter is then peers/bin/python."""


def find_interpreter(given: str | None) -> str:
    """Return the path of the peers' interpreter.

    Parameters
    ----------
    given : str or None
        What ``--peers`` named; None looks at the environment variable ``OPDISC_PEERS``.

    Raises
    ------
    ComparisonError
        If neither names an executable; the message says how to make the environment.
    """
    named = given or os.environ.get(VARIABLE)
    if not named:
        raise ComparisonError(
            "external peers need a Python environment of their own, and none is named; make one "
            f"by {RECIPE}, then give --peers peers/bin/python or set {VARIABLE}."
        )
    found = shutil.which(str(Path(named).expanduser()))
    if found is None:
        raise ComparisonError(
            f"the peers' interpreter must be an executable file, '{named}' is not; make one by "
            f"{RECIPE}."
        )
    return found


class PeerProcess:
    """A child of the peers' interpreter that holds one fitted model at a time.

    Parameters
    ----------
    interpreter : str
        Path of the Python that has the peers.

    Notes
    -----
    The child ends with this object, and with this process.
    """

    def __init__(self, interpreter: str) -> None:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        # -I: nothing of this environment, the directory of the script included, is importable.
        self._child = subprocess.Popen(
            [interpreter, "-I", peer_worker.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        self.close = weakref.finalize(self, _end, self._child)

    @property
    def is_alive(self) -> bool:
        """Whether the child is still there."""
        return self._child.poll() is None

    def ask(self, header: dict[str, Any], **arrays: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Send one message and return the reply.

        Parameters
        ----------
        header : dict
            JSON types.
        **arrays : ndarray
            Numbers or fixed-width text.

        Raises
        ------
        ComparisonError
            If the child ended, or reports a failure.
        """
        assert self._child.stdin is not None and self._child.stdout is not None
        try:
            peer_worker.write_message(self._child.stdin, header, **arrays)
            reply = peer_worker.read_message(self._child.stdout)
        except OSError:
            reply = None
        if reply is None:
            raise ComparisonError(
                "the peers' interpreter ended without an answer; try it by hand, or make a new "
                f"environment by {RECIPE}."
            )
        if "error" in reply[0]:
            raise ComparisonError(_explained(str(reply[0]["error"])))
        return reply


def _explained(error: str) -> str:
    if error.startswith(("ModuleNotFoundError", "ImportError", "PackageNotFoundError")):
        return (
            f"the peers' environment lacks a package ({error}); make a new one by {RECIPE} and "
            "give its interpreter."
        )
    return f"the peer failed: {error}"


def _end(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    for stream in (child.stdin, child.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    child.wait()


class Lease:
    """The use of a process by one fitted model; without the model it is free for another fit."""

    def __init__(self, interpreter: str) -> None:
        idle = _idle.setdefault(interpreter, [])
        idle[:] = [process for process in idle if process.is_alive]
        self.process = idle.pop() if idle else PeerProcess(interpreter)

    def keep_afterwards(self, interpreter: str) -> None:
        """Let the process outlive the model: starting one costs more than most fits."""
        weakref.finalize(self, _idle[interpreter].append, self.process)


_idle: dict[str, list[PeerProcess]] = {}
