"""Who is protected: a privacy unit in words, with the most rows that it may have."""

from __future__ import annotations

from typing import Any

from opdisc.privacy.params import NeighboringRelation


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
