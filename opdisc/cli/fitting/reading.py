"""Options that say how the file DATA is written, the same for every command that reads it."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from opdisc.cli.console import warn
from opdisc.data import FilePath, database_place, may_hold_password, read_names, told_sheets
from opdisc.errors import FileMistake

Command = TypeVar("Command", bound=Callable[..., Any])

READING = ("delimiter", "encoding", "query", "sheet", "names")


def _given_names(_context: Any, _option: Any, text: str | None) -> list[str] | None:
    """Return the names that are given: in a file, or separated by commas."""
    if text is None:
        return None
    if os.path.exists(text):
        return read_names(text)
    if "," not in text:
        raise FileMistake(
            "--names must be names separated by commas or a file that holds them, but it is "
            "neither; correct it"
        )
    try:
        return next(csv.reader([text], strict=True, skipinitialspace=True))
    except csv.Error:
        raise FileMistake(
            "--names must be separated by commas, with quotation marks in pairs; correct them"
        ) from None


_OPTIONS = (
    click.option("--delimiter", help="Between DATA's cells, or 'tab'.  [default: by its header]"),
    click.option("--encoding", default="utf-8", show_default=True, help="Of DATA, if it is text."),
    click.option("--query", help="SQL whose result is the table, if DATA is a database file."),
    click.option("--sheet", help="Of DATA, if it is an Excel file.  [default: the visible one]"),
    click.option(
        "--names",
        callback=_given_names,
        help="Of all columns: a,b,c or a text file with them; DATA then starts with a row.",
    ),
)


def reading_options(command: Command) -> Command:
    """Add ``--delimiter``, ``--encoding``, ``--query``, ``--sheet``, ``--names`` to a command.

    It says which sheet of a workbook it reads, to whoever runs it alone.
    """

    @wraps(command)
    def telling(*arguments: Any, **options: Any) -> Any:
        with told_sheets(warn):
            return command(*arguments, **options)

    told = cast(Command, telling)
    for option in reversed(_OPTIONS):
        told = option(told)
    return told


def database_option(command: Command) -> Command:
    """Add ``--database`` to a command that has ``--table``."""
    option = click.option(
        "--database",
        metavar="URL",
        help="Instead of DATA: --table in this DuckDB or SQLite file, or PostgreSQL server.",
    )
    return option(command)


def named_table_option(command: Command) -> Command:
    """Add ``--table`` to a command that has no ledger."""
    return click.option("--table", "table_name", help="Name of the table in --database.")(command)


def stated_name(
    data: Path | None, database: str | None, table: str | None
) -> tuple[FilePath, dict[str, Any]]:
    """Return the same as :func:`stated_place`, for a command without a ledger.

    Raises
    ------
    UsageError
        Also if there is a name and no database.
    """
    if table is not None and database is None:
        raise click.UsageError("--table names a table in --database: give that too.")
    return stated_place(data, database, table)


def stated_place(
    data: Path | None, database: str | None, table: str | None
) -> tuple[FilePath, dict[str, Any]]:
    """Return where a table is, and how it is read there if it has a name in a database.

    Raises
    ------
    UsageError
        If it is nowhere, or in two places.
    FileMistake
        If the database is of a kind that is not read.
    """
    if database is None:
        if data is None:
            raise click.UsageError("Missing argument 'DATA'.", click.get_current_context())
        if may_hold_password(str(data)) and not os.path.exists(data):
            raise click.UsageError(
                "DATA must be a file, but it looks like a URL: give that by --database."
            )
        return data, {}
    if data is not None:
        raise click.UsageError("a table is in DATA or in --database: leave one out.")
    if table is None:
        raise click.UsageError("a database has tables by name: say which by --table.")
    return database_place(database), {"table_name": table}


def taken_reading(arguments: dict[str, Any]) -> dict[str, Any]:
    """Take these options out of a command's arguments."""
    return {name: arguments.pop(name) for name in READING}
