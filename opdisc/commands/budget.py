"""``opdisc budget``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from opdisc.console import print_json, print_text


@click.command(
    epilog="""\b
Examples
  opdisc budget loans.ledger
  opdisc budget loans.ledger --json
"""
)
@click.argument("ledger", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def budget(ledger: Path, as_json: bool) -> None:
    """Say what the file LEDGER has recorded and what is left under its caps."""
    from opdisc.accounting import Ledger, LedgerError

    if not ledger.exists():
        raise LedgerError(
            f"a ledger must exist to be read, '{ledger}' does not; 'opdisc fit --ledger' makes it."
        )
    book = Ledger(ledger)
    spendings = book.spendings()
    epsilon, delta = book.total()
    limits = book.limits()
    if as_json:
        print_json(
            {
                "spendings": [asdict(spending) for spending in spendings],
                "total": {"epsilon": epsilon, "delta": delta},
                "limits": {"epsilon": limits[0], "delta": limits[1]},
            }
        )
        return
    lines = [f"{'mechanism':<20}{'epsilon':>9}{'delta':>10}  {'guarantee':<13}schema"]
    for s in spendings:
        lines.append(
            f"{s.mechanism:<20}{s.epsilon:>9g}{s.delta:>10.2g}  {s.guarantee:<13}"
            f"{s.schema_digest[:12]}"
        )
    relation = f", {spendings[0].relation}" if spendings else ""
    lines += ["", f"Spent: epsilon {epsilon:g}, delta {delta:.2g}{relation} (basic composition)"]
    for name, spent, limit in (("epsilon", epsilon, limits[0]), ("delta", delta, limits[1])):
        if limit is not None:
            lines.append(f"Left of {name} {limit:g}: {max(0.0, limit - spent):g}")
    print_text("\n".join(lines) + "\n")
