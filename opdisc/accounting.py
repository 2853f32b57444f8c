"""A durable record of privacy budget: written, flushed and synced before anything is released."""

from __future__ import annotations

import fcntl
import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import IO, Any

from opdisc.errors import OPDiscError
from opdisc.privacy import PrivacyReceipt

_FORMAT = "opdisc-ledger"


class LedgerError(OPDiscError, ValueError):
    """The ledger cannot be read or written, or the budget would be exceeded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """One recorded expense.

    Parameters
    ----------
    epsilon, delta : float
        What was promised; delta includes the numerical part.
    mechanism, relation, schema_digest, guarantee : str
        Copied from the receipt.
    """

    epsilon: float
    delta: float
    mechanism: str
    relation: str
    schema_digest: str
    guarantee: str


class Ledger:
    """An append-only file of spendings with an optional cap.

    Parameters
    ----------
    path : str or Path
        JSON-lines file; created on the first spending.
    epsilon_limit, delta_limit : float or None
        Caps on the totals under basic composition. They are stored in a new file; for an existing
        one the stored caps apply and must not be contradicted.

    Notes
    -----
    **Guarantee.** :meth:`spend` returns only after the line has reached the disk, and holds an
    exclusive lock while it compares with the cap, so concurrent processes cannot overspend.
    **Assumes.** All spendings in one ledger concern the same private table. Totals add up epsilons
    and deltas (Dwork, Roth 2014, Theorem 3.16).
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

    def spend(self, receipt: PrivacyReceipt) -> None:
        """Record a receipt's budget, durably.

        Raises
        ------
        LedgerError
            If the file cannot be written, is damaged, or a cap would be exceeded; then nothing is
            recorded and nothing may be released.
        """
        entry: dict[str, Any] = {
            "epsilon": receipt.epsilon,
            "delta": min(1.0, receipt.delta + receipt.delta_numerical),
            "mechanism": receipt.mechanism,
            "relation": receipt.relation,
            "schema_digest": receipt.schema_digest,
            "guarantee": receipt.guarantee,
        }
        with self._locked() as file:
            limits, spendings = self._parse(file)
            self._check(limits, [*spendings, Spending(**entry)])
            lines = [] if file.tell() else [json.dumps({"format": _FORMAT, **limits})]
            lines.append(json.dumps(entry))
            self._append(file, "".join(line + "\n" for line in lines))

    def spendings(self) -> tuple[Spending, ...]:
        """Return what was recorded so far; empty if the file does not exist yet."""
        if not self.path.exists():
            return ()
        with self._locked() as file:
            return tuple(self._parse(file)[1])

    def total(self) -> tuple[float, float]:
        """Return (epsilon, delta) spent, by basic composition."""
        spent = self.spendings()
        return math.fsum(s.epsilon for s in spent), math.fsum(s.delta for s in spent)

    @contextmanager
    def _locked(self) -> Iterator[IO[str]]:
        try:
            file = open(self.path, "a+", encoding="utf-8")  # noqa: SIM115
        except OSError as error:
            raise LedgerError(
                f"a ledger must be a writable file, '{self.path}' is not ({error.strerror})."
            ) from None
        with file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            yield file

    def _parse(self, file: IO[str]) -> tuple[dict[str, Any], list[Spending]]:
        lines = file.read().splitlines()
        if not lines:
            return dict(self._limits), []
        try:
            header = json.loads(lines[0])
            if header.pop("format") != _FORMAT or set(header) != set(self._limits):
                raise ValueError
            spendings = [Spending(**json.loads(line)) for line in lines[1:]]
        except (ValueError, TypeError, KeyError, AttributeError):
            raise LedgerError(
                f"a ledger must hold one spending per line, '{self.path}' is damaged or is "
                "another kind of file; restore it before spending more."
            ) from None
        for name, asked in self._limits.items():
            if asked is not None and header[name] != asked:
                raise LedgerError(f"{name} was fixed when '{self.path}' was created; omit it.")
        return header, spendings

    def _check(self, limits: dict[str, Any], spendings: list[Spending]) -> None:
        for name, spent in (
            ("epsilon", math.fsum(s.epsilon for s in spendings)),
            ("delta", math.fsum(s.delta for s in spendings)),
        ):
            limit = limits[f"{name}_limit"]
            if limit is not None and spent > limit * (1 + 1e-12):
                raise LedgerError(
                    f"the ledger caps {name} at {limit:g}, this release would bring it to "
                    f"{spent:g}; spend less."
                )

    def _append(self, file: IO[str], text: str) -> None:
        size = os.fstat(file.fileno()).st_size
        try:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        except OSError as error:
            os.truncate(self.path, size)
            raise LedgerError(
                f"spending must reach the disk before a release, writing '{self.path}' failed "
                f"({error.strerror}); nothing was released."
            ) from None
