"""Variance-reduced descent: anchors privatised once, inner steps on random batches."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opdisc.accounting import Ledger
from opdisc.convex.base import ConvexPublic, ConvexRelease, NoisePlan, Rows, release
from opdisc.convex.draws import NormalStream
from opdisc.convex.stochastic import ACCOUNTANT, TAIL, BatchPlan, Sampling, check_ridge
from opdisc.domains import Domain
from opdisc.gaussian import SampledSteps, sampled_multiplier
from opdisc.noise import EntropySource
from opdisc.privacy import CalibrationStatus

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class SVRGPlan:
    """Epochs of variance-reduced descent; public.

    Parameters
    ----------
    epochs : int
        Number of anchors.
    inner : int
        Inner steps of the first epoch.
    batch : float
        Rows expected in an inner batch; W17 has 1.
    doubling : bool
        Whether the inner steps double with every epoch (DP-SVRG++).
    sampling : str
        "poisson" or "fixed".
    """

    epochs: int
    inner: int
    batch: float = 1.0
    doubling: bool = False
    sampling: Sampling = "poisson"

    @property
    def inner_steps(self) -> tuple[int, ...]:
        """Inner steps of each epoch."""
        return tuple(self.inner * (2**s if self.doubling else 1) for s in range(self.epochs))

    @property
    def batches(self) -> BatchPlan:
        """All inner batches."""
        return BatchPlan(batch=self.batch, steps=sum(self.inner_steps), sampling=self.sampling)


def plan_svrg(public: ConvexPublic, epochs: SVRGPlan, *, ridge: float = 0.0) -> NoisePlan:
    """Calibrate DP-SVRG and DP-SVRG++; arguments as in :func:`svrg`."""
    public.require_smooth("DP-SVRG")
    public.require_one_row("sampling of rows")
    rate = epochs.batches.rate(public)
    # An inner step sums differences of two gradients: twice the sensitivity of one.
    steps = (
        SampledSteps(steps=epochs.epochs, rate=1.0),
        SampledSteps(steps=epochs.batches.steps, rate=rate),
    )
    multiplier = sampled_multiplier(public.params, steps, public.relation)
    anchor = multiplier * public.gradient_sensitivity
    return NoisePlan(
        mechanism="dp-svrg++" if epochs.doubling else "dp-svrg",
        theorem="Gaussian anchors and sampled inner steps (docs/convex.md, variance-reduced)",
        status=CalibrationStatus.PROVEN,
        law="Gaussian on each anchor gradient and on each sum of inner differences",
        scales=(anchor, 2 * anchor),
        settings=(
            ("epochs", epochs.epochs),
            ("inner steps", epochs.batches.steps),
            ("rate", rate),
            ("ridge", ridge),
        ),
        conditions=(ACCOUNTANT,),
        distance=2 * (epochs.epochs + epochs.batches.steps) * public.dimension * TAIL,
    )


def svrg(
    rows: Rows,
    public: ConvexPublic,
    epochs: SVRGPlan,
    *,
    entropy: EntropySource,
    ridge: float = 0.0,
    ledger: Ledger | None = None,
) -> ConvexRelease:
    """Variance-reduced descent (W17 Algorithms 1 and 2), each anchor gradient privatised once.

    Parameters
    ----------
    rows, public, entropy, ledger
        As in :func:`noisy_sgd`; the loss must be smooth.
    epochs : SVRGPlan
        Anchors and inner steps.
    ridge : float
        Strong convexity of the mean objective, added exactly in the proximal step.

    Notes
    -----
    **Guarantee.** The anchor gradient is a Gaussian release of sensitivity kL in the sum scale; an
    inner step adds noise to a sum of ``grad l_i(theta) - grad l_i(anchor)`` over a sample, each
    of norm at most 2L. W17 leaves its constants open, and its amplification claim is not used:
    the anchor touches every row, but only once an epoch (docs/convex.md, entry
    "variance-reduced").
    """
    domain = public.require_domain("DP-SVRG")
    check_ridge(ridge)
    plan = plan_svrg(public, epochs, ridge=ridge)

    def compute() -> FloatArray:
        return _svrg(rows.expanded(), public, epochs, plan, domain, entropy)

    return release(plan, rows, public, compute, entropy=entropy, ledger=ledger)


def _svrg(
    rows: Rows,
    public: ConvexPublic,
    epochs: SVRGPlan,
    plan: NoisePlan,
    domain: Domain,
    entropy: EntropySource,
) -> FloatArray:
    normals, loss, p = NormalStream(entropy), public.loss, public.dimension
    rate, ridge = plan.setting("rate"), plan.setting("ridge")
    size = rate * public.step_rows
    # W17: step <= 1 / (12 beta); many such steps would drown in noise, so cap their length.
    step = 1 / (12 * public.constants.smoothness_l2)
    drift = math.sqrt(p) * plan.scales[1] / size
    theta = anchor = domain.centre
    for inner in epochs.inner_steps:
        capped = min(step, domain.diameter_l2 / (drift * math.sqrt(inner) + 1e-300))
        noise = plan.scales[0] * normals.take(p)
        full = (rows.sum_gradient(loss, anchor) + noise) / public.step_rows
        total = np.zeros(p)
        for _ in range(inner):
            drawn = epochs.batches.draw(len(rows.y), rate, entropy)
            X, y = rows.X.take(drawn, axis=0), rows.y.take(drawn)
            change = loss.sum_gradient(X, y, theta) - loss.sum_gradient(X, y, anchor)
            gradient = (change + plan.scales[1] * normals.take(p)) / size + full
            theta = domain.project((theta - capped * gradient) / (1 + capped * ridge))
            total += theta
        anchor = total / inner
    return anchor
