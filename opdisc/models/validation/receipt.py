"""The receipt of a validation: counts of new rows under a card that is public already."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

import msgspec

from opdisc.privacy import Count, Lines, NeighboringRelation, PrivacyReceipt, stated_rows

Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
"""A SHA-256 in hexadecimal digits."""


class ValidationReceipt(PrivacyReceipt, frozen=True, kw_only=True):
    """The receipt of one table of noisy counts.

    Parameters
    ----------
    card : str
        SHA-256 of the released card, as in its file.
    sensitivity : int
        Rows by which all counts together can change between neighbouring tables.
    counts : int
        How many.

    Raises
    ------
    ValueError
        If the noise is less than what keeps the promise.
    """

    card: Digest
    sensitivity: Count
    counts: Count

    def __post_init__(self) -> None:
        """Refuse noise that does not belong to the promise."""
        super().__post_init__()
        unit_rows = stated_rows(self) or 1
        changed = NeighboringRelation(self.relation).loss_sensitivity * unit_rows
        if self.sensitivity != changed or self.noise_scales != (float(1 / self.rate),):
            raise ValueError("the noise of a validation must be that of its promise.")

    @property
    def rate(self) -> Fraction:
        """Decay of the noise on each count, per row."""
        return Fraction(self.epsilon) / self.sensitivity

    def terms(self) -> Lines:
        """Return which card was public, and what is promised of it."""
        return [("card", f"sha256 {self.card[:16]}, public; its own release is not counted here")]

    def section(self) -> Lines:
        """Return the card, and how far the counts can move."""
        moved = f"{self.sensitivity} rows in all {self.counts} counts together"
        return [*self.terms(), ("sensitivity", moved)]
