"""Variance-reduced descent: anchors privatised once, inner steps on random batches."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from opdisc.arguments import check_within
from opdisc.calibration import SampledSteps, sampled_multiplier
from opdisc.convex.noise_plan import ConvexRelease, NoisePlan, prepare
from opdisc.convex.public import ConvexPublic, check_ridge
from opdisc.convex.rows import Rows
from opdisc.convex.stochastic import ACCOUNTANT, TAIL, BatchPlan, Sampling, gradient_error
from opdisc.noise import NormalStream
from opdisc.privacy import CalibrationStatus, EntropySource, Ledger, Prepared, prepared_first
from oracles.arithmetic import FloatArray
from oracles.convex import Domain


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
    decay : float
        Noise of an anchor over that of the one before, in (0, 1]; 1 is equal noise.
    """

    epochs: int
    inner: int
    batch: float = 1.0
    doubling: bool = False
    sampling: Sampling = "poisson"
    decay: float = 1.0

    def __post_init__(self) -> None:
        """Refuse noise that grows."""
        check_within("decay", self.decay, 0, 1, ends="(]")

    @property
    def anchor_noise(self) -> tuple[float, ...]:
        """Noise of each anchor in units of the last one's."""
        return tuple(self.decay**-s for s in reversed(range(self.epochs)))

    @property
    def anchor_cost(self) -> float:
        """How many anchors with the last one's noise cost as much privacy as all."""
        return sum(noise**-2 for noise in self.anchor_noise)

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
    public.require_curvature("DP-SVRG")
    public.require_one_row("sampling of rows")
    rate = epochs.batches.rate(public)
    # Full-gradient Gaussians compose to one. An inner step sums differences of two gradients:
    # twice the sensitivity of one.
    steps = (
        SampledSteps(steps=1, rate=1.0, sensitivity=math.sqrt(epochs.anchor_cost)),
        SampledSteps(steps=epochs.batches.steps, rate=rate),
    )
    multiplier = sampled_multiplier(public.params, steps, public.relation)
    anchor = multiplier * public.gradient_sensitivity
    return NoisePlan(
        mechanism="svrg++" if epochs.doubling else "svrg",
        theorem="Gaussian anchors and sampled inner steps (docs/convex.md, variance-reduced)",
        status=CalibrationStatus.PROVEN,
        law="Gaussian on each anchor gradient (the last one's scale; each is decay times the one "
        "before) and on each sum of inner differences",
        scales=(anchor, 2 * anchor),
        settings=(
            ("epochs", epochs.epochs),
            ("inner steps", epochs.batches.steps),
            ("rate", rate),
            ("decay", epochs.decay),
            ("ridge", ridge),
        ),
        conditions=(ACCOUNTANT,),
        total_variation=2 * (epochs.epochs + epochs.batches.steps) * public.dimension * TAIL,
    )


@prepared_first
def svrg(
    rows: Rows,
    public: ConvexPublic,
    epochs: SVRGPlan,
    *,
    entropy: EntropySource,
    ridge: float = 0.0,
    ledger: Ledger | None = None,
) -> Prepared[ConvexRelease]:
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
    ridge = check_ridge(ridge)
    plan = plan_svrg(public, epochs, ridge=ridge)

    def compute() -> FloatArray:
        return _svrg(rows.expanded(), public, epochs, plan, domain, entropy)

    return prepare(plan, rows, public, compute, entropy=entropy)


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
    step = step_size(public, rate)
    # Many long steps would drown in noise, so cap how far noise drifts in an epoch.
    drift = math.sqrt(p) * plan.scales[1] / size
    parameters = anchor = domain.centre
    for inner, relative in zip(epochs.inner_steps, epochs.anchor_noise, strict=True):
        capped = min(step, domain.diameter_l2 / (drift * math.sqrt(inner) + 1e-300))
        noise = relative * plan.scales[0] * normals.take(p)
        full = (rows.sum_gradient(loss, anchor) + noise) / public.step_rows
        total, kept = np.zeros(p), 0
        for k in range(inner):
            drawn = epochs.batches.draw(len(rows.y), rate, entropy)
            X, y = rows.X.take(drawn, axis=0), rows.y.take(drawn)
            change = loss.sum_gradient(X, y, parameters) - loss.sum_gradient(X, y, anchor)
            gradient = (change + plan.scales[1] * normals.take(p)) / size + full
            parameters = domain.project((parameters - capped * gradient) / (1 + capped * ridge))
            if 2 * k >= inner - 1:
                total, kept = total + parameters, kept + 1
        anchor = total / kept
    return anchor


def step_size(public: ConvexPublic, rate: float) -> float:
    """Return ``1 / (beta max(1, 12 (1 - q) / (q n)))``.

    W17's ``1 / (12 beta)`` (Theorem 4.2) is for single rows; batches of b rows divide the
    variance by b, and allow longer steps up to ``1 / beta`` (Konecny, Liu, Richtarik, Takac 2016).
    """
    variance = (1 - rate) / (rate * public.step_rows)
    return 1 / (public.constants.smoothness_l2 * max(1.0, 12 * variance))


def plan_epochs(
    public: ConvexPublic, *, ridge: float = 0.0, sampling: Sampling = "poisson"
) -> SVRGPlan:
    """Return epochs after which privacy noise outweighs the optimisation error.

    Parameters
    ----------
    public : ConvexPublic
        Public facts; delta must be positive, the loss smooth and the domain bounded.
    ridge : float
        Strong convexity of the mean objective; 0 takes DP-SVRG++.
    sampling : str
        "poisson" or "fixed".

    Notes
    -----
    Let a be the noise of one released mean gradient. Strongly convex: 8 (beta + ridge) / ridge
    inner steps (at most 1,000) divide the distance by more than exp(4) an epoch, until it is a /
    ridge. Otherwise the inner steps double, from 4 to 8 at first, until the last epoch has beta D
    / (2 a) of them, in at most 11 epochs. An epoch at least halves the error (unless its steps
    were cut to 1,000), so an anchor may have twice the noise of the next. All E of them then cost
    less than 4/3 of the last one's budget. Equal noise would cost E, a factor ln(n epsilon). The
    rate q gives the least ``(A + q^2 T) (1 + 4 / (q^2 T_last))``: the noise of anchors that cost A
    and of T inner steps, T_last of them in the last epoch.
    """
    public.require_curvature("DP-SVRG")
    domain = public.require_domain("DP-SVRG")
    beta, noise = public.constants.smoothness_l2, gradient_error(public)
    if ridge > 0:
        inner = math.ceil(min(8 * (beta + ridge) / ridge, _MOST_INNER))
        epochs = math.ceil(min(max(2.0, math.log(ridge * domain.diameter_l2 / noise) / 4), 10))
        last = 1 / epochs
    else:
        longest = beta * domain.diameter_l2 / (2 * noise)
        epochs = math.ceil(min(max(2.0, math.log2(longest / 4)), 11))
        inner = math.ceil(min(max(4.0, longest / 2 ** (epochs - 1)), 8))
        last = 0.5
    found = SVRGPlan(
        epochs=epochs,
        inner=inner,
        doubling=ridge == 0,
        sampling=sampling,
        decay=0.5 if inner < _MOST_INNER else 1.0,
    )
    squares = 2 * math.sqrt(found.anchor_cost / last)
    rate = min(1.0, math.sqrt(squares / found.batches.steps))
    rows = max(1, math.ceil(public.step_rows * rate))
    return replace(found, batch=rows)


_MOST_INNER = 1000
