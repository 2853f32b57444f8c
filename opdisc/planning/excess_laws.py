"""Laws of a bound on the excess loss: simulated from the noise, or in closed form.

Neither depends on a table; docs/utility.md derives them.
"""

from __future__ import annotations

import math

import numpy as np

from opdisc.errors import CalibrationError
from opdisc.mechanisms import (
    BlockSpec,
    ExponentialSpec,
    NoiseSpec,
    SeparatorSpec,
    SphereSpec,
    StagedSpec,
)
from opdisc.planning.expected_errors import block_size
from oracles.arithmetic import FloatArray
from oracles.problem import WeightGrid
from oracles.sampling import SparseCards


def quantile_limit(draws: FloatArray, quantile: float, confidence: float) -> float:
    """Return an order statistic that is at least the true quantile with the given confidence.

    Parameters
    ----------
    draws : ndarray of shape (N,)
        Independent draws of the law.
    quantile, confidence : float
        In (0, 1).

    Raises
    ------
    CalibrationError
        If even the largest draw is not high enough for that confidence.

    Notes
    -----
    The k-th smallest draw is below the true quantile only if at least k draws are, which has
    probability at most ``P[Binomial(N, quantile) >= k]``.
    """
    from scipy import stats

    count = len(draws)
    rank = int(stats.binom.ppf(confidence, count, quantile)) + 1
    while stats.binom.cdf(rank - 1, count, quantile) < confidence:
        rank += 1
    if rank > count:
        raise CalibrationError(
            f"a quantile of {quantile:g} at confidence {confidence:g} needs more than "
            f"{count:,} simulations; raise simulations."
        )
    return float(np.partition(draws, rank - 1)[rank - 1])


def simulated_excess(
    spec: NoiseSpec, grid: WeightGrid, rng: np.random.Generator, simulations: int
) -> FloatArray:
    """Draw bounds on the excess loss from the noise law, shape (simulations,), rows.

    Parameters
    ----------
    spec : NoiseSpec
        Calibrated noise of blocks, the sphere or separators.
    grid : WeightGrid
        The hypotheses.
    rng : numpy.random.Generator
        Source of the simulation.
    simulations : int
        How many.

    Raises
    ------
    CalibrationError
        If there is no bound for this kind of noise.
    """
    if isinstance(spec, BlockSpec):
        total = np.zeros(simulations)
        for block, rate in zip(spec.blocks, spec.rates, strict=True):
            size = block_size(grid, block)
            if rate > 0 and size > 1:
                total += spec.spacing * _block_steps(float(rate), size, rng, simulations)
        return total + spec.allowance
    if isinstance(spec, SphereSpec):
        rounding = (grid.n_features + 2) * spec.spacing
        return _sphere_excess(spec, grid.n_features + 1, rng, simulations) + (
            spec.allowance + rounding
        )
    if isinstance(spec, SeparatorSpec):
        return _separator_excess(spec, rng, simulations) + spec.allowance
    raise CalibrationError("this mechanism has no bound on its errors that holds for every table.")


def _block_steps(rate: float, size: int, rng: np.random.Generator, simulations: int) -> FloatArray:
    """Draw "largest of ``size`` geometric variables minus a given one of them", lattice steps."""
    own = np.floor(rng.exponential(size=simulations) / rate)
    # The largest of k exponentials by inversion, stable for astronomically many.
    log_uniform = np.log1p(-rng.random(simulations)) / (size - 1)
    largest = np.floor(-np.log(-np.expm1(log_uniform)) / rate)
    return np.asarray(np.maximum(largest - own, 0.0))


def _sphere_excess(
    spec: SphereSpec, dimension: int, rng: np.random.Generator, simulations: int
) -> FloatArray:
    """Draw ``|eta| - <eta, u>`` for a fixed unit vector u: its law is the same for every u."""
    if spec.noise == "l2-laplace":
        radius = spec.scale * rng.gamma(dimension, size=simulations)
    else:
        radius = spec.scale * np.sqrt(rng.chisquare(dimension, size=simulations))
    half = (dimension - 1) / 2
    cosine = 2 * rng.beta(half, half, size=simulations) - 1
    return np.asarray(radius * (1 - cosine), dtype=np.float64)


def _separator_excess(
    spec: SeparatorSpec, rng: np.random.Generator, simulations: int
) -> FloatArray:
    """Draw ``sum_i max(0, eta_i)``: by symmetry the law of the best gain over a fixed pattern."""
    total = np.zeros(simulations)
    for _ in range(spec.size):
        if spec.rate > 0:
            steps = np.floor(rng.exponential(size=(2, simulations)) / float(spec.rate))
            total += spec.spacing * np.maximum(steps[0] - steps[1], 0.0)
        else:
            total += np.maximum(spec.stddev * rng.standard_normal(simulations), 0.0)
    # Gaussian tables are rounded once per coordinate: at most one spacing per separator.
    return total if spec.rate > 0 else total + spec.size * spec.spacing


def exponential_excess(
    spec: ExponentialSpec | StagedSpec, level: float
) -> tuple[float, float, float]:
    """Return mean and quantile of the exponential mechanism's excess, in closed form.

    Where the best hypothesis has share m of the base measure, ``P[excess >= t] <= x / (1 + x)``
    with ``x = (1 - m) / m * exp(-beta t)``; the least share on the grid is taken. A stump's is
    at least t with probability at most ``exp(-beta t)`` (docs/theory.md, staged-draws).
    """
    beta, log_inverse = float(spec.beta), spec.log_inverse
    if beta == 0.0:
        raise CalibrationError(
            "an error bound needs an epsilon per row that a double can hold, but this one is "
            "smaller; use a larger epsilon or fewer rows per unit."
        )
    if isinstance(spec, StagedSpec) and spec.is_stump:
        return 1 / (math.e * beta), -math.log1p(-level) / beta, 1.0
    # A grid of one hypothesis has no others; rounding must not say so of a grid of two.
    log_others = log_inverse + math.log(-math.expm1(-max(log_inverse, math.log(2.0))))
    quantile = (log_others + math.log(level) - math.log1p(-level)) / beta
    return log_inverse / beta, max(quantile, 0.0), 1.0


def excess_over_constants(spec: NoiseSpec, level: float) -> float | None:
    """Return a quantile of the loss above that of the better constant answer, in closed form.

    Where the cards that give everyone this answer have share m of the base measure,
    ``P[excess >= t] <= x / (1 + x)`` with ``x = (1 - m) / m * exp(-beta t)``, as beside the best
    hypothesis. The smaller share of the two answers is taken.

    Returns
    -------
    float or None
        Rows; None where no base measure by levels is drawn from.
    """
    share = _constant_share(spec)
    if share is None:
        return None
    assert isinstance(spec, StagedSpec)
    log_odds = math.log1p(-share) - math.log(share) + math.log(level) - math.log1p(-level)
    return max(log_odds / float(spec.beta), 0.0)


def _constant_share(spec: NoiseSpec) -> float | None:
    """Return the mass of cards without points that answer "+", or "-" if that is smaller."""
    if not isinstance(spec, StagedSpec):
        return None
    cards = spec.stages.first
    if not isinstance(cards, SparseCards) or cards.shares is None or cards.centre is not None:
        return None
    low, high = cards.starts[0]
    answers = min(high, 1 - low)  # starts from 1 on say "+", the others "-"
    used = sum(mass for mass, n in zip(cards.shares, cards.counts, strict=True) if n)
    share = cards.shares[0] * answers / ((high - low + 1) * used)
    return share if 0 < share < 1 else None
