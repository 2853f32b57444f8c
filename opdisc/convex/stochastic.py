"""Noisy gradient methods on random batches: SGD, SVRG and SVRG++, with their accounting.

Rows are drawn as the accountant assumes: each independently (``poisson``, both relations), or a
uniform subset of a fixed size (``fixed``, replace-one only). Everything is in the mean scale: the
objective is ``(1/n) sum_i l_i(theta) + (ridge/2)|theta|^2`` with n the public number of rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from opdisc.accounting import Ledger
from opdisc.convex.base import ConvexPublic, ConvexRelease, NoisePlan, Rows, release
from opdisc.convex.draws import NormalStream, fixed_sample, poisson_sample
from opdisc.domains import Domain
from opdisc.errors import CalibrationError
from opdisc.gaussian import SampledSteps, sampled_multiplier
from opdisc.noise import EntropySource
from opdisc.privacy import CalibrationStatus, NeighboringRelation

FloatArray = NDArray[np.float64]

Sampling = Literal["poisson", "fixed"]
_TAIL = 2.0**-63


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPlan:
    """How rows are drawn; public.

    Parameters
    ----------
    batch : float
        Rows expected in a batch; an integer for fixed-size batches.
    steps : int
        Number of batches.
    sampling : str
        "poisson" or "fixed".
    """

    batch: float
    steps: int
    sampling: Sampling = "poisson"

    def rate(self, public: ConvexPublic) -> float:
        """Return the chance that a row takes part in a batch."""
        if self.sampling not in ("poisson", "fixed"):
            raise CalibrationError(f"sampling must be poisson or fixed, got {self.sampling!r}.")
        rate = self.batch / public.step_rows
        if not 0 < rate <= 1:
            raise CalibrationError("a batch must hold more than 0 rows and at most all of them.")
        if self.sampling == "fixed":
            public.require_relation(
                "fixed-size sampling",
                NeighboringRelation.REPLACE_ONE,
                "the number of rows must be public",
            )
            rate = self.batch / public.exact_rows
            if self.batch != int(self.batch):
                raise CalibrationError(f"a fixed batch must be an integer, got {self.batch}.")
        return rate

    def draw(self, n_rows: int, rate: float, entropy: EntropySource) -> NDArray[np.int64]:
        """Draw the rows of one batch."""
        if self.sampling == "fixed":
            return fixed_sample(n_rows, int(self.batch), entropy)
        return poisson_sample(n_rows, rate, entropy)


def published_b14_stddev(public: ConvexPublic) -> float:
    """Return B14's noise for Algorithm 1 with T = n^2 and single rows, in the sum scale.

    ``sigma^2 = 32 L^2 n^2 ln(n/delta) ln(1/delta) / epsilon^2``, for
    ``epsilon <= 2 sqrt(ln(1/delta))`` (B14 Theorem 2.1). Unused by default.
    """
    n, params = public.step_rows, public.params
    if params.epsilon > 2 * math.sqrt(math.log(1 / params.delta)):
        raise CalibrationError("B14's noise is stated for epsilon <= 2 sqrt(ln(1/delta)).")
    logs = math.log(n / params.delta) * math.log(1 / params.delta)
    return public.constants.lipschitz_l2 * n * math.sqrt(32 * logs) / params.epsilon


def plan_noisy_sgd(public: ConvexPublic, batches: BatchPlan, *, ridge: float = 0.0) -> NoisePlan:
    """Calibrate noisy SGD; arguments as in :func:`noisy_sgd`."""
    rate = batches.rate(public)
    multiplier = sampled_multiplier(
        public.params, (SampledSteps(steps=batches.steps, rate=rate),), public.relation
    )
    return NoisePlan(
        mechanism="noisy-sgd",
        theorem="composition of sampled Gaussian steps (docs/convex.md, sampled-steps)",
        status=CalibrationStatus.PROVEN,
        law="Gaussian on each sum of batch gradients",
        scales=(multiplier * public.gradient_sensitivity,),
        settings=(
            ("steps", batches.steps),
            ("rate", rate),
            ("multiplier", multiplier),
            ("ridge", ridge),
        ),
        conditions=(_ACCOUNTANT,),
        distance=2 * batches.steps * public.dimension * _TAIL,
    )


_ACCOUNTANT = "dp_accounting composes privacy-loss distributions as documented"


def noisy_sgd(
    rows: Rows,
    public: ConvexPublic,
    batches: BatchPlan,
    *,
    entropy: EntropySource,
    ridge: float = 0.0,
    start: FloatArray | None = None,
    ledger: Ledger | None = None,
) -> ConvexRelease:
    """Projected SGD with Gaussian noise on every batch (B14 Algorithm 1, with an accountant).

    Parameters
    ----------
    rows : Rows
        Private rows.
    public : ConvexPublic
        Public facts. The loss may be non-smooth; the domain must be bounded.
    batches : BatchPlan
        How rows are drawn, and how often.
    entropy : EntropySource
        Random bits.
    ridge : float
        Strong convexity of the mean objective. 0 takes steps ``D / (G sqrt t)`` with G^2 the mean
        square of the noisy gradient; > 0 takes steps ``1 / (ridge t)``.
    start : ndarray of shape (p,), or None
        Public starting point; None takes the domain's centre.
    ledger : Ledger or None
        Where the budget is recorded first.

    Returns
    -------
    ConvexRelease
        The average of the iterates, weighted by t when strongly convex, over the second half
        otherwise.

    Notes
    -----
    **Guarantee.** As on the receipt; docs/convex.md, entry "sampled-steps". Poisson batches: both
    relations; fixed-size batches: replace-one.
    """
    domain = public.require_domain("noisy SGD")
    _check_ridge(ridge)
    plan = plan_noisy_sgd(public, batches, ridge=ridge)
    begin = domain.centre if start is None else domain.project(start)

    def compute() -> FloatArray:
        return _sgd(rows.expanded(), public, batches, plan, begin, entropy)

    return release(plan, rows, public, compute, entropy=entropy, ledger=ledger)


def _check_ridge(ridge: float) -> None:
    if not 0 <= ridge < math.inf:
        raise CalibrationError(f"the ridge must be finite and >= 0, got {ridge!r}.")


def _sgd(
    rows: Rows,
    public: ConvexPublic,
    batches: BatchPlan,
    plan: NoisePlan,
    theta: FloatArray,
    entropy: EntropySource,
) -> FloatArray:
    domain, normals = public.require_domain("noisy SGD"), NormalStream(entropy)
    rate, ridge, noise = plan.setting("rate"), plan.setting("ridge"), plan.scales[0]
    size = rate * public.step_rows
    lipschitz = public.constants.lipschitz_l2 + ridge * domain.radius_l2
    spread = math.sqrt(lipschitz**2 + public.dimension * (noise / size) ** 2)
    total, weight = np.zeros_like(theta), 0.0
    for t in range(1, batches.steps + 1):
        drawn = batches.draw(len(rows.y), rate, entropy)
        slope = public.loss.sum_gradient(rows.X[drawn], rows.y[drawn], theta)
        gradient = (slope + noise * normals.take(len(theta))) / size + ridge * theta
        step = 1 / (ridge * t) if ridge > 0 else domain.diameter_l2 / (spread * math.sqrt(t))
        theta = domain.project(theta - step * gradient)
        share = float(t) if ridge > 0 else float(2 * t > batches.steps)
        total += share * theta
        weight += share
    return total / weight


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
        conditions=(_ACCOUNTANT,),
        distance=2 * (epochs.epochs + epochs.batches.steps) * public.dimension * _TAIL,
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
    _check_ridge(ridge)
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
            X, y = rows.X[drawn], rows.y[drawn]
            change = loss.sum_gradient(X, y, theta) - loss.sum_gradient(X, y, anchor)
            gradient = (change + plan.scales[1] * normals.take(p)) / size + full
            theta = domain.project((theta - capped * gradient) / (1 + capped * ridge))
            total += theta
        anchor = total / inner
    return anchor
