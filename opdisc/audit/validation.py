"""The audit of a validation: a lower bound on what its noisy counts lose."""

from __future__ import annotations

from dataclasses import dataclass

from opdisc.audit.event import AuditedCase, AuditResult, check_audit
from opdisc.audit.risks import audited_counts
from opdisc.models import calibrate_validation
from opdisc.privacy import (
    EntropySource,
    NeighboringRelation,
    PrivacyParams,
    PublicInputs,
    SystemEntropy,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationAuditCase:
    """One new row's label flips: a right answer becomes a wrong one.

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
            params=PrivacyParams(epsilon=epsilon, delta=0.0),
            relation=NeighboringRelation.REPLACE_ONE,
            n_rows=self.n_rows,
        )
        rate = factor * calibrate_validation(public, 1).rate
        return audited_counts(
            "validation", rate, self.n_rows, epsilon, draws, false_alarm, entropy
        )
