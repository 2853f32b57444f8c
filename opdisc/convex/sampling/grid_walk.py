"""Approximate exponential sampling by a random walk on a grid, in any dimension.

The walk never has a pure guarantee when it stops: its receipt says what it rests on. Prefer
:func:`opdisc.convex.exponential_sampling` where the dimension is small.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from opdisc.arguments import check_integer
from opdisc.convex.noise_plan import ConvexRelease, NoisePlan, prepare
from opdisc.convex.public import ConvexPublic
from opdisc.convex.rows import Rows
from opdisc.convex.sampling.exponential import inverse_temperature
from opdisc.errors import CalibrationError
from opdisc.noise import integers, uniforms
from opdisc.privacy import CalibrationStatus, EntropySource, Ledger, Prepared, prepared_first
from oracles.arithmetic import FloatArray
from oracles.convex import Domain, Simplex

_PENALTY = 20.0
"""How fast the walk's density falls outside the domain at least, per unit of its gauge."""


def plan_grid_walk(public: ConvexPublic, *, steps: int, spacing: float) -> NoisePlan:
    """Calibrate the walk; arguments as in :func:`grid_walk_sampling`."""
    public.require_convex("the grid walk")
    if public.is_noiseless:
        raise CalibrationError(
            "the grid walk needs a finite epsilon, got inf; use exponential sampling."
        )
    domain = public.require_domain("the grid walk")
    if isinstance(domain, Simplex) or not math.isfinite(domain.gauge(domain.upper)):
        raise CalibrationError(
            "the grid walk needs a domain with the origin inside; use exponential sampling."
        )
    steps = check_integer("steps", steps)
    if not 0 < spacing <= domain.diameter_linf / 2:
        raise CalibrationError(
            f"the grid's spacing must be > 0 and at most half the domain's width, got {spacing!r}."
        )
    rate = inverse_temperature(public, public.params.epsilon, domain.diameter_l2)
    # Where the optimum is on the boundary, points outside must not be likelier than those inside.
    rows = public.n_rows or public.public_row_guess or 0
    slope = rate * rows * public.constants.lipschitz_l2 * domain.radius_l2
    penalty = _PENALTY + 2 * slope
    return NoisePlan(
        mechanism="grid_walk",
        theorem="exponential mechanism on a grid (docs/convex.md, grid-walk)",
        status=CalibrationStatus.PROVEN,
        law="walk towards exp(-rate times the sum of losses) on the grid points of the domain",
        scales=(rate,),
        settings=(("steps", steps), ("spacing", spacing), ("penalty", penalty)),
        conditions=(
            f"after {steps} steps the walk has its stationary law on every table; whatever total "
            "variation g remains adds (1 + e^epsilon) g to delta",
        ),
    )


@prepared_first
def grid_walk_sampling(
    rows: Rows,
    public: ConvexPublic,
    *,
    steps: int,
    spacing: float,
    entropy: EntropySource,
    ledger: Ledger | None = None,
) -> Prepared[ConvexRelease]:
    """Walk on a grid around the domain, stop inside it, release a point of the cell (B14 3.3).

    Parameters
    ----------
    rows : Rows
        Private rows.
    public : ConvexPublic
        Public facts: a convex loss, a bounded domain with the origin inside.
    steps : int
        Length of the walk; repeated while it ends outside the domain.
    spacing : float
        Side of the grid's cubes.
    entropy : EntropySource
        Random bits.
    ledger : Ledger or None
        Where the budget is recorded first.

    Notes
    -----
    **Guarantee.** CONDITIONAL on mixing: B14's step counts could not be recovered, so none is
    claimed. At stationarity the grid point is an exponential mechanism over a public finite set,
    pure epsilon-DP; the uniform point of its cell and the projection are post-processing.
    """
    plan = plan_grid_walk(public, steps=steps, spacing=spacing)
    domain = public.require_domain("the grid walk")

    def compute() -> FloatArray:
        cell = np.zeros(public.dimension, dtype=np.int64)
        while True:
            cell = _walk(cell, rows, public, domain, plan, entropy)
            point = cell.astype(np.float64) * spacing
            if domain.contains(point, tolerance=1e-12):
                break
        shift = spacing * (uniforms(public.dimension, entropy) - 0.5)
        return domain.project(point + shift)

    pure = replace(public, params=replace(public.params, delta=0.0))
    return prepare(plan, rows, pure, compute, entropy=entropy)


def _walk(
    cell: NDArray[np.int64],
    rows: Rows,
    public: ConvexPublic,
    domain: Domain,
    plan: NoisePlan,
    entropy: EntropySource,
) -> NDArray[np.int64]:
    """Return the cell after ``steps`` lazy Metropolis moves to neighbouring cells."""
    rate, steps = plan.scales[0], int(plan.setting("steps"))
    spacing, penalty = plan.setting("spacing"), plan.setting("penalty")

    def log_density(place: NDArray[np.int64]) -> float:
        point = place.astype(np.float64) * spacing
        inside = domain.project(point)
        outside = max(0.0, domain.gauge(point) - 1.0)
        return -rate * rows.sum_value(public.loss, inside) - penalty * outside

    # A move picks one of 2p neighbours; half of all moves stay.
    moves = integers(4 * public.dimension, steps, entropy)
    levels = np.log(uniforms(steps, entropy))
    here = log_density(cell)
    for move, level in zip(moves.tolist(), levels.tolist(), strict=True):
        coordinate, sign = divmod(move, 4)
        if sign > 1:
            continue
        trial = cell.copy()
        trial[coordinate] += 1 if sign else -1
        there = log_density(trial)
        if level <= there - here:
            cell, here = trial, there
    return cell
