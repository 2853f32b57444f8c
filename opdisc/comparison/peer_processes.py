"""The interpreter of external peers, and its processes, each holding one fitted model."""

from __future__ import annotations

import os
import shutil
import weakref
from pathlib import Path
from typing import IO, Any

from opdisc.comparison import peer_worker
from opdisc.comparison.methods import ComparisonError, ComparisonMistake
from oracles.arithmetic import ChildEnded, ChildProcess

VARIABLE = "OPDISC_PEERS"
"""Environment variable that names the interpreter where ``--peers`` does not."""

RECIPE = (
    "python -m venv peers && peers/bin/pip install diffprivlib interpret-core 'scikit-learn<1.8'"
)
"""How to make the environment; its interpreter is then peers/bin/python."""

_OTHER_RECIPES = {
    "dpmm": "make one of its own by python -m venv dpmm && dpmm/bin/pip install dpmm",
    "fasterrisk": "make one of its own by python -m venv risk && risk/bin/pip install fasterrisk",
    "sbdt": "build S-BDT from its source (kirschte/sbdt) into it",
}
"""What to do where a library is missing that does not go with the others; by module."""


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
        raise ComparisonMistake(
            "external peers need a Python environment of their own, and none is named; make one "
            f"by {RECIPE}, then give --peers peers/bin/python or set {VARIABLE}."
        )
    found = shutil.which(str(Path(named).expanduser()))
    if found is None:
        raise ComparisonMistake(
            f"the peers' interpreter must be an executable file, but '{named}' is not; make one "
            f"by {RECIPE}."
        )
    return found


class PeerProcess(ChildProcess):
    """A child of the peers' interpreter that holds one fitted model at a time.

    Parameters
    ----------
    interpreter : str
        Path of the Python that has the peers.
    """

    def __init__(self, interpreter: str) -> None:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        super().__init__(
            # -I: nothing of this environment, the directory of the script included, is importable.
            [interpreter, "-I", peer_worker.__file__],
            environment=environment,
            own_group=False,  # it ends with the group of the run
            write=_write,
            read=_read,
        )

    def exchange(
        self, header: dict[str, Any], **arrays: Any
    ) -> tuple[dict[str, Any], dict[str, Any]]:
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
        try:
            reply: tuple[dict[str, Any], dict[str, Any]] = self.ask((header, arrays))
        except ChildEnded:
            raise ComparisonError(
                "the peers' interpreter ended without an answer; try it by hand, or make a new "
                f"environment by {RECIPE}."
            ) from None
        if "error" in reply[0]:
            raise ComparisonError(_explained(str(reply[0]["error"])))
        return reply


def _write(stream: IO[bytes], message: tuple[dict[str, Any], dict[str, Any]]) -> None:
    header, arrays = message
    peer_worker.write_message(stream, header, **arrays)


def _read(stream: IO[bytes]) -> tuple[dict[str, Any], dict[str, Any]]:
    message = peer_worker.read_message(stream)
    if message is None:
        raise EOFError
    return message


def _explained(error: str) -> str:
    if error.startswith(("ModuleNotFoundError", "ImportError", "PackageNotFoundError")):
        recipes = [told for name, told in _OTHER_RECIPES.items() if f"'{name}" in error]
        recipe = recipes[0] if recipes else f"make a new one by {RECIPE}"
        return (
            f"the peers' environment lacks a package ({error}); {recipe}, and give its "
            "interpreter."
        )
    return f"the peer failed: {error}"


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
