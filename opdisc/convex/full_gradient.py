"""Full-gradient methods: Gaussian noise, exactly accounted.

Full gradients are sums over all rows with sensitivity kL (k = 1, or 2 under replace-one), so T
steps are one Gaussian release with sensitivity ``kL sqrt(T)``. Step sizes use the public number of
rows; the objective is the mean scale's ``(1/n) sum_i l_i(theta) + (ridge/2)|theta|^2``.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from opdisc.calibration import gaussian_multiplier
from opdisc.convex.mirror_maps import Geometry, MirrorMap, mirror_map
from opdisc.convex.noise_plan import ConvexRelease, NoisePlan, prepare
from opdisc.convex.public import ConvexPublic, check_ridge
from opdisc.convex.rows import Rows
from opdisc.convex.stochastic import TAIL, gradient_error
from opdisc.errors import CalibrationError
from opdisc.noise import NormalStream, integers
from opdisc.privacy import CalibrationStatus, EntropySource, Ledger, Prepared, prepared_first
from oracles.arithmetic import FloatArray

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
        total_variation=2 * steps * public.dimension * TAIL,
    )


@prepared_first
def gradient_descent(
    rows: Rows,
    public: ConvexPublic,
    *,
    steps: int,
    entropy: EntropySource,
    ridge: float = 0.0,
    iterate: Iterate = "last",
    ledger: Ledger | None = None,
) -> Prepared[ConvexRelease]:
    """Full-gradient descent with Gaussian noise (W17 Algorithm 4, Theorem 6.1): DP-GD.

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
    ridge = check_ridge(ridge)
    public.require_curvature("DP-GD", ridge)
    if iterate not in ("last", "random"):
        raise CalibrationError(f"iterate must be last or random, got {iterate!r}.")
    plan = plan_full_gradients(public, steps, "gradient_descent", ridge=ridge)
    n, domain = public.step_rows, public.domain

    def compute() -> FloatArray:
        normals = NormalStream(entropy)
        step = 1 / (public.constants.smoothness_l2 + ridge)
        chosen = steps if iterate == "last" else 1 + int(integers(steps, 1, entropy)[0])
        parameters = np.zeros(public.dimension) if domain is None else domain.centre
        for _ in range(chosen):
            noise = plan.scales[0] * normals.take(public.dimension)
            gradient = (
                rows.sum_gradient(public.loss, parameters) + noise
            ) / n + ridge * parameters
            parameters = parameters - step * gradient
            parameters = parameters if domain is None else domain.project(parameters)
        return parameters

    return prepare(plan, rows, public, compute, entropy=entropy)


@prepared_first
def accelerated_mirror_descent(
    rows: Rows,
    public: ConvexPublic,
    *,
    steps: int,
    entropy: EntropySource,
    geometry: Geometry | None = None,
    ledger: Ledger | None = None,
) -> Prepared[ConvexRelease]:
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
    Where the noise of T such steps would travel further than the domain is wide, all are
    shortened to ``alpha_(k+1) = W (k+2) / (s T^(3/2))``, W the map's width and s the noise's
    length (Lan 2012): more steps then cost work, not accuracy.
    **Guarantee.** One noisy gradient a step; as on the receipt, both relations.
    """
    public.require_convex("DP-AccMD")
    public.require_curvature("DP-AccMD")
    mirror = mirror_map(public.require_domain("DP-AccMD"), geometry)
    plan = plan_full_gradients(public, steps, "accelerated_mirror_descent")
    n = public.step_rows

    def compute() -> FloatArray:
        normals = NormalStream(entropy)
        length = accelerated_step(public, mirror, steps, plan.scales[0] / n)
        y = z = mirror.start()
        for k in range(steps):
            blend = 2 / (k + 2)
            x = blend * z + (1 - blend) * y
            noise = plan.scales[0] * normals.take(public.dimension)
            gradient = (rows.sum_gradient(public.loss, x) + noise) / n
            z = mirror.step(z, length * (k + 2) * gradient)
            y = blend * z + (1 - blend) * y
        return y

    return prepare(plan, rows, public, compute, entropy=entropy)


def accelerated_step(public: ConvexPublic, mirror: MirrorMap, steps: int, stddev: float) -> float:
    """Return what multiplies k + 2 in the steps of :func:`accelerated_mirror_descent`.

    Parameters
    ----------
    public : ConvexPublic
        Public facts.
    mirror : MirrorMap
        Geometry.
    steps : int
        T.
    stddev : float
        Standard deviation of a mean gradient's noise, one coordinate.
    """
    constants = public.constants
    longest = 1 / (4 * mirror.smoothness(constants))
    noise = mirror.gradient_size(constants, stddev) - mirror.gradient_size(constants, 0.0)
    return min(longest, mirror.width / (noise * math.sqrt(steps) ** 3 + 1e-300))


def plan_accelerated_steps(public: ConvexPublic, *, geometry: Geometry | None = None) -> int:
    """Return T for :func:`accelerated_mirror_descent`: its error falls to that of the noise.

    Parameters
    ----------
    public : ConvexPublic
        Public facts, delta > 0; the domain bounded, the loss smooth.
    geometry : str or None
        Mirror map, as in :func:`accelerated_mirror_descent`.

    Notes
    -----
    ``2 sqrt(L' W / a)`` with a the length of the noise on a gradient released once, W the map's
    width: L' W^2 / T^2 is then a W / 4 (W17 Theorem 5.4: sqrt(n eps)). 10 to 1,000 steps.
    """
    public.require_curvature("DP-AccMD")
    mirror = mirror_map(public.require_domain("DP-AccMD"), geometry)
    constants, own = public.constants, mirror.gradient_size(public.constants, 0.0)
    stddev = gradient_error(public) / math.sqrt(public.dimension)
    noise = mirror.gradient_size(constants, stddev) - own
    steps = 2 * math.sqrt(mirror.smoothness(constants) * mirror.width / noise)
    return math.ceil(min(max(steps, 10), _MOST_STEPS))


def plan_descent_steps(
    public: ConvexPublic, *, ridge: float = 0.0, iterate: Iterate = "last"
) -> int:
    """Return T for :func:`gradient_descent`: its error falls to that of the noise.

    Parameters
    ----------
    public : ConvexPublic
        Public facts; the loss smooth, and for a random iterate the domain bounded, delta > 0.
    ridge, iterate
        As in :func:`gradient_descent`.

    Notes
    -----
    *Last iterate, ridge > 0*: ``2 (beta + ridge) / ridge ln n`` steps divide the distance by more
    than n (W17 Theorem 6.2's order). *Random iterate*: ``sqrt(beta L D) / (4 a)`` steps, a the
    length of the noise on a gradient released once, balance beta L D / T with a^2 T (W17 Theorem
    6.3's order, n eps).
    *Last iterate, no ridge*: 60 steps; no rate is stated. All 10 to 1,000.
    """
    public.require_curvature("DP-GD", ridge)
    beta, slope = public.constants.smoothness_l2, public.constants.lipschitz_l2
    if iterate == "random":
        width = public.require_domain("DP-GD").diameter_l2
        steps = math.sqrt(beta * slope * width) / (4 * gradient_error(public))
    elif ridge > 0:
        steps = 2 * (beta + ridge) / ridge * math.log(max(2, public.step_rows))
    else:
        steps = 60.0
    return math.ceil(min(max(steps, 10), _MOST_STEPS))


_MOST_STEPS = 1000.0
