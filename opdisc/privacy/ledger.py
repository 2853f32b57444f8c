"""A durable record of privacy budget: written, flushed and synced before anything is released.

A ledger is a text file of JSON lines (:mod:`opdisc.privacy.ledger_lines`), not an SQLite database.
SQLite would give transactions and constant time, and so does one synced line with running totals.
But a database that was replaced under an open connection takes a commit and loses it, and that
cannot be seen. A reader needs write permission to recover one that crashed. And nobody can read it
without a program. A line-based file can be checked by its inode after the lock and after the sync,
read by anyone who may read, and kept under version control.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Protocol

from opdisc.errors import CalibrationError, LedgerError, LedgerMistake, quoted
from opdisc.privacy import ledger_lines as ledger_text
from opdisc.privacy.ledger_file import LedgerFile, LineMaker
from opdisc.privacy.ledger_lines import Book, Head, Header
from opdisc.privacy.params import stated_rows, unit_in_words
from opdisc.privacy.spending import Spending, Spent, is_amount

_LONGEST_NAME = 200


class LedgerCreated(UserWarning):
    """A ledger was not there and was created, so that its totals start at 0."""


class Expense(Protocol):
    """What a ledger needs of a receipt, whichever mechanism wrote it.

    It also takes ``n_rows`` and ``rows_per_unit`` of receipts that have them.
    """

    @property
    def epsilon(self) -> float:
        """Privacy loss promised."""

    @property
    def delta(self) -> float:
        """Its failure probability."""

    @property
    def delta_numerical(self) -> float:
        """What finite precision adds to delta."""

    @property
    def mechanism(self) -> str:
        """What ran."""

    @property
    def relation(self) -> str:
        """Which tables are neighbours."""

    @property
    def privacy_unit(self) -> str:
        """What one neighbour changes."""

    @property
    def schema_digest(self) -> str:
        """Public schema, empty without one."""

    @property
    def guarantee(self) -> str:
        """``HOLDS``, ``CONDITIONAL`` or ``VOID``."""


class Ledger:
    """An append-only file of spendings with an optional cap.

    Parameters
    ----------
    path : str or Path
        A regular file. If it is missing, the first spending creates it and warns
        (:class:`LedgerCreated`); :meth:`create` makes one on purpose.
    epsilon_limit, delta_limit : float or None
        Caps on the totals under basic composition. They are stored in a new file; for an existing
        one the stored caps apply and must not be contradicted.
    table : str
        Name of the private table. A ledger takes charges of one table; not stated, it is not
        compared.
    purpose : str
        What the next charges are for; recorded with them.
    must_exist : bool
        Refuse a missing file instead of creating it.

    Notes
    -----
    **Guarantee.** :meth:`spend` returns only after the line has reached the disk, in the file that
    the path then names. It holds an exclusive lock while it compares with the cap, so concurrent
    processes cannot overspend. It takes the same time however many lines there are: it checks the
    caps against the first charge, and the last line. Reading (:meth:`spendings`, ``opdisc
    budget``) checks every line. Caps are bound by the first charge only: before it an edit of
    them cannot be noticed.
    A charge that was killed before it returned is kept if its line is whole, and dropped if not:
    nothing was released for it. Any other damage refuses all spending.
    **Assumes.** All spendings in one ledger concern the same private table; a second neighbouring
    relation, privacy unit or table is refused. Totals add up epsilons and deltas (Dwork, Roth
    2014, Theorem 3.16). A VOID fit promises nothing: with one the total epsilon is infinite.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        epsilon_limit: float | None = None,
        delta_limit: float | None = None,
        table: str = "",
        purpose: str = "",
        must_exist: bool = False,
    ) -> None:
        self.path = Path(path)
        self.table = _short_name(table, "table")
        self.purpose = _short_name(purpose, "purpose")
        self._limits = {"epsilon_limit": epsilon_limit, "delta_limit": delta_limit}
        self._must_exist = must_exist
        self._charge: Head | None = None
        for name, limit in self._limits.items():
            if limit is not None and not is_amount(limit):
                raise LedgerMistake(f"{name} must be finite and >= 0, got {quoted(limit)}.")

    @classmethod
    def create(
        cls,
        path: str | PathLike[str],
        *,
        epsilon_limit: float | None = None,
        delta_limit: float | None = None,
        table: str = "",
    ) -> Ledger:
        """Create a ledger without charges.

        Raises
        ------
        LedgerError
            If there is a file already, or none can be written there.
        """
        ledger = cls(path, epsilon_limit=epsilon_limit, delta_limit=delta_limit, table=table)
        if not ledger._file.create(ledger._asked()):
            raise LedgerError(
                f"a new ledger must not replace a file, but '{ledger.path}' exists; name another "
                "file."
            )
        return ledger

    def spend(self, receipt: Expense) -> None:
        """Record a receipt's budget, durably.

        Raises
        ------
        CalibrationError
            If epsilon is infinite.
        LedgerError
            If the file cannot be written, is damaged, was replaced by an older one, or is for
            another table, unit or relation, or if a cap would be exceeded. Then nothing is
            recorded and nothing may be released.
        """
        if receipt.epsilon == math.inf:
            raise CalibrationError(
                "an infinite epsilon cannot be put in a ledger; give no ledger."
            )
        entry = Spending(
            epsilon=receipt.epsilon,
            delta=min(1.0, receipt.delta + receipt.delta_numerical),
            mechanism=receipt.mechanism,
            relation=receipt.relation,
            schema_digest=receipt.schema_digest,
            guarantee=receipt.guarantee,
            date=datetime.now(UTC).strftime("%Y-%m-%d"),
            table=self.table,
            n_rows=getattr(receipt, "n_rows", None),
            unit=receipt.privacy_unit,
            rows_per_unit=stated_rows(receipt),
            purpose=self.purpose,
        )
        asked = self._asked()
        self._check(asked, ledger_text.first_head(asked).spent, entry)  # before a file is created

        def charge(_: int, header: Header, head: Head) -> tuple[str, Head]:
            self._check(header, head.spent, entry)
            stated = replace(entry, table=entry.table or head.spent.table)
            return ledger_text.charge_line(head, stated)

        if not self._must_exist and self._charge is None and not self.path.exists():
            self._create_with_a_word()
        self._charge = self._file.append(self._following(charge))

    def name_model(self, digest: str) -> None:
        """Bind this object's last charge to the digest of the model it paid for.

        Raises
        ------
        LedgerError
            If there is no such charge, because the file was replaced since; the release then is
            not paid for by what the ledger says.
        """
        charge = self._charge
        if charge is None:
            raise LedgerError(
                "a model must have been charged for before it is named; spend first."
            )

        def name(descriptor: int, _: Header, head: Head) -> tuple[str, Head]:
            is_last = head.digest == charge.digest
            if not is_last and charge.digest not in self._file.read_whole(descriptor).digests:
                raise self._replaced()
            return ledger_text.model_line(head, charge.digest, digest)

        self._file.append(self._following(name))

    def spendings(self) -> tuple[Spending, ...]:
        """Return what was recorded so far, every line checked; empty if there is no file yet."""
        return self.book().spendings if self._is_there() else ()

    def total(self) -> tuple[float, float]:
        """Return (epsilon, delta) spent, by basic composition; inf once a fit was VOID."""
        return self.ends()[1].total

    def ends(self) -> tuple[Header, Spent]:
        """Return the header and the running totals, read from both ends of the file."""
        if not self._is_there():
            asked = self._asked()
            return asked, ledger_text.first_head(asked).spent
        with self._file.locked() as descriptor:
            header, head, _ = self._file.read_ends(descriptor)
        self._compare_limits(header)
        return header, head.spent

    def limits(self) -> tuple[float | None, float | None]:
        """Return the caps (epsilon, delta) in force, None where there is none."""
        header, _ = self.ends()
        return header.epsilon_limit, header.delta_limit

    def book(self) -> Book:
        """Read and check the whole file; this needs no write permission.

        Raises
        ------
        LedgerError
            If the file is not there, cannot be read, or is not what was written.
        """
        with self._file.locked() as descriptor:
            book = self._file.read_whole(descriptor)
        self._compare_limits(book.header)
        return book

    def _is_there(self) -> bool:
        return self._must_exist or self._charge is not None or self.path.exists()

    @property
    def _file(self) -> LedgerFile:
        return LedgerFile(self.path)

    def _asked(self) -> Header:
        epsilon, delta = self._limits["epsilon_limit"], self._limits["delta_limit"]
        return Header(epsilon_limit=epsilon, delta_limit=delta, table=self.table)

    def _following(self, make: LineMaker) -> LineMaker:
        """Refuse a file that has other caps, or lacks what this object wrote."""

        def checked(descriptor: int, header: Header, head: Head) -> tuple[str, Head]:
            self._compare_limits(header)
            known = self._charge
            if known is not None and (
                head.number < known.number
                or (head.number == known.number and head.digest != known.digest)
            ):
                raise self._replaced()
            try:
                return make(descriptor, header, head)
            except ledger_text.TooLong:
                raise LedgerError(
                    "a ledger's line must be short, but this one is not; shorten the unit's name."
                ) from None

        return checked

    def _create_with_a_word(self) -> None:
        if self._file.create(self._asked()):
            warnings.warn(
                f"ledger '{self.path}' did not exist: it was created and its totals start at 0; "
                "if there was one before, restore it.",
                LedgerCreated,
                stacklevel=3,
            )

    def _compare_limits(self, header: Header) -> None:
        for name, asked in self._limits.items():
            if asked is not None and getattr(header, name) != asked:
                raise LedgerError(f"{name} was fixed when '{self.path}' was created; omit it.")

    def _check(self, header: Header, spent: Spent, entry: Spending) -> None:
        """Refuse what cannot be added, or would exceed a cap."""
        # An epsilon under add-or-remove-one counts double under replace-one: no common sum.
        if spent.relation not in ("", entry.relation):
            raise LedgerError(
                f"this ledger uses {spent.relation}: pass --relation {spent.relation} (in Python "
                f"relation='{spent.relation}'), or start another ledger."
            )
        rows = (spent.rows_per_unit, entry.rows_per_unit)
        if spent.unit not in ("", entry.unit) or (None not in rows and rows[0] != rows[1]):
            kept, other = unit_in_words(spent.unit, rows[0]), unit_in_words(entry.unit, rows[1])
            raise LedgerError(
                f"this ledger is for {kept}, but the release is for {other}; use another ledger, "
                "or the unit and rows_per_unit of its first release."
            )
        if entry.table and spent.table and entry.table not in _spellings(spent.table):
            raise LedgerError(
                f"this ledger is for table {spent.table!r}, but the release is for "
                f"{entry.table!r}; use that table's ledger, or say --table "
                f"{spent.table!r} if it is the same."
            )
        # Ledgers of version 0.1.0.dev0 may have caps and VOID fits: the caps bind the others.
        for name, total in zip(("epsilon", "delta"), spent.plus(entry).amounts, strict=True):
            limit = getattr(header, f"{name}_limit")
            if limit is not None and entry.is_void:
                raise LedgerError(
                    f"the ledger caps {name} at {limit:g}, but a VOID fit keeps to no cap; fit "
                    "without what makes it VOID, or use a ledger without caps."
                )
            # The slack is for caps that are sums of rounded numbers themselves.
            if limit is not None and not total <= limit * (1 + 1e-12):
                raise LedgerError(
                    f"the ledger caps {name} at {limit:g}, but this release would bring it to "
                    f"{total:g}; spend less."
                )

    def _replaced(self) -> LedgerError:
        return LedgerError(
            f"a ledger must keep its charges, but '{self.path}' was replaced and lacks one of "
            "this process; put the newer file back before spending more."
        )


def _spellings(table: str) -> tuple[str, str]:
    """Return a table's name as given and without a file's ending."""
    return table, Path(table).stem


def _short_name(text: str, what: str) -> str:
    if not isinstance(text, str) or len(text) > _LONGEST_NAME or not (text + "x").isprintable():
        raise LedgerMistake(
            f"a {what} must be printable text of at most {_LONGEST_NAME} characters; shorten it."
        )
    return text
