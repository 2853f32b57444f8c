"""Sampling vertices of the simplex at an entropic minimiser (J14, equation (9))."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np
from scipy import special

from opdisc.arguments import check_finite
from opdisc.calibration import require_delta
from opdisc.convex import NotReached, noiseless_minimum, noiseless_plan
from opdisc.convex.noise_plan import ConvexRelease, NoisePlan, prepare
from opdisc.convex.public import ConvexPublic
from opdisc.convex.rows import Rows
from opdisc.errors import CalibrationError
from opdisc.noise import categorical
from opdisc.privacy import (
    CalibrationStatus,
    EntropySource,
    Ledger,
    NeighboringRelation,
    Prepared,
    PrivacyParams,
    prepared_first,
)
from oracles.arithmetic import FloatArray
from oracles.convex import LinearLoss, Simplex

_NEWTON_STEPS = 200

_LOG_ACCURACY = 1e-8

TAIL = 2.0**-63

_EXACT = (
    f"the entropic minimiser is exact; its logarithms satisfy the optimality condition to "
    f"{_LOG_ACCURACY:g}, else nothing is released"
)


def zcdp_budget(params: PrivacyParams) -> float:
    """Return rho = (sqrt(ln(1/delta) + epsilon) - sqrt(ln(1/delta)))^2, rounded down.

    rho-zCDP implies (epsilon, delta)-DP (Bun, Steinke 2016, Proposition 1.3).
    """
    require_delta(params, "concentrated composition")
    logarithm = math.log(1 / params.delta)
    # Written without cancellation.
    root = params.epsilon / (math.sqrt(logarithm + params.epsilon) + math.sqrt(logarithm))
    return root**2 * (1 - 1e-12)


def vertex_epsilon(public: ConvexPublic, entropy_weight: float) -> float:
    """Return e_s, the pure loss of one sampled vertex under replace-one.

    ``4 L R / lambda + 4 n L R^3 G / lambda^2`` for each row of a unit: L bounds phi', G bounds
    phi'', R = |x|_inf (docs/convex.md, entry "simplex-sampling").
    """
    return sum(_vertex_terms(public, entropy_weight)) * (1 + 1e-12)


def published_vertex_epsilon(public: ConvexPublic, entropy_weight: float) -> float:
    """Return what a vertex costs by J14's Theorem 3: ``4 L R / lambda + 2 n L R^3 G / lambda^2``.

    Neither proven nor refuted here: the second term is half of ours.
    """
    first, second = _vertex_terms(public, entropy_weight)
    return first + second / 2


def _vertex_terms(public: ConvexPublic, entropy_weight: float) -> tuple[float, float]:
    """Return the two terms of :func:`vertex_epsilon`."""
    largest = public.bounds.largest_coordinate
    domain = public.require_domain("simplex sampling")
    slope = public.loss.slope_bound(public.bounds, domain.score_bound(public.bounds))
    bend, n = public.loss.curvature_bound(), public.exact_rows
    first = 4 * slope * largest / entropy_weight
    second = 4 * n * slope * largest**3 * bend / entropy_weight**2
    return first * public.rows_per_unit, second * public.rows_per_unit


def sample_count(params: PrivacyParams, one: float) -> int:
    """Return how many vertices the budget pays for: pure, or by zCDP where that gives more.

    A vertex whose log probabilities move within a range of e_s is e_s^2/8-zCDP.
    """
    pure = math.floor(params.epsilon / one)
    if params.delta == 0:
        return pure
    return max(pure, math.floor(8 * zcdp_budget(params) / one**2))


def published_sample_count(params: PrivacyParams, one: float) -> int:
    """Return the larger of the two counts of J14's Theorem 3: pure, and (epsilon, delta).

    The second is ``epsilon^2 / (64 one^2 ln(1/delta))``.
    """
    pure = math.floor(params.epsilon / one)
    if params.delta == 0:
        return pure
    return max(pure, math.floor((params.epsilon / (8 * one)) ** 2 / math.log(1 / params.delta)))


SimplexNoise = Literal["corrected", "published"]


def plan_simplex_sampling(
    public: ConvexPublic,
    *,
    entropy_weight: float | None = None,
    noise: SimplexNoise = "corrected",
) -> NoisePlan:
    """Calibrate simplex sampling; arguments as in :func:`simplex_sampling`."""
    _require_simplex(public)
    weight = default_entropy_weight(public) if entropy_weight is None else entropy_weight
    _require_weight(weight)
    if noise == "corrected":
        theorem, status = "sampled vertices of an entropic minimiser", CalibrationStatus.PROVEN
        one = vertex_epsilon(public, weight)
        count = sample_count(public.params, one)
    elif noise == "published":
        theorem, status = "J14 Theorem 3 as published", CalibrationStatus.PUBLISHED
        one = published_vertex_epsilon(public, weight)
        count = published_sample_count(public.params, one)
    else:
        raise CalibrationError(f"noise must be corrected or published, got {noise!r}.")
    if count < 1:
        raise CalibrationError(
            f"the budget must pay for one vertex, which costs epsilon {one:.6g}; use a larger "
            "entropy_weight or epsilon."
        )
    return NoisePlan(
        mechanism="simplex_sampling",
        theorem=f"{theorem} (docs/convex.md, simplex-sampling)",
        status=status,
        law="mean of independently sampled vertices",
        scales=(1 / weight,),
        settings=(("entropy weight", weight), ("vertices", count), ("epsilon of one", one)),
        conditions=(_EXACT,),
        total_variation=count * TAIL,
    )


def _require_simplex(public: ConvexPublic) -> None:
    """Refuse what simplex sampling has no proof for."""
    public.require_convex("simplex sampling")
    public.require_smooth("simplex sampling")
    public.require_relation(
        "simplex sampling",
        NeighboringRelation.REPLACE_ONE,
        "its loss depends on the number of rows",
    )
    if not isinstance(public.domain, Simplex):
        raise CalibrationError("simplex sampling needs the simplex as its domain; declare it.")


def _require_weight(weight: float) -> None:
    check_finite("entropy_weight", weight)


def default_entropy_weight(public: ConvexPublic) -> float:
    """Return the weight with the least predicted excess of the sum of losses.

    Bias at most ``lambda ln p``, sampling error at most ``n G R^2 / (2 m)``.
    """
    largest, bend = public.bounds.largest_coordinate, public.loss.curvature_bound()
    n, entropy = public.exact_rows, math.log(max(2, public.dimension))

    def error(weight: float) -> float:
        count = sample_count(public.params, vertex_epsilon(public, weight))
        return math.inf if count < 1 else weight * entropy + n * bend * largest**2 / (2 * count)

    grid = [largest * 1.2**k for k in range(-20, 140)]
    return min(grid, key=error)


@prepared_first
def simplex_sampling(
    rows: Rows,
    public: ConvexPublic,
    *,
    entropy: EntropySource,
    entropy_weight: float | None = None,
    noise: SimplexNoise = "corrected",
    ledger: Ledger | None = None,
) -> Prepared[ConvexRelease]:
    """Minimise with an entropic regulariser, release the mean of sampled vertices (J14).

    Parameters
    ----------
    rows : Rows
        Private rows.
    public : ConvexPublic
        Public facts: convex smooth loss, the simplex, replace-one with its public n.
    entropy : EntropySource
        Random bits.
    entropy_weight : float or None
        lambda of ``sum_i l_i + lambda sum_j theta_j ln theta_j``; None takes the least predicted
        error.
    noise : str
        "corrected", or the "published" count of vertices of J14's Theorem 3 (VOID).
    ledger : Ledger or None
        Where the budget is recorded first.

    Notes
    -----
    **Guarantee.** :func:`vertex_epsilon` for each of m vertices; pure, or (epsilon, delta) by
    zCDP. The dimension enters the error only through ``ln p``.
    """
    if public.is_noiseless:
        return _noiseless(rows, public, entropy_weight, entropy)
    plan = plan_simplex_sampling(public, entropy_weight=entropy_weight, noise=noise)

    def solved(data: Rows) -> FloatArray:
        return entropic_minimiser(data, public.loss, plan.setting("entropy weight"))

    def compute() -> FloatArray:
        parameters = solved(rows)
        count = int(plan.setting("vertices"))
        drawn = categorical(parameters, count, entropy)
        return np.bincount(drawn, minlength=public.dimension) / count

    if plan.setting("vertices") * plan.setting("epsilon of one") <= public.params.epsilon:
        public = replace(public, params=replace(public.params, delta=0.0))
    return prepare(plan, rows, public, compute, entropy=entropy, solver=solved)


def _noiseless(
    rows: Rows,
    public: ConvexPublic,
    entropy_weight: float | None,
    entropy: EntropySource,
) -> Prepared[ConvexRelease]:
    """Return the minimiser over the simplex itself, with an entropic regulariser if given."""
    _require_simplex(public)
    if entropy_weight is None:
        return noiseless_minimum("simplex_sampling", rows, public, ridge=None, entropy=entropy)
    weight = entropy_weight
    _require_weight(weight)
    plan = noiseless_plan("simplex_sampling", ("entropy weight", weight))

    def compute() -> FloatArray:
        return entropic_minimiser(rows, public.loss, weight)

    return prepare(plan, rows, public, compute, entropy=entropy)


def entropic_minimiser(rows: Rows, loss: LinearLoss, weight: float) -> FloatArray:
    """Return the minimiser over the simplex of the sum plus ``weight * sum theta ln theta``.

    Newton's method with the equality constraint, damped; stops when ``theta`` and
    ``softmax(-gradient / weight)`` have logarithms within 1e-8.

    Raises
    ------
    NotReached
        If 200 steps do not suffice.
    """
    p = rows.X.shape[1]
    parameters = np.full(p, 1 / p)

    def objective(point: FloatArray) -> float:
        return rows.sum_value(loss, point) + weight * float(special.xlogy(point, point).sum())

    for _ in range(_NEWTON_STEPS):
        slope = rows.sum_gradient(loss, parameters)
        target = special.log_softmax(-slope / weight)
        if float(np.abs(np.log(parameters) - target).max()) <= _LOG_ACCURACY:
            return parameters
        curvatures = loss.curvatures(rows.X @ parameters, rows.y)
        if rows.counts is not None:
            curvatures = curvatures * rows.counts
        # In units of sqrt(theta): diagonal weight, well conditioned near the boundary.
        roots = np.sqrt(parameters)
        scaled = rows.X * roots * np.sqrt(curvatures)[:, None]
        gradient = roots * (slope + weight * (np.log(parameters) + 1))
        solved = _solved(scaled, weight, np.column_stack([gradient, roots]))
        multiplier = float(roots @ solved[:, 0]) / float(roots @ solved[:, 1])
        step = -roots * (solved[:, 0] - multiplier * solved[:, 1])
        parameters = _damped(
            parameters, step, float((slope + weight * np.log(parameters)) @ step), objective
        )
    raise NotReached


def _solved(rows: FloatArray, weight: float, right: FloatArray) -> FloatArray:
    """Solve ``(weight I + rows' rows) v = right`` by the smaller of rows and columns."""
    is_wide = rows.shape[1] > rows.shape[0]
    gram = rows @ rows.T if is_wide else rows.T @ rows
    gram.flat[:: len(gram) + 1] += weight
    if not is_wide:
        return np.asarray(np.linalg.solve(gram, right))
    return np.asarray((right - rows.T @ np.linalg.solve(gram, rows @ right)) / weight)


def _damped(
    parameters: FloatArray,
    step: FloatArray,
    decrease: float,
    objective: Callable[[FloatArray], float],
) -> FloatArray:
    """Return the point after the longest halved step that stays inside and descends."""
    shrink = float(np.max(-step / parameters))
    length = 1.0 if shrink < 0.99 else 0.99 / shrink
    trial = parameters
    value = objective(parameters)
    while length > 1e-12:
        trial = parameters + length * step
        if objective(trial) <= value + 1e-4 * length * decrease + 1e-12 * (1 + abs(value)):
            break
        length /= 2
    return np.asarray(trial / trial.sum())
