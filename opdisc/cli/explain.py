"""``opdisc explain``."""

from __future__ import annotations

import textwrap
from dataclasses import asdict

import click

from opdisc.cli.console import print_json, print_text

_WIDTH = 96


@click.command(
    epilog="""\b
Examples
  opdisc explain
  opdisc explain sphere
  opdisc explain "Theorem A with the sphere embedding, pure (docs/theory.md, sphere)"
"""
)
@click.argument("theorem", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def explain(theorem: str | None, as_json: bool) -> None:
    """Print the statement behind a THEOREM that a receipt cites, with its proof and source.

    THEOREM is a name, or what the receipt says. Pages and words of the glossary have names too;
    without one, all names are listed.
    """
    from opdisc.privacy import all_statements, find_statements

    if theorem is not None:
        found = find_statements(theorem)
        if as_json:
            print_json([asdict(item) for item in found])
        else:
            print_text("\n".join(f"{item.citation}\n\n{item.text}\n" for item in found))
        return
    names: dict[str, list[str]] = {}
    for item in all_statements():
        names.setdefault(item.page, [])
        if item.name != item.page:
            names[item.page].append(item.name)
    if as_json:
        print_json(names)
        return
    text = "".join(f"{page}\n{_wrapped(entries)}\n\n" for page, entries in names.items())
    print_text(
        f"{text}'opdisc explain NAME' prints one of them, a whole page by the page's name.\n"
    )


def _wrapped(names: list[str]) -> str:
    return textwrap.fill(
        "; ".join(names),
        _WIDTH,
        initial_indent="  ",
        subsequent_indent="  ",
        break_on_hyphens=False,
    )
