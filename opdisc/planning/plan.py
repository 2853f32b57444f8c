"""What a fit would cost in accuracy, before any budget is spent: what ``opdisc plan`` shows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from opdisc.convex import PublicStart
from opdisc.data import (
    CostsLike,
    SchemaLike,
    column_structure,
    parse_schema,
    rare_outcome_text,
    with_error_costs,
)
from opdisc.errors import CalibrationError
from opdisc.mechanisms import BaseMeasure
from opdisc.models import NoiseVerdict, TiltVerdict
from opdisc.planning.choice import LOGISTIC
from opdisc.planning.decision import decide_card, takes_logistic
from opdisc.planning.limits import (
    check_threshold_budget,
    parse_automatic_bound,
    parse_base_measure,
)
from opdisc.planning.logistic import expected_work, logistic_receipt, tilt_of, worth_of_start
from opdisc.planning.named import NAMED, MechanismSettings
from opdisc.planning.point_limits import worth_of_limits
from opdisc.planning.promise import Promise, keeping, promise_of
from opdisc.planning.request import CardRequest, Shares, at_epsilon, split
from opdisc.planning.utility import ErrorPrediction, predict_error
from opdisc.planning.verdict import NoiseOutlook, judge_noise, noise_outlook
from opdisc.planning.weight_rule import is_short
from opdisc.planning.work import predict_work
from opdisc.privacy import (
    ConvexReceipt,
    NeighboringRelation,
    PrivacyParams,
    PrivacyReceipt,
    PublicInputs,
    Reason,
    delta_conditions,
    parse_relation,
    warn_of_weak_promise,
)
from opdisc.tuned import FIT_SECONDS, THRESHOLD_BUDGET
from oracles.errors import UnsupportedProblem

_LONG = "the search may take very long"

_NO_BOUND = "no bound on its extra errors is known that holds for every table"

_TWICE = "twice the rows, or twice the epsilon, halve that share"

RARE_BY_CHANCES = (
    "If few are positive, expect one answer for nearly everyone; the chances still tell rows "
    "apart, and error costs move the answer without more noise, also after the fit."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFit:
    """One mechanism's predicted cost.

    Parameters
    ----------
    mechanism : str
        Name of the mechanism.
    automatic : bool
        Whether ``mechanism="auto"`` would choose it.
    weight_bound : int
        Points would be in ``-weight_bound .. weight_bound``.
    prediction : ErrorPrediction or None
        Bound on the extra errors; None if the mechanism cannot run here, and of a logistic card,
        for which none is known.
    reason : Reason
        Why it would be chosen, why it cannot run, or what to expect.
    epsilon : float
        What would be spent.
    thresholds : str
        What private thresholds cost before it; empty where the schema declares none.
    thresholds_brief : str
        The same in a few words.
    verdict : NoiseVerdict, TiltVerdict or None
        Of the automatic choice: whether the noise leaves the rows a say.
    card : str
        Which of several cards it is, and what that tells apart; empty for a whole fit.
    seconds : float or None
        Processor time that a fit is expected to take, seconds, an order of magnitude; None where
        it cannot run or nobody knows.
    memory : float or None
        What it is expected to need at its peak, bytes, an order of magnitude; None likewise.
    promise : Promise
        What the receipt will say: the guarantee and its conditions.
    delta_note : str
        Of the automatic choice: what a delta that is not far below 1 / rows would be for a method
        that spends it, where this one spends none; else empty.
    outlook : NoiseOutlook, str or None
        Of the automatic choice, in detail: what more rows or a larger epsilon would bring.
    rare_outcome : str
        What the loss will do with a rare outcome: with the stated share of positive rows, else on
        the condition that they are few. Empty where it is not rare, or where noise dominates.
    start : str
        What a public start is expected to be worth; empty without one.
    """

    mechanism: str
    automatic: bool
    weight_bound: int
    prediction: ErrorPrediction | None
    reason: Reason
    epsilon: float
    thresholds: str = ""
    thresholds_brief: str = ""
    verdict: NoiseVerdict | TiltVerdict | None = None
    card: str = ""
    seconds: float | None = None
    memory: float | None = None
    promise: Promise = Promise()
    delta_note: str = ""
    outlook: NoiseOutlook | str | None = None
    rare_outcome: str = ""
    start: str = ""


def plan_fit(
    schema: SchemaLike,
    *,
    epsilon: float,
    n_rows: int | None,
    delta: float = 0.0,
    weight_bound: int | Literal["auto"] = "auto",
    relation: str = "replace_one",
    norm_budget: int | None = None,
    max_nonzero: int | None = None,
    base_measure: str | BaseMeasure = "auto",
    patience: float = FIT_SECONDS,
    quantile: float = 0.95,
    threshold_budget: float | None = None,
    risk_budget: float | None = None,
    compare_others: bool = True,
    look_ahead: bool = True,
    error_costs: CostsLike | None = None,
    public_row_guess: int | None = None,
    assumptions: tuple[str, ...] = (),
    start: PublicStart | None = None,
) -> tuple[PlannedFit, ...]:
    """Predict every mechanism's extra errors from public facts.

    Parameters
    ----------
    schema : Schema, mapping, path or name of a shipped schema
        Public facts.
    epsilon, delta : float
        What would be spent; nothing is.
    n_rows : int or None
        Number of rows; used only where the relation makes it public.
    weight_bound, relation, norm_budget, max_nonzero, base_measure, patience
        As in :class:`~opdisc.PrivateScorecardClassifier`; the other mechanisms are
        compared at the bound that the automatic choice settles on.
    quantile : float
        Level of the bounds.
    threshold_budget : float or None
        Share of epsilon that finds private thresholds; None takes the default. The bounds are for
        the card, which is left the rest, against the best card with the thresholds that are found.
    risk_budget : float or None
        Share of what is left that buys risks; the bounds are for the card, which is left the rest.
    compare_others : bool
        Whether the mechanisms that would not be chosen are asked too.
    look_ahead : bool
        Whether it is asked what more rows or a larger epsilon would bring.
    error_costs : ErrorCosts, mapping, "balanced" or None
        Instead of the schema's.
    public_row_guess : int or None
        Decides what would run where the number of rows is not public. No bound and no verdict
        takes it for the number of rows.
    assumptions : tuple of str
        What a fit will take for granted of the table, as its source says; each is a condition.
    start : PublicStart or None
        Public weights that a fit would start from, of :func:`opdisc.convex.start_from`.

    Warns
    -----
    WeakPromise
        If the receipt of the automatic choice will be VOID for the size of epsilon, or delta is
        not far below 1 / rows.

    Returns
    -------
    tuple of PlannedFit
        The automatic choice first, with a verdict, then the others.

    Raises
    ------
    CalibrationError
        If an argument is impossible. That a mechanism cannot run is part of the answer, the
        automatic choice included.

    Notes
    -----
    **Guarantee.** A function of public inputs only. The bounds hold for every table; the best
    possible number of errors on the table's own columns is not part of them.
    """
    declared = with_error_costs(parse_schema(schema), error_costs)
    _ = declared.binary_target  # several cards are planned by plan_cards
    chosen_relation = parse_relation(relation)
    public_n = n_rows if chosen_relation is NeighboringRelation.REPLACE_ONE else None
    if threshold_budget is not None:
        check_threshold_budget(declared)
    request = CardRequest(
        schema=declared,
        bound=parse_automatic_bound(weight_bound),
        norm_budget=norm_budget,
        max_nonzero=max_nonzero,
        settings=MechanismSettings(
            structure=column_structure(declared),
            base_measure=parse_base_measure(base_measure),
            patience=patience,
        ),
        threshold_budget=THRESHOLD_BUDGET if threshold_budget is None else threshold_budget,
        risk_budget=risk_budget,
    )
    public = PublicInputs(
        params=PrivacyParams(epsilon=epsilon, delta=delta),
        relation=chosen_relation,
        rows_per_unit=declared.rows_per_unit,
        privacy_unit=declared.privacy_unit,
        n_rows=public_n,
        public_row_guess=public_row_guess,
        assumptions=assumptions,
    )
    planner = _Planner(
        request=request, public=public, quantile=quantile, look_ahead=look_ahead, start=start
    )
    # An impossible argument is refused for all of them.
    request.on_grid(planner.shares.card, request.bound or 1)
    why = takes_logistic(request, public, is_started=start is not None)
    if start is not None and not replace(request, bound=None).is_free:
        raise CalibrationError(
            "a start is planned for the logistic card, so norm_budget, max_nonzero, base_measure "
            "and risk_budget must be as they are by default; leave it or them out."
        )
    automatic = planner.card("auto", request.bound) if why is None else planner.logistic(why)
    warn_of_weak_promise(automatic.promise.guarantee, automatic.promise.conditions)
    if not compare_others or start is not None:
        return (automatic,)
    others = [name for name in NAMED if name != automatic.mechanism]
    bound = automatic.weight_bound if why is None else request.bound
    found = [planner.card(name, bound) for name in others]
    if request.is_free and why is None and not declared.private_thresholds:
        found.append(planner.logistic(None))
    return (automatic, *found)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Planner:
    """Asks what each mechanism would do with the same request, at this epsilon and at others.

    Parameters
    ----------
    request : CardRequest
        By the automatic choice.
    public : PublicInputs
        With all of epsilon.
    quantile : float
        Level of the bounds.
    look_ahead : bool
        Whether it is asked what more rows or a larger epsilon would bring.
    start : PublicStart or None
        Of a logistic card.
    """

    request: CardRequest
    public: PublicInputs
    quantile: float
    look_ahead: bool
    start: PublicStart | None

    @property
    def shares(self) -> Shares:
        return split(self.request, self.public)

    def whole(self, epsilon: float) -> PublicInputs:
        return at_epsilon(self.public, epsilon)

    def excess(self, epsilon: float, rows: int | None) -> float:
        """Return the bound of the automatic choice; infinite where it cannot run."""
        try:
            settled = decide_card(self.request, replace(self.whole(epsilon), n_rows=rows)).settled
            return predict_error(settled.mechanism, settled.public, self.quantile).quantile
        except (CalibrationError, UnsupportedProblem):
            return math.inf

    def card(self, name: str, bound: int | None) -> PlannedFit:
        """Return the plan of a mechanism of this name, or why it cannot run."""
        request = replace(self.request, mechanism=name, bound=bound)

        def receipt_of(epsilon: float) -> PrivacyReceipt:
            return decide_card(request, self.whole(epsilon)).receipt()

        try:
            decided = decide_card(request, self.public)
            settled = decided.settled
            prediction = predict_error(settled.mechanism, settled.public, self.quantile)
            promise = promise_of(decided.receipt(), receipt_of)
        except (CalibrationError, UnsupportedProblem) as error:
            return self._line(
                mechanism=name,
                automatic=name == "auto",
                weight_bound=bound or 1,
                prediction=None,
                reason=Reason(str(error)),
            )
        if not settled.reason and not is_short(settled):
            settled = settled.explained(Reason(_LONG))
        work = predict_work(settled.mechanism, settled.public, request.settings.structure)
        line = self._line(
            mechanism=settled.mechanism.name,
            automatic=name == "auto",
            weight_bound=settled.bound,
            prediction=prediction,
            reason=settled.without_spare_delta().reason,
            seconds=None if work is None else work.seconds,
            memory=None if work is None else work.memory,
            promise=promise,
        )
        if name != "auto":
            return line
        limits = worth_of_limits(request, settled, prediction.mean)
        line = replace(line, reason=line.reason.and_also(limits))
        return self._judged(line, prediction, keeping(receipt_of))

    def logistic(self, why: Reason | None) -> PlannedFit:
        """Return the plan of a logistic card; with the reason why it is the automatic choice."""
        schema, reason = self.request.schema, Reason(_NO_BOUND) if why is None else why

        def receipt_of(epsilon: float) -> ConvexReceipt:
            return logistic_receipt(schema, self.whole(epsilon), reason, self.start)

        receipt = receipt_of(self.public.params.epsilon)
        seconds, memory = expected_work(schema, self.public.typical_rows)
        is_chosen = why is not None
        return PlannedFit(
            mechanism=LOGISTIC,
            automatic=is_chosen,
            weight_bound=self.request.bound or 1,
            prediction=None,
            reason=reason,
            epsilon=self.public.params.epsilon,
            verdict=tilt_of(schema, receipt),
            seconds=seconds,
            memory=memory,
            promise=promise_of(receipt, receipt_of),
            delta_note=self._large_delta() if is_chosen else "",
            outlook=_TWICE if is_chosen and self.look_ahead else None,
            rare_outcome=RARE_BY_CHANCES if rare_outcome_text(schema) else "",
            start="" if self.start is None else worth_of_start(schema, self.public),
        )

    def _line(self, **found: Any) -> PlannedFit:
        """Return a line with what all lines say of epsilon and private thresholds."""
        cuts = self.shares.thresholds
        return PlannedFit(
            epsilon=self.public.params.epsilon,
            thresholds="" if cuts is None else cuts.describe(self.public.n_rows),
            thresholds_brief="" if cuts is None else cuts.brief(self.public.n_rows),
            **found,
        )

    def _judged(
        self, line: PlannedFit, prediction: ErrorPrediction, is_kept: Callable[[float], bool]
    ) -> PlannedFit:
        """Return the line of the automatic choice with a verdict."""
        schema = self.request.schema
        verdict = judge_noise(
            self.excess,
            line.epsilon,
            self.public.n_rows,
            level=self.quantile,
            beside=prediction.beside,
            over_constants=prediction.over_constants,
            typical=float(schema.error_costs.typical),
        )
        return replace(
            line,
            verdict=verdict,
            outlook=noise_outlook(self.excess, verdict, is_kept) if self.look_ahead else None,
            rare_outcome="" if verdict.dominates else rare_outcome_text(schema),
            delta_note="" if line.promise.weakness else self._large_delta(),
        )

    def _large_delta(self) -> str:
        public = self.public
        found = delta_conditions(public.params.delta, public.n_rows, public.public_row_guess)
        return "".join(f"a method that spends it would rest on this: {one}" for one in found)
