"""One charge of a ledger, and the running totals of all."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal, InvalidOperation
from typing import Any

_VOID = "VOID"

# Decimal sums of the shortest decimal forms: 0.1 + 0.1 + 0.1 is 0.3, and any rounding is up.
_SUMS = Context(prec=50, rounding=ROUND_CEILING, Emin=-9999, Emax=9999)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """One recorded expense.

    Parameters
    ----------
    epsilon, delta : float
        What was promised; delta includes the numerical part.
    mechanism, relation, schema_digest, guarantee : str
        Copied from the receipt.
    date : str
        Day of the charge, UTC; like all that follows, empty or None where it was not stated.
    table, purpose : str
        Name of the private table, and what the fit was for.
    n_rows : int or None
        Number of rows, where public.
    unit : str
        What one neighbour changes, in words.
    rows_per_unit : int or None
        Its largest number of rows.
    model : str
        Digest of the model that was released for it.

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
    date: str = ""
    table: str = ""
    n_rows: int | None = None
    unit: str = ""
    rows_per_unit: int | None = None
    purpose: str = ""
    model: str = ""

    def __post_init__(self) -> None:
        """Refuse what would make a total meaningless: a NaN compares below every cap."""
        if not (is_amount(self.epsilon) and is_amount(self.delta)):
            raise ValueError("a spending must be a finite number of at least 0.")
        texts = [self.mechanism, self.relation, self.schema_digest, self.guarantee]
        texts += [self.date, self.table, self.unit, self.purpose, self.model]
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("a spending must name its mechanism, relation, schema and guarantee.")
        counts = (self.n_rows, self.rows_per_unit)
        if not all(count is None or (type(count) is int and count >= 0) for count in counts):
            raise ValueError("a spending's counts must be whole numbers.")

    @property
    def is_void(self) -> bool:
        """Whether nothing was promised, so that its epsilon bounds nothing."""
        return self.guarantee == _VOID


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Running totals, and what the next charge must agree with.

    Parameters
    ----------
    charges, void : int
        Number of charges, and of those among them that promise nothing.
    epsilon, delta : str
        Decimal sums over the charges that promise something.
    relation, table, unit : str
        Of all charges so far, empty where none stated it.
    rows_per_unit : int or None
        As stated so far.
    """

    charges: int = 0
    void: int = 0
    epsilon: str = "0"
    delta: str = "0"
    relation: str = ""
    table: str = ""
    unit: str = ""
    rows_per_unit: int | None = None

    def __post_init__(self) -> None:
        """Refuse sums that are no numbers."""
        for text in (self.epsilon, self.delta):
            if not isinstance(text, str) or not _is_sum(text):
                raise ValueError("a sum must be a number of at least 0.")
        if type(self.charges) is not int or type(self.void) is not int:
            raise ValueError("charges must be counted.")

    def plus(self, spending: Spending) -> Spent:
        """Return the totals with one more charge."""
        changes: dict[str, Any] = {"charges": self.charges + 1}
        if spending.is_void:
            changes["void"] = self.void + 1
        else:
            changes["epsilon"] = _sum(self.epsilon, spending.epsilon)
            changes["delta"] = _sum(self.delta, spending.delta)
        for name in ("relation", "table", "unit", "rows_per_unit"):
            changes[name] = getattr(self, name) or getattr(spending, name)
        return replace(self, **changes)

    @property
    def amounts(self) -> tuple[float, float]:
        """Sums (epsilon, delta) over the charges that promise something."""
        return float(self.epsilon), float(self.delta)

    @property
    def total(self) -> tuple[float, float]:
        """The same, but epsilon is infinite once a charge promised nothing."""
        return (math.inf if self.void else self.amounts[0]), self.amounts[1]


def is_amount(value: object) -> bool:
    """Return whether a value is a finite number of at least 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value <= sys.float_info.max


def _sum(total: str, amount: float) -> str:
    return str(_SUMS.add(Decimal(total), Decimal(repr(float(amount)))).normalize(_SUMS))


def _is_sum(text: str) -> bool:
    try:
        return 0 <= Decimal(text) < Decimal("Infinity")
    except InvalidOperation:
        return False
