"""Noise scales: one function per theorem, of public inputs only, rounded toward privacy.

Lattice laws are calibrated in exact rationals, so that nothing is left to round. Real-valued
scales are rounded up and re-evaluated. Proofs are in docs/theory.md under the names given here.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from opdisc.arguments import check_delta, check_finite
from opdisc.errors import CalibrationError
from oracles.problem import WeightGrid

_SHARE_BITS = 40

_ROUND_UP = 1 + 1e-9


def lattice_margin(sensitivity: int, allowance: Fraction | float, spacing: Fraction) -> Fraction:
    """Return mu, the margin that a shift must win by on a lattice (docs/theory.md, "Theorem A").

    Parameters
    ----------
    sensitivity : int
        Pairwise sensitivity of the loss, rows.
    allowance : Fraction or float
        Certified gap that a release may have, rows.
    spacing : Fraction
        Lattice spacing, rows.

    Returns
    -------
    Fraction
        The smallest multiple of ``spacing`` strictly above ``sensitivity + 2 * allowance``, rows.
    """
    _check_allowance(allowance)
    needed = Fraction(sensitivity) + 2 * Fraction(allowance)
    return (needed // spacing + 1) * spacing


def continuous_margin(sensitivity: int, allowance: float) -> float:
    """Return mu for continuous noise: ``sensitivity + 2 * allowance``, rows."""
    _check_allowance(allowance)
    return sensitivity + 2.0 * allowance


def _check_allowance(allowance: Fraction | float) -> None:
    check_finite("allowance", allowance, zero=True, unit="rows")


def block_decay_rates(
    sizes: Sequence[int], margin: Fraction, spacing: Fraction, epsilon: float
) -> tuple[Fraction, ...]:
    """Return the decay per lattice step of each block's one-sided noise.

    Parameters
    ----------
    sizes : sequence of int
        Number of assignments of each block.
    margin : Fraction
        mu, rows; see :func:`lattice_margin`.
    spacing : Fraction
        Lattice spacing g, rows.
    epsilon : float
        Target.

    Returns
    -------
    tuple of Fraction
        One rate per block, ``g / lambda_k``; 0 for a block with a single assignment (no noise).

    Raises
    ------
    CalibrationError
        If no block has two assignments.

    Notes
    -----
    **Guarantee.** ``sum_k mu / lambda_k <= epsilon``, exactly. The shares are proportional to
    ``sqrt(H_n - 1)``, which minimises the bound ``sum_k lambda_k (H_n - 1)`` on the error.
    Symbols: mu = ``margin``, H = harmonic number, n = a block's size.

    References
    ----------
    .. [1] docs/theory.md, entry "block-one-hot".
    """
    weights = [math.sqrt(harmonic_number(size) - 1.0) if size > 1 else 0.0 for size in sizes]
    total = math.fsum(weights)
    if total == 0:
        raise CalibrationError(
            "the grid must offer a choice, every block has a single assignment; allow "
            "more weights."
        )
    active = {weight for weight in weights if weight > 0}
    if len(active) == 1:
        n_active = sum(weight > 0 for weight in weights)
        shares = [Fraction(int(weight > 0), n_active) for weight in weights]
    else:
        scaled = 2**_SHARE_BITS
        shares = [Fraction(math.floor(w / total * (1 - 1e-12) * scaled), scaled) for w in weights]
    rates = tuple(Fraction(epsilon) * share * spacing / margin for share in shares)
    if sum(rates) * margin / spacing > Fraction(epsilon):
        raise CalibrationError("the noise shares must not exceed epsilon.")
    return rates


@functools.lru_cache(maxsize=1024)
def harmonic_number(size: int) -> float:
    """Return ``1 + 1/2 + ... + 1/size``, at most 1e-9 too large beyond 10,000."""
    if size > 10_000:
        # Beyond a double's range the last term is far below the last digit of the first.
        rest = 0.5 / size if size < 2**1000 else 0.0
        return math.log(size) + float(np.euler_gamma) + rest
    return math.fsum(1.0 / k for k in range(1, size + 1))


def separator_decay_rate(
    size: int, margin: Fraction, spacing: Fraction, epsilon: float
) -> Fraction:
    """Return the decay per lattice step of each separator's two-sided noise, exactly.

    Parameters
    ----------
    size : int
        Number m of separators.
    margin, spacing : Fraction
        mu and g, rows; see :func:`lattice_margin`.
    epsilon : float
        Target.

    Raises
    ------
    CalibrationError
        If there is no separator.

    Notes
    -----
    **Guarantee.** Laplace noise of scale ``m mu / epsilon`` against a shift of l1 norm ``m mu``.
    """
    if size < 1:
        raise CalibrationError(
            "the grid must offer a choice, every coordinate has a single weight; allow more "
            "weights."
        )
    return Fraction(epsilon) * spacing / (size * margin)


def inverse_temperature(sensitivity: int, epsilon: float) -> Fraction:
    """Return beta of the exponential mechanism, per misclassified row: ``epsilon / sensitivity``.

    Parameters
    ----------
    sensitivity : int
        Pairwise sensitivity, rows: twice the per-hypothesis one under replace-one. Under
        add-or-remove-one the loss is monotone in the data and the two coincide.
    epsilon : float
        Target.

    References
    ----------
    .. [1] McSherry, Talwar (2007), Theorem 6; docs/theory.md, entry "exponential-mechanism".
    """
    return Fraction(epsilon) / sensitivity


def sphere_separation(grid: WeightGrid, radius_squared: int) -> float:
    """Return a lower bound on ``1 - <psi(w), psi(v)>`` over distinct hypotheses of the sphere.

    Parameters
    ----------
    grid : WeightGrid
        Integer weights.
    radius_squared : int
        R^2, at least the largest squared norm of the grid.

    Returns
    -------
    float
        ``1 - sqrt(1 - 1/R^2)`` where neighbouring integers are allowed (the exact minimum if 0 and
        a unit vector are in the grid), else ``spacing^2 / (2 R^2)``; rounded down.

    Notes
    -----
    ``psi(w) = (w, sqrt(R^2 - |w|^2)) / R``. For integer vectors at distance 1 the last coordinates
    differ least for the pair (0, unit vector), and at distance 2 or more the separation is at
    least ``1 / R^2``, which is larger.
    """
    spacing = min((b - a for v in grid.values for a, b in zip(v, v[1:], strict=False)), default=1)
    if spacing == 1:
        ratio = 1.0 / radius_squared
        # 1 - sqrt(1 - x) written without cancellation.
        return ratio / (1.0 + math.sqrt(1.0 - ratio)) * (1 - 1e-12)
    return spacing**2 / (2.0 * radius_squared) * (1 - 1e-12)


def sphere_shift(grid: WeightGrid, radius_squared: int, margin: float) -> float:
    """Return c, the length of the shift along ``psi(w)``, rows (docs/theory.md, "sphere")."""
    if radius_squared < grid.largest_norm:
        raise CalibrationError(
            f"the sphere's squared radius must be at least the largest squared norm "
            f"({grid.largest_norm}), got {radius_squared}."
        )
    return margin / sphere_separation(grid, radius_squared) * (1 + 1e-12)


def l2_laplace_scale(shift: float, epsilon: float) -> float:
    """Return the scale of noise with density proportional to ``exp(-|eta| / scale)``, rows.

    Notes
    -----
    **Guarantee.** A shift of length c changes the log density by at most ``c / scale <= epsilon``,
    whatever its direction: pure epsilon-DP by Theorem A.
    """
    return shift / epsilon * _ROUND_UP


def gaussian_failure(stddev: float, shift: float, epsilon: float, dimension: int) -> float:
    """Return the probability that some shift of length ``shift`` moves the log density too far.

    Notes
    -----
    The log ratio is ``(2 c <eta, u> + c^2) / (2 sigma^2)`` for a unit vector u that the output
    chooses, and ``sup_u <eta, u> = |eta|``: the failure probability is that of
    ``|eta| / sigma > epsilon sigma / c - c / (2 sigma)``, a chi tail with ``dimension`` degrees.
    """
    # Imported where it is needed: it takes longer to load than all else that a command loads.
    from scipy import stats

    radius = epsilon * stddev / shift - shift / (2 * stddev)
    return 1.0 if radius <= 0 else float(stats.chi.sf(radius, dimension))


def gaussian_stddev(shift: float, epsilon: float, delta: float, dimension: int) -> float:
    """Return the proven standard deviation of sphere noise, rows.

    Parameters
    ----------
    shift : float
        c, rows; see :func:`sphere_shift`.
    epsilon, delta : float
        Target; delta must be positive.
    dimension : int
        Length of the noise vector, d + 1.

    Raises
    ------
    CalibrationError
        If delta is 0.

    Notes
    -----
    **Guarantee.** :func:`gaussian_failure` of the returned value is at most ``delta``.
    """
    from scipy import stats

    check_delta("Gaussian noise", delta, "give a delta or use l2-laplace")
    quantile = float(stats.chi.isf(delta, dimension))
    stddev = shift * (quantile + math.sqrt(quantile**2 + 2 * epsilon)) / (2 * epsilon)
    stddev *= _ROUND_UP
    while gaussian_failure(stddev, shift, epsilon, dimension) > delta:
        stddev *= 1 + 1e-6
    return stddev


def published_gaussian_stddev(
    radius_squared: int, epsilon: float, delta: float, *, constant: float
) -> float:
    """Return the standard deviation as published for OPDisc, rows. Refuted in general.

    Parameters
    ----------
    radius_squared : int
        R^2; the grid spacing tau is 1.
    epsilon, delta : float
        Nominal target.
    constant : float
        7 or 3.5.

    Notes
    -----
    The formula has no dimension factor, which only an argument for a fixed shift direction gives.
    docs/theory.md, entry "published-gaussian", has a counterexample. Receipts are VOID.
    """
    check_delta("Gaussian noise", delta, "give a delta or use l2-laplace")
    return constant * radius_squared * math.sqrt(math.log(1 / delta)) / epsilon
