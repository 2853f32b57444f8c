"""The options that say where a fit starts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from opdisc.cli.console import from_input
from opdisc.data import FilePath, Schema, count_rows, holds_the_same
from opdisc.errors import TableError

_Command = TypeVar("_Command", bound=Callable[..., Any])


def start_options(command: _Command) -> _Command:
    """Add ``--prior`` and ``--pilot`` to a command."""
    for name, what in (
        (
            "pilot",
            "Start from the labelled rows in this file, which must be public; read as DATA is.",
        ),
        (
            "prior",
            "Start from this public card: a saved model, or points in JSON or a schema file.",
        ),
    ):
        kind = click.Path(path_type=Path)
        command = click.option(f"--{name}", type=kind, callback=from_input, help=what)(command)
    return command


def read_pilot(arguments: dict[str, Any], schema: Schema, reading: dict[str, Any]) -> None:
    """Count the rows of a pilot as those of the table are read, where options say how that is."""
    given = {name: value for name, value in reading.items() if value != _USUAL[name]}
    if arguments["pilot"] is not None and given and not schema.is_multiclass:
        arguments["pilot"] = count_rows(arguments["pilot"], schema, **given)


_USUAL = {"delimiter": None, "encoding": "utf-8", "query": None, "sheet": None, "names": None}


def stated_starts(arguments: dict[str, Any], data: FilePath) -> list[Path]:
    """Return the files that a fit starts from.

    Raises
    ------
    TableError
        If the pilot is the private table itself.
    """
    prior, pilot = arguments["prior"], arguments["pilot"]
    if pilot is not None and holds_the_same(pilot, data):
        raise TableError(
            f"a pilot must have public rows, but {pilot} is the private table; name another file, "
            "or leave --pilot out."
        )
    return [path for path in (prior, pilot) if path is not None]
