"""Several cards under one charge: prepared together, paid for once, then drawn one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from opdisc.errors import CalibrationError
from opdisc.mechanisms.composition.risks import RiskSpec, count_totals, receipt_with_risks
from opdisc.mechanisms.receipts import PreparedRelease
from opdisc.models import Bins
from opdisc.privacy import (
    CalibrationStatus,
    EntropySource,
    Guarantee,
    Ledger,
    NeighboringRelation,
    Prepared,
    PublicInputs,
    common_fields,
    prepared_first,
)
from opdisc.privacy.receipts import MulticlassReceipt, Question, ask
from oracles.arithmetic import IntArray
from oracles.problem import ColumnGroup, Hypothesis, ZeroOneProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class CardsRelease:
    """A card for each question, and one receipt.

    Parameters
    ----------
    hypotheses : tuple of tuple of int
        Weights of each card, the intercept first.
    receipt : MulticlassReceipt
        The privacy statement of all of them.
    totals : tuple of (bins, counts)
        Of each card the groups of its totals and their rows with noise, as in
        :class:`RiskRelease`; empty where no risks were bought.
    """

    hypotheses: tuple[Hypothesis, ...]
    receipt: MulticlassReceipt
    totals: tuple[tuple[Bins, IntArray], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class CardRisks:
    """What the risks of each card are made from.

    Parameters
    ----------
    specs : tuple of RiskSpec
        One for each card, from its own public facts.
    problems : tuple of ZeroOneProblem
        The private points of each card.
    structure : tuple of ColumnGroup
        What the schema says of the columns.
    """

    specs: tuple[RiskSpec, ...]
    problems: tuple[ZeroOneProblem, ...]
    structure: tuple[ColumnGroup, ...]


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


@prepared_first
def run_cards(
    strategy: str,
    n_classes: int,
    prepared: Sequence[PreparedRelease],
    public: PublicInputs,
    *,
    entropy: EntropySource,
    ledger: Ledger | None = None,
    risks: CardRisks | None = None,
) -> Prepared[CardsRelease]:
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
    risks : CardRisks or None
        With it each card keeps to ``card_epsilon`` of its spec, and its counts are released too.

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
    specs = (None,) * len(prepared) if risks is None else risks.specs
    for question, one, spec in zip(ask(strategy, n_classes), prepared, specs, strict=True):
        adds = one.public.relation is NeighboringRelation.ADD_OR_REMOVE_ONE
        own = one.public.params.epsilon
        kept = spec is None or (spec.card_epsilon, spec.sensitivity) == (own, 1)
        whole = own if spec is None else spec.whole.epsilon
        if not (adds and kept) or whole > card_epsilon(question, public):
            raise CalibrationError("each card must keep to its share of the budget.")
    receipt = receipt_of_cards(strategy, n_classes, prepared, specs, public, entropy)

    def draw() -> CardsRelease | None:
        cards = _all_drawn(prepared)
        if cards is None:
            return None
        totals = () if risks is None else _all_counted(cards, risks, entropy)
        return CardsRelease(hypotheses=cards, receipt=receipt, totals=totals)

    return Prepared(receipt=receipt, draw=draw, refusal=_refusal(prepared))


def _all_drawn(prepared: Sequence[PreparedRelease]) -> tuple[Hypothesis, ...] | None:
    cards = []
    for one in prepared:
        card = one.draw()
        if card is None:
            return None
        cards.append(card)
    return tuple(cards)


def _all_counted(
    cards: Sequence[Hypothesis], risks: CardRisks, entropy: EntropySource
) -> tuple[tuple[Bins, IntArray], ...]:
    return tuple(
        count_totals(card, problem, spec, risks.structure, entropy)
        for card, problem, spec in zip(cards, risks.problems, risks.specs, strict=True)
    )


def _refusal(prepared: Sequence[PreparedRelease]) -> str:
    """Return what is said where some card was not drawn, without telling which."""
    refusals = {one.refusal for one in prepared}
    if len(refusals) == 1:
        return refusals.pop()
    return (
        "a release of several cards needs each of them drawn or certified, but one ended without; "
        "the budget is spent and nothing is released: use a smaller grid or a complete oracle."
    )


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


def receipt_of_cards(
    strategy: str,
    n_classes: int,
    prepared: Sequence[PreparedRelease],
    specs: Sequence[RiskSpec | None],
    public: PublicInputs,
    entropy: EntropySource,
) -> MulticlassReceipt:
    """Return the privacy statement of several cards; the parameters are those of run_cards."""
    cards = tuple(
        one.receipt() if spec is None else receipt_with_risks(one, spec)
        for one, spec in zip(prepared, specs, strict=True)
    )
    conditions = dict.fromkeys(text for card in cards for text in card.conditions)
    void = [card.guarantee == Guarantee.VOID.value for card in cards]
    common = common_fields(
        "cards for several classes",
        _AllNoise(
            scales=tuple(scale for card in cards for scale in card.noise_scales),
            total_variation=sum(one.spec.total_variation for one in prepared)
            + sum(spec.total_variation for spec in specs if spec is not None),
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
        cards=cards,
    )
