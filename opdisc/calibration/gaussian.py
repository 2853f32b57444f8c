"""Gaussian noise: exact calibration of one release, of equal steps, and of sampled steps.

All functions work in *noise multipliers*: standard deviation over Euclidean sensitivity. Every
calibration is rounded up and re-evaluated, so that the returned multiplier meets its target.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from opdisc.arguments import check_delta, check_finite, check_integer, check_within
from opdisc.noise import smallest_noise
from opdisc.privacy import NeighboringRelation, PrivacyParams
from oracles.arithmetic import FloatArray

_ROUND_UP = 1 + 1e-9

_MASS_TRUNCATION = -60.0
"""Log of the privacy-loss mass that the accountant may treat as infinite loss, per step."""

_FINEST_LOSS_STEP, _COARSEST_LOSS_STEP = 1e-7, 1e-3

_LARGEST_SUPPORT = 1 << 18


def gaussian_delta(multiplier: float, epsilon: float) -> float:
    """Return the exact delta of one Gaussian release, rounded up.

    Parameters
    ----------
    multiplier : float
        Standard deviation over sensitivity, > 0.
    epsilon : float
        Privacy loss; may be negative.

    Returns
    -------
    float
        ``Phi(1/(2s) - epsilon s) - e^epsilon Phi(-1/(2s) - epsilon s)`` with s the multiplier.

    References
    ----------
    .. [1] Balle, Wang (2018), Theorem 8; docs/convex.md, entry "analytic-gaussian".
    """
    return float(_gaussian_curve(multiplier, np.array([epsilon]))[0])


def _gaussian_curve(multiplier: float, epsilons: FloatArray) -> FloatArray:
    half, shifts = 0.5 / multiplier, epsilons * multiplier
    above = special.ndtr(half - shifts)
    below = np.exp(np.minimum(0.0, epsilons + special.log_ndtr(-half - shifts)))
    # The two terms cancel; a few units in the last place of the larger one go to the safe side.
    return np.asarray(np.minimum(1.0, np.maximum(above - below, 0.0) + 4e-16 * above))


@functools.lru_cache(maxsize=256)
def gaussian_multiplier(params: PrivacyParams, *, steps: int = 1) -> float:
    """Return the noise multiplier of each of ``steps`` Gaussian releases.

    Parameters
    ----------
    params : PrivacyParams
        Target of all steps together; delta must be positive.
    steps : int
        Number T of releases, each of sensitivity 1. They are equivalent to one release with
        multiplier divided by ``sqrt(T)``, exactly.

    Raises
    ------
    CalibrationError
        If delta is 0 and epsilon finite.

    Notes
    -----
    An infinite epsilon needs no noise: 0.
    **Guarantee.** ``gaussian_delta(multiplier / sqrt(steps), epsilon) <= delta``.
    """
    require_delta(params, "Gaussian noise")
    check_integer("steps", steps)
    if math.isinf(params.epsilon):
        return 0.0
    root = math.sqrt(steps)

    def delta(multiplier: float) -> float:
        return gaussian_delta(multiplier / root, params.epsilon)

    return smallest_noise(delta, params.delta, tolerance=1e-10)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledSteps:
    """Equal Gaussian steps, each on a random part of the rows.

    Parameters
    ----------
    steps : int
        Number of steps.
    rate : float
        Chance that a row takes part in a step, in (0, 1]. 1 means no sampling.
    sensitivity : float
        Euclidean sensitivity of one step, in units of the noise multiplier's own sensitivity.
        Under add-or-remove-one: of adding a row. Under replace-one: of replacing a row *that was
        drawn*, twice as much.
    """

    steps: int
    rate: float
    sensitivity: float = 1.0

    def __post_init__(self) -> None:
        """Refuse impossible plans."""
        check_integer("steps", self.steps)
        check_within("a sampling rate", self.rate, 0, 1, ends="(]")
        check_finite("a sensitivity", self.sensitivity)


def sampled_delta(
    multiplier: float,
    plan: tuple[SampledSteps, ...],
    relation: NeighboringRelation,
    epsilon: float,
) -> float:
    """Return an upper bound on delta of a composition of sampled Gaussian steps.

    Parameters
    ----------
    multiplier : float
        Noise multiplier for sensitivity 1, common to all steps.
    plan : tuple of SampledSteps
        What is composed.
    relation : NeighboringRelation
        ADD_OR_REMOVE_ONE takes rows independently (Poisson sampling). REPLACE_ONE covers Poisson
        sampling and fixed-size samples without replacement alike.
    epsilon : float
        Target.

    Returns
    -------
    float
        By composing privacy-loss distributions with ``dp_accounting``, rounded pessimistically.

    References
    ----------
    .. [1] Zhu, Dong, Wang (2022), Theorem 10 and Proposition 30; Balle, Barthe, Gaboardi (2018),
       Theorems 8 and 9; docs/convex.md, entry "sampled-steps".
    """
    composed: Any = None
    width = _loss_step(multiplier, plan, epsilon)
    for part in plan:
        if relation is NeighboringRelation.ADD_OR_REMOVE_ONE:
            one = _add_remove_distribution(multiplier / part.sensitivity, part.rate, width)
        else:
            one = _replace_distribution(multiplier / part.sensitivity, part.rate, width)
        many = one.self_compose(part.steps)
        composed = many if composed is None else composed.compose(many)
    return min(1.0, float(composed.get_delta_for_epsilon(epsilon)) * _ROUND_UP)


@functools.lru_cache(maxsize=256)
def sampled_multiplier(
    params: PrivacyParams, plan: tuple[SampledSteps, ...], relation: NeighboringRelation
) -> float:
    """Return a common noise multiplier for sampled steps; see :func:`sampled_delta`.

    Raises
    ------
    CalibrationError
        If delta is 0.

    Notes
    -----
    **Guarantee.** ``sampled_delta`` of the returned multiplier is at most ``params.delta``.
    """
    require_delta(params, "Gaussian noise")
    if math.isinf(params.epsilon):
        return 0.0
    if all(part.rate == 1.0 for part in plan):
        # Without sampling the composition is one Gaussian release: no need for an accountant.
        total = math.sqrt(sum(part.steps * part.sensitivity**2 for part in plan))
        return gaussian_multiplier(params) * total * _ROUND_UP
    root = math.sqrt(sum(p.steps * (p.rate * p.sensitivity) ** 2 for p in plan))
    guess = max(root * gaussian_multiplier(params), 0.3)

    def delta(multiplier: float) -> float:
        return sampled_delta(multiplier, plan, relation, params.epsilon)

    return smallest_noise(delta, params.delta, tolerance=2e-3, start=guess)


def require_delta(params: PrivacyParams, what: str) -> None:
    """Refuse delta = 0 where no pure guarantee exists."""
    if math.isfinite(params.epsilon):
        check_delta(what, params.delta, "give a delta or use a mechanism with pure noise")


def _loss_step(multiplier: float, plan: tuple[SampledSteps, ...], epsilon: float) -> float:
    """Return the grid width of the privacy loss: fine enough for the smallest step's spread."""
    widths, floor = [_COARSEST_LOSS_STEP], _FINEST_LOSS_STEP
    for part in plan:
        ratio = part.sensitivity / multiplier
        widths.append(max(part.rate * min(1.0, ratio) / 20, epsilon / 2000))
        floor = max(floor, 2 * (6 + ratio) * ratio / _LARGEST_SUPPORT)
    return max(floor, min(widths))


def _add_remove_distribution(multiplier: float, rate: float, width: float) -> Any:
    from dp_accounting.pld import privacy_loss_distribution

    return privacy_loss_distribution.from_gaussian_mechanism(
        standard_deviation=multiplier,
        sensitivity=1.0,
        value_discretization_interval=width,
        log_mass_truncation_bound=_MASS_TRUNCATION,
        sampling_prob=rate,
    )


def replace_one_profile(multiplier: float, rate: float, epsilons: FloatArray) -> FloatArray:
    """Return the hockey-stick curve that dominates one sampled step under replace-one.

    Parameters
    ----------
    multiplier : float
        Standard deviation over the sensitivity of replacing a row that was drawn.
    rate : float
        Chance q that a row takes part.
    epsilons : ndarray of shape (k,)
        Any real numbers.

    Returns
    -------
    ndarray of shape (k,)
        For epsilon >= 0, ``q delta_G(log(1 + (e^epsilon - 1) / q))`` with delta_G the Gaussian
        curve; for epsilon < 0 the reflection ``1 - e^epsilon + e^epsilon h(-epsilon)``.
    """
    sizes = np.minimum(np.abs(epsilons), 500.0)
    curve = rate * _gaussian_curve(multiplier, np.log1p(np.expm1(sizes) / rate))
    reflected = -np.expm1(-sizes) + np.exp(-sizes) * curve
    return np.where(epsilons < 0, reflected, curve)


def _replace_distribution(multiplier: float, rate: float, width: float) -> Any:
    from dp_accounting.pld import pld_pmf, privacy_loss_distribution

    tail = math.sqrt(-2 * _MASS_TRUNCATION)
    largest = (0.5 / multiplier + tail) / multiplier
    # The sampled loss is log(1 + q (e^loss - 1)), shorter than the unsampled one.
    reach = math.log1p(rate * math.expm1(min(largest, 500.0)))
    last = max(2, math.ceil(reach / width) + 1)
    grid = np.arange(-last, last + 1, dtype=np.int64)
    curve = replace_one_profile(multiplier, rate, grid.astype(np.float64) * width)
    curve = np.minimum.accumulate(np.minimum(curve, 1.0))
    pmf = pld_pmf.create_pmf_pessimistic_connect_dots(width, grid, curve)
    return privacy_loss_distribution.PrivacyLossDistribution(pmf)
