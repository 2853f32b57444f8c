"""What a fit would cost in accuracy, before any budget is spent: what ``opdisc plan`` shows."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike

from opdisc.arguments import parse_relation, parse_weight_bound
from opdisc.errors import CalibrationError
from opdisc.mechanisms.choice import MECHANISMS, build_mechanism, column_structure
from opdisc.privacy import NeighboringRelation, PrivacyParams, PublicInputs
from opdisc.shipped_schemas import load_schema
from opdisc.utility import ErrorPrediction, predict_error
from oracles import UnsupportedProblem, WeightGrid
from oracles.column_groups import ColumnGroup


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFit:
    """One mechanism's predicted cost.

    Parameters
    ----------
    mechanism : str
        Name of the mechanism.
    automatic : bool
        Whether ``mechanism="auto"`` would choose it.
    prediction : ErrorPrediction or None
        Bound on the extra errors; None if the mechanism cannot run here.
    reason : str
        Why it would be chosen, or why it cannot run.
    """

    mechanism: str
    automatic: bool
    prediction: ErrorPrediction | None
    reason: str


def plan_fit(
    schema: str | PathLike[str],
    *,
    epsilon: float,
    n_rows: int | None,
    delta: float = 0.0,
    weight_bound: int = 1,
    relation: str = "replace_one",
    quantile: float = 0.95,
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
    weight_bound : int
        Points would be in ``-weight_bound .. weight_bound``.
    relation : str
        Neighbouring relation.
    quantile : float
        Level of the bounds.

    Returns
    -------
    tuple of PlannedFit
        The automatic choice first, then the others.

    Notes
    -----
    **Guarantee.** A function of public inputs only. The bounds hold for every table; the best
    possible number of errors on the table's own columns is not part of them.
    """
    declared = load_schema(schema)
    chosen_relation = parse_relation(relation)
    public_n = n_rows if chosen_relation is NeighboringRelation.REPLACE_ONE else None
    grid = WeightGrid.box(declared.n_columns + 1, parse_weight_bound(weight_bound))
    public = PublicInputs(
        params=PrivacyParams(epsilon=epsilon, delta=delta),
        relation=chosen_relation,
        grid=grid,
        rows_per_unit=declared.rows_per_unit,
        n_rows=public_n,
    )
    structure = column_structure(declared)
    automatic, reason = build_mechanism("auto", grid, structure=structure)
    planned = [_planned(automatic.name, public, structure, quantile, reason)]
    planned += [
        _planned(name, public, structure, quantile, "")
        for name in MECHANISMS
        if name not in ("auto", automatic.name)
    ]
    return tuple(planned)


def _planned(
    name: str,
    public: PublicInputs,
    structure: tuple[ColumnGroup, ...],
    quantile: float,
    reason: str,
) -> PlannedFit:
    try:
        mechanism = build_mechanism(name, public.grid, structure=structure)[0]
        prediction = predict_error(mechanism, public, quantile)
    except (CalibrationError, UnsupportedProblem) as error:
        return PlannedFit(
            mechanism=name, automatic=bool(reason), prediction=None, reason=str(error)
        )
    return PlannedFit(mechanism=name, automatic=bool(reason), prediction=prediction, reason=reason)
