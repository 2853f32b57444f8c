"""A solver's program that does not outlive the process that started it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from shlex import quote

_SCRIPT = """#!/bin/sh
# Ends the program, and removes this folder, once the process that asked for it is gone.
# A signal that comes before the program's number is known is kept until it is.
stop=
trap 'stop=1' INT TERM
{program} "$@" &
worker=$!
(
  trap '' INT TERM
  while kill -0 {parent} 2>/dev/null && kill -0 $worker 2>/dev/null; do sleep 0.1; done
  kill -0 {parent} 2>/dev/null || {{ kill -9 $worker 2>/dev/null; rm -rf {folder}; }}
) &
trap 'kill -9 $worker' INT TERM
[ -z "$stop" ] || kill -9 $worker
wait $worker
"""


def guarded_program(program: str, folder: str) -> str:
    """Return the path of a script that runs a program for as long as this process lives.

    Parameters
    ----------
    program : str
        Name or path of the program.
    folder : str
        Where the script goes; removed with the program if this process is killed.

    Returns
    -------
    str
        The program itself where there is no POSIX shell.
    """
    found = shutil.which(program)
    if os.name != "posix" or found is None:
        return program
    script = Path(folder) / "guarded.sh"
    script.write_text(
        _SCRIPT.format(program=quote(found), parent=os.getpid(), folder=quote(folder))
    )
    script.chmod(0o700)
    # Not where the folder is on a file system without programs.
    return str(script) if os.access(script, os.X_OK) else program
