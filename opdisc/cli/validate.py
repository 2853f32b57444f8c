"""A released card validated on new private rows, for a budget."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from opdisc.cli.console import (
    STANDARD_OUTPUT,
    GroupedCommand,
    from_input,
    json_text,
    print_bought,
    require_one_form,
    warn,
)
from opdisc.cli.fitting import (
    check_release,
    database_option,
    ledger_for,
    ledger_options,
    name_in_ledger,
    reading_options,
    refuse_overwriting,
    stated_place,
    taken_reading,
    told_weak_promises,
)
from opdisc.cli.progress import progress_steps
from opdisc.cli.show import THE_REST
from opdisc.errors import TableError


@click.command(
    cls=GroupedCommand,
    epilog="""\b
Examples
  opdisc validate card.json loans.csv --epsilon 0.5 --ledger loans.ledger --out may.json
  opdisc validate card.json june.csv --epsilon 0.5 --since may.json --out june.json
""",
)
@click.argument("model", type=click.Path(path_type=Path), callback=from_input)
@click.argument("data", type=click.Path(path_type=Path), required=False, callback=from_input)
@click.option(
    "--epsilon", type=float, required=True, help="Privacy loss, > 0, of all that is printed."
)
@click.option(
    "--since",
    type=click.Path(path_type=Path),
    callback=from_input,
    help="An earlier report of this card, saved with --out: how far the totals moved since.",
)
@click.option(
    "--relation",
    default="replace_one",
    show_default=True,
    help="replace_one (the number of rows is public) or add_or_remove_one.",
)
@click.option(
    "--public-row-guess",
    type=int,
    metavar="N",
    help="Public number near that of the rows, under add_or_remove_one; never decides privacy.",
)
@ledger_options
@click.option(
    "--out", type=click.Path(path_type=Path), help="File of the report (JSON); - prints it."
)
@click.option("--force", is_flag=True, help="Let --out replace a file.")
@database_option
@reading_options
@click.option("--explain", is_flag=True, help="Print the whole receipt: noise, theorem, versions.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def validate(
    model: Path,
    data: Path | None,
    since: Path | None,
    ledger: Path | None,
    table_name: str | None,
    database: str | None,
    out: Path | None,
    force: bool,
    explain: bool,
    as_json: bool,
    **arguments: Any,
) -> None:
    """Say how a released card does on the new private rows in the file DATA, or in --database.

    MODEL is a saved scorecard of two classes; its schema reads DATA, labels included. Prints
    accuracy, the four counts, the share of positive rows by total, each with what the noise leaves
    open, and the receipt. Every call pays epsilon. Every public mistake is refused before the
    ledger records anything.
    """
    printed = out == STANDARD_OUTPUT
    require_one_form(out, as_json)
    out = None if printed else out
    place, named_table = stated_place(data, database, table_name)
    inputs = [each for each in (model, place, ledger, since) if each is not None]
    check_release(out, inputs, force=force)
    book = ledger_for(ledger, table_name, data, out, verb="validate")
    with progress_steps(3) as step:
        step("starting")
        from opdisc.mechanisms import validate_card
        from opdisc.models import load_model, load_report, save_report

        card = load_model(model)
        earlier = None if since is None else load_report(since)
        step("counting the rows")
        reading = taken_reading(arguments)
        with told_weak_promises(warn):
            report = validate_card(
                card,  # type: ignore[arg-type]
                place,
                ledger=book,
                since=earlier,
                **arguments,
                **reading,
                **named_table,
            )
        text = _printed(report, earlier, as_json=as_json, explain=explain)
        text = json_text(report.to_dict()) if printed else text
        step("saving the report")
        try:
            if out is not None:
                refuse_overwriting(out, force=force)
                save_report(report, out)
        except TableError:
            # The budget is spent: what it bought must not be lost with the file.
            print_bought(text)
            raise
    try:
        print_bought(text, out)
    finally:
        name_in_ledger(report, book)


def _printed(report: Any, earlier: Any, *, as_json: bool, explain: bool) -> str:
    """Return a report as it is printed, the receipt short unless explained."""
    from opdisc.models import report_json, report_text

    if as_json:
        return json_text(report_json(report, earlier))
    whole = str(report.receipt) if explain else f"{report.receipt.brief()}\n{THE_REST}"
    return f"{report_text(report, earlier)}\n\nReceipt\n{whole}\n"
