"""The audit of a risk table: a lower bound on what its noisy counts lose."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from opdisc.audit.event import AuditedCase, AuditResult, check_audit, loss_bound
from opdisc.mechanisms import calibrate_risks, noisy_counts
from opdisc.privacy import (
    EntropySource,
    NeighboringRelation,
    PrivacyParams,
    PublicInputs,
    SystemEntropy,
)

_SHARE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskAuditCase:
    """One row's label flips: one count falls by 1, another grows, the worst of replace-one.

    Parameters
    ----------
    n_rows : int
        Rows of the two tables, all with one total.
    """

    n_rows: int = 1

    def run(
        self, epsilon: float, draws: int, false_alarm: float, entropy: EntropySource | None = None
    ) -> AuditedCase:
        """Audit the counts at a claimed epsilon, and once more with half the noise."""
        check_audit(draws, false_alarm)
        kept, louder = (
            self._audited(epsilon, factor, draws, false_alarm, entropy or SystemEntropy())
            for factor in (1, 2)
        )
        return AuditedCase(calibrated=kept, less_noise=louder)

    def _audited(
        self, epsilon: float, factor: int, draws: int, false_alarm: float, entropy: EntropySource
    ) -> AuditResult:
        public = PublicInputs(
            params=PrivacyParams(epsilon=epsilon / _SHARE, delta=0.0),
            relation=NeighboringRelation.REPLACE_ONE,
            n_rows=self.n_rows,
        )
        spec = calibrate_risks(public, _SHARE)
        spec = replace(spec, rate=factor * spec.rate)
        happened = []
        for positives in (0, 1):
            table = np.array([self.n_rows - positives, positives], dtype=np.int64)
            seen = noisy_counts(np.tile(table, (draws, 1)), spec.rate, entropy)
            # Where the ratio of the two laws is largest.
            happened.append(int(np.sum((seen[:, 0] < self.n_rows) & (seen[:, 1] > 0))))
        return AuditResult(
            mechanism="risk table",
            pair=f"one label flips, n = {self.n_rows}",
            epsilon=epsilon,
            delta=0.0,
            lower_bound=loss_bound(happened[0], happened[1], draws, 0.0, false_alarm),
            draws=draws,
            false_alarm=false_alarm,
        )
