"""Full-gradient methods and single-use mirror descent: Gaussian noise, exactly accounted.

Full gradients are sums over all rows with sensitivity kL (k = 1, or 2 under replace-one), so T
steps are one Gaussian release with sensitivity ``kL sqrt(T)``. Step sizes use the public number of
rows; the objective is the mean scale's ``(1/n) sum_i l_i(theta) + (ridge/2)|theta|^2``.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from opdisc.accounting import Ledger
from opdisc.convex.base import ConvexPublic, ConvexRelease, NoisePlan, Rows, release
from opdisc.convex.draws import NormalStream, integers
from opdisc.convex.mirror_maps import Geometry, mirror_map
from opdisc.convex.stochastic import TAIL, check_ridge
from opdisc.errors import CalibrationError
from opdisc.gaussian import gaussian_multiplier, require_delta
from opdisc.noise import EntropySource
from opdisc.privacy import CalibrationStatus, NeighboringRelation, PrivacyParams

FloatArray = NDArray[np.float64]

Iterate = Literal["last", "random"]


def plan_full_gradients(
    public: ConvexPublic, steps: int, name: str, *, ridge: float = 0.0
) -> NoisePlan:
    """Calibrate ``steps`` releases of the sum of gradients, each with the same Gaussian noise.

    Parameters
    ----------
    public : ConvexPublic
        Public facts; both relations.
    steps : int
        T.
    name : str
        Mechanism on the receipt.
    ridge : float
        Strong convexity of the mean objective, > = 0; recorded.
    """
    multiplier = gaussian_multiplier(public.params, steps=steps)
    return NoisePlan(
        mechanism=name,
        theorem="T equal Gaussian releases (docs/convex.md, analytic-gaussian)",
        status=CalibrationStatus.PROVEN,
        law="Gaussian on each sum of gradients",
        scales=(multiplier * public.gradient_sensitivity * (1 + 1e-12),),
        settings=(("steps", steps), ("multiplier", multiplier), ("ridge", ridge)),
        distance=2 * steps * public.dimension * TAIL,
    )


def gradient_descent(
    rows: Rows,
    public: ConvexPublic,
    *,
    steps: int,
    entropy: EntropySource,
    ridge: float = 0.0,
    iterate: Iterate = "last",
    ledger: Ledger | None = None,
) -> ConvexRelease:
    """Full-gradient descent with Gaussian noise (W17 Algorithm 4): DP-GD.

    Parameters
    ----------
    rows : Rows
        Private rows.
    public : ConvexPublic
        Public facts. The loss must be smooth and need not be convex; a domain, if any, is
        projected on at every step.
    steps : int
        T; the step size is ``1 / (beta + ridge)``.
    entropy : EntropySource
        Random bits.
    ridge : float
        Quadratic regularisation of the mean objective.
    iterate : str
        "last" (convex, or Polyak-Lojasiewicz) or "random" (general non-convex).
    ledger : Ledger or None
        Where the budget is recorded first.

    Returns
    -------
    ConvexRelease

    Notes
    -----
    **Guarantee.** As on the receipt; both relations. W17 leaves its constant open.
    """
    public.require_smooth("DP-GD")
    check_ridge(ridge)
    if iterate not in ("last", "random"):
        raise CalibrationError(f"iterate must be last or random, got {iterate!r}.")
    plan = plan_full_gradients(public, steps, "dp-gd", ridge=ridge)
    n, domain = public.step_rows, public.domain

    def compute() -> FloatArray:
        normals = NormalStream(entropy)
        step = 1 / (public.constants.smoothness_l2 + ridge)
        chosen = steps if iterate == "last" else 1 + int(integers(steps, 1, entropy)[0])
        theta = np.zeros(public.dimension) if domain is None else domain.centre
        for _ in range(chosen):
            noise = plan.scales[0] * normals.take(public.dimension)
            gradient = (rows.sum_gradient(public.loss, theta) + noise) / n + ridge * theta
            theta = theta - step * gradient
            theta = theta if domain is None else domain.project(theta)
        return theta

    return release(plan, rows, public, compute, entropy=entropy, ledger=ledger)


def accelerated_mirror_descent(
    rows: Rows,
    public: ConvexPublic,
    *,
    steps: int,
    entropy: EntropySource,
    geometry: Geometry | None = None,
    ledger: Ledger | None = None,
) -> ConvexRelease:
    """Accelerated mirror descent with Gaussian noise (W17 Algorithm 3): DP-AccMD.

    Parameters
    ----------
    rows, public, steps, entropy, ledger
        As in :func:`gradient_descent`; the loss must be convex and smooth, the domain bounded.
    geometry : str or None
        Mirror map: "euclidean", "entropy" (the simplex) or "p-norm" (an l1 ball); None takes the
        domain's own. See :mod:`opdisc.convex.mirror_maps`.

    Notes
    -----
    ``alpha_(k+1) = (k+2)/(4 L')``, ``r_k = 2/(k+2)``, L' the smoothness in the map's norm (W17:
    ``beta |C|_2^2`` for the gauge norm). W17 follows each mirror step by a gradient step in that
    norm; one mirror step and an average serve as well (Auslander, Teboulle 2006), for any map.
    **Guarantee.** One noisy gradient a step; as on the receipt, both relations.
    """
    public.require_convex("DP-AccMD")
    public.require_smooth("DP-AccMD")
    mirror = mirror_map(public.require_domain("DP-AccMD"), geometry)
    plan = plan_full_gradients(public, steps, "dp-accmd")
    n, smoothness = public.step_rows, mirror.smoothness(public.constants)

    def compute() -> FloatArray:
        normals = NormalStream(entropy)
        y = z = mirror.start()
        for k in range(steps):
            blend = 2 / (k + 2)
            x = blend * z + (1 - blend) * y
            noise = plan.scales[0] * normals.take(public.dimension)
            gradient = (rows.sum_gradient(public.loss, x) + noise) / n
            z = mirror.step(z, (k + 2) / (4 * smoothness) * gradient)
            y = blend * z + (1 - blend) * y
        return y

    return release(plan, rows, public, compute, entropy=entropy, ledger=ledger)


A20Noise = Literal["analytic", "published"]


def plan_mirror_descent(public: ConvexPublic, *, noise: A20Noise = "analytic") -> NoisePlan:
    """Calibrate noisy mirror descent; arguments as in :func:`mirror_descent`."""
    public.require_relation(
        "noisy mirror descent",
        NeighboringRelation.REPLACE_ONE,
        "the draws depend on the number of rows",
    )
    require_delta(public.params, "noisy mirror descent")
    settings: tuple[tuple[str, float], ...] = ()
    if noise == "analytic":
        # A unit's r rows enter at most r steps.
        multiplier = gaussian_multiplier(public.params, steps=public.rows_per_unit)
        stddev = multiplier * public.relation.loss_sensitivity * public.constants.lipschitz_l2
        theorem, status = "one Gaussian release for each row", CalibrationStatus.PROVEN
    elif noise == "published":
        public.require_one_row("A20's calibration")
        step = published_a20_step(public.params, public.exact_rows)
        multiplier, _ = published_a20(step.epsilon, step.delta, public.exact_rows)
        stddev = multiplier * public.constants.lipschitz_l2
        theorem, status = "A20 as published", CalibrationStatus.PUBLISHED
        settings = (("epsilon of a step", step.epsilon), ("delta of a step", step.delta))
    else:
        raise CalibrationError(f"noise must be analytic or published, got {noise!r}.")
    return NoisePlan(
        mechanism="noisy-mirror-descent",
        theorem=f"{theorem} (docs/convex.md, mirror-descent)",
        status=status,
        law="Gaussian on each row's gradient",
        scales=(stddev * (1 + 1e-12),),
        settings=(("rows used at most", math.ceil(public.exact_rows / 2)), *settings),
        distance=2 * public.step_rows * public.dimension * TAIL,
    )


def mirror_descent(
    rows: Rows,
    public: ConvexPublic,
    *,
    entropy: EntropySource,
    geometry: Geometry | None = None,
    noise: A20Noise = "analytic",
    ledger: Ledger | None = None,
) -> ConvexRelease:
    """Single-use noisy mirror descent (A20): average of the iterates.

    Parameters
    ----------
    rows, public, entropy, ledger
        As in :func:`gradient_descent`; the loss must be convex, the domain bounded, the relation
        replace-one.
    geometry : str or None
        Mirror map, as in :func:`accelerated_mirror_descent`.
    noise : str
        "analytic", or by name A20's "published" constants, solved for the target (VOID).

    Notes
    -----
    Rows are drawn uniformly; a fresh row takes a noisy gradient step, a repeated one a step of
    noise only; the run stops when half the rows were seen. The step is ``D / (sqrt(n) (L + sigma
    sqrt(p)))`` in the Euclidean geometry. **Guarantee.** The draws do not depend on the table, and
    given them a replaced row touches one step: analytic Gaussian of sensitivity 2L.
    """
    public.require_convex("noisy mirror descent")
    mirror = mirror_map(public.require_domain("noisy mirror descent"), geometry)
    plan = plan_mirror_descent(public, noise=noise)
    p, sigma = public.dimension, plan.scales[0]
    size = mirror.gradient_size(public.constants, sigma)

    def compute() -> FloatArray:
        data, normals = rows.expanded(), NormalStream(entropy)
        n = len(data.y)
        step = mirror.width / (math.sqrt(n) * size)
        fresh, seen = np.ones(n, dtype=bool), 0
        theta, total, count = mirror.start(), np.zeros(p), 0
        draws = iter(integers(n, 2 * n, entropy).tolist())
        while 2 * seen < n:
            row = next(draws, -1)
            if row < 0:
                draws = iter(integers(n, 2 * n, entropy).tolist())
                continue
            gradient = sigma * normals.take(p)
            if fresh[row]:
                one = slice(row, row + 1)
                gradient = gradient + public.loss.sum_gradient(data.X[one], data.y[one], theta)
                fresh[row], seen = False, seen + 1
            theta = mirror.step(theta, step * gradient)
            total += theta
            count += 1
        return total / count

    return release(plan, rows, public, compute, entropy=entropy, ledger=ledger)


def published_a20(epsilon_step: float, delta: float, n: int) -> tuple[float, float]:
    """Return (sigma over L, epsilon promised) of A20 as printed, for delta' = delta.

    ``sigma = 8 L sqrt(ln(1/delta)) / (sqrt(n) e)`` for ``e <= 1/(2 sqrt n)`` promises
    ``4 e (sqrt(ln(1/delta')) + 2)`` at ``2 delta + delta' + 2 exp(-n/16)``.
    """
    if not 0 < epsilon_step <= 1 / (2 * math.sqrt(n)):
        raise CalibrationError("A20 is stated for a step's epsilon of at most 1/(2 sqrt(n)).")
    sigma = 8 * math.sqrt(math.log(1 / delta)) / (math.sqrt(n) * epsilon_step)
    return sigma, 4 * epsilon_step * (math.sqrt(math.log(1 / delta)) + 2)


def published_a20_step(params: PrivacyParams, n: int) -> PrivacyParams:
    """Return the step's (e, delta) for which A20's printed promise is ``params``; delta' = delta.

    Raises
    ------
    CalibrationError
        If the promise cannot be met: ``2 exp(-n/16) >= delta``, or ``e > 1/(2 sqrt n)``.
    """
    delta = (params.delta - 2 * math.exp(-n / 16)) / 3
    if not delta > 0:
        raise CalibrationError("A20 needs more than 16 ln(2/delta) rows; use analytic noise.")
    epsilon = params.epsilon / (4 * (math.sqrt(math.log(1 / delta)) + 2))
    if epsilon > 1 / (2 * math.sqrt(n)):
        most = 2 / math.sqrt(n) * (math.sqrt(math.log(1 / delta)) + 2)
        raise CalibrationError(
            f"A20 promises epsilon of at most {most:.6g} for {n} rows; use analytic noise."
        )
    return PrivacyParams(epsilon=epsilon, delta=delta)
