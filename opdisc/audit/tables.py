"""The audit of attribute tables: a lower bound on what their noisy counts lose."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from opdisc.audit.event import AuditedCase, AuditResult, check_audit, loss_bound
from opdisc.mechanisms import calibrate_tables, noisy_tables
from opdisc.privacy import (
    EntropySource,
    NeighboringRelation,
    PrivacyParams,
    PublicInputs,
    SystemEntropy,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TablesAuditCase:
    """One row becomes another in label and attribute: two counts of each table change."""

    effort: int = 3

    def run(
        self, epsilon: float, draws: int, false_alarm: float, entropy: EntropySource | None = None
    ) -> AuditedCase:
        """Audit the tables at a claimed epsilon, and once more with half the noise."""
        check_audit(draws, false_alarm)
        kept, louder = (
            self._audited(
                epsilon, factor, draws * self.effort, false_alarm, entropy or SystemEntropy()
            )
            for factor in (1, 2)
        )
        return AuditedCase(calibrated=kept, less_noise=louder)

    def _audited(
        self, epsilon: float, factor: int, draws: int, false_alarm: float, entropy: EntropySource
    ) -> AuditResult:
        public = PublicInputs(
            params=PrivacyParams(epsilon=epsilon, delta=0.0),
            relation=NeighboringRelation.REPLACE_ONE,
            n_rows=1,
        )
        shapes = ((2, 1), (2, 2))
        spec = calibrate_tables(public, shapes)
        spec = replace(
            spec,
            rate=factor * spec.rate,
            shapes=tuple((draws * labels, values) for labels, values in shapes),
        )
        happened = []
        for positive in (0, 1):
            labels, cells = np.zeros((2, 1), dtype=np.int64), np.zeros((2, 2), dtype=np.int64)
            labels[positive, 0] = cells[positive, positive] = 1
            tables = [np.tile(table, (draws, 1)) for table in (labels, cells)]
            first, second = (
                table.reshape(draws, 2, -1) for table in noisy_tables(tables, spec, entropy)
            )
            # Where the ratio of the two laws is largest.
            seen = (first[:, 0, 0] < 1) & (first[:, 1, 0] > 0)
            seen &= (second[:, 0, 0] < 1) & (second[:, 1, 1] > 0)
            happened.append(int(seen.sum()))
        return AuditResult(
            mechanism="attribute tables",
            pair="one row becomes another",
            epsilon=epsilon,
            delta=0.0,
            lower_bound=loss_bound(happened[0], happened[1], draws, 0.0, false_alarm),
            draws=draws,
            false_alarm=false_alarm,
        )
