"""Progress of a long command on the terminal; silent when piped."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from oracles.arithmetic import watch_compiling

_COMPILING = "compiling kernels (once per installation), about a minute"


class Steps(Protocol):
    """Called at the start of each step of a long command."""

    def __call__(self, description: str, *, advance: bool = True) -> None:
        """Announce the next step, or say more about this one."""
        ...


@contextmanager
def progress_steps(total: int) -> Iterator[Steps]:
    """Show a bar with elapsed time on the terminal's error stream; nothing when piped.

    The bar itself counts steps and seconds only. Bounds, objectives and acceptance depend on the
    private rows: they are shown only where a user asked for them, and labelled as such.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    # Asked of the stream itself: rich takes a pipe for a terminal where FORCE_COLOR is set.
    silent = not sys.stderr.isatty()
    with Progress(
        *columns, console=Console(stderr=True, quiet=silent), transient=True, disable=silent
    ) as bar:
        task = bar.add_task("", total=total)
        started, said = False, ""

        def step(description: str, *, advance: bool = True) -> None:
            nonlocal started, said
            bar.update(task, description=description, advance=1 if started and advance else 0)
            started, said = True, description

        def told(compiling: bool) -> None:
            bar.update(task, description=f"{said}: {_COMPILING}" if compiling else said)

        # Watched in any case: what compiles then says nothing by itself.
        with watch_compiling(told):
            yield step
