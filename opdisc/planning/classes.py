"""What a fit of more than two classes would cost in accuracy: each card's share, and their sum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from opdisc.data import SchemaLike, column_structure, parse_schema
from opdisc.errors import CalibrationError, SchemaError
from opdisc.mechanisms import BaseMeasure, split_epsilon
from opdisc.models import NoiseVerdict
from opdisc.planning.decision import DecidedCard, DecidedCards, decide_cards
from opdisc.planning.limits import (
    check_costs_of_classes,
    check_risks_of_classes,
    parse_automatic_bound,
    parse_base_measure,
    patience_of_each,
)
from opdisc.planning.named import MechanismSettings
from opdisc.planning.plan import PlannedFit
from opdisc.planning.point_limits import worth_of_limits
from opdisc.planning.promise import keeping, promise_of
from opdisc.planning.request import CardRequest, at_epsilon
from opdisc.planning.utility import ErrorPrediction, predict_error
from opdisc.planning.verdict import judge_noise, noise_outlook
from opdisc.planning.work import predict_work
from opdisc.privacy import (
    TREE,
    NeighboringRelation,
    PrivacyParams,
    PrivacyReceipt,
    PublicInputs,
    Question,
    Reason,
    ask,
    parse_relation,
    warn_of_weak_promise,
)
from opdisc.tuned import FIT_SECONDS
from oracles.errors import UnsupportedProblem

_CONFIDENCE = 0.999

_BESIDE = "the fewest errors of each card, added up"


@dataclass(frozen=True, slots=True, kw_only=True)
class _CardsPlanner:
    """Asks what the cards of several classes would do, at this epsilon and at others.

    Parameters
    ----------
    request : CardRequest
        Of each card.
    public : PublicInputs
        With the epsilon of all cards together.
    strategy : str
        Which questions the cards answer.
    level : float
        Probability with which all bounds hold together.
    """

    request: CardRequest
    public: PublicInputs
    strategy: str
    level: float

    def decided(self, epsilon: float, rows: int | None) -> DecidedCards:
        """Return the cards, as the estimator decides them."""
        whole = replace(at_epsilon(self.public, epsilon), n_rows=rows)
        return decide_cards(self.request, whole, self.strategy)

    def receipt(self, epsilon: float) -> PrivacyReceipt:
        """Return the receipt of all cards, which are not drawn."""
        return self.decided(epsilon, self.public.n_rows).receipt()

    def predicted(self, decided: DecidedCards) -> list[ErrorPrediction]:
        """Return the bound on each card's extra errors; they hold together at the level.

        How many rows have one of the question's classes is not public, so nothing caps it.
        """
        known: dict[PublicInputs, ErrorPrediction] = {}
        for _, card in decided.cards:
            if card.shares.whole not in known:
                known[card.shares.whole] = predict_error(
                    card.settled.mechanism,
                    card.settled.public,
                    1 - (1 - self.level) / len(decided.cards),
                    confidence=1 - (1 - _CONFIDENCE) / len(decided.cards),
                )
        return [known[card.shares.whole] for _, card in decided.cards]

    def excess(self, epsilon: float, rows: int | None) -> float:
        """Return the bound on the extra errors of all cards; infinite where one cannot run."""
        try:
            return sum(one.quantile for one in self.predicted(self.decided(epsilon, rows)))
        except (CalibrationError, UnsupportedProblem):
            return math.inf


def plan_cards(
    schema: SchemaLike,
    *,
    epsilon: float,
    n_rows: int | None,
    strategy: str = TREE,
    weight_bound: int | Literal["auto"] = "auto",
    relation: str = "replace_one",
    norm_budget: int | None = None,
    max_nonzero: int | None = None,
    base_measure: str | BaseMeasure = "auto",
    patience: float = FIT_SECONDS,
    risk_budget: float | None = None,
    quantile: float = 0.95,
    each_card: bool = True,
    look_ahead: bool = True,
    public_row_guess: int | None = None,
    assumptions: tuple[str, ...] = (),
) -> tuple[PlannedFit, ...]:
    """Predict the extra errors of the cards that tell several classes apart, from public facts.

    Parameters
    ----------
    schema : Schema, mapping, path or name of a shipped schema
        Its target has more than two classes.
    epsilon : float
        What all cards together would spend; nothing is spent.
    n_rows : int or None
        Number of rows; used only where the relation makes it public.
    strategy, weight_bound, relation, norm_budget, max_nonzero, base_measure, patience
        As in :class:`~opdisc.PrivateMulticlassClassifier`; the patience is for all cards together.
    risk_budget : float or None
        Share of each card's budget for its risk table; the rest is the card's.
    quantile : float
        Probability with which the bounds of all cards hold together.
    each_card : bool
        Whether the cards are listed too.
    look_ahead : bool
        As for :func:`plan_fit`.
    public_row_guess : int or None
        As for :func:`plan_fit`, of all rows.
    assumptions : tuple of str
        As for :func:`plan_fit`.

    Returns
    -------
    tuple of PlannedFit
        All cards together, with a verdict, then each card by itself.

    Raises
    ------
    CalibrationError, SchemaError
        If an argument is impossible. That a mechanism cannot run is part of the answer.

    Notes
    -----
    Each card is planned as if every class had as many rows.

    **Guarantee.** A function of public inputs only, for every table. A row gets a wrong class only
    if a card that names its class is wrong about it, so the cards' extra errors add up: beside the
    sum of the fewest errors that each card can make on its rows.
    """
    declared = parse_schema(schema)
    check_costs_of_classes(declared)
    if not declared.is_multiclass:
        raise SchemaError("several cards need a target of more than two classes; use plan_fit")
    chosen = parse_relation(relation)
    rows = n_rows if chosen is NeighboringRelation.REPLACE_ONE else None
    check_risks_of_classes(strategy, risk_budget)
    request = CardRequest(
        schema=declared,
        bound=parse_automatic_bound(weight_bound),
        norm_budget=norm_budget,
        max_nonzero=max_nonzero,
        settings=MechanismSettings(
            structure=column_structure(declared),
            base_measure=parse_base_measure(base_measure),
            patience=patience_of_each(patience, len(ask(strategy, len(declared.labels)))),
        ),
        risk_budget=risk_budget,
    )
    public = PublicInputs(
        params=PrivacyParams(epsilon=epsilon, delta=0.0),
        relation=chosen,
        rows_per_unit=declared.rows_per_unit,
        privacy_unit=declared.privacy_unit,
        n_rows=rows,
        public_row_guess=public_row_guess,
        assumptions=assumptions,
    )
    planner = _CardsPlanner(request=request, public=public, strategy=strategy, level=quantile)
    request.on_grid(public, request.bound or 1)  # an impossible argument is refused, not planned
    if risk_budget is not None:
        split_epsilon(epsilon, risk_budget)
    name = f"{len(ask(strategy, len(declared.labels)))} cards, {strategy.replace('_', ' ')}"
    try:
        decided = planner.decided(epsilon, rows)
        predictions = planner.predicted(decided)
        together = _together(planner, name, decided, predictions)
        if look_ahead and isinstance(together.verdict, NoiseVerdict):
            outlook = noise_outlook(planner.excess, together.verdict, keeping(planner.receipt))
            together = replace(together, outlook=outlook)
    except (CalibrationError, UnsupportedProblem) as error:
        return (
            PlannedFit(
                mechanism=name,
                automatic=False,
                weight_bound=request.bound or 1,
                prediction=None,
                reason=Reason(str(error)),
                epsilon=epsilon,
            ),
        )
    warn_of_weak_promise(together.promise.guarantee, together.promise.conditions)
    if not each_card:
        return (together,)
    cards = zip(decided.cards, predictions, strict=True)
    return (
        together,
        *(
            _card(planner, number, question, card, found)
            for number, ((question, card), found) in enumerate(cards, 1)
        ),
    )


def _together(
    planner: _CardsPlanner,
    name: str,
    decided: DecidedCards,
    predictions: Sequence[ErrorPrediction],
) -> PlannedFit:
    public = decided.whole
    epsilon, rows = public.params.epsilon, public.n_rows
    settled = [card.settled for _, card in decided.cards]
    most = math.inf if rows is None else float(rows)
    staged = dict.fromkeys(one.beside for one in predictions if one.beside)
    beside = f"{' or '.join(staged)} for each card, added up" if staged else _BESIDE
    shares = " + ".join(f"{card.shares.card.params.epsilon:.4g}" for _, card in decided.cards)
    structure = planner.request.settings.structure
    works = [predict_work(one.mechanism, one.public, structure) for one in settled]
    known = [work for work in works if work is not None]
    are_known = len(known) == len(works)
    return PlannedFit(
        mechanism=name,
        automatic=False,
        weight_bound=max(one.bound for one in settled),
        prediction=ErrorPrediction(
            mean=min(sum(one.mean for one in predictions), most),
            quantile=min(sum(one.quantile for one in predictions), most),
            level=planner.level,
            confidence=min(_CONFIDENCE, *(one.confidence for one in predictions)),
            rows=rows,
            beside=beside,
        ),
        reason=Reason(
            f"epsilon {epsilon:g} is split over the cards",
            f"cards of epsilon {shares} for a row; a row pays for those that name its class, and "
            f"a unit that changes counts {public.changed_rows} times",
        ),
        epsilon=epsilon,
        seconds=sum(work.seconds for work in known) if are_known else None,
        memory=max(work.memory for work in known) if are_known else None,
        promise=promise_of(decided.receipt(), planner.receipt),
        verdict=judge_noise(
            planner.excess,
            epsilon,
            rows,
            level=planner.level,
            beside=beside,
            n_classes=decided.n_classes,
        ),
    )


def _card(
    planner: _CardsPlanner,
    number: int,
    question: Question,
    card: DecidedCard,
    prediction: ErrorPrediction,
) -> PlannedFit:
    """Return one card's plan; its verdict says how many rows of its classes it needs."""
    settled, own = card.settled, card.shares.card.params.epsilon
    labels, tree = planner.request.schema.labels, planner.strategy == TREE
    yes, no = (" or ".join(str(labels[k]) for k in part) for part in (question.yes, question.no))
    return PlannedFit(
        mechanism=settled.mechanism.name,
        automatic=True,
        weight_bound=settled.bound,
        prediction=prediction,
        reason=settled.reason.and_also(worth_of_limits(planner.request, settled, prediction.mean)),
        epsilon=own,
        promise=promise_of(card.receipt()),
        card=f"card {number}, tells {yes} from {no if tree else 'all others'}",
        verdict=judge_noise(
            lambda *_: prediction.quantile,
            own,
            None,
            level=prediction.level,
            beside=prediction.beside,
        ),
    )
