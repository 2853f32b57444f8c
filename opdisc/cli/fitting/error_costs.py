"""The options that say what a mistake costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from opdisc.errors import SchemaError

if TYPE_CHECKING:
    from opdisc.data import Schema

_Command = TypeVar("_Command", bound=Callable[..., Any])


def error_cost_options(command: _Command) -> _Command:
    """Add both options to a command."""
    for name, mistake in (("positive", "a false alarm"), ("negative", "a missed positive row")):
        command = click.option(
            f"--false-{name}-cost",
            type=int,
            help=f"What {mistake} costs, a public whole number; else the schema's, or 1.",
        )(command)
    return command


def stated_costs(
    schema: Schema, false_negative: int | None, false_positive: int | None
) -> dict[str, int] | None:
    """Return error costs as the two options state them; None where neither is given.

    Raises
    ------
    SchemaError
        If only one is given and the schema states costs: what the other is would be a guess.
    """
    given = (false_negative, false_positive)
    if given == (None, None):
        return None
    if None in given and not schema.error_costs.are_equal:
        raise SchemaError(
            "both error costs must be given to replace those of the schema; add the other option"
        )
    missed, alarm = (1 if cost is None else cost for cost in given)
    return {"false_negative": missed, "false_positive": alarm}
