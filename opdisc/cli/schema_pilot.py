"""The option ``--pilot`` of ``opdisc schema new``: public rows fill in a schema."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from opdisc.data import PilotDraft, check_names, holds_the_same, is_usable, pilot_draft, read_table
from opdisc.errors import FileMistake


def facts_from_pilot(
    pilot: Path, data: Path, header: Sequence[str], label: str | None
) -> tuple[dict[str, Any], str, str]:
    """Return what public rows say of a header.

    Parameters
    ----------
    pilot : path
        The table of public rows.
    data : path
        The private table; its rows are not read.
    header : sequence of str
        Its column names.
    label : str or None
        The column to predict.

    Returns
    -------
    (dict, str, str)
        Arguments of :func:`opdisc.data.draft_schema`; what was done, and what is left to do.

    Raises
    ------
    FileMistake
        If the pilot is the private table, or has none of its columns.
    """
    if holds_the_same(pilot, data):
        raise FileMistake(
            "a pilot must hold public rows, but it is the table itself, so private rows would "
            "decide the schema; name another table, or leave --pilot out"
        )
    rows = read_table(pilot)
    names = [name for name in dict.fromkeys(header) if is_usable(name)]
    shared = [name for name in names if name in rows.columns]
    if not shared:
        raise FileMistake(
            f"a pilot must have columns of the table, but {pilot} has none of them; give it a "
            "first line with the same names"
        )
    check_names(list(rows.columns), shared)
    draft = pilot_draft({name: list(rows[name]) for name in shared}, label)
    known = {
        "target": {**({} if label is None else {"column": label}), **draft.target},
        "features": draft.features,
        "missing": draft.missing,
        "notes": draft.notes,
        "pilot": pilot.name,
    }
    return known, _done(draft, pilot), _rest(draft, names, label)


def _done(draft: PilotDraft, pilot: Path) -> str:
    filled = len(draft.features) - draft.n_left_out
    labels = "labels and " if draft.target else ""
    return (
        f"; the rows of {pilot}, which must be public, decided {labels}{_columns(filled)}, and "
        f"left out {draft.n_left_out}"
    )


def _rest(draft: PilotDraft, names: Sequence[str], label: str | None) -> str:
    blank = sum(name not in draft.features and name != label for name in names)
    what = [] if draft.target else ["the labels"]
    what += [_columns(blank)] if blank else []
    if what:
        return f"fill in the blanks of {' and '.join(what)}, then check it"
    if draft.n_left_out == len(draft.features):
        return "declare at least one column, then check it"
    return "look at what they decided, then check it"


def _columns(number: int) -> str:
    return "1 column" if number == 1 else f"{number} columns"
