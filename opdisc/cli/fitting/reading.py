"""Options that say how the file DATA is written, the same for every command that reads it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

READING = ("delimiter", "encoding", "query", "sheet")

_OPTIONS = (
    click.option("--delimiter", help="Between DATA's cells, or 'tab'.  [default: by its header]"),
    click.option("--encoding", default="utf-8", show_default=True, help="Of DATA, if it is text."),
    click.option("--query", help="SQL whose result is the table, if DATA is a database file."),
    click.option("--sheet", help="Of DATA, if it is an Excel file; else its first sheet."),
)


def reading_options(command: Command) -> Command:
    """Add ``--delimiter``, ``--encoding``, ``--query`` and ``--sheet`` to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def taken_reading(arguments: dict[str, Any]) -> dict[str, Any]:
    """Take these options out of a command's arguments."""
    return {name: arguments.pop(name) for name in READING}
