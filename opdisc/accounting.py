"""A durable record of privacy budget: written, flushed and synced before anything is released."""

from __future__ import annotations

import fcntl
import json
import math
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

from opdisc.errors import OPDiscError

_FORMAT = "opdisc-ledger"


class LedgerError(OPDiscError, ValueError):
    """The ledger cannot be read or written, or the budget would be exceeded."""


class Expense(Protocol):
    """What a ledger needs of a receipt, whichever mechanism wrote it."""

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
    def schema_digest(self) -> str:
        """Public schema, empty without one."""

    @property
    def guarantee(self) -> str:
        """``HOLDS``, ``CONDITIONAL`` or ``VOID``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """One recorded expense.

    Parameters
    ----------
    epsilon, delta : float
        What was promised; delta includes the numerical part.
    mechanism, relation, schema_digest, guarantee : str
        Copied from the receipt.

    Raises
    ------
    ValueError
        If a field is not of its type, or a number is negative or not finite.
    """

    epsilon: float
    delta: float
    mechanism: str
    relation: str
    schema_digest: str
    guarantee: str

    def __post_init__(self) -> None:
        """Refuse what would make a total meaningless: a NaN compares below every cap."""
        texts = (self.mechanism, self.relation, self.schema_digest, self.guarantee)
        if not (_is_amount(self.epsilon) and _is_amount(self.delta)):
            raise ValueError("a spending must be a finite number of at least 0.")
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("a spending must name its mechanism, relation, schema and guarantee.")


class Ledger:
    """An append-only file of spendings with an optional cap.

    Parameters
    ----------
    path : str or Path
        JSON-lines file, a regular one; created on the first spending.
    epsilon_limit, delta_limit : float or None
        Caps on the totals under basic composition. They are stored in a new file; for an existing
        one the stored caps apply and must not be contradicted.

    Notes
    -----
    **Guarantee.** :meth:`spend` returns only after the line has reached the disk, and holds an
    exclusive lock while it compares with the cap, so concurrent processes cannot overspend. A file
    that does not parse to its last byte, a line torn by a crash included, refuses all spending.
    **Assumes.** All spendings in one ledger concern the same private table; a second neighbouring
    relation is refused. Totals add up epsilons and deltas (Dwork, Roth 2014, Theorem 3.16).
    """

    def __init__(
        self,
        path: str | PathLike[str],
        *,
        epsilon_limit: float | None = None,
        delta_limit: float | None = None,
    ) -> None:
        self.path = Path(path)
        self._limits = {"epsilon_limit": epsilon_limit, "delta_limit": delta_limit}
        for name, limit in self._limits.items():
            if limit is not None and not _is_amount(limit):
                raise LedgerError(f"{name} must be finite and >= 0, got {limit!r}.")

    def spend(self, receipt: Expense) -> None:
        """Record a receipt's budget, durably.

        Raises
        ------
        LedgerError
            If the file cannot be written, is damaged, or a cap would be exceeded; then nothing is
            recorded and nothing may be released.
        """
        entry = Spending(
            epsilon=receipt.epsilon,
            delta=min(1.0, receipt.delta + receipt.delta_numerical),
            mechanism=receipt.mechanism,
            relation=receipt.relation,
            schema_digest=receipt.schema_digest,
            guarantee=receipt.guarantee,
        )
        self._check(self._limits, [entry])  # before a file is created
        with self._locked() as descriptor:
            limits, spendings = self._parse(descriptor)
            self._check(limits, [*spendings, entry])
            is_new = os.fstat(descriptor).st_size == 0
            lines = [json.dumps({"format": _FORMAT, **limits})] if is_new else []
            lines.append(json.dumps(asdict(entry)))
            self._append(descriptor, "".join(line + "\n" for line in lines))

    def spendings(self) -> tuple[Spending, ...]:
        """Return what was recorded so far; empty if the file does not exist yet."""
        if not self.path.exists():
            return ()
        with self._locked() as descriptor:
            return tuple(self._parse(descriptor)[1])

    def total(self) -> tuple[float, float]:
        """Return (epsilon, delta) spent, by basic composition."""
        spent = self.spendings()
        return _total(s.epsilon for s in spent), _total(s.delta for s in spent)

    def limits(self) -> tuple[float | None, float | None]:
        """Return the caps (epsilon, delta) in force, None where there is none."""
        limits = self._limits
        if self.path.exists():
            with self._locked() as descriptor:
                limits = self._parse(descriptor)[0]
        return limits["epsilon_limit"], limits["delta_limit"]

    @contextmanager
    def _locked(self) -> Iterator[int]:
        # A bare descriptor: a buffered file would write once more what had failed, when it closes.
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        except OSError as error:
            raise LedgerError(
                f"a ledger must be a writable file, '{self.path}' is not ({error.strerror})."
            ) from None
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise LedgerError(
                    f"a ledger must be a regular file, '{self.path}' is not; name another file."
                )
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield descriptor
        finally:
            os.close(descriptor)

    def _parse(self, descriptor: int) -> tuple[dict[str, Any], list[Spending]]:
        try:
            text = _read_all(descriptor).decode("utf-8")
            if not text:
                return dict(self._limits), []
            if not text.endswith("\n"):
                raise ValueError
            header, *entries = [json.loads(line) for line in text[:-1].split("\n")]
            if header.pop("format") != _FORMAT or set(header) != set(self._limits):
                raise ValueError
            if not all(limit is None or _is_amount(limit) for limit in header.values()):
                raise ValueError
            spendings = [Spending(**entry) for entry in entries]
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise LedgerError(
                f"a ledger must hold one spending per line, '{self.path}' is damaged or is "
                "another kind of file; restore it before spending more."
            ) from None
        for name, asked in self._limits.items():
            if asked is not None and header[name] != asked:
                raise LedgerError(f"{name} was fixed when '{self.path}' was created; omit it.")
        return header, spendings

    def _check(self, limits: dict[str, Any], spendings: list[Spending]) -> None:
        # An epsilon under add-or-remove-one counts double under replace-one: no common sum.
        if len({spending.relation for spending in spendings}) > 1:
            raise LedgerError(
                "a ledger adds up releases under one neighbouring relation, this one would have "
                "two; use the relation of its first release."
            )
        for name, spent in (
            ("epsilon", _total(s.epsilon for s in spendings)),
            ("delta", _total(s.delta for s in spendings)),
        ):
            limit = limits[f"{name}_limit"]
            # The slack is for sums such as 0.1 + 0.1 + 0.1 against a cap of 0.3.
            if limit is not None and not spent <= limit * (1 + 1e-12):
                raise LedgerError(
                    f"the ledger caps {name} at {limit:g}, this release would bring it to "
                    f"{spent:g}; spend less."
                )

    def _append(self, descriptor: int, text: str) -> None:
        size = os.fstat(descriptor).st_size
        try:
            rest = text.encode("utf-8")
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            os.fsync(descriptor)
            if size == 0:
                _sync_directory(self.path)
        except BaseException as error:
            # Nothing is released after an exception, so nothing may stay recorded.
            with suppress(OSError):
                os.ftruncate(descriptor, size)
            if not isinstance(error, OSError):
                raise
            raise LedgerError(
                f"spending must reach the disk before a release, writing '{self.path}' failed "
                f"({error.strerror}); nothing was released."
            ) from None


def _is_amount(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value <= sys.float_info.max


def _total(amounts: Iterable[float]) -> float:
    try:
        return math.fsum(amounts)
    except OverflowError:
        return math.inf


def _read_all(descriptor: int) -> bytes:
    os.lseek(descriptor, 0, os.SEEK_SET)
    chunks = []
    while chunk := os.read(descriptor, 1 << 20):
        chunks.append(chunk)
    return b"".join(chunks)


def _sync_directory(path: Path) -> None:
    """Make a new file's name durable too."""
    directory = os.open(path.resolve().parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
