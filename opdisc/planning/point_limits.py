"""What limits of points and alternatives are worth in a plan: the same mechanism without them."""

from __future__ import annotations

import math
from dataclasses import replace

from opdisc.errors import CalibrationError
from opdisc.planning.request import CardRequest, scorecard_grid
from opdisc.planning.utility import predict_error
from opdisc.planning.weight_rule import SettledFit
from opdisc.privacy import Reason, count_in_words
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
    count = mechanism.calibrate(public).n_candidates(public.grid)
    if count is None:
        return Reason("alternatives rule out nothing, since one column has points")
    what = "1 group of alternatives leaves" if groups == 1 else f"{groups} groups leave"
    left = count_in_words(count)
    found = _on(replace(public.grid, alternatives=()), request, settled)
    if found is None:
        return Reason(f"{what} {left} cards, and without them {mechanism.name} could not run")
    cards, free = found
    shown = _shown(request, mean, free)
    if _takes_equal_steps(request, settled):
        shown += "; without them all thresholds of a column would have the same point"
    return Reason(f"{what} {left} of {count_in_words(cards)} cards: {shown}")


def _takes_equal_steps(request: CardRequest, settled: SettledFit) -> bool:
    """Return whether a draw that knows the structure would look among other cards."""
    public = replace(settled.public, grid=replace(settled.public.grid, alternatives=()))
    schema = replace(request.schema, alternatives=())
    usual = replace(request, mechanism=settled.mechanism.name, schema=schema)
    few = replace(usual, settings=replace(usual.settings, structure=()))
    yardsticks = (one.build(public)[0].calibrate(public).yardstick for one in (usual, few))
    return len(set(yardsticks)) == 2


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
        count = mechanism.calibrate(public).n_candidates(grid) or 0
        return count, predict_error(mechanism, public).mean
    except (CalibrationError, UnsupportedProblem):
        return None
