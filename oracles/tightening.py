"""The search for mixtures of thresholds whose bound has a small sum."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from oracles.block_kernels import FloatArray
from oracles.envelope import Bound, Envelope, Mixtures, Region

_STALE = 0.03
_RETREATS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Tightened:
    """What a search found.

    Parameters
    ----------
    bound : Bound
        Valid in the region that was asked for, whatever the search did.
    log_sum : float
        Log of its sum there; ``-inf`` if every entry vanished.
    depth : float
        How far the sum lies below the product of the largest factors, see ``Envelope.log_sum``.
    mixtures : Mixtures
        Where a search for a part of the region may start.
    step : float
        Its first step size.
    """

    bound: Bound
    log_sum: float
    depth: float
    mixtures: Mixtures
    step: float


class Tightener:
    """Multiplicative steps on every point's mixture, as long as they pay.

    Parameters
    ----------
    envelope : Envelope
        What is tightened.
    least_depth : float
        Sums whose depth is less count as underflowed, see ``Envelope.log_sum``.
    """

    def __init__(self, envelope: Envelope, least_depth: float) -> None:
        self.least_depth = least_depth
        self._envelope = envelope
        self.steps_done = 0
        self._logs = np.zeros(envelope.shape)
        self._shares = np.zeros(envelope.shape)
        self._best_logs = np.zeros(envelope.shape)
        self._best_shares = np.zeros(envelope.shape)
        self._previous = np.zeros(envelope.shape)

    def run(
        self, start: Mixtures | None, region: Region, *, step: float, n_steps: int
    ) -> Tightened:
        """Search from some mixtures (equal weights if None) for a region.

        Log sums are convex in the shares; steps that do not lower them are taken back.
        """
        envelope, logs = self._envelope, self._logs
        logs[:] = 0.0 if start is None else start
        self._previous[:, -1] = 2.0
        paces = np.ones(len(logs))
        best: Bound | None = None
        value, depth, stale = math.inf, -math.inf, 0
        for i in range(n_steps):
            self.steps_done += 1
            bound = envelope.bound(logs, region, self._shares)
            log_sum, relative = envelope.log_sum(bound, region)
            if best is None and relative <= self.least_depth:
                bound, log_sum, relative = self._retreated(region)
            # A sum that underflows is no sum: such a step is taken back like one that overshot.
            if best is None or (log_sum < value and relative > self.least_depth):
                stale = stale + 1 if i and value - log_sum < _STALE else 0
                best, value, depth = bound, log_sum, relative
                self._keep()
                if stale >= 2 or depth <= self.least_depth:
                    break
                envelope.take_laws()
                step *= 1.2
            else:
                self._restore()
                step *= 0.6
                paces = np.sqrt(paces)
                stale += 1
                if stale >= 5:
                    break
            envelope.tighten(logs, self._shares, self._previous, paces, region, step)
        assert best is not None
        return Tightened(
            bound=best,
            log_sum=value,
            depth=depth,
            mixtures=self._best_logs.astype(np.float16),
            step=max(0.3, min(step, 4.0)),
        )

    def _retreated(self, region: Region) -> tuple[Bound, float, float]:
        """Certify less until the sum no longer underflows; of nothing at all it cannot."""
        envelope = self._envelope
        for _ in range(_RETREATS):
            self._logs[:, -1] += 2.0
            bound = envelope.bound(self._logs, region, self._shares)
            log_sum, relative = envelope.log_sum(bound, region)
            if relative > self.least_depth:
                break
        return bound, log_sum, relative

    def shares(self, mixtures: Mixtures, region: Region) -> FloatArray:
        """Return the shares of stored mixtures in a region."""
        self._logs[:] = mixtures
        self._envelope.bound(self._logs, region, self._shares)
        return self._shares

    def _keep(self) -> None:
        self._best_logs[:] = self._logs
        self._best_shares[:] = self._shares

    def _restore(self) -> None:
        self._logs[:] = self._best_logs
        self._shares[:] = self._best_shares
