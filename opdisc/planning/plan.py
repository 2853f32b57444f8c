"""What a fit would cost in accuracy, before any budget is spent: what ``opdisc plan`` shows."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Literal

from opdisc.data import column_structure, load_schema
from opdisc.errors import CalibrationError
from opdisc.mechanisms import PATIENCE, THRESHOLD_BUDGET, BaseMeasure, plan_thresholds
from opdisc.planning.choice import MECHANISMS, MechanismSettings, build_mechanism
from opdisc.planning.grid import scorecard_grid
from opdisc.planning.limits import (
    check_threshold_budget,
    parse_automatic_bound,
    parse_base_measure,
)
from opdisc.planning.utility import ErrorPrediction, predict_error
from opdisc.planning.weight_rule import is_short, settle_fit
from opdisc.privacy import (
    GridPublic,
    NeighboringRelation,
    PrivacyParams,
    PublicInputs,
    parse_relation,
)
from oracles.errors import UnsupportedProblem

_LONG = "an exact draw may take very long"


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
        Bound on the extra errors; None if the mechanism cannot run here.
    reason : str
        Why it would be chosen, why it cannot run, or what to expect.
    thresholds : str
        What private thresholds cost before it; empty where the schema declares none.
    """

    mechanism: str
    automatic: bool
    weight_bound: int
    prediction: ErrorPrediction | None
    reason: str
    thresholds: str = ""


def plan_fit(
    schema: str | PathLike[str],
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
) -> tuple[PlannedFit, ...]:
    """Predict every mechanism's extra errors from public facts.

    Parameters
    ----------
    schema : str or path
        Schema file or the name of a shipped one.
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

    Returns
    -------
    tuple of PlannedFit
        The automatic choice first, then the others.

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
    declared = load_schema(schema)
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
    params = PrivacyParams(epsilon=epsilon, delta=delta)
    facts = PublicInputs(
        params=params, relation=chosen_relation, rows_per_unit=declared.rows_per_unit
    )
    share = THRESHOLD_BUDGET if threshold_budget is None else threshold_budget
    thresholds = plan_thresholds(declared, facts, share)
    if thresholds is not None:
        params = PrivacyParams(epsilon=thresholds.card_epsilon, delta=delta)
    told = "" if thresholds is None else thresholds.describe(public_n)

    def public_for(weight_bound: int) -> GridPublic:
        return GridPublic(
            params=params,
            relation=chosen_relation,
            grid=scorecard_grid(
                declared, weight_bound, norm_budget=norm_budget, max_nonzero=max_nonzero
            ),
            rows_per_unit=declared.rows_per_unit,
            n_rows=public_n,
        )

    def planned(name: str, bound: int | None) -> PlannedFit:
        automatic = name == "auto"
        try:
            settled = settle_fit(
                bound,
                public_for,
                lambda public: build_mechanism(
                    name, public.grid, public=public, settings=settings
                ),
            )
            prediction = predict_error(settled.mechanism, settled.public, quantile)
        except (CalibrationError, UnsupportedProblem) as error:
            return PlannedFit(
                mechanism=name,
                automatic=automatic,
                weight_bound=bound or 1,
                prediction=None,
                reason=str(error),
                thresholds=told,
            )
        return PlannedFit(
            mechanism=settled.mechanism.name,
            automatic=automatic,
            weight_bound=settled.bound,
            prediction=prediction,
            reason=settled.reason or ("" if is_short(settled) else _LONG),
            thresholds=told,
        )

    public_for(bound or 1)  # an impossible argument is refused for all of them
    automatic = planned("auto", bound)
    others = [name for name in MECHANISMS if name not in ("auto", automatic.mechanism)]
    return (automatic, *(planned(name, automatic.weight_bound) for name in others))
