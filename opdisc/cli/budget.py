"""``opdisc budget``."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opdisc.cli.console import print_json, print_text
from opdisc.errors import escaped

if TYPE_CHECKING:
    from opdisc.privacy import Book, Header, Spending, Spent


@click.command(
    epilog="""\b
Examples
  opdisc budget --create loans.ledger --epsilon-limit 4 --table loans
  opdisc budget loans.ledger
  opdisc budget loans.ledger --json
"""
)
@click.argument("ledger", type=click.Path(path_type=Path))
@click.option("--create", is_flag=True, help="Make a new LEDGER; needs a cap and --table.")
@click.option("--epsilon-limit", type=float, help="Cap on the total epsilon of a new ledger.")
@click.option("--delta-limit", type=float, help="Cap on the total delta of a new ledger.")
@click.option("--table", help="Name of the private table that a new ledger is for.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def budget(
    ledger: Path,
    create: bool,
    epsilon_limit: float | None,
    delta_limit: float | None,
    table: str | None,
    as_json: bool,
) -> None:
    """Say what the file LEDGER has recorded and what is left under its caps.

    Checks every line. With --create, makes a new ledger instead; there must be no file yet.
    """
    from opdisc.privacy import Ledger

    if create:
        if epsilon_limit is None or not table:
            raise click.UsageError(
                "a new ledger must have a cap and a table: give --epsilon-limit and --table."
            )
        book = Ledger.create(
            ledger, epsilon_limit=epsilon_limit, delta_limit=delta_limit, table=table
        ).book()
    else:
        if (epsilon_limit, delta_limit, table) != (None, None, None):
            raise click.UsageError("caps and table are fixed when a ledger is made: add --create.")
        book = Ledger(ledger, must_exist=True).book()
    if as_json:
        print_json(_record(book))
    elif create:
        print_text(f"Created {ledger} for table {escaped(book.header.table)}. {_totals(book)}\n")
    else:
        print_text(_listing(book))


def spent_sentence(spent: Spent) -> str:
    """Return what was spent in all, in words."""
    epsilon, delta = spent.amounts
    relation = f", {escaped(spent.relation)}" if spent.relation else ""
    sums = f"epsilon {epsilon:g}, delta {delta:.2g}{relation} (basic composition)"
    if not spent.void:
        return f"Spent: {sums}"
    rest = spent.charges - spent.void
    return (
        f"Spent: no finite epsilon, {spent.void} of {spent.charges} fits VOID and promising "
        f"nothing; the other {rest} add up to {sums}"
    )


def left_sentences(header: Header, spent: Spent) -> list[str]:
    """Return what is left under each cap, in words."""
    lines = []
    for name, amount in zip(("epsilon", "delta"), spent.amounts, strict=True):
        limit = getattr(header, f"{name}_limit")
        if limit is not None:
            rest = ", the VOID fits not counted" if spent.void else ""
            lines.append(f"Left of {name} {limit:g}: {max(0.0, limit - amount):g}{rest}")
    return lines


def delta_sentences(book: Book) -> list[str]:
    """Return what the deltas in sum may expose, where that is much: at the most rows recorded."""
    from opdisc.privacy import delta_conditions

    rows = [spending.n_rows for spending in book.spendings if spending.n_rows is not None]
    delta = book.head.spent.amounts[1]
    if not delta:
        return []
    return [f"in sum {text}" for text in delta_conditions(delta, max(rows, default=None))]


def _totals(book: Book) -> str:
    return ". ".join(
        [spent_sentence(book.head.spent), *left_sentences(book.header, book.head.spent)]
    )


def _listing(book: Book) -> str:
    from opdisc.privacy import unit_in_words

    spent = book.head.spent
    lines = [f"Table: {escaped(spent.table)}"] if spent.table else []
    if spent.unit:
        unit = unit_in_words(spent.unit, spent.rows_per_unit)
        lines.append(f"Privacy unit: {escaped(unit)}")
    lines.append(
        f"{'date':<12}{'mechanism':<20}{'epsilon':>9}{'delta':>10}  {'guarantee':<13}"
        f"{'rows':>9}  {'schema':<14}{'model':<14}purpose"
    )
    lines += [_line(spending) for spending in book.spendings]
    lines += ["", spent_sentence(spent), *left_sentences(book.header, spent)]
    lines += [f"Note: {text}" for text in delta_sentences(book)]
    return "\n".join(lines) + "\n"


def _line(spending: Spending) -> str:
    # A VOID fit promises nothing: its figures are what was asked for, not what was kept.
    epsilon, delta = (
        ("none", "none")
        if spending.is_void
        else (f"{spending.epsilon:g}", f"{spending.delta:.2g}")
    )
    rows = "" if spending.n_rows is None else f"{spending.n_rows:,}"
    return (
        f"{escaped(spending.date) or '-':<12}{escaped(spending.mechanism):<20}{epsilon:>9}"
        f"{delta:>10}  {escaped(spending.guarantee):<13}{rows or '-':>9}  "
        f"{escaped(spending.schema_digest[:12]) or '-':<14}"
        f"{escaped(spending.model[:12]) or '-':<14}{escaped(spending.purpose) or '-'}"
    )


def _record(book: Book) -> dict[str, Any]:
    spent, header = book.head.spent, book.header
    epsilon, delta = spent.total
    return {
        "table": spent.table,
        "relation": spent.relation,
        "unit": spent.unit,
        "rows_per_unit": spent.rows_per_unit,
        "spendings": [asdict(spending) for spending in book.spendings],
        "total": {
            "epsilon": epsilon if math.isfinite(epsilon) else None,
            "delta": delta,
            "void": spent.void,
            "epsilon_without_void": spent.amounts[0],
        },
        "notes": delta_sentences(book),
        "limits": {"epsilon": header.epsilon_limit, "delta": header.delta_limit},
    }
