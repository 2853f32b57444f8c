"""Closed-form errors of OPDisc and RSPM: the textbook bounds by a norm of the noise.

The release w minimises ``L - <eta, psi>``, so against a best hypothesis w* it loses at most
``<eta, psi(w) - psi(w*)>``, whatever the table: at most ``2 |eta|_2`` where every psi is on the
unit sphere, and at most ``|eta|_1`` where psi is in {0, 1}^m. The laws of these two numbers have
closed forms. :func:`opdisc.planning.utility.predict_error` simulates smaller bounds
(docs/utility.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy import special, stats

from opdisc.calibration.margins import published_gaussian_stddev
from opdisc.calibration.separators import published_separator_stddev
from opdisc.errors import CalibrationError


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseNormBound:
    """A bound on the excess loss of a release, for every table.

    Parameters
    ----------
    mean : float
        Bound on its mean, rows.
    quantile : float
        The excess stays at or below this with probability ``level``, rows.
    level : float
        In (0, 1).
    """

    mean: float
    quantile: float
    level: float


def sphere_error_bound(
    dimension: int,
    radius_squared: int,
    epsilon: float,
    delta: float,
    *,
    level: float = 0.95,
    constant: float = 7.0,
    sensitivity: float = 1.0,
) -> NoiseNormBound:
    """Return mean and quantile of ``2 |eta|_2`` for OPDisc's published Gaussian.

    Parameters
    ----------
    dimension : int
        d, number of weights; the noise has d + 1 coordinates.
    radius_squared : int
        R^2 over the squared grid spacing: the largest squared norm of integer weights.
    epsilon, delta : float
        Nominal privacy; the published noise does not keep it in general (docs/theory.md).
    level : float
        Level of the quantile, in (0, 1).
    constant : float
        7 or 3.5, see :func:`~opdisc.calibration.published_gaussian_stddev`.
    sensitivity : float
        Most that one row changes any loss; 1 for the 0/1 loss.

    Returns
    -------
    NoiseNormBound

    Notes
    -----
    **Statement.** With sigma = ``constant sensitivity R^2 sqrt(ln(1/delta)) / epsilon`` the excess
    is at most ``2 |eta|_2``, and ``|eta|_2 / sigma`` follows the chi law with d + 1 degrees of
    freedom: mean ``sqrt(2) Gamma((d+2)/2) / Gamma((d+1)/2)``, quantiles in closed form.
    """
    _check(level, sensitivity=sensitivity)
    stddev = sensitivity * published_gaussian_stddev(
        radius_squared, epsilon, delta, constant=constant
    )
    size = dimension + 1
    mean = math.sqrt(2) * math.exp(special.gammaln((size + 1) / 2) - special.gammaln(size / 2))
    return NoiseNormBound(
        mean=2 * stddev * mean,
        quantile=2 * stddev * float(stats.chi.ppf(level, size)),
        level=level,
    )


def separator_laplace_error_bound(
    n_separators: int, epsilon: float, *, level: float = 0.95, sensitivity: float = 1.0
) -> NoiseNormBound:
    """Return mean and quantile of ``|eta|_1`` for RSPM's Laplace noise.

    Parameters
    ----------
    n_separators : int
        m.
    epsilon : float
        Pure privacy under replace-one, exact oracle.
    level : float
        Level of the quantile, in (0, 1).
    sensitivity : float
        Most that one row changes any loss; 1 for the 0/1 loss.

    Notes
    -----
    **Statement.** With independent Laplace noise of scale ``b = 2 m sensitivity / epsilon`` the
    excess is at most ``|eta|_1``, a sum of m exponentials of mean b: mean ``m b``, quantiles of
    the Gamma law of shape m.
    """
    _check(level, sensitivity=sensitivity)
    scale = 2 * n_separators * sensitivity / epsilon
    return NoiseNormBound(
        mean=n_separators * scale,
        quantile=float(stats.gamma.ppf(level, n_separators, scale=scale)),
        level=level,
    )


def separator_gaussian_error_bound(
    n_separators: int,
    epsilon: float,
    delta: float,
    *,
    level: float = 0.95,
    sensitivity: float = 1.0,
) -> NoiseNormBound:
    """Return mean and quantile of ``|eta|_1`` for RSPM's published Gaussian.

    Parameters
    ----------
    n_separators, level, sensitivity
        As in :func:`separator_laplace_error_bound`.
    epsilon, delta : float
        Nominal privacy; the published noise does not keep it in general (docs/theory.md).

    Notes
    -----
    **Statement.** With sigma = ``3.5 sensitivity sqrt(m ln(1/delta)) / epsilon`` the excess is at
    most ``|eta|_1``, of mean ``m sigma sqrt(2/pi)``. ``|eta|_1 / sigma`` is sqrt(m)-Lipschitz in m
    normals, so the quantile is at most the mean plus ``sigma sqrt(2 m ln(1/(1 - level)))``; and
    at most sqrt(m) times that of ``|eta|_2``. The smaller of the two.
    """
    _check(level, sensitivity=sensitivity)
    stddev = sensitivity * published_separator_stddev(n_separators, epsilon, delta)
    mean = n_separators * stddev * math.sqrt(2 / math.pi)
    spread = stddev * math.sqrt(2 * n_separators * math.log(1 / (1 - level)))
    by_length = stddev * math.sqrt(n_separators) * float(stats.chi.ppf(level, n_separators))
    return NoiseNormBound(mean=mean, quantile=min(mean + spread, by_length), level=level)


def _check(level: float, **positive: float) -> None:
    if not 0 < level < 1:
        raise CalibrationError(f"level must be in (0, 1), got {level}.")
    for name, value in positive.items():
        if not 0 < value < math.inf:
            raise CalibrationError(f"{name} must be finite and > 0, got {value}.")
