"""What limits of points and alternatives are worth in a plan: the same mechanism without them."""

from __future__ import annotations

import math
from dataclasses import replace

from opdisc.errors import CalibrationError
from opdisc.mechanisms import ScorecardMechanism, StagedMechanism
from opdisc.planning.request import CardRequest, scorecard_grid
from opdisc.planning.utility import predict_error
from opdisc.planning.weight_rule import SettledFit
from opdisc.privacy import GridPublic, Reason, count_in_words
from oracles.errors import UnsupportedProblem
from oracles.problem import WeightGrid


def worth_of_limits(request: CardRequest, settled: SettledFit, mean: float) -> Reason:
    """Return how many extra errors are expected with what a schema says of points, and without.

    Parameters
    ----------
    request : CardRequest
        With the schema; a sign is a limit too.
    settled : SettledFit
        What would run, with limits and alternatives.
    mean : float
        Its bound on the expected extra errors, rows.

    Returns
    -------
    Reason
        Of limits, then of alternatives; empty where the schema has neither.

    Notes
    -----
    **Guarantee.** A function of public facts. Mechanism, bound and epsilon are the same on both
    sides; the best card without limits or alternatives may itself err less.
    """
    return _of_limits(request, settled, mean).and_also(_of_alternatives(request, settled, mean))


def _of_limits(request: CardRequest, settled: SettledFit, mean: float) -> Reason:
    limited = sum(not limits.is_free for limits in request.schema.point_limits)
    if not limited:
        return Reason()
    what = "1 statement has limits" if limited == 1 else f"{limited} statements have limits"
    grid = settled.public.grid
    free = scorecard_grid(
        request.schema.without_limits(), settled.bound, norm_budget=grid.norm_budget
    )
    wider = replace(grid, values=(grid.values[0], *free.values[1:]))
    found = _on(wider, request, settled)
    if found is None:
        return Reason(f"{what} of points, and without them {settled.mechanism.name} could not run")
    return Reason(f"{what} of points: {_shown(request, mean, found[1])}")


def _of_alternatives(request: CardRequest, settled: SettledFit, mean: float) -> Reason:
    groups = len(request.schema.alternatives)
    if not groups:
        return Reason()
    mechanism, public = settled.mechanism, settled.public
    if isinstance(mechanism, StagedMechanism) and mechanism.calibrate(public).is_stump:
        return Reason("alternatives rule out nothing, since one column has points")
    what = "1 group of alternatives leaves" if groups == 1 else f"{groups} groups leave"
    left = count_in_words(_n_candidates(mechanism, public))
    found = _on(replace(public.grid, alternatives=()), request, settled)
    if found is None:
        return Reason(f"{what} {left} cards, and without them {mechanism.name} could not run")
    cards, free = found
    shown = _shown(request, mean, free)
    if mechanism.name == "staged" and _takes_equal_steps(request, settled):
        shown += "; without them all thresholds of a column would have the same point"
    return Reason(f"{what} {left} of {count_in_words(cards)} cards: {shown}")


def _takes_equal_steps(request: CardRequest, settled: SettledFit) -> bool:
    """Return whether a draw without alternatives would look among other cards."""
    public = replace(settled.public, grid=replace(settled.public.grid, alternatives=()))
    free = replace(request, mechanism="staged", schema=replace(request.schema, alternatives=()))
    mechanism = free.build(public)[0]
    assert isinstance(mechanism, StagedMechanism)
    return mechanism.calibrate(public).stages.has_equal_steps


def _shown(request: CardRequest, mean: float, free: float) -> str:
    unit = "extra errors" if request.schema.error_costs.are_equal else "units of extra cost"
    return f"{math.ceil(mean):,} {unit} expected at most, {math.ceil(free):,} without"


def _on(grid: WeightGrid, request: CardRequest, settled: SettledFit) -> tuple[int, float] | None:
    """Return candidates and bound on another grid; None where the mechanism cannot run."""
    public = replace(settled.public, grid=grid)
    asked = replace(request, mechanism=settled.mechanism.name)
    if request.schema.alternatives:
        # Without its structure a draw without alternatives has few points too, no equal steps.
        schema = request.schema if grid.alternatives else replace(request.schema, alternatives=())
        asked = replace(asked, schema=schema, settings=replace(asked.settings, structure=()))
    try:
        mechanism, _ = asked.build(public)
        return _n_candidates(mechanism, public), predict_error(mechanism, public).mean
    except (CalibrationError, UnsupportedProblem):
        return None


def _n_candidates(mechanism: ScorecardMechanism, public: GridPublic) -> int:
    """Return how many cards can be drawn."""
    if isinstance(mechanism, StagedMechanism):
        return mechanism.calibrate(public).stages.n_candidates
    return public.grid.n_hypotheses
