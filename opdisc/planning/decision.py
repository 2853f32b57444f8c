"""The one place where a card is decided: what will draw it, with which part of epsilon."""

from __future__ import annotations

from dataclasses import dataclass

from opdisc.errors import CalibrationError
from opdisc.mechanisms import card_epsilon
from opdisc.planning.choice import LOGISTIC
from opdisc.planning.logistic import STARTED, prefers_logistic, why_logistic
from opdisc.planning.named import check_alternatives
from opdisc.planning.promise import cards_receipt, fit_receipt
from opdisc.planning.request import CardRequest, Shares, split
from opdisc.planning.weight_rule import SettledFit, settle_fit
from opdisc.privacy import (
    NeighboringRelation,
    PrivacyParams,
    PrivacyReceipt,
    PublicInputs,
    Question,
    Reason,
    ask,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedCard:
    """One card, before anything is spent.

    Parameters
    ----------
    shares : Shares
        How its epsilon is split.
    settled : SettledFit
        What will draw it, for its share.
    """

    shares: Shares
    settled: SettledFit

    def receipt(self) -> PrivacyReceipt:
        """Return the receipt of the whole fit, but for the oracle and what the draw decides."""
        settled = self.settled.without_spare_delta()
        return fit_receipt(settled, self.shares.risks, self.shares.thresholds)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedCards:
    """The cards that tell several classes apart, before anything is spent.

    Parameters
    ----------
    strategy : str
        Which questions they answer.
    n_classes : int
        How many labels there are.
    whole : PublicInputs
        With the epsilon of all cards together.
    cards : tuple of (Question, DecidedCard)
        Each question with its card.
    """

    strategy: str
    n_classes: int
    whole: PublicInputs
    cards: tuple[tuple[Question, DecidedCard], ...]

    def receipt(self) -> PrivacyReceipt:
        """Return the receipt of all cards, but for the oracle and what the draws decide."""
        return cards_receipt(
            self.strategy,
            self.n_classes,
            [card.settled for _, card in self.cards],
            [card.shares.risks for _, card in self.cards],
            self.whole,
        )


def takes_logistic(
    request: CardRequest, public: PublicInputs, *, is_started: bool = False
) -> Reason | None:
    """Return why a card is a logistic one; None if it is not.

    Parameters
    ----------
    request : CardRequest
        What is asked.
    public : PublicInputs
        Public facts, with all of epsilon.
    is_started : bool
        Whether a public start is given.

    Returns
    -------
    Reason or None
        Empty where it was named.

    Raises
    ------
    CalibrationError
        If it would be one, and the schema limits points by more than signs, or has alternatives.

    Notes
    -----
    **Guarantee.** A function of public facts.
    """
    if request.mechanism == LOGISTIC or (is_started and request.mechanism == "auto"):
        _require_no_sizes(request)
        if request.schema.alternatives:
            check_alternatives(request.mechanism, request.settings, is_started=is_started)
        return STARTED if request.mechanism == "auto" else Reason()
    if request.is_free and prefers_logistic(request.schema, public):
        return why_logistic(request.schema, public)
    return None


def _require_no_sizes(request: CardRequest) -> None:
    """Refuse limits of points where real weights are drawn, and rounded afterwards."""
    if request.limits_sizes:
        raise CalibrationError(
            "limits of points need a mechanism that draws from a grid, but a logistic card rounds "
            "real weights; name mechanism='staged', or leave at_least and at_most out."
        )


def decide_card(request: CardRequest, whole: PublicInputs) -> DecidedCard:
    """Return what will draw a card that is no logistic one.

    Parameters
    ----------
    request : CardRequest
        What is asked.
    whole : PublicInputs
        Public facts, with all of epsilon.

    Raises
    ------
    CalibrationError, UnsupportedProblem
        If nothing can draw it.

    Notes
    -----
    **Guarantee.** A function of public facts. Plans and fits both ask here.
    """
    shares = split(request, whole)
    return DecidedCard(shares=shares, settled=settle_fit(request, shares.card))


def decide_cards(request: CardRequest, whole: PublicInputs, strategy: str) -> DecidedCards:
    """Return what will draw the cards of several classes; questions alike have the same one.

    Parameters
    ----------
    request : CardRequest
        What is asked of each card.
    whole : PublicInputs
        Public facts, with the epsilon of all cards together.
    strategy : str
        Which questions they answer.

    Raises
    ------
    CalibrationError, UnsupportedProblem
        If nothing can draw one of them.

    Notes
    -----
    **Guarantee.** A function of public facts. How many rows have one of a question's classes is
    not public, so a card is planned as if every class had as many rows.
    """
    n_classes = len(request.schema.labels)
    known: dict[PublicInputs, DecidedCard] = {}
    cards = []
    for question in ask(strategy, n_classes):
        own = _own_facts(question, whole, n_classes)
        if own not in known:
            known[own] = decide_card(request, own)
        cards.append((question, known[own]))
    return DecidedCards(strategy=strategy, n_classes=n_classes, whole=whole, cards=tuple(cards))


def _own_facts(question: Question, whole: PublicInputs, n_classes: int) -> PublicInputs:
    """Return the public facts of one question's card: a row enters it or does not."""
    return PublicInputs(
        params=PrivacyParams(epsilon=card_epsilon(question, whole), delta=0.0),
        relation=NeighboringRelation.ADD_OR_REMOVE_ONE,
        schema_digest=whole.schema_digest,
        public_row_guess=question.typical_rows(whole.typical_rows, n_classes),
        assumptions=whole.assumptions,
    )
