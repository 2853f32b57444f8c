"""Noise scales of RSPM's Gaussian forms, and the shortest valid shift of a thermometer.

Proofs are in docs/general-losses.md, section "RSPM". Everything is rounded toward privacy.
"""

from __future__ import annotations

import math

from opdisc.arguments import check_delta
from oracles.problem import WeightGrid

_ROUND_UP = 1 + 1e-9


def thermometer_size(grid: WeightGrid) -> int:
    """Return the number m of thermometer separators: ``sum_j (|V_j| - 1)``."""
    return sum(len(allowed) - 1 for allowed in grid.values)


def thermometer_shift_size(grid: WeightGrid) -> int:
    """Return how many separators a shift needs to move: ``k = sum_j min(2, |V_j| - 1)``.

    Notes
    -----
    Moving only a hypothesis' own threshold (up by mu) and the next one (down by mu) already
    separates it from every other hypothesis. One with a smaller weight fails the first, one with a
    larger weight passes the second. Never more than all m separators, and fewer as soon as a
    coordinate has more than three values.
    """
    return sum(min(2, len(allowed) - 1) for allowed in grid.values)


def separator_quantile(n_separators: int, n_hypotheses: int, delta: float) -> float:
    """Return kappa with ``P[sup_w <z, s_w> > kappa |s|] <= delta`` for a standard normal z.

    Parameters
    ----------
    n_separators : int
        Length m of z.
    n_hypotheses : int
        Number of shift vectors ``s_w``, each of l2 norm at most |s|.
    delta : float
        In (0, 1).

    Returns
    -------
    float
        The smallest of three valid bounds: concentration around the mean,
        ``min(sqrt(m), sqrt(2 ln|W|)) + sqrt(2 ln(1/delta))``; the chi quantile of ``|z|``; and the
        normal quantile at ``delta / |W|``. Rounded up.

    Notes
    -----
    The supremum over w is essential: the noise chooses the output. See docs/theory.md,
    entry "published-gaussian".
    """
    from scipy import stats

    log_size = math.log(n_hypotheses)
    mean = min(math.sqrt(n_separators), math.sqrt(2 * log_size))
    concentration = mean + math.sqrt(2 * math.log(1 / delta))
    chi = float(stats.chi.isf(delta, n_separators))
    # P[Z > t] <= e^(-t^2/2) / 2 gives the upper end of the search for the union bound.
    low, high = 0.0, math.sqrt(2 * (log_size + math.log(1 / delta)))
    for _ in range(80):
        middle = (low + high) / 2
        if float(stats.norm.logsf(middle)) + log_size <= math.log(delta):
            high = middle
        else:
            low = middle
    return min(concentration, chi, high) * _ROUND_UP


def separator_gaussian_stddev(shift: float, kappa: float, epsilon: float) -> float:
    """Return the proven standard deviation of each separator's noise, rows.

    Parameters
    ----------
    shift : float
        c, the largest l2 norm of a shift, rows.
    kappa : float
        See :func:`separator_quantile`.
    epsilon : float
        Target.

    Notes
    -----
    **Guarantee.** ``(2 c sigma kappa + c^2) / (2 sigma^2) <= epsilon``: with probability
    1 - delta no shift moves the log density by more than epsilon.
    """
    stddev = shift * (kappa + math.sqrt(kappa**2 + 2 * epsilon)) / (2 * epsilon) * _ROUND_UP
    while (2 * shift * stddev * kappa + shift**2) / (2 * stddev**2) > epsilon:
        stddev *= _ROUND_UP
    return stddev


def published_separator_stddev(n_separators: int, epsilon: float, delta: float) -> float:
    """Return RSPM's Gaussian as published, ``3.5 sqrt(m ln(1/delta)) / epsilon``. Refuted.

    Notes
    -----
    No dimension factor beyond sqrt(m), which only a fixed shift direction justifies. On the parity
    instance of docs/theory.md, entry "published-gaussian", with weights {0, 1} the true epsilon
    is ``ln((1 - q/2 - delta) / (q/2))``, ``q = erfc(1 / (sqrt(2) sigma))^m``.
    """
    return 3.5 * math.sqrt(n_separators * math.log(1 / delta)) / epsilon


def require_gaussian_delta(delta: float) -> None:
    """Refuse Gaussian noise without a delta."""
    check_delta("Gaussian noise", delta, "give a delta or use noise='laplace'")
