"""Full-gradient methods: Gaussian noise, exactly accounted.

Full gradients are sums over all rows with sensitivity kL (k = 1, or 2 under replace-one), so T
steps are one Gaussian release with sensitivity ``kL sqrt(T)``. Step sizes use the public number of
rows; the objective is the mean scale's ``(1/n) sum_i l_i(theta) + (ridge/2)|theta|^2``.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from opdisc.accounting import Ledger
from opdisc.convex.base import ConvexPublic, ConvexRelease, NoisePlan, Rows, release
from opdisc.convex.draws import NormalStream, integers
from opdisc.convex.mirror_maps import Geometry, mirror_map
from opdisc.convex.stochastic import TAIL, check_ridge
from opdisc.errors import CalibrationError
from opdisc.gaussian import gaussian_multiplier
from opdisc.noise import EntropySource
from opdisc.privacy import CalibrationStatus

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
    check_ridge(ridge)
    public.require_curvature("DP-GD", ridge)
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
    public.require_curvature("DP-AccMD")
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
