"""Noisy gradient steps on random batches: SGD, with its accounting.

Rows are drawn as the accountant assumes: each independently (``poisson``, both relations), or a
uniform subset of a fixed size (``fixed``, replace-one only). Everything is in the mean scale: the
objective is ``(1/n) sum_i l_i(theta) + (ridge/2)|theta|^2`` with n the public number of rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from opdisc.calibration import SampledSteps, gaussian_multiplier, require_delta, sampled_multiplier
from opdisc.convex.noise_plan import ConvexRelease, NoisePlan, prepare
from opdisc.convex.public import ConvexPublic, check_ridge
from opdisc.convex.rows import Rows
from opdisc.errors import CalibrationError
from opdisc.noise import NormalStream, fixed_sample, integers, poisson_sample
from opdisc.privacy import (
    CalibrationStatus,
    EntropySource,
    Ledger,
    NeighboringRelation,
    Prepared,
    prepared_first,
)
from oracles.arithmetic import FloatArray

Sampling = Literal["poisson", "fixed"]

SGDNoise = Literal["accountant", "published"]

TAIL = 2.0**-63

_CHUNK = 4096


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

    def draws(
        self, n_rows: int, rate: float, entropy: EntropySource
    ) -> Iterator[NDArray[np.int64]]:
        """Draw the rows of all batches, single rows many at a time."""
        if self.sampling == "fixed" and self.batch == 1:
            for start in range(0, self.steps, _CHUNK):
                chunk = integers(n_rows, min(_CHUNK, self.steps - start), entropy)
                yield from chunk[:, None]
        else:
            for _ in range(self.steps):
                yield self.draw(n_rows, rate, entropy)


def plan_batches(
    public: ConvexPublic, *, ridge: float = 0.0, sampling: Sampling = "poisson"
) -> BatchPlan:
    """Return batches with which noisy SGD's privacy noise outweighs its other errors.

    Parameters
    ----------
    public : ConvexPublic
        Public facts; delta must be positive.
    ridge : float
        Strong convexity of the mean objective.
    sampling : str
        "poisson" or "fixed".

    Notes
    -----
    Averaged over any number of steps, the noise has length ``a = sqrt(p) k L s / n``, s the
    multiplier of one Gaussian release. Steps of 1/beta leave ``(beta + ridge) D^2 / T``, which
    falls to ``a D`` after ``T = (beta + ridge) D / a`` steps (``(L / a)^2``, B14's order of n^2,
    where the loss is not smooth). Batches of a fraction q leave a sampling error of length
    ``L / sqrt(q n T)``, which is made half of a. Both up to 5,000 steps and 250 passes.
    """
    require_delta(public.params, "noisy SGD")
    noise = gradient_error(public)
    constants, domain = public.constants, public.require_domain("noisy SGD")
    if math.isfinite(constants.smoothness_l2):
        needed = (constants.smoothness_l2 + ridge) * domain.diameter_l2 / noise
    else:
        needed = (constants.lipschitz_l2 / noise) ** 2
    steps = math.ceil(min(max(needed, _FEWEST_STEPS), _MOST_STEPS))
    passes = min(4 * (constants.lipschitz_l2 / noise) ** 2 / public.step_rows, _MOST_PASSES)
    rows = max(1, math.ceil(public.step_rows * min(1.0, passes / steps)))
    return BatchPlan(batch=rows, steps=steps, sampling=sampling)


def gradient_error(public: ConvexPublic) -> float:
    """Return the length of the noise on a mean gradient that is released once, typically."""
    noise = max(1e-9, gaussian_multiplier(public.params)) * public.gradient_sensitivity
    return math.sqrt(public.dimension) * noise / public.step_rows


_FEWEST_STEPS, _MOST_STEPS, _MOST_PASSES = 100, 5000, 250.0


def published_b14_stddev(public: ConvexPublic) -> float:
    """Return B14's noise for Algorithm 1 with T = n^2 and single rows, in the sum scale.

    ``sigma^2 = 32 L^2 n^2 ln(n/delta) ln(1/delta) / epsilon^2``, for
    ``epsilon <= 2 sqrt(ln(1/delta))`` (Theorem 2.1 is its privacy). Unused by default.
    """
    n, params = public.step_rows, public.params
    if params.epsilon > 2 * math.sqrt(math.log(1 / params.delta)):
        raise CalibrationError("B14's noise is stated for epsilon <= 2 sqrt(ln(1/delta)).")
    logs = math.log(n / params.delta) * math.log(1 / params.delta)
    return public.constants.lipschitz_l2 * n * math.sqrt(32 * logs) / params.epsilon


def plan_noisy_sgd(
    public: ConvexPublic, batches: BatchPlan, *, ridge: float = 0.0, noise: SGDNoise = "accountant"
) -> NoisePlan:
    """Calibrate noisy SGD; arguments as in :func:`noisy_sgd`."""
    public.require_one_row("sampling of rows")
    require_delta(public.params, "noisy SGD")
    rate, conditions = batches.rate(public), (ACCOUNTANT,)
    if noise == "accountant":
        multiplier = sampled_multiplier(
            public.params, (SampledSteps(steps=batches.steps, rate=rate),), public.relation
        )
        theorem, status = "composition of sampled Gaussian steps", CalibrationStatus.PROVEN
    elif noise == "published":
        _check_b14(public, batches)
        # Printed for the sum of n losses; a batch of one row is an n-th of it.
        multiplier = published_b14_stddev(public) / public.exact_rows / public.gradient_sensitivity
        theorem, status = "B14 Theorem 2.1", CalibrationStatus.PUBLISHED
    else:
        raise CalibrationError(f"noise must be accountant or published, got {noise!r}.")
    return NoisePlan(
        mechanism="noisy_sgd",
        theorem=f"{theorem} (docs/convex.md, sampled-steps)",
        status=status,
        law="Gaussian on each sum of batch gradients",
        scales=(multiplier * public.gradient_sensitivity,),
        settings=(
            ("steps", batches.steps),
            ("rate", rate),
            ("multiplier", multiplier),
            ("ridge", ridge),
        ),
        conditions=conditions,
        total_variation=2 * batches.steps * public.dimension * TAIL,
    )


def _check_b14(public: ConvexPublic, batches: BatchPlan) -> None:
    """Refuse what B14's Theorem 2.1 is not stated for."""
    single = batches.sampling == "fixed" and batches.batch == 1
    if not (single and batches.steps <= public.exact_rows**2):
        raise CalibrationError(
            "B14's noise is stated for single rows (a fixed batch of 1) and at most n^2 steps."
        )


ACCOUNTANT = "dp_accounting composes privacy-loss distributions as documented"


@prepared_first
def noisy_sgd(
    rows: Rows,
    public: ConvexPublic,
    batches: BatchPlan,
    *,
    entropy: EntropySource,
    ridge: float = 0.0,
    start: FloatArray | None = None,
    noise: SGDNoise = "accountant",
    ledger: Ledger | None = None,
) -> Prepared[ConvexRelease]:
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
        square of the noisy gradient; > 0 takes steps ``1 / (ridge t)``. Where the loss is
        smooth, G^2 is the noisy gradient's variance, and steps are at most 1 / (beta + ridge):
        ``2 / (ridge t)``, shifted to begin there.
    start : ndarray of shape (p,), or None
        Public starting point; None takes the domain's centre.
    noise : str
        "accountant", or by name B14's "published" noise for fixed batches of one row (VOID).
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
    ridge = check_ridge(ridge)
    plan = plan_noisy_sgd(public, batches, ridge=ridge, noise=noise)
    begin = domain.centre if start is None else domain.project(start)

    def compute() -> FloatArray:
        return _sgd(rows.expanded(), public, batches, plan, begin, entropy)

    return prepare(plan, rows, public, compute, entropy=entropy)


def _sgd(
    rows: Rows,
    public: ConvexPublic,
    batches: BatchPlan,
    plan: NoisePlan,
    parameters: FloatArray,
    entropy: EntropySource,
) -> FloatArray:
    domain, normals = public.require_domain("noisy SGD"), NormalStream(entropy)
    rate, ridge, noise = plan.setting("rate"), plan.setting("ridge"), plan.scales[0]
    size = rate * public.step_rows
    steps = _steps(public, rate, ridge, noise)
    total, weight = np.zeros_like(parameters), 0.0
    for t, drawn in enumerate(batches.draws(len(rows.y), rate, entropy), start=1):
        slope = public.loss.sum_gradient(
            rows.X.take(drawn, axis=0), rows.y.take(drawn), parameters
        )
        gradient = (slope + noise * normals.take(len(parameters))) / size + ridge * parameters
        parameters = domain.project(parameters - steps(t) * gradient)
        share = float(t) if ridge > 0 else float(2 * t > batches.steps)
        total += share * parameters
        weight += share
    return total / weight


def _steps(
    public: ConvexPublic, rate: float, ridge: float, noise: float
) -> Callable[[int], float]:
    """Return the step size as a function of t = 1, 2, ...; it affects accuracy only."""
    domain, constants = public.require_domain("noisy SGD"), public.constants
    size = rate * public.step_rows
    private = public.dimension * (noise / size) ** 2
    if not math.isfinite(constants.smoothness_l2):
        slope = constants.lipschitz_l2 + ridge * domain.radius_l2
        spread = math.sqrt(slope**2 + private)
        if ridge > 0:
            return lambda t: 1 / (ridge * t)
        return lambda t: domain.diameter_l2 / (spread * math.sqrt(t))
    # A smooth loss: only the spread around the mean gradient shortens steps of 1/smoothness.
    curvature = constants.smoothness_l2 + ridge
    longest = 1 / curvature if curvature > 0 else math.inf
    if ridge > 0:
        return lambda t: 2 / (2 / longest + ridge * (t - 1))
    spread = math.sqrt(constants.lipschitz_l2**2 * (1 - rate) / size + private)
    return lambda t: min(longest, domain.diameter_l2 / (spread * math.sqrt(t) + 1e-300))
