"""What surrounds a release on the command line: places and limits before, the ledger after."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from opdisc.cli.budget import left_sentences, spent_sentence
from opdisc.cli.console import check_standard_output
from opdisc.data import FilePath, check_output
from opdisc.errors import TableError

if TYPE_CHECKING:
    from opdisc.models import SavedModel, SavedMulticlassModel, ValidationReport
    from opdisc.privacy import Ledger

_LONGEST_NAME = 100

_NO_LEDGER = (
    "note: without --ledger nobody adds up what all releases of this table cost together; "
    "'opdisc budget --create' makes a ledger."
)


SURE_TO_END = frozenset({"auto", "enumeration", "branch-and-bound"})
"""Solvers that end with a proof on every table, if they are given no limit."""

_THEN = " then "


def ledger_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--ledger`` and ``--table`` to a command that spends."""
    named = click.option(
        "--table",
        "table_name",
        help="Table's name in the ledger, else DATA's file name; and in --database.",
    )
    ledger = click.option(
        "--ledger",
        type=click.Path(path_type=Path),
        help="Record the budget in this file; 'opdisc budget --create' makes it.",
    )
    return ledger(named(command))


def check_release(out: Path | None, inputs: Iterable[FilePath], *, force: bool) -> None:
    """Refuse, before anything is spent, a release that would be lost or would destroy another.

    Raises
    ------
    TableError
        If ``out`` cannot be written, is an input, or holds something and ``force`` is not given;
        or if there is no ``out`` and standard output cannot be written.
    """
    if out is not None:
        check_output(out, inputs=inputs)
        refuse_overwriting(out, force=force)
        return
    try:
        check_standard_output()
    except OSError as error:
        raise TableError(
            f"a release must be saved or printed, but standard output is not writable "
            f"({error.strerror}); give --out, nothing was spent."
        ) from None


def refuse_overwriting(out: Path, *, force: bool) -> None:
    """Refuse to replace a file that holds something."""
    if not force and out.exists() and os.path.getsize(out) > 0:
        raise TableError(
            f"what was released must not be overwritten, but {out} exists; name another file, or "
            "say --force."
        )


def ledger_for(
    path: Path | None,
    table: str | None,
    data: Path | None,
    out: Path | None,
    *,
    verb: str = "fit",
) -> Ledger | None:
    """Return the ledger of a release, which names its table and purpose; None without a path.

    Without a file ``data`` the table is one of a database, by this name.
    """
    from opdisc.privacy import Ledger

    if path is None:
        if table is not None and data is not None:
            raise click.UsageError("--table names the table in a ledger: give --ledger too.")
        return None
    purpose = verb if out is None else f"{verb} to {_public_name(out.name)}"
    named = _public_name("" if data is None else data.stem) if table is None else table
    return Ledger(path, table=named, purpose=purpose, must_exist=True)


def name_in_ledger(
    model: SavedModel | SavedMulticlassModel | ValidationReport, ledger: Ledger | None
) -> None:
    """Bind a charge to what it bought and print the running total to standard error.

    Raises
    ------
    LedgerError
        If the ledger has lost the charge, or cannot be written.
    """
    if ledger is None:
        click.echo(_NO_LEDGER, err=True)
        return
    ledger.name_model(model.to_dict()["sha256"])
    header, spent = ledger.ends()
    sentences = ". ".join([spent_sentence(spent), *left_sentences(header, spent)])
    click.echo(f"ledger {ledger.path}: {sentences}.", err=True)


def limit_note(oracle: str, time_limit: float | None, max_rounds: int | None = None) -> str:
    """Return what is at stake with a limit, or with a solver that may take for ever; else "".

    Parameters
    ----------
    oracle : str
        Who minimises, as it was named.
    time_limit : float or None
        Seconds.
    max_rounds : int or None
        Cap on the nodes of a long search.
    """
    if max_rounds is not None:
        return _at_stake(f"the search takes more than {max_rounds:,} nodes", "--max-rounds")
    if _THEN in oracle:
        return ""
    handover = f"--oracle '{oracle}{_THEN}branch-and-bound'"
    if time_limit is None:
        if oracle in SURE_TO_END:
            return ""
        return (
            f"note: '{oracle}' may take very long, and no limit is set; {handover} "
            "--time-limit 60 passes the problem on after a minute and always ends with a proof."
        )
    limit = f"within {time_limit:g} s"
    if oracle in SURE_TO_END:
        return _at_stake(f"the search or draw does not end {limit}", "--time-limit")
    return (
        f"note: if '{oracle}' has no proof {limit}, nothing is released and the budget stays "
        f"spent; {handover} would pass the problem on and release."
    )


@contextmanager
def told_weak_promises(say: Callable[[str], object]) -> Iterator[None]:
    """Say each warning of a weak promise once, as a note, before anything is drawn."""
    from opdisc.privacy import WeakPromise

    said = set()
    with warnings.catch_warnings():
        warnings.simplefilter("always", WeakPromise)
        usual = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any) -> None:
            if not issubclass(category, WeakPromise):
                usual(message, category, *where)
            elif str(message) not in said:
                said.add(str(message))
                say(f"warning: {message}.")

        warnings.showwarning = show  # type: ignore[assignment]
        yield


def ignored_weak_promises() -> AbstractContextManager[None]:
    """Leave out these warnings where what is printed says the same."""
    return told_weak_promises(lambda _: None)


def _public_name(text: str) -> str:
    """Return a file's name as far as a ledger takes it."""
    return "".join(c if c.isprintable() else "?" for c in text)[:_LONGEST_NAME]


def _at_stake(event: str, option: str) -> str:
    return (
        f"note: if {event}, nothing is released and the budget stays spent; without {option} it "
        "always ends."
    )
