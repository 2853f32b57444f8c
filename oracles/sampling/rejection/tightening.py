"""The search for mixtures of thresholds whose bound has a small sum."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from oracles.arithmetic import FloatArray
from oracles.sampling.rejection.lower_bound import Bound, LowerBound, Mixtures, Region, step_work

_STALE = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Tightened:
    """What a search found.

    Parameters
    ----------
    bound : Bound
        Valid in the region that was asked for, whatever the search did.
    log_sum : float
        Log of its sum there, nats; ``-inf`` if the region is empty.
    mixtures : ndarray of shape (points, blocks * w + 1), float16
        Logs of the mixtures, nats: where a search for a part of the region may start.
    step : float
        Its first step size.
    n_steps : int
        Steps it took.
    work : float
        What they took, nanoseconds of one thread, estimated.
    """

    bound: Bound
    log_sum: float
    mixtures: Mixtures
    step: float
    n_steps: int
    work: float


class Tightener:
    """Multiplicative steps on every point's mixture, as long as they pay.

    Its working arrays have the lower bound's ``shape``, float64: logs of mixtures in nats, their
    shares, both for the best bound so far, and the shares one step before.

    Parameters
    ----------
    lower_bound : LowerBound
        What is tightened.
    """

    def __init__(self, lower_bound: LowerBound) -> None:
        self.lower_bound = lower_bound
        self._logs = np.zeros(lower_bound.shape)
        self._shares = np.zeros(lower_bound.shape)
        self._best_logs = np.zeros(lower_bound.shape)
        self._best_shares = np.zeros(lower_bound.shape)
        self._previous = np.zeros(lower_bound.shape)

    def run(
        self, start: Mixtures | None, region: Region, *, step: float, n_steps: int
    ) -> Tightened:
        """Search from some mixtures (equal weights if None) for a region.

        Log sums are convex in the shares; steps that do not lower them are taken back.
        """
        lower_bound, logs = self.lower_bound, self._logs
        logs[:] = 0.0 if start is None else start
        self._previous[:, -1] = 2.0
        paces = np.ones(len(logs))
        best: Bound | None = None
        value, stale, work = math.inf, 0, 0.0
        for i in range(n_steps):
            bound = lower_bound.bound(logs, region, self._shares)
            log_sum = lower_bound.log_sum(bound, region)
            work += step_work(lower_bound)
            if best is None or log_sum < value:
                stale = stale + 1 if i and value - log_sum < _STALE else 0
                best, value = bound, log_sum
                self._keep()
                if stale >= 2 or value == -math.inf:
                    break
                lower_bound.take_laws()
                step *= 1.2
            else:
                self._restore()
                step *= 0.6
                paces = np.sqrt(paces)
                stale += 1
                if stale >= 5:
                    break
            lower_bound.tighten(logs, self._shares, self._previous, paces, region, step)
        assert best is not None
        return Tightened(
            bound=best,
            log_sum=value,
            mixtures=self._best_logs.astype(np.float16),
            step=max(0.3, min(step, 4.0)),
            n_steps=i + 1,
            work=work,
        )

    def shares(self, mixtures: Mixtures, region: Region) -> FloatArray:
        """Return the shares of stored mixtures in a region."""
        self._logs[:] = mixtures
        self.lower_bound.bound(self._logs, region, self._shares)
        return self._shares

    def _keep(self) -> None:
        self._best_logs[:] = self._logs
        self._best_shares[:] = self._shares

    def _restore(self) -> None:
        self._logs[:] = self._best_logs
        self._shares[:] = self._best_shares
