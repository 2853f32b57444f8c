"""Confidence intervals of means over repeats, and of differences over the same repeats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

LEVEL = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A mean over repeats and what is known of it, in the units of what was averaged.

    Parameters
    ----------
    mean : float
        NaN without repeats.
    stddev : float
        Standard deviation of one repeat (n - 1 in the denominator); NaN below two repeats.
    low, high : float
        Ends of the confidence interval of the mean; infinite below two repeats.
    level : float
        Its confidence level, in (0, 1).
    n : int
        Number of repeats.
    """

    mean: float
    stddev: float
    low: float
    high: float
    level: float
    n: int

    @property
    def known(self) -> bool:
        """Whether there are enough repeats for an interval."""
        return math.isfinite(self.low)


def mean_interval(
    values: Sequence[float] | npt.NDArray[np.float64],
    *,
    level: float = LEVEL,
    overlap: float = 0.0,
) -> Interval:
    r"""Return the mean over repeats with a t interval.

    Parameters
    ----------
    values : array-like of shape (n,), float
        One value per repeat. Of a paired comparison, the differences.
    level : float
        Confidence level in (0, 1).
    overlap : float
        Held-out rows per training row, for a statement about other tables from random splits of
        one table; 0 for a statement about the splits themselves.

    Returns
    -------
    Interval

    Notes
    -----
    Given the table, random splits and fresh noise are independent, and the usual t interval is
    one for their expectation. As a statement about other tables of this kind it is too narrow,
    since the splits share rows. The variance of the mean is then taken as
    :math:`(1/n + n_{test}/n_{train}) s^2`, which is cautious where most of :math:`s^2` is noise.

    References
    ----------
    .. [1] Nadeau, Bengio (2003), Inference for the Generalization Error, Machine Learning 52,
       section 4 ("corrected resampled t-test").

    Examples
    --------
    >>> interval = mean_interval([0.7, 0.8, 0.9])
    >>> round(interval.mean, 3), round(interval.stddev, 3), interval.n
    (0.8, 0.1, 3)
    """
    sample = np.asarray(values, dtype=np.float64)
    n = len(sample)
    if n == 0:
        return Interval(
            mean=math.nan, stddev=math.nan, low=-math.inf, high=math.inf, level=level, n=0
        )
    mean = float(sample.mean())
    if n == 1:
        return Interval(mean=mean, stddev=math.nan, low=-math.inf, high=math.inf, level=level, n=1)
    stddev = float(sample.std(ddof=1))
    half = float(stats.t.ppf(0.5 + level / 2, n - 1)) * stddev * math.sqrt(1 / n + overlap)
    return Interval(mean=mean, stddev=stddev, low=mean - half, high=mean + half, level=level, n=n)
