"""Closed-form error bounds for the algorithms of Neel, Roth, Vietri, Wu 2019, as published.

The paper states the accuracy of OPDisc in Theorem 1, the accuracy and the privacy of OPSamp in
Theorems 7 and 11; the formulas are lost in the text at hand. These functions take the
*algorithms and noise scales* as published and state the bound that follows, each with its own
short proof in docs/utility.md; they may differ from the printed theorems in constants and
logarithms. None is used by a release.
"""

from __future__ import annotations

import math

from opdisc.calibration.margins import published_gaussian_stddev
from opdisc.errors import CalibrationError


def _check_failure(beta: float) -> None:
    if not 0 < beta < 1:
        raise CalibrationError(f"beta must be in (0, 1), got {beta}.")


def opdisc_error_bound(
    dimension: int,
    radius_squared: int,
    epsilon: float,
    delta: float,
    beta: float,
    *,
    constant: float = 7.0,
) -> float:
    """Return OPDisc's excess loss at the published noise, with probability 1 - beta, rows.

    Beside Theorem 1 (accuracy of OPDisc).

    Parameters
    ----------
    dimension : int
        d, number of weights.
    radius_squared : int
        R^2, the largest squared norm; the grid spacing is 1.
    epsilon, delta : float
        Nominal privacy.
    beta : float
        Failure probability, in (0, 1).
    constant : float
        7 or 3.5, see :func:`~opdisc.calibration.published_gaussian_stddev`.

    Notes
    -----
    ``2 sigma (sqrt(d + 1) + sqrt(2 ln(1/beta)))`` with ``sigma = k R^2 sqrt(ln(1/delta)) / eps``:
    the excess is at most ``2 |eta|``, and ``|eta| / sigma`` is 1-Lipschitz in d + 1 normals with
    mean at most ``sqrt(d + 1)``.
    """
    _check_failure(beta)
    stddev = published_gaussian_stddev(radius_squared, epsilon, delta, constant=constant)
    return 2 * stddev * (math.sqrt(dimension + 1) + math.sqrt(2 * math.log(1 / beta)))


def opdisc_mean_error_bound(
    dimension: int,
    radius_squared: int,
    epsilon: float,
    delta: float,
    *,
    constant: float = 7.0,
) -> float:
    """Return OPDisc's expected excess loss at the published noise, rows.

    Parameters
    ----------
    dimension, radius_squared, epsilon, delta, constant
        As in :func:`opdisc_error_bound`.

    Notes
    -----
    ``sigma sqrt(d + 1)``: the fixed best hypothesis gains 0 in expectation.
    """
    stddev = published_gaussian_stddev(radius_squared, epsilon, delta, constant=constant)
    return stddev * math.sqrt(dimension + 1)


def opsamp_published_scale(
    dimension: int,
    width: float,
    lipschitz: float,
    rate: float,
    epsilon: float,
    *,
    allowance: float = 0.0,
) -> float:
    """Return the Laplace scale of OPSamp's release from the published stability constant.

    Beside Theorem 11 (privacy of OPSamp) and Lemmas 8 and 10.

    Parameters
    ----------
    dimension : int
        d.
    width : float
        D, the largest width of a coordinate.
    lipschitz : float
        G, l1-Lipschitz constant of one row's loss.
    rate : float
        eta, rate of the exponential tilts.
    epsilon : float
        Nominal privacy.
    allowance : float
        alpha of each solve.

    Notes
    -----
    ``2 S / eps`` with ``S = 250 eta G d^2 D + alpha / (10 G)``.
    """
    stability = 250 * rate * lipschitz * dimension**2 * width + allowance / (10 * lipschitz)
    return 2 * stability / epsilon


def opsamp_best_rate(dimension: int, lipschitz: float, epsilon: float, n_rows: int) -> float:
    """Return the tilt rate that minimises :func:`opsamp_error_bound`: ``sqrt(eps/(500 n))/(G d)``.

    Parameters
    ----------
    dimension : int
        d.
    lipschitz : float
        G.
    epsilon : float
        Nominal privacy.
    n_rows : int
        Public number of rows.
    """
    return math.sqrt(epsilon / (500 * n_rows)) / (lipschitz * dimension)


def opsamp_error_bound(
    dimension: int,
    width: float,
    lipschitz: float,
    epsilon: float,
    n_rows: int,
    *,
    rate: float | None = None,
    allowance: float = 0.0,
) -> float:
    """Return OPSamp's expected excess loss for convex losses at the published scale, rows.

    Beside Theorem 7 (accuracy of OPSamp, there with high probability).

    Parameters
    ----------
    dimension, width, lipschitz, epsilon, allowance
        As in :func:`opsamp_published_scale`.
    n_rows : int
        Public number of rows.
    rate : float or None
        eta; None takes :func:`opsamp_best_rate`.

    Notes
    -----
    ``d D / eta + alpha + n G d lambda``: every tilted minimiser is off by at most
    ``<sigma, w_t - w*> + alpha``, whose mean is at most ``d D / eta``; a convex loss is no larger
    at their mean; Laplace noise of scale lambda moves n losses by ``n G d lambda`` on average. At
    the best rate ``2 sqrt(500) G d^2 D sqrt(n / eps)`` (alpha = 0).
    """
    eta = opsamp_best_rate(dimension, lipschitz, epsilon, n_rows) if rate is None else rate
    scale = opsamp_published_scale(dimension, width, lipschitz, eta, epsilon, allowance=allowance)
    return dimension * width / eta + allowance + n_rows * lipschitz * dimension * scale
