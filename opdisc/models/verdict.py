"""What an honest colleague says first of a released scorecard: public facts and the card only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from opdisc.convex import ConvexReceipt
from opdisc.data import Label, Schema, column_structure, constant_remedy
from opdisc.errors import CalibrationError, OPDiscError, escaped
from opdisc.mechanisms import (
    SPHERE_NOISES,
    TREE,
    BaseMeasure,
    PublicCard,
    Question,
    StagedMechanism,
    way_to,
)
from opdisc.models.attainable import attainable_totals
from opdisc.models.scorecard import Scorecard
from opdisc.planning import (
    MECHANISMS,
    MechanismSettings,
    NoiseVerdict,
    ScorecardMechanism,
    build_mechanism,
    judge_noise,
    predict_error,
    scorecard_grid,
    settle_fit,
)
from opdisc.privacy import GridPublic, GridReceipt, NeighboringRelation, PrivacyParams
from oracles.errors import OracleError
from oracles.problem import ColumnGroup, WeightGrid

if TYPE_CHECKING:
    from opdisc.planning import TiltVerdict

_LEVEL = 0.95

_NO_COSTS = (
    "Other columns, more rows or a larger epsilon may tell rows apart; so may a target of two "
    "classes with error costs."
)


_OTHER_COSTS = (
    "Its chances may still tell rows apart, and error costs move the total from which the other "
    "answer is given, without another fit (at_costs)."
)


_NOT_RECOMPUTED = (
    "What the noise may have cost is not said, because this version cannot recompute the law on "
    "the receipt."
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
        What the noise may have cost; None where the receipt's law is not one that this version
        can recompute.
    remedy : str
        Of a card that answers the same to everyone: what would make it tell rows apart; empty
        where noise dominates, whose own sentence says what is needed.
    unsaid : str
        Why nothing is said of the noise of a staged card: earlier versions drew by other laws.
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
        As in :func:`opdisc.mechanisms.ask`.
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


def judge_card(card: Scorecard, schema: Schema, receipt: GridReceipt | ConvexReceipt) -> Verdict:
    """Return the verdict on a released card.

    Parameters
    ----------
    card : Scorecard
        What was released.
    schema : Schema
        Its public facts.
    receipt : GridReceipt or ConvexReceipt
        Its privacy statement.

    Notes
    -----
    **Guarantee.** Post-processing: a function of the release and of public facts.
    """
    lowest, highest = attainable_totals(card, schema)
    answer = _only_answer(card, lowest, highest)
    noise: NoiseVerdict | TiltVerdict | None
    if not isinstance(receipt, GridReceipt):
        from opdisc.planning import tilt_of  # loads what no other card needs

        remedy, noise = "" if answer is None else _OTHER_COSTS, tilt_of(schema, receipt)
        return Verdict(lowest=lowest, highest=highest, answer=answer, noise=noise, remedy=remedy)
    (noise, unsaid), remedy = _noise_verdict(schema, receipt), ""
    if answer is not None and not (noise is not None and noise.dominates):
        remedy = constant_remedy(schema, answer)
    return Verdict(
        lowest=lowest, highest=highest, answer=answer, noise=noise, remedy=remedy, unsaid=unsaid
    )


def is_constant(card: Scorecard, schema: Schema) -> bool:
    """Return whether every possible row gets the same answer of a card."""
    return _only_answer(card, *attainable_totals(card, schema)) is not None


def _only_answer(card: Scorecard, lowest: int, highest: int) -> Label | None:
    negative, positive = card.classes
    least = card.threshold
    return negative if highest < least else positive if lowest >= least else None


def _noise_verdict(schema: Schema, receipt: GridReceipt) -> tuple[NoiseVerdict | None, str]:
    """Return what the noise on a receipt means for its rows; else None and why, if it is known."""
    if receipt.mechanism not in MECHANISMS:
        return None, ""
    try:
        public = GridPublic(
            params=PrivacyParams(epsilon=receipt.card_epsilon, delta=receipt.delta),
            relation=NeighboringRelation(receipt.relation),
            grid=WeightGrid(values=receipt.weights, norm_budget=receipt.norm_budget),
            rows_per_unit=schema.rows_per_unit,
            n_rows=receipt.n_rows,
            public_row_guess=receipt.public_row_guess,
            error_costs=schema.error_costs,
        )
        mechanism = _of_the_receipt(receipt, public, column_structure(schema))
        if mechanism is None:
            # A receipt says all that a staged draw follows from, unlike other laws.
            return None, _NOT_RECOMPUTED if receipt.mechanism == "staged" else ""
        return _judged(mechanism, public, receipt, schema), ""
    except (OPDiscError, OracleError, ArithmeticError):
        return None, ""  # a law without a bound, or beyond a double


def _of_the_receipt(
    receipt: GridReceipt, public: GridPublic, structure: tuple[ColumnGroup, ...]
) -> ScorecardMechanism | None:
    """Return the mechanism whose law and scales are those of a receipt; None if none has them."""
    named = MechanismSettings(structure=structure, allowance=receipt.allowance)
    if receipt.patience is not None:  # draws are planned for half of what a fit may take
        named = replace(named, patience=2 * receipt.patience)
    if receipt.start_points:
        card = PublicCard(points=receipt.start_points, source=receipt.start)
        named = replace(named, around=card)
    own = replace(named, allowance=0.0)  # an allowance may be the mechanism's own
    options = [named, own]
    options += [
        replace(own, base_measure=BaseMeasure(by_levels=levels)) for levels in (False, True)
    ]
    options += [replace(named, noise=noise) for noise in SPHERE_NOISES]
    for settings in options:
        try:
            mechanism, _ = build_mechanism(
                receipt.mechanism, public.grid, public=public, settings=settings
            )
            spec = mechanism.calibrate(public)
        except CalibrationError:
            continue  # not an option of this mechanism
        if (spec.law, spec.scales) == (receipt.noise_law, receipt.noise_scales):
            return mechanism
    return None


def _judged(
    mechanism: ScorecardMechanism, public: GridPublic, receipt: GridReceipt, schema: Schema
) -> NoiseVerdict:
    """Judge a card that was drawn with its share of all that was spent."""
    whole = receipt.epsilon
    share = public.params.epsilon / whole
    by_default = bool(receipt.choice) and _is_stump(mechanism, public)

    def excess(epsilon: float, rows: int | None) -> float:
        params = PrivacyParams(epsilon=share * epsilon, delta=public.params.delta)
        asked = replace(public, params=params, n_rows=rows)
        if by_default:
            return _default_error(asked, schema, receipt)
        return predict_error(mechanism, asked, _LEVEL).quantile

    prediction = predict_error(mechanism, public, _LEVEL)
    return judge_noise(
        excess,
        whole,
        public.n_rows,
        level=_LEVEL,
        beside=prediction.beside,
        over_constants=prediction.over_constants,
        typical=float(public.error_costs.typical),
    )


def _is_stump(mechanism: ScorecardMechanism, public: GridPublic) -> bool:
    """Return whether a decision stump was all that was drawn."""
    if not isinstance(mechanism, StagedMechanism):
        return False
    return mechanism.calibrate(public).is_stump


def _default_error(asked: GridPublic, schema: Schema, receipt: GridReceipt) -> float:
    """Return the bound of what the defaults would draw, which have other points than a stump."""
    settings = MechanismSettings(structure=column_structure(schema))
    if receipt.patience is not None:
        settings = replace(settings, patience=2 * receipt.patience)
    try:
        found = settle_fit(
            None,
            lambda bound: replace(
                asked, grid=scorecard_grid(schema, bound, norm_budget=receipt.norm_budget)
            ),
            lambda public: build_mechanism("auto", public.grid, public=public, settings=settings),
        )
        return predict_error(found.mechanism, found.public, _LEVEL).quantile
    except (CalibrationError, OracleError):
        return math.inf
