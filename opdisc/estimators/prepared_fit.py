"""A fit in two halves: what is tried without the budget, and what is set once it was spent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from opdisc.privacy import Ledger, Prepared

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedFit(Generic[Found]):
    """A fit that was tried as far as it goes without the budget.

    Parameters
    ----------
    charge : Prepared
        What is recorded, and what it draws. Its receipt is a function of public inputs only.
    publish : callable
        Sets the attributes of the estimator from what was drawn.
    """

    charge: Prepared[Found]
    publish: Callable[[Found], None]

    def run(self, ledger: Ledger | None) -> None:
        """Record the receipt, draw, publish.

        Parameters
        ----------
        ledger : Ledger or None
            Where the receipt is recorded before anything is drawn.

        Raises
        ------
        UncertifiedRelease
            If nothing was drawn; the budget stays spent.
        """
        self.publish(self.charge.run(ledger))
