"""Calibrations of objective perturbation: one function for each theorem, of public inputs only.

Everything is in the sum scale: ``sum_i l_i(theta) + (ridge/2)|theta|^2 + <b, theta>`` over all of
R^p, l_i a loss of one score. Symbols: L = ``lipschitz`` and beta = ``smoothness`` of one row's
loss, Lambda = ``ridge``.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from scipy import special

from opdisc.calibration import gaussian_delta, require_delta
from opdisc.errors import CalibrationError
from opdisc.noise import smallest_noise
from opdisc.privacy import NeighboringRelation, PrivacyParams

_ROUND_UP = 1 + 1e-9


def curvature_loss(smoothness: float, ridge: float) -> float:
    """Return J = ln(1 + beta/Lambda), what one row can do to the log determinant.

    Adding, removing or replacing one row of a generalised linear model changes the Hessian by
    terms of rank one and size at most beta, over a Hessian of at least Lambda (docs/convex.md,
    entry "objective-perturbation").
    """
    return math.log1p(smoothness / ridge) * _ROUND_UP


def add_remove_delta(
    stddev: float, lipschitz: float, smoothness: float, ridge: float, epsilon: float
) -> float:
    """Return delta under add-or-remove-one with noise N(0, stddev^2) in each coordinate.

    References
    ----------
    .. [1] Redberg, Koskela, Wang (2023), Theorem 3.1, with J = ln(1 + beta/Lambda) in place of
       their |ln(1 - beta/Lambda)|; docs/convex.md, entry "objective-perturbation".
    """
    left = epsilon - curvature_loss(smoothness, ridge)
    size = lipschitz / stddev
    reduced = left - 0.5 * size**2
    if reduced >= 0:
        return min(1.0, 2 * gaussian_delta(1 / size, left))
    inside = 2 * math.exp(left + float(special.log_ndtr(-size)))
    return min(1.0, 1 - inside + 1e-15)


def replace_one_delta(
    stddev: float, lipschitz: float, smoothness: float, ridge: float, epsilon: float
) -> float:
    """Return delta under replace-one with noise N(0, stddev^2) in each coordinate.

    Notes
    -----
    With m = 2L/sigma and e = epsilon - J, the privacy loss is at most ``J + m^2/2 + m R`` where R
    is the length of a standard normal in the plane of the two rows. Delta is the mean of
    ``(1 - exp(e - m^2/2 - m R))_+`` (docs/convex.md, entry "objective-perturbation").
    """
    left = epsilon - curvature_loss(smoothness, ridge)
    size = 2 * lipschitz / stddev
    if left >= 0.5 * size**2:
        log_tail = float(special.log_ndtr(-left / size - size / 2))
        return min(1.0, math.sqrt(2 * math.pi) * size * math.exp(left + log_tail) * _ROUND_UP)
    tail = math.sqrt(2 * math.pi) * size * math.exp(left + float(special.log_ndtr(-size)))
    return min(1.0, 1 - math.exp(left - 0.5 * size**2) + tail + 1e-15)


@functools.lru_cache(maxsize=256)
def gaussian_stddev(
    params: PrivacyParams,
    relation: NeighboringRelation,
    *,
    lipschitz: float,
    smoothness: float,
    ridge: float,
) -> float:
    """Return the standard deviation of the tilt's coordinates.

    Raises
    ------
    CalibrationError
        If delta is 0, or the ridge is too small for epsilon.

    Notes
    -----
    **Guarantee.** Under add-or-remove-one ``add_remove_delta <= delta``. Under replace-one
    ``replace_one_delta <= delta``, or the same by group privacy: add-or-remove-one at
    ``(epsilon/2, delta / (1 + e^(epsilon/2)))``; the smaller noise of the two.
    """
    require_delta(params, "Gaussian objective perturbation")
    found = []
    if relation is NeighboringRelation.REPLACE_ONE:
        half = params.epsilon / 2
        found.append((replace_one_delta, params.epsilon, params.delta))
        shared = params.delta / (1 + math.exp(min(half, 500.0))) / _ROUND_UP
        # Far out, group privacy's delta underflows and the other route is the better one.
        found += [(add_remove_delta, half, shared)] if half < 500 else []
    else:
        found.append((add_remove_delta, params.epsilon, params.delta))
    levels = []
    for profile, epsilon, target in found:
        if epsilon <= curvature_loss(smoothness, ridge):
            continue

        def delta(stddev: float, profile=profile, epsilon=epsilon) -> float:  # type: ignore[no-untyped-def]
            return float(profile(stddev, lipschitz, smoothness, ridge, epsilon))

        levels.append(smallest_noise(delta, target, tolerance=1e-9, start=lipschitz))
    if not levels:
        raise CalibrationError(
            "the ridge must exceed beta / (e^epsilon - 1) = "
            f"{smallest_ridge(params.epsilon, smoothness):.6g}, got {ridge:g}; use a larger one."
        )
    return min(levels)


def pure_scale(
    params: PrivacyParams,
    relation: NeighboringRelation,
    *,
    lipschitz: float,
    smoothness: float,
    ridge: float,
    units: int = 1,
) -> float:
    """Return the scale of a tilt with density proportional to ``exp(-|b| / scale)``.

    Notes
    -----
    **Guarantee.** Pure, for r = ``units`` rows per privacy unit: they move b by at most rkL (k =
    1, or 2 under replace-one) and the log determinant by at most rJ, so ``rkL / scale + rJ <=
    epsilon``. C11 (Theorem 9) spends twice J.
    """
    left = params.epsilon / units - curvature_loss(smoothness, ridge)
    if left <= 0:
        least = smallest_ridge(params.epsilon / units, smoothness)
        raise CalibrationError(
            f"the ridge must exceed beta / (e^epsilon - 1) = {least:.6g}, got {ridge:g}; use a "
            "larger one."
        )
    return relation.loss_sensitivity * lipschitz / left * _ROUND_UP


def smallest_ridge(epsilon: float, smoothness: float) -> float:
    """Return beta / (e^epsilon - 1): at this ridge the curvature takes all of epsilon."""
    return smoothness / math.expm1(min(epsilon, 700.0))


def ridge_for_share(epsilon: float, smoothness: float, share: float) -> float:
    """Return the ridge at which the curvature takes ``share`` of epsilon, 0 < share < 1.

    At least a hundredth of a row's curvature, however large epsilon is: less would only make the
    minimiser's work harder.
    """
    return max(smallest_ridge(share * epsilon, smoothness) * _ROUND_UP**2, 0.01 * smoothness)


def predicted_choice(
    epsilon: float, smoothness: float, norm: float, noise_length: Callable[[float], float]
) -> tuple[float, float]:
    """Return (predicted error, ridge): the ridge with the least predicted error.

    Parameters
    ----------
    epsilon, smoothness : float
        Target, and beta.
    norm : float
        A public guess of the optimum's Euclidean norm.
    noise_length : callable
        Typical length of the tilt at a ridge; infinite where there is no calibration.

    Notes
    -----
    The excess of the sum is at most ``Lambda norm^2 / 2 + |b|^2 / (2 Lambda)``. The ridge is the
    best of those at which the curvature takes one of 48 shares of epsilon: it changes with epsilon
    without a cliff, unlike C11's split.
    """
    shares = [0.02 * 1.08**k for k in range(48)]
    ridges = [ridge_for_share(epsilon, smoothness, share) for share in shares]
    return min((0.5 * r * norm**2 + noise_length(r) ** 2 / (2 * r), r) for r in ridges)


def published_c11(epsilon: float, smoothness: float, ridge: float) -> tuple[float, float]:
    """Return (ridge, scale) as printed for rows and slopes of at most 1, replace-one.

    ``eps' = epsilon - 2 ln(1 + c/Lambda)``; if that is not positive, ``eps' = epsilon/2`` and
    ``Lambda = c/(e^(epsilon/4) - 1)``; the tilt has density ``exp(-eps'|b|/2)`` (C11, Algorithm
    2). Private, but with a cliff: just above the switch the noise is unbounded.
    """
    left = epsilon - 2 * math.log1p(smoothness / ridge)
    if left <= 0:
        ridge, left = smoothness / math.expm1(epsilon / 4), epsilon / 2
    return ridge, 2 / left


def published_k12(
    params: PrivacyParams, *, lipschitz: float, smoothness: float
) -> tuple[float, float]:
    """Return (ridge, stddev) of K12 (Theorem 1): add-or-remove-one, linear models.

    ``sigma^2 = L^2 (8 ln(2/delta) + 4 epsilon) / epsilon^2``, ``Lambda >= 2 beta / epsilon``.
    """
    require_delta(params, "Gaussian objective perturbation")
    inside = 8 * math.log(2 / params.delta) + 4 * params.epsilon
    return 2 * smoothness / params.epsilon, lipschitz * math.sqrt(inside) / params.epsilon


def published_j14(params: PrivacyParams, *, lipschitz: float) -> float:
    """Return the standard deviation of J14's Objective-Gauss. Refuted under replace-one.

    ``sigma^2 = 4 L^2 (ln(1/delta) + epsilon) / epsilon^2`` (J14, equation (4), Theorem 2).
    docs/convex.md, entry "published-objective-gauss", has two tables at which the true delta is
    2.3 times the claim.
    """
    require_delta(params, "Gaussian objective perturbation")
    inside = 4 * (math.log(1 / params.delta) + params.epsilon)
    return lipschitz * math.sqrt(inside) / params.epsilon
