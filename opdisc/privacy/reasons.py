"""Why something was chosen: first what a reader wants to know, then what a reviewer checks."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason in two parts; false where it has neither.

    Parameters
    ----------
    brief : str
        In plain words.
    detail : str
        What stands behind it, for a reviewer.
    """

    brief: str = ""
    detail: str = ""

    def __bool__(self) -> bool:
        """Return whether anything is said."""
        return bool(self.brief or self.detail)

    def __str__(self) -> str:
        """Return both parts as one text."""
        return "; in detail: ".join(filter(None, (self.brief, self.detail)))

    def and_also(self, other: Reason) -> Reason:
        """Return two reasons as one, the brief parts of both before their details."""
        briefs, details = (self.brief, other.brief), (self.detail, other.detail)
        return Reason("; ".join(filter(None, briefs)), "; ".join(filter(None, details)))


def count_in_words(number: int) -> str:
    """Return a count as one says it: 6,561, 1.6 million, 10^28."""
    if number < 10**6:
        return f"{number:,}"
    for power, word in ((9, "million"), (12, "billion")):
        if number < 10**power:
            shown = number / 10 ** (power - 3)
            return f"{shown:.0f} {word}" if shown >= 10 else f"{shown:.1f} {word}"
    return f"10^{math.floor(math.log10(number))}"
