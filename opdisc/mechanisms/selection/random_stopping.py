"""The number of trials of a private selection: its law, and what the selection costs.

Papernot and Steinke (2022), after Liu and Talwar (2019). docs/tuning.md, entry "random-stopping",
has the statement and its proof, for approximate guarantees too.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import mpmath

from opdisc.arguments import check_within
from opdisc.privacy import EntropySource, PrivacyParams

_BITS = 192

_DOWN = 1 - 1e-12

_UP = 1 + 1e-12

_DRAW_WORDS = 3

_LARGEST_TRIALS = 10**8


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialLaw:
    """The truncated negative binomial law of the number of trials, on 1, 2, 3, ...

    Parameters
    ----------
    shape : float
        eta, in (-1, 10]. 0 is the logarithmic law (cost 2), 1 the geometric one (cost 3, that
        of Liu and Talwar). Smaller costs less and has more often few trials.
    stop : float
        gamma in (0, 1); smaller means more trials.

    Notes
    -----
    ``P[K = k]`` is proportional to ``(1 - gamma)^k prod_(l=1..k-1) (l + eta) / (l + 1)``.
    """

    shape: float
    stop: float

    def __post_init__(self) -> None:
        """Refuse laws without the proof's range, or with endless trials."""
        check_within("shape", self.shape, -1, 10, ends="(]")
        check_within("stop", self.stop, 0, 1)

    @property
    def cost(self) -> float:
        """How many times the epsilon of one trial the selection costs: ``2 + eta``."""
        return 2.0 + self.shape

    @property
    def mean(self) -> float:
        """Expected number of trials."""
        with mpmath.workprec(_BITS):
            gamma = mpmath.mpf(self.stop)
            if self.shape == 0:
                return float((1 / gamma - 1) / -mpmath.log(gamma))
            eta = mpmath.mpf(self.shape)
            return float(eta * (1 - gamma) / (gamma * (1 - gamma**eta)))

    def generating(self, x: float) -> float:
        """Return ``E[x^K]`` for x in [0, 1]."""
        with mpmath.workprec(_BITS):
            gamma, at = mpmath.mpf(self.stop), mpmath.mpf(x)
            inner = 1 - (1 - gamma) * at
            if self.shape == 0:
                return float(mpmath.log(inner) / mpmath.log(gamma))
            eta = mpmath.mpf(self.shape)
            return float((inner**-eta - 1) / (gamma**-eta - 1))

    def draw(self, entropy: EntropySource) -> int:
        """Draw a number of trials by inverting the distribution function at 192 random bits."""
        bits = 64 * _DRAW_WORDS
        whole = 0
        for word in entropy.words(_DRAW_WORDS):
            whole = (whole << 64) | int(word)
        with mpmath.workprec(2 * _BITS):
            gamma, eta = mpmath.mpf(self.stop), mpmath.mpf(self.shape)
            first = (1 - gamma) * (eta / (gamma**-eta - 1) if eta else -1 / mpmath.log(gamma))
            below, trials = first, 1
            target, term = mpmath.ldexp(mpmath.mpf(whole), -bits), first
            while below <= target and trials < _LARGEST_TRIALS:
                term *= (1 - gamma) * (trials + eta) / (trials + 1)
                trials += 1
                below += term
        return trials

    @property
    def total_variation(self) -> float:
        """Bound on the total variation between :meth:`draw` and the law.

        192 random bits and the arithmetic differ by less than ``2**-150``; more than N trials
        have probability at most ``x^-N E[x^K]``, here at ``x = (1 - gamma/2) / (1 - gamma)``.
        """
        with mpmath.workprec(_BITS):
            gamma, eta = mpmath.mpf(self.stop), mpmath.mpf(self.shape)
            growth = (1 - gamma / 2) / (1 - gamma)
            if self.shape == 0:
                moment = mpmath.log(gamma / 2) / mpmath.log(gamma)
            else:
                moment = ((gamma / 2) ** -eta - 1) / (gamma**-eta - 1)
            tail = moment * mpmath.exp(-_LARGEST_TRIALS * mpmath.log(growth))
            return min(1.0, 2.0**-150 + float(tail) * _UP)


@functools.lru_cache(maxsize=256)
def trial_law(expected_trials: float, shape: float = 0.0) -> TrialLaw:
    """Return the law of the number of trials with a given mean.

    Parameters
    ----------
    expected_trials : float
        Mean number of trials, in (1, 100].
    shape : float
        As in :class:`TrialLaw`.

    Raises
    ------
    CalibrationError
        If a value is out of range.
    """
    check_within("expected_trials", expected_trials, 1, 100, ends="(]")
    low, high = 1e-9, 1.0 - 1e-9
    for _ in range(100):
        middle = math.sqrt(low * high)
        if TrialLaw(shape=shape, stop=middle).mean > expected_trials:
            low = middle
        else:
            high = middle
    return TrialLaw(shape=shape, stop=high)


def trial_budget(total: PrivacyParams, law: TrialLaw) -> PrivacyParams:
    """Return the guarantee that each trial must have for the selection to meet a total."""
    return PrivacyParams(
        epsilon=total.epsilon / law.cost * _DOWN * _DOWN,
        delta=total.delta / law.mean * _DOWN * _DOWN,
    )
