"""A file for another program that is in memory only: no disk ever holds what it says."""

from __future__ import annotations

import os
from contextlib import ExitStack


def memory_file(stack: ExitStack, folder: str, name: str) -> str:
    """Return the path of a new file that is gone as soon as no process holds it, however it ends.

    Parameters
    ----------
    stack : ExitStack
        Closes the file.
    folder : str
        Where its name goes, a link; removed by the caller.
    name : str
        Its name there.

    Returns
    -------
    str
        Where the system has no files in memory, a path in the folder at which nothing is yet.
    """
    path = os.path.join(folder, name)
    create = getattr(os, "memfd_create", None)
    if create is not None:
        number = create(name)
        stack.callback(os.close, number)
        held = f"/proc/{os.getpid()}/fd/{number}"
        if os.path.exists(held):
            os.symlink(held, path)
    return path
