"""What a fit would cost in accuracy, before any budget is spent: what ``opdisc plan`` shows."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Literal

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
from opdisc.mechanisms import (
    THRESHOLD_BUDGET,
    BaseMeasure,
    ThresholdPlan,
    calibrate_risks,
    plan_thresholds,
    split_epsilon,
)
from opdisc.models import NoiseVerdict, TiltVerdict
from opdisc.planning.choice import LOGISTIC, MECHANISMS, build_mechanism
from opdisc.planning.effort import PATIENCE, predict_work
from opdisc.planning.grid import scorecard_grid
from opdisc.planning.limits import (
    check_threshold_budget,
    parse_automatic_bound,
    parse_base_measure,
)
from opdisc.planning.logistic import (
    STARTED,
    expected_work,
    logistic_receipt,
    prefers_logistic,
    tilt_of,
    why_logistic,
    worth_of_start,
)
from opdisc.planning.named import MechanismSettings
from opdisc.planning.promise import Promise, fit_receipt, keeping, promise_of
from opdisc.planning.utility import ErrorPrediction, predict_error
from opdisc.planning.verdict import NoiseOutlook, judge_noise, noise_outlook
from opdisc.planning.weight_rule import SettledFit, is_short, settle_fit
from opdisc.privacy import (
    ConvexReceipt,
    GridPublic,
    NeighboringRelation,
    PrivacyParams,
    PrivacyReceipt,
    PublicInputs,
    Reason,
    delta_conditions,
    parse_relation,
    warn_of_weak_promise,
)
from oracles.errors import UnsupportedProblem
from oracles.problem import WeightGrid

_LONG = "the search may take very long"

_NO_BOUND = "no bound on its extra errors is known that holds for every table"

_TWICE = "twice the rows, or twice the epsilon, halve that share"

RARE_BY_CHANCES = (
    "If few are positive, expect one answer for nearly everyone; the chances still tell rows "
    "apart, and error costs move the answer without more noise, also after the fit."
)

PLANNED_EPSILONS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0)
"""What ``opdisc plan`` compares where no epsilon is named."""


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
    patience: float = PATIENCE,
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
    bound = parse_automatic_bound(weight_bound)
    settings = MechanismSettings(
        structure=column_structure(declared),
        base_measure=parse_base_measure(base_measure),
        patience=patience,
    )

    if threshold_budget is not None:
        check_threshold_budget(declared)
    share = THRESHOLD_BUDGET if threshold_budget is None else threshold_budget

    def facts_for(epsilon: float, rows: int | None) -> PublicInputs:
        return PublicInputs(
            params=PrivacyParams(epsilon=epsilon, delta=delta),
            relation=chosen_relation,
            rows_per_unit=declared.rows_per_unit,
            privacy_unit=declared.privacy_unit,
            n_rows=rows,
            public_row_guess=public_row_guess,
            assumptions=assumptions,
        )

    def thresholds_for(epsilon: float) -> ThresholdPlan | None:
        return plan_thresholds(declared, facts_for(epsilon, None), share)

    @functools.cache
    def grid_for(weight_bound: int) -> WeightGrid:
        return scorecard_grid(
            declared, weight_bound, norm_budget=norm_budget, max_nonzero=max_nonzero
        )

    def public_for(weight_bound: int, epsilon: float, rows: int | None) -> GridPublic:
        thresholds = thresholds_for(epsilon)
        left = epsilon if thresholds is None else thresholds.card_epsilon
        if risk_budget is not None:
            left, _ = split_epsilon(left, risk_budget)
        return GridPublic(
            params=PrivacyParams(epsilon=left, delta=delta),
            relation=chosen_relation,
            grid=grid_for(weight_bound),
            rows_per_unit=declared.rows_per_unit,
            privacy_unit=declared.privacy_unit,
            error_costs=declared.error_costs,
            n_rows=rows,
            public_row_guess=public_row_guess,
            assumptions=assumptions,
        )

    def receipt_at(found: SettledFit, epsilon: float) -> PrivacyReceipt:
        cuts, risks = thresholds_for(epsilon), None
        if risk_budget is not None:
            left = epsilon if cuts is None else cuts.card_epsilon
            risks = calibrate_risks(facts_for(left, public_n), risk_budget)
        return fit_receipt(found.without_spare_delta(), risks, cuts)

    def settled(name: str, bound: int | None, epsilon: float, rows: int | None) -> SettledFit:
        return settle_fit(
            bound,
            lambda weight_bound: public_for(weight_bound, epsilon, rows),
            lambda public: build_mechanism(name, public.grid, public=public, settings=settings),
        )

    def excess(epsilon: float, rows: int | None) -> float:
        try:
            found = settled("auto", bound, epsilon, rows)
            return predict_error(found.mechanism, found.public, quantile).quantile
        except (CalibrationError, UnsupportedProblem):
            return math.inf

    def planned(name: str, bound: int | None) -> PlannedFit:
        automatic = name == "auto"
        try:
            found = settled(name, bound, epsilon, public_n)
            prediction = predict_error(found.mechanism, found.public, quantile)

            def receipt_of(other: float) -> PrivacyReceipt:
                return receipt_at(settled(name, bound, other, public_n), other)

            promise = promise_of(receipt_at(found, epsilon), receipt_of)
        except (CalibrationError, UnsupportedProblem) as error:
            return PlannedFit(
                mechanism=name,
                automatic=automatic,
                weight_bound=bound or 1,
                prediction=None,
                reason=Reason(str(error)),
                thresholds=told,
                thresholds_brief=told_briefly,
                epsilon=epsilon,
            )
        verdict = outlook = None
        if automatic:
            verdict = judge_noise(
                excess,
                epsilon,
                public_n,
                level=quantile,
                beside=prediction.beside,
                over_constants=prediction.over_constants,
                typical=float(declared.error_costs.typical),
            )
            if look_ahead:
                outlook = noise_outlook(excess, verdict, keeping(receipt_of))
        told_rare = ""
        if verdict is not None and not verdict.dominates:
            told_rare = rare_outcome_text(declared)
        if not found.reason and not is_short(found):
            found = found.explained(Reason(_LONG))
        work = predict_work(found.mechanism, found.public, settings.structure)
        return PlannedFit(
            mechanism=found.mechanism.name,
            automatic=automatic,
            weight_bound=found.bound,
            prediction=prediction,
            thresholds=told,
            thresholds_brief=told_briefly,
            reason=found.without_spare_delta().reason,
            epsilon=epsilon,
            verdict=verdict,
            seconds=None if work is None else work.seconds,
            memory=None if work is None else work.memory,
            promise=promise,
            delta_note=large_delta if automatic and not promise.weakness else "",
            outlook=outlook,
            rare_outcome=told_rare,
        )

    def logistic(is_chosen: bool) -> PlannedFit:
        public = facts_for(epsilon, public_n)
        reason = Reason(_NO_BOUND)
        if is_chosen:
            reason = STARTED if start is not None else why_logistic(declared, public)

        def receipt_of(other: float) -> ConvexReceipt:
            return logistic_receipt(declared, facts_for(other, public_n), reason, start)

        receipt = receipt_of(epsilon)
        seconds, memory = expected_work(declared, facts_for(epsilon, public_n).typical_rows)
        return PlannedFit(
            mechanism=LOGISTIC,
            automatic=is_chosen,
            weight_bound=bound or 1,
            prediction=None,
            reason=reason,
            epsilon=epsilon,
            verdict=tilt_of(declared, receipt),
            seconds=seconds,
            memory=memory,
            promise=promise_of(receipt, receipt_of),
            delta_note=large_delta if is_chosen else "",
            outlook=_TWICE if is_chosen and look_ahead else None,
            rare_outcome=RARE_BY_CHANCES if rare_outcome_text(declared) else "",
            start="" if start is None else worth_of_start(declared, public),
        )

    thresholds = thresholds_for(epsilon)
    told = "" if thresholds is None else thresholds.describe(public_n)
    told_briefly = "" if thresholds is None else thresholds.brief(public_n)
    public_for(bound or 1, epsilon, public_n)  # an impossible argument is refused for all of them
    large = delta_conditions(delta, public_n, public_row_guess)
    large_delta = "" if not large else f"a method that spends it would rest on this: {large[0]}"
    defaults = (weight_bound, norm_budget, max_nonzero, base_measure, risk_budget)
    is_free = defaults == ("auto", None, None, "auto", None)
    if start is not None and not is_free:
        raise CalibrationError(
            "a start needs the logistic card, so weight_bound, norm_budget, max_nonzero, "
            "base_measure and risk_budget as they are by default; leave it or them out."
        )
    takes_logistic = start is not None or (
        is_free and prefers_logistic(declared, facts_for(epsilon, public_n))
    )
    automatic = logistic(True) if takes_logistic else planned("auto", bound)
    warn_of_weak_promise(automatic.promise.guarantee, automatic.promise.conditions)
    if not compare_others or start is not None:
        return (automatic,)
    others = [name for name in MECHANISMS if name not in ("auto", automatic.mechanism)]
    bound_of_others = bound if takes_logistic else automatic.weight_bound
    found = [planned(name, bound_of_others) for name in others]
    if is_free and not takes_logistic and not declared.private_thresholds:
        found.append(logistic(False))
    return (automatic, *found)
