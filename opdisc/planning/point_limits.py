"""What limits of points are worth in a plan: the same mechanism, with and without them."""

from __future__ import annotations

import math
from dataclasses import replace

from opdisc.errors import CalibrationError
from opdisc.planning.request import CardRequest, scorecard_grid
from opdisc.planning.utility import predict_error
from opdisc.planning.weight_rule import SettledFit
from opdisc.privacy import Reason
from oracles.errors import UnsupportedProblem
from oracles.problem import WeightGrid


def worth_of_limits(request: CardRequest, settled: SettledFit, mean: float) -> Reason:
    """Return how many extra errors are expected with the limits of a schema, and without.

    Parameters
    ----------
    request : CardRequest
        With the schema; a sign is a limit too.
    settled : SettledFit
        What would run, with the limits.
    mean : float
        Its bound on the expected extra errors, rows.

    Returns
    -------
    Reason
        Empty where the schema limits nothing.

    Notes
    -----
    **Guarantee.** A function of public facts. Mechanism, bound and epsilon are the same on both
    sides; the best card without limits may itself err less.
    """
    limited = sum(not limits.is_free for limits in request.schema.point_limits)
    if not limited:
        return Reason()
    what = "1 statement has limits" if limited == 1 else f"{limited} statements have limits"
    free = _without_limits(request, settled)
    if free is None:
        return Reason(f"{what} of points, and without them {settled.mechanism.name} could not run")
    unit = "extra errors" if request.schema.error_costs.are_equal else "units of extra cost"
    shown = f"{math.ceil(mean):,} {unit} expected at most, {math.ceil(free):,} without"
    return Reason(f"{what} of points: {shown}")


def _without_limits(request: CardRequest, settled: SettledFit) -> float | None:
    """Return the same bound without limits; None where the mechanism cannot run."""
    grid = settled.public.grid
    free = scorecard_grid(
        request.schema.without_limits(), settled.bound, norm_budget=grid.norm_budget
    )
    wider = WeightGrid(values=(grid.values[0], *free.values[1:]), norm_budget=grid.norm_budget)
    public = replace(settled.public, grid=wider)
    try:
        mechanism, _ = replace(request, mechanism=settled.mechanism.name).build(public)
        return predict_error(mechanism, public).mean
    except (CalibrationError, UnsupportedProblem):
        return None
