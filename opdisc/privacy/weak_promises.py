"""What every release does before it draws: say aloud what it promises badly, then record it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar

from opdisc.privacy.guarantee import Guarantee, weak_promises
from opdisc.privacy.ledger import Ledger
from opdisc.privacy.receipts import PrivacyReceipt


class WeakPromise(UserWarning):
    """A delta is not far below 1 / rows, or an epsilon is so large that nothing is promised."""


def weak_promise_text(guarantee: str, conditions: Sequence[str]) -> str:
    """Return a sentence on a promise that its own size empties; empty where it does not."""
    weak = weak_promises(conditions)
    if not weak:
        return ""
    void = guarantee == Guarantee.VOID.value
    does = "says VOID and promises nothing" if void else "is CONDITIONAL on this"
    return f"the receipt {does}: {'; '.join(weak)}"


def warn_of_weak_promise(guarantee: str, conditions: Sequence[str]) -> None:
    """Warn of a promise that its own size empties: a function of public inputs only."""
    text = weak_promise_text(guarantee, conditions)
    if text:
        warnings.warn(text, WeakPromise, stacklevel=3)


_LISTENER: ContextVar[Callable[[PrivacyReceipt], object] | None] = ContextVar(
    "listener", default=None
)


@contextmanager
def told_of_spending(tell: Callable[[PrivacyReceipt], object]) -> Iterator[None]:
    """Hand over each receipt once its charge is recorded, before anything is drawn."""
    before = _LISTENER.set(tell)
    try:
        yield
    finally:
        _LISTENER.reset(before)


def record_spending(receipt: PrivacyReceipt, ledger: Ledger | None) -> None:
    """Warn of what a receipt promises badly, then record it on disk if there is a ledger.

    Called before anything is drawn. A ledger with a limit refuses what is VOID.
    """
    warn_of_weak_promise(receipt.guarantee, receipt.conditions)
    if ledger is not None:
        ledger.spend(receipt)
    if (tell := _LISTENER.get()) is not None:
        with suppress(Exception):  # the budget is spent: who cannot listen loses no release
            tell(receipt)
