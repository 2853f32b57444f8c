"""What a worker process runs: ``python -m oracles.milp.workers.loop NAME FOLDER [LIFELINE]``.

NAME is that of the oracle whose programs come; its solver is loaded before the first one does.

A solver may hold Python's lock until its search ends, and then no thread of this process learns
that the parent is gone. So a shell waits for that too: it reads from a pipe to whose other end the
parent alone holds on.
"""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from typing import Any

from oracles.arithmetic import ParentConnection
from oracles.errors import OracleError, OracleUnavailable
from oracles.milp.workers.messages import READY, Answer, Failure, Request, RunnableQuestion

_BACK_ENDS = {
    "highs": "highs_solver",
    "cp-sat": "cp_sat_solver",
    "gurobi": "gurobi_solver",
    "cplex": "cplex_solver",
    "xpress": "xpress_solver",
    "copt": "copt_solver",
    "mosek": "mosek_solver",
    "scip": "scip_solver",
}
"""By oracle; of every other one, it is that of PuLP."""

_SCRIPT = """\
read -r line
tries=0
while [ -e "$1" ] && [ $tries -lt 100 ]; do rm -rf -- "$1"; tries=$((tries + 1)); done
kill -s KILL -- "-$2"
"""

_TRIES = 100

_CODE_IN_TEXT = re.compile(r"(?:\?|CPLEX Error +|rescode\.\w+\()(\d{1,5})\b")


def main() -> None:
    """Answer requests until the parent is gone."""
    name, folder, *lifeline = sys.argv[1:]
    for descriptor in lifeline:
        _start_guard(folder, int(descriptor))
    _leave_no_core()
    parent = ParentConnection(last=lambda: _remove(folder))
    back_end = back_end_of(name)
    with suppress(Exception):  # the first request will say
        getattr(importlib.import_module(back_end), "load", lambda: None)()
    parent.send(READY)
    while True:
        parent.send(_answered(back_end, parent.receive(), parent))


def back_end_of(name: str) -> str:
    """Return the module that runs the solver of an oracle."""
    return f"oracles.milp.workers.{_BACK_ENDS.get(name, 'pulp_solver')}"


def _answered(back_end: str, question: Any, parent: ParentConnection) -> Any:
    """Return what the back end answers or raises, as a message."""
    try:
        solver: Any = importlib.import_module(back_end)
        if isinstance(question, RunnableQuestion):
            return solver.runnable_classes(question.classes)
        return _solved(solver, question, parent)
    except OracleError as error:
        return error
    except ImportError as error:
        return OracleUnavailable(
            f"a solver must be loadable, but Python cannot import '{error.name}' here; install it "
            "again or choose another oracle."
        )
    except Exception as error:
        return Failure(kind=type(error).__name__, code=error_code(error))


def _solved(solver: Any, request: Request, parent: ParentConnection) -> Answer:
    if request.folder is not None:
        # Some solvers write their logs wherever they are.
        os.environ["TMPDIR"] = tempfile.tempdir = request.folder
        os.chdir(request.folder)
    try:
        answer: Answer = solver.answer(request, parent.send)
        return answer
    finally:
        if request.folder is not None:
            os.chdir(os.sep)


def error_code(error: Exception) -> int | None:
    """Return the code in a solver's exception: each keeps it somewhere else."""
    found = [getattr(error, name, None) for name in ("errno", "retcode")]
    for value in (*found, *error.args[1:]):
        if isinstance(value, int):
            return int(value)
    number = _CODE_IN_TEXT.match(str(error))
    return None if number is None else int(number[1])


def _start_guard(folder: str, lifeline: int) -> None:
    """Start the shell that ends this process group once the parent is gone."""
    if os.getpgrp() != os.getpid():
        return
    with open(lifeline, "rb") as end, suppress(OSError):
        subprocess.Popen(
            ["/bin/sh", "-c", _SCRIPT, "guard", folder, str(os.getpid())],
            stdin=end,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def _leave_no_core() -> None:
    """Keep the memory of a solver that crashes, with all points in it, off the disk."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _remove(folder: str) -> None:
    """Remove a folder into which somebody may be writing still."""
    for _ in range(_TRIES):
        if not os.path.lexists(folder):
            return
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(0.01)


if __name__ == "__main__":
    main()
