"""Single-use mirror descent: every row takes part in one step at most, so noise is paid once."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from opdisc.arguments import check_integer
from opdisc.calibration import gaussian_multiplier, require_delta
from opdisc.convex.mirror_maps import Geometry, MirrorMap, mirror_map
from opdisc.convex.noise_plan import ConvexRelease, NoisePlan, prepare
from opdisc.convex.public import ConvexPublic
from opdisc.convex.rows import Rows
from opdisc.convex.stochastic import TAIL
from opdisc.errors import CalibrationError
from opdisc.noise import NormalStream, integers
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

A20Noise = Literal["analytic", "published"]


def plan_mirror_descent(
    public: ConvexPublic, *, noise: A20Noise = "analytic", batch: int = 1
) -> NoisePlan:
    """Calibrate single-use mirror descent; arguments as in :func:`mirror_descent`."""
    public.require_relation(
        "noisy mirror descent",
        NeighboringRelation.REPLACE_ONE,
        "the draws depend on the number of rows",
    )
    require_delta(public.params, "noisy mirror descent")
    batch = check_integer("batch", batch, most=public.exact_rows)
    settings: tuple[tuple[str, float], ...] = ()
    if noise == "analytic":
        units = public.rows_per_unit
        if batch == 1:
            # A unit's r rows enter at most r steps.
            multiplier = gaussian_multiplier(public.params, steps=units)
        else:
            # They may all enter one: no split over steps moves more than r rows in one.
            multiplier = units * gaussian_multiplier(public.params)
        stddev = multiplier * public.relation.loss_sensitivity * public.constants.lipschitz_l2
        theorem, status = "one Gaussian release for each row", CalibrationStatus.PROVEN
    elif noise == "published":
        public.require_one_row("A20's calibration")
        if batch != 1:
            raise CalibrationError(f"A20's noise is stated for single rows, got batch={batch}.")
        step = published_a20_step(public.params, public.exact_rows)
        multiplier, _ = published_a20(step.epsilon, step.delta, public.exact_rows)
        stddev = multiplier * public.constants.lipschitz_l2
        theorem, status = "A20 as published", CalibrationStatus.PUBLISHED
        settings = (("epsilon of a step", step.epsilon), ("delta of a step", step.delta))
    else:
        raise CalibrationError(f"noise must be analytic or published, got {noise!r}.")
    used = math.ceil(public.exact_rows / 2) if batch == 1 else public.exact_rows
    return NoisePlan(
        mechanism="mirror_descent",
        theorem=f"{theorem} (docs/convex.md, mirror-descent)",
        status=status,
        law="Gaussian on each sum of a batch's gradients",
        scales=(stddev * (1 + 1e-12),),
        settings=(("rows used at most", used), ("batch", batch), *settings),
        total_variation=2 * public.step_rows * public.dimension * TAIL,
    )


def single_use_batch(public: ConvexPublic, *, geometry: Geometry | None = None) -> int:
    """Return the batch size of smallest predicted error, n over a power of two.

    Parameters
    ----------
    public : ConvexPublic
        Public facts, n included; delta must be positive.
    geometry : str or None
        Mirror map, as in :func:`mirror_descent`.

    Notes
    -----
    B steps of b = n/B rows leave ``beta D^2 / (2 B) + D (G / sqrt(b) + noise / b) / sqrt(B)``, or
    ``D (G + noise / b) / sqrt(B)`` where the loss is not smooth. The noise of a batch's sum does
    not depend on b: few large batches carry less of it, many small ones travel further.
    """
    mirror = mirror_map(public.require_domain("noisy mirror descent"), geometry)
    n = public.exact_rows
    stddev = plan_mirror_descent(public, batch=min(2, n)).scales[0]
    smoothness = mirror.smoothness(public.constants)

    def error(steps: int) -> float:
        travel = smoothness * mirror.width**2 / (2 * steps)
        spread = _spread(public, mirror, stddev, n // steps)
        return (travel if math.isfinite(smoothness) else 0.0) + mirror.width * spread / math.sqrt(
            steps
        )

    best: int = min((1 << k for k in range(n.bit_length())), key=error)
    return n // best


@prepared_first
def mirror_descent(
    rows: Rows,
    public: ConvexPublic,
    *,
    entropy: EntropySource,
    geometry: Geometry | None = None,
    batch: int | None = None,
    noise: A20Noise = "analytic",
    ledger: Ledger | None = None,
) -> Prepared[ConvexRelease]:
    """Single-use noisy mirror descent (A20): average of the iterates.

    Parameters
    ----------
    rows, public, entropy, ledger
        As in :func:`gradient_descent`; the loss must be convex, the domain bounded, the relation
        replace-one.
    geometry : str or None
        Mirror map, as in :func:`accelerated_mirror_descent`.
    batch : int or None
        Rows of a step. 1 is A20's algorithm; None takes :func:`single_use_batch`, or 1 with
        published noise.
    noise : str
        "analytic", or by name A20's "published" constants, solved for the target (VOID).

    Notes
    -----
    *Batches*: a random order of the rows is cut into batches. Each takes one step along its mean
    gradient plus noise, of length at most 1/beta where the loss is smooth. The second half of the
    iterates is averaged. *Single rows*: rows are drawn uniformly; a fresh row takes a noisy
    gradient step, a repeated one a step of noise only; the run stops when half the rows were seen,
    with steps ``D / (sqrt(n) (L + sigma sqrt(p)))`` in the Euclidean geometry. **Guarantee.** The
    draws do not depend on the table, and given them a replaced row touches one step: analytic
    Gaussian of sensitivity 2L.
    """
    public.require_convex("noisy mirror descent")
    mirror = mirror_map(public.require_domain("noisy mirror descent"), geometry)
    if batch is None:
        single = noise != "analytic" or public.relation is not NeighboringRelation.REPLACE_ONE
        batch = 1 if single else single_use_batch(public, geometry=geometry)
    plan = plan_mirror_descent(public, noise=noise, batch=batch)

    def compute() -> FloatArray:
        data = rows.expanded()
        run = _single_rows if batch == 1 else _batches
        return run(data, public, mirror, plan, entropy)

    return prepare(plan, rows, public, compute, entropy=entropy)


def _spread(public: ConvexPublic, mirror: MirrorMap, stddev: float, batch: int) -> float:
    """Return a typical dual norm of what a step must average out."""
    own = mirror.gradient_size(public.constants, 0.0)
    noise = mirror.gradient_size(public.constants, stddev / batch) - own
    smooth = math.isfinite(mirror.smoothness(public.constants))
    return noise + (own / math.sqrt(batch) if smooth else own)


def _batches(
    data: Rows, public: ConvexPublic, mirror: MirrorMap, plan: NoisePlan, entropy: EntropySource
) -> FloatArray:
    n, sigma, normals = len(data.y), plan.scales[0], NormalStream(entropy)
    steps = max(1, n // int(plan.setting("batch")))
    spread = _spread(public, mirror, sigma, n // steps)
    step = mirror.width / (math.sqrt(steps) * spread + 1e-300)
    smoothness = mirror.smoothness(public.constants)
    if math.isfinite(smoothness):
        step = min(step, 1 / smoothness)
    parameters, total, count = mirror.start(), np.zeros(public.dimension), 0
    parts = np.array_split(np.argsort(entropy.words(n)), steps)
    for t, part in enumerate(parts):
        slope = public.loss.sum_gradient(data.X.take(part, axis=0), data.y.take(part), parameters)
        gradient = (slope + sigma * normals.take(public.dimension)) * (steps / n)
        parameters = mirror.step(parameters, step * gradient)
        if 2 * t >= steps - 1:
            total, count = total + parameters, count + 1
    return np.asarray(total / count)


def _single_rows(
    data: Rows, public: ConvexPublic, mirror: MirrorMap, plan: NoisePlan, entropy: EntropySource
) -> FloatArray:
    n, p, sigma, normals = len(data.y), public.dimension, plan.scales[0], NormalStream(entropy)
    step = mirror.width / (math.sqrt(n) * mirror.gradient_size(public.constants, sigma))
    fresh, seen = np.ones(n, dtype=bool), 0
    parameters, total, count = mirror.start(), np.zeros(p), 0
    draws = iter(integers(n, 2 * n, entropy).tolist())
    while 2 * seen < n:
        row = next(draws, -1)
        if row < 0:
            draws = iter(integers(n, 2 * n, entropy).tolist())
            continue
        gradient = sigma * normals.take(p)
        if fresh[row]:
            one = slice(row, row + 1)
            gradient = gradient + public.loss.sum_gradient(data.X[one], data.y[one], parameters)
            fresh[row], seen = False, seen + 1
        parameters = mirror.step(parameters, step * gradient)
        total += parameters
        count += 1
    return np.asarray(total / count)


def published_a20(epsilon_step: float, delta: float, n: int) -> tuple[float, float]:
    """Return (sigma over L, epsilon promised) of A20's Theorem 6, for delta' = delta.

    ``sigma = 8 L sqrt(ln(1/delta)) / (sqrt(n) e)`` for ``e <= 1/(2 sqrt n)`` promises
    ``4 e (sqrt(ln(1/delta')) + 2)`` at ``2 delta + delta' + 2 exp(-n/16)``; Theorem 6 prints
    ``delta`` for ``2 delta``, which is what Theorem 5 gives at 2n draws. One step of row
    gradients alone is ``sqrt(n) e``-DP; ``e`` is the argument ``epsilon_step``.
    """
    if not 0 < epsilon_step <= 1 / (2 * math.sqrt(n)):
        raise CalibrationError("A20 is stated for e of at most 1/(2 sqrt(n)); use analytic noise.")
    sigma = 8 * math.sqrt(math.log(1 / delta)) / (math.sqrt(n) * epsilon_step)
    return sigma, 4 * epsilon_step * (math.sqrt(math.log(1 / delta)) + 2)


def published_a20_step(params: PrivacyParams, n: int) -> PrivacyParams:
    """Return the (e, delta) for which A20's promise is ``params``; delta' = delta.

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
