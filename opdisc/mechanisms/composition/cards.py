"""Several cards under one charge: prepared together, paid for once, then drawn one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from opdisc.errors import CalibrationError
from opdisc.mechanisms.composition.questions import Question, ask
from opdisc.mechanisms.composition.receipt import MulticlassReceipt
from opdisc.mechanisms.receipts import PreparedRelease
from opdisc.privacy import (
    CalibrationStatus,
    EntropySource,
    Guarantee,
    Ledger,
    NeighboringRelation,
    PublicInputs,
    common_fields,
)
from oracles.problem import Hypothesis


@dataclass(frozen=True, slots=True, kw_only=True)
class CardsRelease:
    """A card for each question, and one receipt.

    Parameters
    ----------
    hypotheses : tuple of tuple of int
        Weights of each card, the intercept first.
    receipt : MulticlassReceipt
        The privacy statement of all of them.
    """

    hypotheses: tuple[Hypothesis, ...]
    receipt: MulticlassReceipt


def card_epsilon(question: Question, public: PublicInputs) -> float:
    """Return what a question's card may cost one row, rounded down.

    Parameters
    ----------
    question : Question
        With its share.
    public : PublicInputs
        Budget of all cards; ``changed_rows`` rows share it.
    """
    exact = Fraction(public.params.epsilon) * question.share / public.changed_rows
    found = float(exact)
    return found if Fraction(found) <= exact else float(np.nextafter(found, 0.0))


def run_cards(
    strategy: str,
    n_classes: int,
    prepared: Sequence[PreparedRelease],
    public: PublicInputs,
    *,
    entropy: EntropySource,
    ledger: Ledger | None = None,
) -> CardsRelease:
    """Release all cards, or nothing.

    Parameters
    ----------
    strategy, n_classes
        As in :func:`ask`.
    prepared : sequence of PreparedRelease
        One for each question, calibrated for one row more or less at :func:`card_epsilon`, on
        rows of its classes alone.
    public : PublicInputs
        Budget of all cards and public facts.
    entropy : EntropySource
        That of the prepared releases.
    ledger : Ledger or None
        Where the whole budget is recorded, once, before the first draw.

    Raises
    ------
    UncertifiedRelease
        If one of the cards cannot be drawn; the whole budget stays spent.

    Notes
    -----
    **Guarantee.** As stated on the receipt; docs/theory.md, entry "multiclass".
    """
    if public.params.delta > 0:
        raise CalibrationError("several cards must be pure, so delta must be 0; leave it out.")
    for question, one in zip(ask(strategy, n_classes), prepared, strict=True):
        adds = one.public.relation is NeighboringRelation.ADD_OR_REMOVE_ONE
        if not adds or one.public.params.epsilon > card_epsilon(question, public):
            raise CalibrationError("each card must keep to its share of the budget.")
    receipt = _receipt(strategy, n_classes, prepared, public, entropy)
    if ledger is not None:
        ledger.spend(receipt)
    return CardsRelease(hypotheses=tuple(one.draw() for one in prepared), receipt=receipt)


@dataclass(frozen=True, slots=True, kw_only=True)
class _AllNoise:
    """The noise of all cards, as a receipt states it."""

    scales: tuple[float, ...]
    total_variation: float
    law: str = "that of each card, drawn by itself"
    theorem: str = (
        "a row costs the cards that name its class (docs/theory.md, multiclass), each by its own"
    )
    status: CalibrationStatus = CalibrationStatus.PROVEN


def _receipt(
    strategy: str,
    n_classes: int,
    prepared: Sequence[PreparedRelease],
    public: PublicInputs,
    entropy: EntropySource,
) -> MulticlassReceipt:
    cards = tuple(one.receipt() for one in prepared)
    conditions = dict.fromkeys(text for card in cards for text in card.conditions)
    void = [card.guarantee == Guarantee.VOID.value for card in cards]
    common = common_fields(
        "cards for several classes",
        _AllNoise(
            scales=tuple(scale for card in cards for scale in card.noise_scales),
            total_variation=sum(one.spec.total_variation for one in prepared),
        ),
        public,
        entropy,
        conditions=[text for text in conditions if text not in public.assumptions],
        void=list(conditions) if any(void) and entropy.is_secure else [],
        packages={name: text for card in cards for name, text in card.versions.items()},
    )
    return MulticlassReceipt(
        **common,
        strategy=strategy,
        n_classes=n_classes,
        rows_per_unit=public.rows_per_unit,
        cards=cards,
    )
