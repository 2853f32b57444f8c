"""What is asked for: epsilon, delta, which tables are neighbours, and who is protected."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from opdisc.arguments import check_choice
from opdisc.errors import CalibrationError, quoted

SMALLEST_EPSILON, LARGEST_EPSILON = 1e-100, 1e300
"""Beyond these, noise scales or their inverses would leave the range of doubles."""


def parse_relation(name: str) -> NeighboringRelation:
    """Return the relation of that name."""
    if not isinstance(name, NeighboringRelation):
        check_choice("relation", name, [member.value for member in NeighboringRelation])
    return NeighboringRelation(name)


class NeighboringRelation(enum.Enum):
    """Which pairs of tables a guarantee compares."""

    REPLACE_ONE = "replace_one"
    """One privacy unit's rows change; the number of rows is public."""
    ADD_OR_REMOVE_ONE = "add_or_remove_one"
    """One privacy unit's rows appear or disappear; the number of rows is private."""

    @property
    def loss_sensitivity(self) -> int:
        """Pairwise sensitivity of a sum of per-row losses in [0, 1] (mechanisms, section 2)."""
        match self:
            case NeighboringRelation.REPLACE_ONE:
                return 2
            case NeighboringRelation.ADD_OR_REMOVE_ONE:
                return 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyParams:
    """The target of a calibration.

    Parameters
    ----------
    epsilon : float
        Positive, not below :data:`SMALLEST_EPSILON`, and finite.
    delta : float
        In [0, 1); 0 asks for pure differential privacy.

    Notes
    -----
    A NumPy number counts as the exact value that it holds, not as what was typed:
    ``numpy.float32(0.1)`` is 0.10000000149011612, and the receipt says so.

    Raises
    ------
    CalibrationError
        If a value is out of range.
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        """Refuse impossible targets."""
        for name in ("epsilon", "delta"):
            value = getattr(self, name)
            if isinstance(value, np.floating | np.integer):
                value = value.item()  # exact: every shorter float is a double
                object.__setattr__(self, name, value)
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise CalibrationError(f"{name} must be a number, got {quoted(value)}.")
        if not (self.epsilon > 0 and math.isfinite(self.epsilon)):
            raise CalibrationError(f"epsilon must be finite and > 0, got epsilon={self.epsilon}.")
        if not SMALLEST_EPSILON <= self.epsilon <= LARGEST_EPSILON:
            raise CalibrationError(
                f"epsilon must be from {SMALLEST_EPSILON:g} to {LARGEST_EPSILON:g}, got "
                f"epsilon={self.epsilon}."
            )
        if not 0 <= self.delta < 1:
            raise CalibrationError(f"delta must be in [0, 1), got delta={self.delta}.")
        for name in ("epsilon", "delta"):  # a receipt says the same before and after it is read
            object.__setattr__(self, name, float(getattr(self, name)))


def unit_in_words(unit: str, rows: int | None) -> str:
    """Return a privacy unit with its most rows, wherever it is named: nothing holds beyond them.

    Parameters
    ----------
    unit : str
        What one neighbour changes, such as "one patient".
    rows : int or None
        Most rows of one unit. One goes without saying; None, of older receipts, is not known.
    """
    return unit if rows in (None, 1) else f"{unit} (at most {rows:,} rows)"


def stated_rows(receipt: Any) -> int | None:
    """Return the most rows of one privacy unit that a receipt states.

    Receipts of older versions and of other packages may have no ``rows_per_unit``: then it is what
    their sensitivity was calibrated for. None where neither tells.
    """
    rows = getattr(receipt, "rows_per_unit", None)
    if rows is not None:
        return int(rows)
    largest_cost = getattr(receipt, "largest_cost", 1)
    if hasattr(receipt, "score_sensitivity"):
        return int(receipt.score_sensitivity) // largest_cost or None
    if not hasattr(receipt, "sensitivity"):
        return None
    # A vote moves by two a row under either relation, a loss by the relation's own factor.
    is_vote = receipt.mechanism == "robust_vote"
    each = 2 if is_vote else NeighboringRelation(receipt.relation).loss_sensitivity
    return int(receipt.sensitivity) // (each * largest_cost) or None
