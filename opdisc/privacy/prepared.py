"""The one place that spends: record on the ledger, then draw, and say nothing of what fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, signature
from typing import Generic, ParamSpec, Protocol, TypeVar, cast

from opdisc.errors import UncertifiedRelease
from opdisc.privacy.guarantee import warn_of_weak_promise
from opdisc.privacy.ledger import Ledger
from opdisc.privacy.receipts import PrivacyReceipt

Found = TypeVar("Found")
Made = TypeVar("Made")
Given = ParamSpec("Given")

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared(Generic[Found]):
    """A release that was tried as far as it goes without the rows, and has one charge.

    Parameters
    ----------
    receipt : PrivacyReceipt
        What is charged: a function of public inputs only.
    draw : callable
        Draws all that the charge pays for. None says that nothing came of it.
    refusal : str
        The one sentence where nothing came of it: a function of public inputs only.
    """

    receipt: PrivacyReceipt
    draw: Callable[[], Found | None]
    refusal: str

    def then(self, make: Callable[[Found], Made]) -> Prepared[Made]:
        """Return the same charge, for what is made of what is drawn; its errors say nothing too.

        Parameters
        ----------
        make : callable
            From what is drawn to what is released.
        """

        def draw() -> Made | None:
            found = self.draw()
            return None if found is None else make(found)

        return Prepared(receipt=self.receipt, draw=draw, refusal=self.refusal)

    def run(self, ledger: Ledger | None) -> Found:
        """Warn of what the receipt promises badly, record it, then draw once.

        Parameters
        ----------
        ledger : Ledger or None
            Where the receipt is recorded, durably, before anything is drawn. One with a limit
            refuses what is VOID.

        Raises
        ------
        UncertifiedRelease
            If nothing was drawn, whatever the reason; the budget stays spent.
        """
        warn_of_weak_promise(self.receipt.guarantee, self.receipt.conditions)
        if ledger is not None:
            ledger.spend(self.receipt)
        found: Found | None = None
        # The budget is spent: who cannot listen loses no release.
        with suppress(Exception):
            _tell(self.receipt)
        # Whatever goes wrong from here on may depend on the rows: say nothing more. Nor is told
        # what a draw fits within itself: how many trials a search makes is private.
        with _silence(), told_of_spending(_nobody):
            found = self.draw()
        if found is None:  # raised outside of any handler, so that no cause travels along
            raise UncertifiedRelease(self.refusal)
        return found


class PreparedFirst(Protocol[Given, Found]):
    """A function that releases. ``prepare`` takes the same arguments, and stops at the receipt."""

    prepare: Callable[Given, Prepared[Found]]

    def __call__(self, *args: Given.args, **settings: Given.kwargs) -> Found:
        """Prepare, then run on the ``ledger`` that is given, if one is."""
        ...


def prepared_first(prepare: Callable[Given, Prepared[Found]]) -> PreparedFirst[Given, Found]:
    """Return a function that runs what another prepares, and has that one as ``prepare``.

    Parameters
    ----------
    prepare : callable
        Of its argument ``ledger``, where the budget is recorded, it has no use itself.

    Raises
    ------
    TypeError
        If ``ledger`` could be given without its name, and so be missed.
    """
    ledger = signature(prepare).parameters.get("ledger")
    if ledger is None or ledger.kind is not Parameter.KEYWORD_ONLY:
        raise TypeError("a function that releases must take its ledger by name; put * before it.")

    @wraps(prepare)
    def run(*args: Given.args, **settings: Given.kwargs) -> Found:
        return prepare(*args, **settings).run(cast("Ledger | None", settings.get("ledger")))

    run.prepare = prepare  # type: ignore[attr-defined]
    return cast("PreparedFirst[Given, Found]", run)


@contextmanager
def _silence() -> Iterator[None]:
    """Hold back whatever goes wrong but a stop; a panic of compiled code is no Exception."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001  # nosec B110
        pass


def _nobody(receipt: PrivacyReceipt) -> None:
    """Hear nothing."""


def _tell(receipt: PrivacyReceipt) -> None:
    if (tell := _LISTENER.get()) is not None:
        tell(receipt)
