"""The terminal: progress that is silent when piped, and failures of one sentence."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from opdisc.errors import OPDiscError
from oracles import OracleError

DEBUG_VARIABLE = "OPDISC_DEBUG"


class Steps(Protocol):
    """Called at the start of each step of a long command."""

    def __call__(self, description: str) -> None:
        """Announce the next step."""
        ...


@contextmanager
def progress_steps(total: int) -> Iterator[Steps]:
    """Show a bar with elapsed time on the terminal's error stream; nothing when piped.

    The bar counts steps and seconds only: bounds and objectives depend on the private rows.
    """
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("", total=total)
        started = False

        def step(description: str) -> None:
            nonlocal started
            bar.update(task, description=description, advance=1 if started else 0)
            started = True

        yield step


def print_json(record: Any) -> None:
    """Print one JSON document."""
    click.echo(json.dumps(record, indent=2, allow_nan=False))


def run_command_line(command: click.Command, arguments: list[str] | None = None) -> int:
    """Run a command and turn every outcome into an exit status.

    Returns
    -------
    int
        0 done; 1 refused or failed; 2 wrong usage; 130 interrupted.
    """
    try:
        result = command.main(args=arguments, prog_name="opdisc", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.UsageError as error:
        return _fail(f"{_sentence(error.format_message())} Try 'opdisc --help'.", 2)
    except (OPDiscError, OracleError) as error:
        return _fail(_sentence(str(error)), 1)
    except (click.Abort, KeyboardInterrupt):
        return _fail("interrupted; whatever the ledger recorded stays spent.", 130)
    except BrokenPipeError:
        # The reader left; nothing more can be said to it.
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        return 1
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE):
            traceback.print_exc()
        # A library's message may quote a cell of the table, so only its type is shown.
        return _fail(
            f"an unexpected {type(error).__name__} stopped the command; set {DEBUG_VARIABLE}=1 to "
            "see it, which may print private values.",
            1,
        )


def _sentence(text: str) -> str:
    folded = " ".join(text.split())
    return folded if folded.endswith((".", "!", "?")) else folded + "."


def _fail(message: str, status: int) -> int:
    click.echo(f"error: {message}", err=True)
    return status
