"""Progress of a comparison on the terminal's error stream; nothing when piped."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

if TYPE_CHECKING:
    from opdisc.comparison import Watcher


class RateColumn(ProgressColumn):
    """Runs per second, or seconds per run where that is below one."""

    def render(self, task: Task) -> Text:
        """Return the rate as text."""
        speed = task.finished_speed or task.speed
        if not speed:
            return Text("")
        return Text(f"{speed:.1f} runs/s" if speed >= 1 else f"{1 / speed:.1f} s/run")


@contextmanager
def progress_watcher() -> Iterator[Watcher]:
    """Yield a watcher that shows a bar with rate, time passed and time left."""
    from opdisc.comparison import Watcher

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[failures]}"),
    )
    silent = not sys.stderr.isatty()
    with Progress(
        *columns, console=Console(stderr=True, quiet=silent), transient=True, disable=silent
    ) as bar:
        task = bar.add_task("starting workers", total=None, failures="")

        class Bar(Watcher):
            failures = 0

            def begin(self, planned: int, finished: int) -> None:
                bar.update(task, total=planned, completed=finished)

            def advance(self, row: dict[str, Any]) -> None:
                self.failures += row["status"] != "ok"
                failures = f"{self.failures} failed" if self.failures else ""
                bar.update(task, advance=1, description=row["method"], failures=failures)

            def say(self, text: str) -> None:
                bar.update(task, description=text)

        yield Bar()
