"""``opdisc schema``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from opdisc.cli.console import STANDARD_OUTPUT, from_input, print_json, print_text
from opdisc.cli.fitting import reading_options, refuse_overwriting
from opdisc.data import (
    NOT_PRIVATE,
    TableFormat,
    atomic_write_text,
    check_column,
    check_output,
    draft_schema,
    line_numbers,
    load_schema,
    open_table,
    public_header,
    read_table,
    row_findings,
)
from opdisc.errors import TableError


@click.group(
    epilog="""\b
Examples
  opdisc schema new loans.csv -o loans.toml --label default
  opdisc schema check loans.csv --schema loans.toml
"""
)
def schema() -> None:
    """Make the schema file of a table from its header, and compare the two."""


@schema.command(
    epilog="""\b
Examples
  opdisc schema new loans.csv -o loans.toml
  opdisc schema new loans.csv -o loans.toml --label default
  opdisc schema new loans.csv -o loans.toml --label default --pilot volunteers.csv
"""
)
@click.argument("data", type=click.Path(path_type=Path), callback=from_input)
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    default=Path("schema.toml"),
    show_default=True,
    help="Schema file to write; - prints it.",
)
@click.option("--label", help="Name of the column to predict.")
@click.option(
    "--pilot",
    type=click.Path(path_type=Path),
    callback=from_input,
    help="Table of public rows, with its own header: they fill in the blanks. Never DATA or a "
    "sample of it.",
)
@click.option("--force", is_flag=True, help="Let --out replace a file.")
@reading_options
def new(
    data: Path, out: Path, label: str | None, pilot: Path | None, force: bool, **reading: Any
) -> None:
    """Write a schema file for the table DATA from its header.

    Only the line of column names is read, and refused if it may be a row; then give --names. In a
    terminal the command asks what each column is; otherwise the file has blanks to fill in, with
    examples. With --pilot it asks nothing: the public rows fill in labels, categories, thresholds
    and yes/no columns, each marked "from the pilot".
    """
    if out != STANDARD_OUTPUT:
        check_output(out, inputs=[data] if pilot is None else [data, pilot])
        refuse_overwriting(out, force=force)
    header = public_header(data, **reading)
    if label is not None:
        check_column(label, header)
    known: dict[str, Any] = {"target": {} if label is None else {"column": label}}
    done, rest = "", "fill in its blanks, then check it"
    if pilot is not None:
        from opdisc.cli.schema_pilot import facts_from_pilot

        known, done, rest = facts_from_pilot(pilot, data, header, label)
    elif sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty():
        from opdisc.cli.schema_questions import ask_everything, ask_terminal

        known["target"], known["features"] = ask_everything(
            header, label, ask_terminal, lambda text: click.echo(text, err=True)
        )
        rest = "check it"
    name = "".join(c for c in data.stem if c.isprintable()).strip() or "table"
    text = draft_schema(header, data=data.name, name=name, **known)
    if out == STANDARD_OUTPUT:
        print_text(text)
        return
    atomic_write_text(out, text)
    print_text(
        f"schema written to {out}{done}; {rest} with: opdisc schema check {data} --schema {out}\n"
    )


@schema.command(
    epilog="""\b
Example
  opdisc schema check loans.csv --schema loans.toml
"""
)
@click.argument("data", type=click.Path(path_type=Path), callback=from_input)
@click.option(
    "--schema",
    "name",
    required=True,
    callback=from_input,
    help="Schema file (TOML) or a shipped one.",
)
@click.option(
    "--owner-only",
    is_flag=True,
    help="Also read the rows and name cells that are not declared: not private, terminal only.",
)
@reading_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def check(data: Path, name: str, owner_only: bool, as_json: bool, **reading: Any) -> int:
    """Compare the header of the table DATA with a schema; exit status 1 if a column is missing.

    No row is read, but with --owner-only: that shows values and line numbers of single rows, to
    the terminal only, for whoever owns the table. It spends no budget because it protects nobody:
    declare nothing on account of it that you would not have declared without it.
    """
    from opdisc.cli.schema_findings import header_findings

    if owner_only and as_json:
        raise click.UsageError("--owner-only prints to a terminal only; drop --json.")
    if owner_only and not (sys.stdout is not None and sys.stdout.isatty()):
        raise TableError(
            "--owner-only shows private values and must print to a terminal, but standard output "
            "is none; run it by hand, without a pipe or a file."
        )
    declared = load_schema(name)
    with open_table(data, TableFormat(**reading)) as table:
        found = header_findings(table.header, declared, table.doubt, table.remedy)
    if as_json:
        print_json(
            {"missing": found.missing, "repeated": found.repeated, "undeclared": len(found.extra)}
        )
        return 0 if found.fits else 1
    lines = found.lines(owner_only=owner_only)
    if owner_only and found.fits:
        rows, first = read_table(data, **reading), 1 if reading.get("names") else None
        places = line_numbers(rows, first)
        lines += ["", NOT_PRIVATE, *row_findings(rows, declared, places=places)]
    print_text("\n".join(lines) + "\n")
    return 0 if found.fits else 1
