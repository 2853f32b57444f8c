"""Questions about a table whose header alone is known; the answers are public facts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from opdisc.data import close_name, features_from_dict, is_usable, target_from_dict
from opdisc.errors import SchemaError, escaped, one_sentence

Answer = TypeVar("Answer")

Ask = Callable[[str, str], str]
"""Shows a question and what an empty answer means, and returns the answer."""

_KINDS = {"i": "ignore", "n": "number", "c": "category", "y": "yes-no"}

_INTRODUCTION = """\
Answer from a form, a code book or a law: no row of the table is read, and none should be looked
at. An empty answer takes what stands in brackets; Ctrl-C stops and writes nothing.
"""


def ask_terminal(question: str, default: str) -> str:
    """Ask on the terminal's error stream, so that standard output stays empty."""
    answer: str = click.prompt(question, default=default, show_default=bool(default), err=True)
    return answer.strip()


def ask_everything(
    columns: Sequence[str], label: str | None, ask: Ask, say: Callable[[str], None]
) -> tuple[dict[str, Any], dict[str, dict[str, Any] | None]]:
    """Ask for the label and for every column until each answer is a declaration.

    Parameters
    ----------
    columns : sequence of str
        The header.
    label : str or None
        The label column, if it was named already.
    ask : callable
        Who answers.
    say : callable
        Shows a sentence.

    Returns
    -------
    (dict, dict)
        The target, and for each column its facts, None where it is not to be used.
    """
    names = [name for name in dict.fromkeys(columns) if is_usable(name)]
    say(_INTRODUCTION)
    say("Columns: " + ", ".join(map(escaped, names)))
    column = label or _until_valid(
        lambda: _named(ask("Which column is predicted?", ""), names), say
    )

    def target() -> dict[str, Any]:
        shown = escaped(column)
        given = {"column": column, "positive": ask(f"{shown}: positive value?", "")}
        given["negative"] = ask(f"{shown}: negative value, or * for any other value?", "")
        target_from_dict(given)
        return given

    known = _until_valid(target, say)
    features: dict[str, dict[str, Any] | None] = {}
    for name in names:
        if name != column:
            features[name] = _until_valid(lambda name=name: _facts(name, ask), say)  # type: ignore[misc]
    if not any(features.values()):
        say("note: no column is used yet; a schema needs at least one.")
    return known, features


def _until_valid(attempt: Callable[[], Answer], say: Callable[[str], None]) -> Answer:
    """Repeat a question until its answer is one."""
    while True:
        try:
            return attempt()
        except SchemaError as error:
            say(one_sentence(str(error)))


def _named(answer: str, names: Sequence[str]) -> str:
    if answer in names:
        return answer
    guess = close_name(answer, names)
    hint = "" if guess is None else f" (did you mean {guess!r}?)"
    raise SchemaError(f"the label must be one of the columns above, got {answer!r}{hint}")


def _facts(column: str, ask: Ask) -> dict[str, Any] | None:
    """Return what is declared of one column besides its name, None to leave it out."""
    shown = escaped(column)
    kind = ask(f"{shown}: [i]gnore, [n]umber, [c]ategory, [y]es-no?", "i").lower()[:1]
    if kind not in _KINDS:
        raise SchemaError(f"a column is one of {', '.join(_KINDS.values())}, got {kind!r}")
    if kind == "i":
        return None
    facts: dict[str, Any] = {"binary": True}
    if kind == "c":
        values = ask(f"{shown}: its values, separated by commas?", "")
        facts = {"categories": [text.strip() for text in values.split(",") if text.strip()]}
    elif kind == "n":
        facts = _number(shown, ask)
    features_from_dict({"column": column, **facts})
    return facts


def _number(shown: str, ask: Ask) -> dict[str, Any]:
    bounds = _numbers(ask(f"{shown}: lowest and highest value, such as 0, 120?", "no bounds"))
    cuts = ask(f"{shown}: thresholds, such as 30, 50 (or 'private 4': the fit finds 4)?", "")
    word, _, count = cuts.partition(" ")
    if word == "private":
        if not count.strip().isdigit() or not bounds:
            raise SchemaError("private thresholds need their number and both bounds of the column")
        return {"thresholds": {"quantiles": int(count), "range": bounds}}
    return {"thresholds": _numbers(cuts), **({"range": bounds} if bounds else {})}


def _numbers(answer: str) -> list[int | float]:
    """Return the numbers of an answer; none for words that stand for none."""
    if answer == "no bounds":
        return []
    try:
        numbers = [float(part) for part in answer.replace(",", " ").split()]
    except ValueError:
        raise SchemaError(f"numbers are written like 30, 50.5, got {answer!r}") from None
    return [int(number) if number.is_integer() else number for number in numbers]
