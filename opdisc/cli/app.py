"""The command line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

import click

from opdisc import __version__
from opdisc.cli.console import CommandGroup, prompt_interruption, run_command_line, show_completion

_FITTING = "opdisc.cli.fitting.commands"

_PLACES = {
    "audit": "opdisc.cli.audit",
    "budget": "opdisc.cli.budget",
    "compare": "opdisc.cli.compare",
    "datasets": "opdisc.cli.datasets",
    "demo": _FITTING,
    "explain": "opdisc.cli.explain",
    "fit": _FITTING,
    "oracles": "opdisc.cli.oracles",
    "plan": _FITTING,
    "predict": "opdisc.cli.fitting.predict",
    "schema": "opdisc.cli.schema_command",
    "show": "opdisc.cli.show",
    "validate": "opdisc.cli.validate",
}
"""Where each command is; it is imported when it is asked for."""


class _Commands(CommandGroup):
    """The group of all commands; the module of one that is not asked for is not imported."""

    def list_commands(self, ctx: click.Context | None) -> list[str]:
        """Return all names."""
        return list(_PLACES)

    def get_command(self, ctx: click.Context | None, cmd_name: str) -> click.Command | None:
        """Return a command; None if there is none of that name."""
        place = _PLACES.get(cmd_name)
        if place is None:
            return None
        command: click.Command = getattr(import_module(place), cmd_name)
        return command


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
Example: a scorecard from a CSV file, and its predictions
  opdisc budget --create loans.ledger --epsilon-limit 4 --table loans
  opdisc fit loans.csv --schema loans.toml --epsilon 1 --ledger loans.ledger --out card.json
  opdisc show card.json
  opdisc predict card.json applicants.csv --out scored.csv
""",
)
@click.version_option(__version__, prog_name="opdisc")
@click.option(
    "--show-completion",
    type=click.Choice(("bash", "zsh", "fish")),
    is_eager=True,
    expose_value=False,
    callback=show_completion,
    help='Print a shell\'s completion script: eval "$(opdisc --show-completion bash)".',
)
def cli() -> None:
    """Learn integer scorecards from small sensitive tables under differential privacy."""


def load_command(arguments: Sequence[str]) -> None:
    """Import the command that is asked for, if it is the first word."""
    if arguments:
        cli.get_command(None, arguments[0])


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit."""
    with prompt_interruption():
        status = run_command_line(cli, arguments)
    sys.exit(status)


if __name__ == "__main__":
    main()
