"""The receipt of several cards that together tell several classes apart."""

from __future__ import annotations

from fractions import Fraction

from opdisc.privacy import (
    Count,
    GridReceipt,
    Lines,
    NeighboringRelation,
    PrivacyReceipt,
    UnitRows,
)
from opdisc.privacy.receipts.questions import ask


class MulticlassReceipt(PrivacyReceipt, frozen=True, kw_only=True):
    """The receipt of a card for each question; its promise covers all of them.

    Parameters
    ----------
    rows_per_unit : int
        As on every receipt; here it is always stated.
    strategy : str
        Which questions; see :func:`opdisc.privacy.ask`.
    n_classes : int
        Number of declared classes.
    cards : tuple of GridReceipt
        What each card promises to one row that it may have been drawn from: under
        add-or-remove-one, for its own epsilon.

    Raises
    ------
    ValueError
        If the cards are not those of the strategy, or cost a unit more than is promised.
    """

    strategy: str
    n_classes: Count
    rows_per_unit: UnitRows  # never left out, every version stated it
    cards: tuple[GridReceipt, ...]

    def __post_init__(self) -> None:
        """Refuse cards that do not add up to the promise."""
        super().__post_init__()
        questions = ask(self.strategy, self.n_classes)
        if len(questions) != len(self.cards):
            raise ValueError("a receipt of several cards must have one for each question.")
        for card in self.cards:
            if card.relation != NeighboringRelation.ADD_OR_REMOVE_ONE.value or card.delta > 0:
                raise ValueError("each card must promise for one row more or less, with delta 0.")
            if (card.risks is None) != (self.cards[0].risks is None):
                raise ValueError("either all cards must have bought risks, or none.")
            if card.schema_digest != self.schema_digest:
                raise ValueError("the cards must be of the receipt's schema.")
        changed = NeighboringRelation(self.relation).loss_sensitivity * self.rows_per_unit
        for k in range(self.n_classes):
            spent = sum(
                Fraction(card.epsilon)
                for question, card in zip(questions, self.cards, strict=True)
                if k in question.no + question.yes
            )
            if spent * changed > Fraction(self.epsilon):
                raise ValueError("the cards must not cost a unit more than what is promised.")

    def terms(self) -> Lines:
        """Return how many cards there are, how they go together, and what their parts cost."""
        return [
            ("cards", f"{len(self.cards)}, {self.strategy.replace('_', ' ')}"),
            *(_card_line(number, card) for number, card in enumerate(self.cards, 1)),
        ]

    def section(self) -> Lines:
        """Return what each card costs a row of its classes, and how it was drawn."""
        lines = self.terms()[:1]
        for number, card in enumerate(self.cards, 1):
            lines += [
                _card_line(number, card),
                *card.split(),
                ("  theorem", f"{card.theorem} [{card.calibration}]"),
                ("  noise", card.noise_law),
                *((f"  {name}", text) for name, text in card.section()),
            ]
        return lines


def _card_line(number: int, card: GridReceipt) -> tuple[str, str]:
    parts = card.risks
    split = (
        ""
        if parts is None
        else (f", {parts.card_epsilon:.6g} for the card and {parts.epsilon:.6g} for its risks")
    )
    return f"card {number}", f"epsilon {card.epsilon:.6g} for a row{split}; {card.mechanism}"
