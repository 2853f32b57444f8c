"""What an honest colleague says first of a released scorecard: public facts and the card only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from opdisc.data import constant_remedy
from opdisc.errors import escaped
from opdisc.models.attainable import attainable_totals
from opdisc.models.noise_verdict import NoBound, TiltVerdict
from opdisc.privacy import TREE, way_to

if TYPE_CHECKING:
    from opdisc.data import Label, Schema
    from opdisc.models.noise_verdict import Noise, NoiseVerdict
    from opdisc.models.scorecard import Scorecard
    from opdisc.privacy import Question

_NO_COSTS = (
    "Other columns, more rows or a larger epsilon may tell rows apart; so may a target of two "
    "classes with error costs."
)


_OTHER_COSTS = (
    "Its chances may still tell rows apart, and error costs move the total from which the other "
    "answer is given, without another fit (at_costs)."
)


_NOT_STORED = (
    "What the noise may have cost is not said, because the version that saved this card did not "
    "store it."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What to know of a card before its points.

    Parameters
    ----------
    lowest, highest : int
        Totals that possible rows get at least and at most.
    answer : str, int, float, bool or None
        The label that every possible row gets; None if the card tells rows apart.
    noise : NoiseVerdict, TiltVerdict or None
        What the noise may have cost; None where no bound is known, or none was stored.
    remedy : str
        Of a card that answers the same to everyone: what would make it tell rows apart; empty
        where noise dominates, whose own sentence says what is needed.
    unsaid : str
        Why nothing is said of the noise of a card that an earlier version saved.
    """

    lowest: int
    highest: int
    answer: Label | None
    noise: NoiseVerdict | TiltVerdict | None
    remedy: str = ""
    unsaid: str = ""

    @property
    def is_constant(self) -> bool:
        """Whether every possible row gets the same answer."""
        return self.answer is not None

    @property
    def good_news(self) -> str:
        """The sentence that is no warning; empty if there is none."""
        return str(self.noise) if self.noise is not None and self.noise.is_small else ""

    def sentences(self) -> tuple[str, ...]:
        """Return the verdict, most important first; none where nothing can be said."""
        said = []
        if self.answer is not None:
            said.append(f"This card answers '{escaped(str(self.answer))}' to everyone.")
        if self.remedy:
            said.append(self.remedy)
        if self.noise is not None:
            said.append(str(self.noise))
        if self.unsaid:
            said.append(self.unsaid)
        return tuple(said)

    def __str__(self) -> str:
        """Return the sentences, one a line."""
        return "\n".join(self.sentences())


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassesVerdict:
    """What to know of cards for several classes before their points.

    Parameters
    ----------
    never : tuple of str, int, float or bool
        Labels that no possible row gets, in declared order.
    answer : str, int, float, bool or None
        The label that every possible row gets; None if the cards tell rows apart.
    """

    never: tuple[Label, ...]
    answer: Label | None

    good_news: ClassVar[str] = ""
    """No sentence of it is anything but a warning."""

    @property
    def is_constant(self) -> bool:
        """Whether every possible row gets the same answer."""
        return self.answer is not None

    def __str__(self) -> str:
        """Return the verdict, a sentence on each line; empty where nothing can be said."""
        if self.answer is not None:
            return f"These cards answer '{escaped(str(self.answer))}' to everyone.\n{_NO_COSTS}"
        if not self.never:
            return ""
        named = " or ".join(f"'{escaped(str(label))}'" for label in self.never)
        return f"These cards never answer {named}."


def judge_cards(
    cards: Sequence[Scorecard], questions: Sequence[Question], strategy: str, schema: Schema
) -> ClassesVerdict:
    """Return the verdict on released cards for several classes.

    Parameters
    ----------
    cards : sequence of Scorecard
        One for each question.
    questions : sequence of Question
        What each card tells apart.
    strategy : str
        As in :func:`opdisc.privacy.ask`.
    schema : Schema
        Public facts.

    Notes
    -----
    **Guarantee.** Post-processing. A label is named only if the range of each card's totals by
    itself rules it out.
    """
    labels = schema.labels
    ranges = [attainable_totals(card, schema) for card in cards]
    never = []
    for k, label in enumerate(labels):
        if strategy == TREE:
            lost = any(
                ranges[card][1] < 1 if yes else ranges[card][0] >= 1
                for card, yes in way_to(questions, k)
            )
        else:  # of equal totals the first one wins
            lost = any(
                low > ranges[k][1] or (low == ranges[k][1] and j < k)
                for j, (low, _) in enumerate(ranges)
            )
        if lost:
            never.append(label)
    left = [label for label in labels if label not in never]
    return ClassesVerdict(never=tuple(never), answer=left[0] if len(left) == 1 else None)


def judge_card(
    card: Scorecard, schema: Schema, noise: Noise | None, *, has_odds: bool = False
) -> Verdict:
    """Return the verdict on a released card.

    Parameters
    ----------
    card : Scorecard
        What was released.
    schema : Schema
        Its public facts.
    noise : NoiseVerdict, TiltVerdict, NoBound or None
        What was found of its noise at the fit; None where an earlier version stored nothing.
    has_odds : bool
        Whether its totals are odds: such a card takes other error costs later.

    Notes
    -----
    **Guarantee.** Post-processing: a function of the release and of public facts.
    """
    lowest, highest = attainable_totals(card, schema)
    answer = _only_answer(card, lowest, highest)
    known = None if isinstance(noise, NoBound) else noise
    remedy = ""
    if answer is not None and has_odds:
        remedy = _OTHER_COSTS
    elif answer is not None and not (known is not None and known.dominates):
        remedy = constant_remedy(schema, answer)
    return Verdict(
        lowest=lowest,
        highest=highest,
        answer=answer,
        noise=known,
        remedy=remedy,
        unsaid=_NOT_STORED if noise is None else "",
    )


def is_constant(card: Scorecard, schema: Schema) -> bool:
    """Return whether every possible row gets the same answer of a card."""
    return _only_answer(card, *attainable_totals(card, schema)) is not None


def _only_answer(card: Scorecard, lowest: int, highest: int) -> Label | None:
    negative, positive = card.classes
    least = card.threshold
    return negative if highest < least else positive if lowest >= least else None
