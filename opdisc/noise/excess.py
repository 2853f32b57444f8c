"""How far a bound on the excess loss reaches: a law simulated from the noise, or a closed form.

Neither depends on a table; docs/utility.md derives them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from opdisc.errors import CalibrationError
from oracles.arithmetic import FloatArray

Draws = Callable[[np.random.Generator, int], FloatArray]
"""So many independent draws of a bound on the excess loss, rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcessBound:
    """What a release may lose beyond the best hypothesis, on any table.

    Parameters
    ----------
    mean : float
        Bound on the expected excess loss, rows.
    quantile : float
        The excess loss stays at or below this with the level that was asked for, rows.
    confidence : float
        Probability over a simulation that ``quantile`` is large enough; 1 for closed forms.
    """

    mean: float
    quantile: float
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """How the law of noise is simulated where no closed form is known; no table is involved.

    Parameters
    ----------
    draws : int
        How many.
    confidence : float
        With which the quantile is large enough, in (0, 1).
    seed : int
        Seed of the simulation.
    """

    draws: int = 20_000
    confidence: float = 0.999
    seed: int = 0

    def bound(self, law: Draws, level: float) -> ExcessBound:
        """Return mean and quantile of a law; refuse a level that needs more draws."""
        found = law(np.random.default_rng(self.seed), self.draws)
        quantile = quantile_limit(found, level, self.confidence)
        return ExcessBound(mean=float(found.mean()), quantile=quantile, confidence=self.confidence)


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


def excess_of_draw(beta: Fraction, log_inverse: float, level: float) -> ExcessBound:
    """Return what a draw proportional to ``mu(w) exp(-beta L(w))`` may lose, in closed form.

    Parameters
    ----------
    beta : Fraction
        Inverse temperature, nats per row.
    log_inverse : float
        Largest ``ln(1 / mu(w))``, nats.
    level : float
        Level of the quantile, in (0, 1).

    Raises
    ------
    CalibrationError
        If a double cannot hold the temperature.

    Notes
    -----
    Where the best hypothesis has share m of the base measure, ``P[excess >= t] <= x / (1 + x)``
    with ``x = (1 - m) / m * exp(-beta t)``; the least share on the grid is taken.
    """
    temperature = held_in_double(beta)
    # A grid of one hypothesis has no others; rounding must not say so of a grid of two.
    log_others = log_inverse + math.log(-math.expm1(-max(log_inverse, math.log(2.0))))
    quantile = (log_others + math.log(level) - math.log1p(-level)) / temperature
    return ExcessBound(mean=log_inverse / temperature, quantile=max(quantile, 0.0), confidence=1.0)


def held_in_double(beta: Fraction) -> float:
    """Return an inverse temperature as a double; refuse one that would be 0."""
    if float(beta) == 0.0:
        raise CalibrationError(
            "an error bound needs an epsilon per row that a double can hold, but this one is "
            "smaller; use a larger epsilon or fewer rows per unit."
        )
    return float(beta)
