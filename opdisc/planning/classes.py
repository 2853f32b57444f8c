"""What a fit of more than two classes would cost in accuracy: each card's share, and their sum."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from opdisc.data import Schema, SchemaLike, column_structure, parse_schema
from opdisc.errors import CalibrationError, SchemaError
from opdisc.mechanisms import BaseMeasure, RiskSpec, calibrate_risks, card_epsilon, split_epsilon
from opdisc.models import NoiseVerdict
from opdisc.planning.choice import build_mechanism
from opdisc.planning.effort import PATIENCE, predict_work
from opdisc.planning.grid import scorecard_grid
from opdisc.planning.limits import (
    check_costs_of_classes,
    check_risks_of_classes,
    parse_automatic_bound,
    parse_base_measure,
    patience_of_each,
)
from opdisc.planning.named import MechanismSettings
from opdisc.planning.plan import PlannedFit
from opdisc.planning.promise import cards_receipt, fit_receipt, keeping, promise_of
from opdisc.planning.utility import ErrorPrediction, predict_error
from opdisc.planning.verdict import judge_noise, noise_outlook
from opdisc.planning.weight_rule import SettledFit, settle_fit
from opdisc.privacy import (
    TREE,
    GridPublic,
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
from oracles.errors import UnsupportedProblem

_CONFIDENCE = 0.999

_BESIDE = "the fewest errors of each card, added up"


@dataclass(frozen=True, slots=True, kw_only=True)
class _CardsPlanner:
    """What the cards of a plan have in common; all of it public.

    Parameters
    ----------
    schema : Schema
        Its target has more than two classes.
    strategy : str
        Which questions the cards answer.
    relation : NeighboringRelation
        Which tables are neighbours.
    bound : int or None
        Largest points; None: automatic.
    norm_budget, max_nonzero : int or None
        As for :func:`opdisc.planning.scorecard_grid`.
    settings : MechanismSettings
        Of the automatic choice.
    level : float
        Probability with which all bounds hold together.
    risk_budget : float or None
        Share of each card's budget that its risk table takes.
    public_row_guess : int or None
        Of all rows; not used where their number is public.
    assumptions : tuple of str
        What a fit will take for granted of the table.
    """

    schema: Schema
    strategy: str
    relation: NeighboringRelation
    bound: int | None
    norm_budget: int | None
    max_nonzero: int | None
    settings: MechanismSettings
    level: float
    risk_budget: float | None
    public_row_guess: int | None
    assumptions: tuple[str, ...]

    @property
    def questions(self) -> tuple[Question, ...]:
        return ask(self.strategy, len(self.schema.labels))

    def settled(self, question: Question, epsilon: float, rows: int | None) -> SettledFit:
        """Return what draws a question's card, as the estimator decides it.

        ``rows`` is what the card is planned for. How many rows have one of the question's classes
        is not public.
        """
        params = PrivacyParams(epsilon=self.promised(question, epsilon), delta=0.0)

        def public_for(weight_bound: int) -> GridPublic:
            grid = scorecard_grid(
                self.schema,
                weight_bound,
                norm_budget=self.norm_budget,
                max_nonzero=self.max_nonzero,
            )
            return GridPublic(
                params=params,
                relation=NeighboringRelation.ADD_OR_REMOVE_ONE,
                grid=grid,
                public_row_guess=rows,
                assumptions=self.assumptions,
            )

        return settle_fit(
            self.bound,
            public_for,
            lambda public: build_mechanism(
                "auto", public.grid, public=public, settings=self.settings
            ),
        )

    def promised(self, question: Question, epsilon: float) -> float:
        """Return the epsilon of a question's card for one row that enters it."""
        return self._without_risks(card_epsilon(question, self.whole(epsilon, None)))

    def whole(self, epsilon: float, rows: int | None) -> PublicInputs:
        """Return the public facts of all cards together."""
        return PublicInputs(
            params=PrivacyParams(epsilon=epsilon, delta=0.0),
            relation=self.relation,
            rows_per_unit=self.schema.rows_per_unit,
            privacy_unit=self.schema.privacy_unit,
            n_rows=rows,
            public_row_guess=self.public_row_guess,
            assumptions=self.assumptions,
        )

    def risks(self, question: Question, epsilon: float, settled: SettledFit) -> RiskSpec | None:
        """Return what a card's risk table will be, as the estimator decides it."""
        if self.risk_budget is None:
            return None
        share = card_epsilon(question, self.whole(epsilon, None))
        facts = PublicInputs(
            params=PrivacyParams(epsilon=share, delta=0.0),
            relation=NeighboringRelation.ADD_OR_REMOVE_ONE,
            public_row_guess=settled.public.public_row_guess,
            assumptions=self.assumptions,
        )
        return calibrate_risks(facts, self.risk_budget)

    def receipt(self, epsilon: float, rows: int | None) -> PrivacyReceipt:
        """Return the receipt of all cards, which are not drawn."""
        found = self.all_cards(epsilon, rows)
        return cards_receipt(
            self.strategy,
            len(self.schema.labels),
            [settled for _, settled, _ in found],
            [self.risks(question, epsilon, settled) for question, settled, _ in found],
            self.whole(epsilon, rows),
        )

    def _without_risks(self, epsilon: float) -> float:
        """Return what the risk table leaves of a card's budget."""
        return epsilon if self.risk_budget is None else split_epsilon(epsilon, self.risk_budget)[0]

    def predicted(self, settled: SettledFit) -> ErrorPrediction:
        """Return the bound on one card's extra errors; all cards' hold together at the level.

        How many rows have one of the question's classes is not public, so nothing caps it.
        """
        cards = len(self.questions)
        return predict_error(
            settled.mechanism,
            settled.public,
            1 - (1 - self.level) / cards,
            confidence=1 - (1 - _CONFIDENCE) / cards,
        )

    def all_cards(
        self, epsilon: float, rows: int | None
    ) -> list[tuple[Question, SettledFit, ErrorPrediction]]:
        """Return what each question's card would be; questions alike have the same one."""
        all_rows = self.public_row_guess if rows is None else rows
        known: dict[tuple[Fraction, int | None], tuple[SettledFit, ErrorPrediction]] = {}
        cards = []
        for question in self.questions:
            own_rows = question.typical_rows(all_rows, len(self.schema.labels))
            alike = question.share, own_rows
            if alike not in known:
                settled = self.settled(question, epsilon, own_rows)
                known[alike] = settled, self.predicted(settled)
            cards.append((question, *known[alike]))
        return cards

    def excess(self, epsilon: float, rows: int | None) -> float:
        """Return the bound on the extra errors of all cards; infinite where one cannot run."""
        try:
            return sum(found.quantile for *_, found in self.all_cards(epsilon, rows))
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
    patience: float = PATIENCE,
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
    planner = _CardsPlanner(
        schema=declared,
        strategy=strategy,
        relation=chosen,
        bound=parse_automatic_bound(weight_bound),
        norm_budget=norm_budget,
        max_nonzero=max_nonzero,
        settings=MechanismSettings(
            structure=column_structure(declared),
            base_measure=parse_base_measure(base_measure),
            patience=patience_of_each(patience, len(ask(strategy, len(declared.labels)))),
        ),
        level=quantile,
        risk_budget=risk_budget,
        public_row_guess=public_row_guess,
        assumptions=assumptions,
    )
    scorecard_grid(declared, planner.bound or 1, norm_budget=norm_budget, max_nonzero=max_nonzero)
    PublicInputs(  # an impossible argument is refused, not planned
        params=PrivacyParams(epsilon=epsilon, delta=0.0),
        relation=chosen,
        public_row_guess=public_row_guess,
    )
    check_risks_of_classes(strategy, risk_budget)
    if risk_budget is not None:
        split_epsilon(epsilon, risk_budget)
    name = f"{len(planner.questions)} cards, {strategy.replace('_', ' ')}"
    try:
        found = planner.all_cards(epsilon, rows)
        together = _together(planner, name, epsilon, rows, found)
        if look_ahead and isinstance(together.verdict, NoiseVerdict):
            kept = keeping(lambda other: planner.receipt(other, rows))
            outlook = noise_outlook(planner.excess, together.verdict, kept)
            together = replace(together, outlook=outlook)
    except (CalibrationError, UnsupportedProblem) as error:
        return (
            PlannedFit(
                mechanism=name,
                automatic=False,
                weight_bound=planner.bound or 1,
                prediction=None,
                reason=Reason(str(error)),
                epsilon=epsilon,
            ),
        )
    warn_of_weak_promise(together.promise.guarantee, together.promise.conditions)
    if not each_card:
        return (together,)
    cards = enumerate(found, 1)
    return (together, *(_card(planner, number, epsilon, *one) for number, one in cards))


def _together(
    planner: _CardsPlanner,
    name: str,
    epsilon: float,
    rows: int | None,
    found: list[tuple[Question, SettledFit, ErrorPrediction]],
) -> PlannedFit:
    most = math.inf if rows is None else float(rows)
    predictions = [prediction for *_, prediction in found]
    staged = dict.fromkeys(one.beside for one in predictions if one.beside)
    beside = f"{' or '.join(staged)} for each card, added up" if staged else _BESIDE
    shares = " + ".join(f"{planner.promised(question, epsilon):.4g}" for question, *_ in found)
    changed = planner.relation.loss_sensitivity * planner.schema.rows_per_unit
    works = [predict_work(s.mechanism, s.public, planner.settings.structure) for _, s, _ in found]
    known = [work for work in works if work is not None]
    are_known = len(known) == len(works)
    return PlannedFit(
        mechanism=name,
        automatic=False,
        weight_bound=max(settled.bound for _, settled, _ in found),
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
            f"a unit that changes counts {changed} times",
        ),
        epsilon=epsilon,
        seconds=sum(work.seconds for work in known) if are_known else None,
        memory=max(work.memory for work in known) if are_known else None,
        promise=promise_of(
            planner.receipt(epsilon, rows), lambda other: planner.receipt(other, rows)
        ),
        verdict=judge_noise(
            planner.excess,
            epsilon,
            rows,
            level=planner.level,
            beside=beside,
            n_classes=len(planner.schema.labels),
        ),
    )


def _card(
    planner: _CardsPlanner,
    number: int,
    epsilon: float,
    question: Question,
    settled: SettledFit,
    prediction: ErrorPrediction,
) -> PlannedFit:
    """Return one card's plan; its verdict says how many rows of its classes it needs."""
    own = planner.promised(question, epsilon)
    labels, tree = planner.schema.labels, planner.strategy == TREE
    yes, no = (" or ".join(str(labels[k]) for k in part) for part in (question.yes, question.no))
    return PlannedFit(
        mechanism=settled.mechanism.name,
        automatic=True,
        weight_bound=settled.bound,
        prediction=prediction,
        reason=settled.reason,
        epsilon=own,
        promise=promise_of(fit_receipt(settled, planner.risks(question, epsilon, settled))),
        card=f"card {number}, tells {yes} from {no if tree else 'all others'}",
        verdict=judge_noise(
            lambda *_: prediction.quantile,
            own,
            None,
            level=prediction.level,
            beside=prediction.beside,
        ),
    )
